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
use std::io::{ErrorKind, IoSliceMut};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arrow_buffer::Buffer;
use flight_wire::{BufferPool, PooledBuffer};
use rustix::fs::fstatfs;
use rustix::io::{ReadWriteFlags, preadv2};

use crate::error::FileError;
use crate::limits::{CHANGE_LOOKS, READ_BYTES_KEPT};
use crate::map::Mapping;

/// `f_type` of tmpfs (statfs(2)).
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;

/// Memory that blocks are read into.
static POOL: LazyLock<BufferPool> = LazyLock::new(|| BufferPool::new(READ_BYTES_KEPT));

/// An open regular file.
#[derive(Debug)]
pub(crate) struct FileAccess {
    file: File,
    bytes: u64,
    modified_ns: i128,
    last_seen: Mutex<Inode>,
    /// Whether its file system keeps all files in memory (or swap). Reading is not asked not to wait
    /// then, which tmpfs refuses.
    in_memory: bool,
    /// The file in memory, and the same bytes to be sliced.
    mapped: OnceLock<(Mapping, Buffer)>,
}

/// What a file's content does not show in, but a rewrite does.
#[derive(Debug, Clone, Copy)]
struct Inode {
    changed_ns: i128,
    /// Names of the file.
    links: u64,
}

/// Recycled memory for `length` bytes of a block.
pub(crate) fn memory(length: usize) -> Result<PooledBuffer, FileError> {
    // A sparse file can be larger than any memory.
    POOL.take(length).ok_or_else(|| {
        FileError::invalid(format!("there is no memory for a block of {length} bytes"))
    })
}

impl FileAccess {
    pub(crate) fn new(file: File) -> Result<Self, FileError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(FileError::invalid("only a regular file can be a dataset"));
        }
        let last_seen = Mutex::new(Inode::of(&metadata));
        let (bytes, modified_ns) = (metadata.len(), modified_ns(&metadata));
        let in_memory = fstatfs(&file).is_ok_and(|system| system.f_type == TMPFS_MAGIC);
        Ok(Self { file, bytes, modified_ns, last_seen, in_memory, mapped: OnceLock::new() })
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
        if self.is_lost() {
            return Err(FileError::Changed);
        }
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

    /// The same without waiting: `false` where it takes more than a look to tell.
    pub(crate) fn is_plainly_unchanged(&self) -> bool {
        let Ok(last_seen) = self.last_seen.try_lock() else { return false };
        !self.is_lost()
            && self.file.metadata().is_ok_and(|metadata| {
                metadata.len() == self.bytes
                    && modified_ns(&metadata) == self.modified_ns
                    && Inode::of(&metadata).changed_ns == last_seen.changed_ns
            })
    }

    /// The bytes of a range that the file claims to have.
    pub(crate) fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, FileError> {
        let mut bytes = vec![0; self.check_range(offset, length)?];
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Like [`Self::read`], into recycled memory that is aligned as Arrow's arrays want it. It stays
    /// as it is whatever becomes of the file.
    pub(crate) fn read_aligned(&self, offset: u64, length: u64) -> Result<Buffer, FileError> {
        let bytes = self.read_copy(offset, length)?;
        self.check_unchanged()?;
        Ok(bytes)
    }

    /// A copy of some bytes, cheap for few of them, that stays as it is.
    pub(crate) fn copy_of(&self, offset: u64, length: u64) -> Result<Buffer, FileError> {
        let Some((mapping, bytes)) = self.mapped.get() else {
            return self.bytes_of(offset, length);
        };
        let (offset, length) = (offset as usize, self.check_range(offset, length)?);
        mapping.populate(offset..offset + length).map_err(gone)?;
        let copy = bytes[offset..offset + length].to_vec();
        self.check_unchanged()?;
        Ok(Buffer::from_vec(copy))
    }

    /// Like [`Self::read`], into memory that is there: all of `bytes`, from `offset` on.
    pub(crate) fn read_into(&self, bytes: &mut [u8], offset: u64) -> Result<(), FileError> {
        self.check_range(offset, bytes.len() as u64)?;
        self.read_exact_at(bytes, offset)
    }

    /// Like [`Self::read`], without a copy where the file is mapped, and else into recycled memory
    /// that is aligned as Arrow's arrays want it.
    pub(crate) fn bytes_of(&self, offset: u64, length: u64) -> Result<Buffer, FileError> {
        let bytes = self.read_unwatched(offset, length)?;
        self.check_unchanged()?;
        Ok(bytes)
    }

    /// The same for callers that read several ranges and then check once that the file is as it
    /// was.
    pub(crate) fn read_unwatched(&self, offset: u64, length: u64) -> Result<Buffer, FileError> {
        let Some((mapping, bytes)) = self.mapped.get() else {
            return self.read_copy(offset, length);
        };
        let (offset, length) = (offset as usize, self.check_range(offset, length)?);
        mapping.populate(offset..offset + length).map_err(gone)?;
        Ok(bytes.slice_with_length(offset, length))
    }

    /// The same, in recycled memory also where the file is mapped: it stays as it is.
    pub(crate) fn read_copy(&self, offset: u64, length: u64) -> Result<Buffer, FileError> {
        let mut memory = memory(self.check_range(offset, length)?)?;
        self.fill(memory.as_mut_slice(), offset)?;
        Ok(memory.freeze())
    }

    /// Reads into memory that is there, for callers that check as well.
    pub(crate) fn fill(&self, bytes: &mut [u8], offset: u64) -> Result<(), FileError> {
        self.check_range(offset, bytes.len() as u64)?;
        self.file.read_exact_at(bytes, offset).map_err(gone)
    }

    /// The same if the bytes are in memory already; `false` if the disk has to be waited for.
    pub(crate) fn fill_resident(&self, bytes: &mut [u8], offset: u64) -> Result<bool, FileError> {
        if self.in_memory {
            return self.fill(bytes, offset).map(|()| true);
        }
        self.check_range(offset, bytes.len() as u64)?;
        let length = bytes.len();
        let read =
            preadv2(&self.file, &mut [IoSliceMut::new(bytes)], offset, ReadWriteFlags::NOWAIT);
        // What is wrong is found when the rest is waited for.
        Ok(read == Ok(length))
    }

    /// Maps the file from now on.
    pub(crate) fn map(&self) -> Result<(), FileError> {
        if self.bytes == 0 || self.is_mapped() {
            return Ok(());
        }
        let mapping = Mapping::of(&self.file)?;
        let bytes = Buffer::from(mapping.bytes());
        if (bytes.len() as u64) < self.bytes {
            return Err(FileError::Changed);
        }
        let _ = self.mapped.set((mapping, bytes)); // Another thread may have been faster.
        Ok(())
    }

    pub(crate) fn is_mapped(&self) -> bool {
        self.mapped.get().is_some()
    }

    /// Whether some of the mapped file was gone when it was read.
    pub(crate) fn is_lost(&self) -> bool {
        self.mapped.get().is_some_and(|(mapping, _)| mapping.is_lost())
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
        self.file.read_exact_at(bytes, offset).map_err(gone)?;
        self.check_unchanged()
    }
}

