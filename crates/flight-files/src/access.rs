//! An open file, read at offsets and watched for changes.
//!
//! Nothing here reads by name, moves a shared cursor or trusts a length: every range is compared
//! with the size that the file had when it was opened, and after every read the file must still be
//! in the state that it had then. A writer that truncates or overwrites the file in place is thus
//! found after the first read that could have seen it.
//!
//! The state is size, modification time and change time. The last one is there because a writer
//! can set the modification time back, but not the change time. Deleting a file, or renaming
//! another over it, moves the change time too and takes a name from it: that leaves the content
//! alone and is no change. All else that moves the change time alone (a rename of the file itself,
//! a new link to it, new permissions) looks like a rewrite and is taken for one, since an error is
//! better than wrong rows. Unseen stays what happens within one tick of the file system's clock,
//! and a rewrite that sets the time back and gives up a name between two looks.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use arrow_buffer::{Buffer, MutableBuffer};

use crate::error::FileError;
use crate::limits::CHANGE_LOOKS;

/// An open regular file.
#[derive(Debug)]
pub(crate) struct FileAccess {
    file: File,
    bytes: u64,
    modified_ns: i128,
    last_seen: Mutex<Inode>,
}

/// What a file's content does not show in, but a rewrite does.
#[derive(Debug, Clone, Copy)]
struct Inode {
    changed_ns: i128,
    /// Names of the file.
    links: u64,
}

impl FileAccess {
    pub(crate) fn new(file: File) -> Result<Self, FileError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(FileError::invalid("only a regular file can be a dataset"));
        }
        let last_seen = Mutex::new(Inode::of(&metadata));
        Ok(Self { file, bytes: metadata.len(), modified_ns: modified_ns(&metadata), last_seen })
    }

    /// The size when the file was opened.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Nanoseconds from 1970 to the last change before the file was opened.
    pub(crate) fn modified_ns(&self) -> i128 {
        self.modified_ns
    }

    pub(crate) fn check_unchanged(&self) -> Result<(), FileError> {
        // Held over the looks, so that those of several threads are compared in their order.
        let mut last_seen = self.last_seen.lock().unwrap_or_else(PoisonError::into_inner);
        for look in 0..CHANGE_LOOKS {
            let metadata = self.file.metadata()?;
            if metadata.len() != self.bytes || modified_ns(&metadata) != self.modified_ns {
                return Err(FileError::Changed);
            }
            let now = Inode::of(&metadata);
            if now.changed_ns == last_seen.changed_ns {
                return Ok(());
            }
            if now.links < last_seen.links {
                // From here on, only the loss of another name may move the change time.
                *last_seen = now;
                return Ok(());
            }
            // No file system moves the time and takes the name in one step.
            std::thread::sleep(Duration::from_millis(look));
        }
        Err(FileError::Changed)
    }

    /// The bytes of a range that the file claims to have.
    pub(crate) fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, FileError> {
        let mut bytes = vec![0; self.check_range(offset, length)?];
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Like [`Self::read`], into memory that is there: all of `bytes`, from `offset` on.
    pub(crate) fn read_into(&self, bytes: &mut [u8], offset: u64) -> Result<(), FileError> {
        self.check_range(offset, bytes.len() as u64)?;
        self.read_exact_at(bytes, offset)
    }

    /// Like [`Self::read`], into memory that is aligned as Arrow's arrays want it.
    pub(crate) fn read_aligned(&self, offset: u64, length: u64) -> Result<Buffer, FileError> {
        let length = self.check_range(offset, length)?;
        // A sparse file can be larger than any memory.
        let mut bytes = MutableBuffer::try_from_len_zeroed(length).map_err(|_| {
            FileError::invalid(format!("there is no memory for a block of {length} bytes"))
        })?;
        self.read_exact_at(bytes.as_slice_mut(), offset)?;
        Ok(bytes.into())
    }

    fn check_range(&self, offset: u64, length: u64) -> Result<usize, FileError> {
        let end = offset.checked_add(length).filter(|end| *end <= self.bytes);
        end.and_then(|_| usize::try_from(length).ok()).ok_or_else(|| {
            FileError::damaged(format!(
                "it points at {length} bytes from offset {offset}, and ends at {}",
                self.bytes
            ))
        })
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), FileError> {
        match self.file.read_exact_at(bytes, offset) {
            // The range lay within the file: whoever cut it has changed it.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(FileError::Changed),
            Err(error) => Err(error.into()),
            Ok(()) => self.check_unchanged(),
        }
    }
}

impl Inode {
    fn of(metadata: &Metadata) -> Self {
        let changed_ns = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
        Self { changed_ns, links: metadata.nlink() }
    }
}

fn modified_ns(metadata: &Metadata) -> i128 {
    nanoseconds(metadata.mtime(), metadata.mtime_nsec())
}

fn nanoseconds(seconds: i64, rest: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::SystemTime;

    use super::*;

    fn open(content: &[u8]) -> (tempfile::NamedTempFile, FileAccess) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let access = FileAccess::new(file.reopen().unwrap()).unwrap();
        (file, access)
    }

    #[test]
    fn ranges_within_the_file_are_read() {
        let (_file, access) = open(b"0123456789");
        assert_eq!(access.read(2, 3).unwrap(), b"234");
        assert_eq!(access.read_aligned(5, 5).unwrap().as_slice(), b"56789");
        assert_eq!(access.read(10, 0).unwrap(), b"");
    }

    #[test]
    fn ranges_outside_are_damage_and_allocate_nothing() {
        let (_file, access) = open(b"0123456789");
        for (offset, length) in [(0, 11), (11, 0), (u64::MAX, 2), (3, u64::MAX), (0, 1 << 60)] {
            let error = access.read(offset, length).unwrap_err();
            assert!(matches!(error, FileError::Damaged { .. }), "{offset}+{length}: {error}");
        }
    }

    #[test]
    fn a_truncated_file_has_changed() {
        let (file, access) = open(b"0123456789");
        file.as_file().set_len(4).unwrap();
        assert!(matches!(access.read(2, 5), Err(FileError::Changed)));
        assert!(matches!(access.read(0, 2), Err(FileError::Changed)));
    }

    #[test]
    fn a_file_of_the_same_size_but_another_time_has_changed() {
        let (file, access) = open(b"0123456789");
        assert!(access.check_unchanged().is_ok());
        file.as_file().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(access.read(0, 2), Err(FileError::Changed)));
    }

    #[test]
    fn a_folder_is_not_a_dataset() {
        let folder = tempfile::tempdir().unwrap();
        let error = FileAccess::new(File::open(folder.path()).unwrap()).unwrap_err();
        assert!(error.to_string().contains("regular file"), "{error}");
    }
}
