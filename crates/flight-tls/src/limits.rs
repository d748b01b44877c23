//! Bounds on what is read from files.

/// A system's whole bundle of authorities takes about 220 KiB.
pub const PEM_FILE_BYTES_MAX: u64 = 4 << 20;
