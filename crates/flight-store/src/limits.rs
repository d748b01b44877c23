//! Every bound of this crate.

/// Bytes of one component of a name: Linux' `NAME_MAX`.
pub const COMPONENT_BYTES_MAX: usize = 255;

/// Components of a name, and so the depth of folders that a scan reaches.
pub const COMPONENTS_MAX: usize = 64;

/// Bytes of a whole name: Linux' `PATH_MAX` without the closing NUL.
pub const NAME_BYTES_MAX: usize = 4095;

/// Characters of a refused name that an error repeats.
pub const NAME_CHARS_SHOWN: usize = 200;

/// Dataset files whose descriptor the store keeps open for the next lookup.
pub const OPEN_FILES_MAX: usize = 256;

/// Files of fewer bytes are read and not mapped, which costs less.
pub const MAPPED_BYTES_MIN: u64 = 1 << 20;

/// Dataset files that one scan takes in.
pub const FILES_MAX: usize = 100_000;

/// Folder entries of any kind that one scan looks at.
pub const WALK_ENTRIES_MAX: usize = 1_000_000;

/// Unusable files and folders that one scan tells of; more are left out.
pub const PROBLEMS_MAX: usize = 1_000;

/// Bytes of an upload id.
pub const UPLOAD_ID_BYTES_MAX: usize = 128;

/// Uploads of one dataset that are remembered, to answer a repeated one.
pub const UPLOADS_REMEMBERED: usize = 16;

/// Bytes of an entry file that are read.
pub const ENTRY_BYTES_MAX: u64 = 64 << 10;

/// Files among which the locks of datasets are spread.
pub const LOCK_FILES: u64 = 64;

/// Tries when a file or folder changes between two looks at it.
pub const RACE_TRIES: usize = 8;

// Six bytes a byte is the worst that JSON's escapes do; a record's other fields take under 200.
const _: () = assert!(
    (NAME_BYTES_MAX * 6 + UPLOADS_REMEMBERED * (UPLOAD_ID_BYTES_MAX * 6 + 200)) as u64
        <= ENTRY_BYTES_MAX,
    "every entry that is written can be read"
);
const _: () = assert!(FILES_MAX <= WALK_ENTRIES_MAX, "a walk may reach its last file");