/// Why a range that lay within the file when it was opened could not be read.
fn gone(error: std::io::Error) -> FileError {
    match error.kind() {
        // Whoever cut the file has changed it.
        ErrorKind::UnexpectedEof => FileError::Changed,
        _ if error.raw_os_error() == Some(EFAULT) => FileError::Changed,
        _ => error.into(),
    }
}

/// What `madvise` says of pages that lie beyond the end of the file (errno of Linux).
const EFAULT: i32 = 14;

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
        assert_eq!(access.bytes_of(5, 5).unwrap().as_slice(), b"56789");
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
    fn what_is_in_memory_is_read_at_once_and_the_rest_left_alone() {
        let content: Vec<u8> = (0..1 << 20).map(|byte: u32| (byte % 251) as u8).collect();
        let (file, access) = open(&content);
        let mut bytes = vec![0; 900_000];
        assert!(access.fill_resident(&mut bytes, 5).unwrap());
        assert_eq!(bytes, &content[5..900_005]);
        assert!(access.fill_resident(&mut bytes, 200_000).is_err(), "past the end");
        // As far as the system follows the advice.
        file.as_file().sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        bytes.fill(0);
        if access.fill_resident(&mut bytes, 5).unwrap() {
            assert_eq!(bytes, &content[5..900_005]);
        }
        access.fill(&mut bytes, 5).unwrap();
        assert_eq!(bytes, &content[5..900_005]);
        assert!(access.fill_resident(&mut bytes, 5).unwrap(), "read a moment ago");
        file.as_file().set_len(1 << 10).unwrap();
        let gone = access.fill_resident(&mut bytes, 5);
        assert!(matches!(gone, Ok(false) | Err(FileError::Changed)), "{gone:?}");
        assert!(matches!(access.fill(&mut bytes, 5), Err(FileError::Changed)));
    }

    #[test]
    fn a_mapped_file_gives_the_same_bytes_and_errors() {
        let (file, access) = open(b"0123456789");
        access.map().unwrap();
        access.map().unwrap();
        assert_eq!(access.bytes_of(5, 5).unwrap().as_slice(), b"56789");
        assert_eq!(access.bytes_of(10, 0).unwrap().as_slice(), b"");
        let error = access.bytes_of(5, 6).unwrap_err();
        assert!(matches!(error, FileError::Damaged { .. }), "{error}");
        file.as_file().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(access.bytes_of(0, 2), Err(FileError::Changed)));
    }

    #[test]
    fn a_mapped_file_that_was_cut_is_an_error() {
        let (file, access) = open(&[7; 100_000]);
        access.map().unwrap();
        file.as_file().set_len(10).unwrap();
        assert!(matches!(access.bytes_of(50_000, 50_000), Err(FileError::Changed)));
    }

    #[test]
    fn a_folder_is_not_a_dataset() {
        let folder = tempfile::tempdir().unwrap();
        let error = FileAccess::new(File::open(folder.path()).unwrap()).unwrap_err();
        assert!(error.to_string().contains("regular file"), "{error}");
    }
}
