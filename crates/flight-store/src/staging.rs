//! Files that are being written, out of sight of the catalogue.
//!
//! Each is locked (`flock`) by its writer for as long as it lives there, so that a starting
//! process can tell what a dead one left behind from what a live one still writes.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::limits::RACE_TRIES;

/// The mode that a dataset ends with, less the process' umask. It has it from the start: the
/// folder above is closed to everyone else.
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);

pub(crate) struct Staging {
    folder: Arc<OwnedFd>,
}

/// A file in the staging folder. Dropping it removes it, unless it was renamed out.
pub(crate) struct Staged {
    folder: Arc<OwnedFd>,
    name: String,
    file: File,
    renamed: bool,
}

impl Staging {
    pub(crate) fn new(folder: OwnedFd) -> Self {
        Self { folder: Arc::new(folder) }
    }

    /// Makes a file with a name of its own and locks it.
    pub(crate) fn create(&self) -> io::Result<Staged> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for _ in 0..RACE_TRIES {
            let name = random_name();
            let file = match rustix::fs::openat(&self.folder, &name, flags, FILE_MODE) {
                Ok(file) => File::from(file),
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            };
            rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))?;
            // A process that starts right now may have locked and removed it in between.
            if file.metadata()?.nlink() == 0 {
                continue;
            }
            return Ok(Staged { folder: Arc::clone(&self.folder), name, file, renamed: false });
        }
        Err(io::Error::other("no staging file could be made; other processes keep removing it"))
    }

    /// Removes the files whose writer is gone; returns how many there were.
    pub(crate) fn remove_abandoned(&self) -> io::Result<usize> {
        let mut removed = 0;
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            if entry.file_type() == FileType::Directory {
                continue;
            }
            let name = entry.file_name();
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            // What cannot be opened was put there by hand, or is just being removed.
            let Ok(file) = rustix::fs::openat(&self.folder, name, flags, Mode::empty()) else {
                continue;
            };
            let free = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if free && rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl Staged {
    /// The file for writing. The lock is shared with what is returned.
    pub(crate) fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// A descriptor of its own, for reading only.
    pub(crate) fn reader(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?.into())
    }

    /// Moves the file into `folder`, over whatever has that name.
    pub(crate) fn replace(mut self, folder: impl AsFd, name: &str) -> io::Result<()> {
        self.rename(folder, name, RenameFlags::empty())
    }

    /// Moves the file into `folder`, where nothing may have that name.
    pub(crate) fn place(mut self, folder: impl AsFd, name: &str) -> io::Result<()> {
        self.rename(folder, name, RenameFlags::NOREPLACE)
    }

    fn rename(&mut self, folder: impl AsFd, name: &str, flags: RenameFlags) -> io::Result<()> {
        rustix::fs::renameat_with(&self.folder, &self.name, folder, name, flags)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.renamed {
            return;
        }
        if let Err(error) = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty()) {
            tracing::warn!(%error, "a staging file stays until the next start");
        }
    }
}

/// A name that two writers hardly share; `create` makes sure that they do not. The standard
/// library's hasher is keyed by the system's randomness.
fn random_name() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn staging(path: &Path) -> Staging {
        Staging::new(File::open(path).unwrap().into())
    }

    fn check(path: &Path, files: usize) {
        assert_eq!(std::fs::read_dir(path).unwrap().count(), files);
    }

    #[test]
    fn a_dropped_file_is_removed() {
        let temp = tempfile::tempdir().unwrap();
        let first = staging(temp.path()).create().unwrap();
        let second = staging(temp.path()).create().unwrap();
        check(temp.path(), 2);
        drop(first);
        check(temp.path(), 1);
        drop(second);
        check(temp.path(), 0);
    }

    #[test]
    fn only_files_without_a_living_writer_are_abandoned() {
        let temp = tempfile::tempdir().unwrap();
        let living = staging(temp.path()).create().unwrap();
        std::fs::write(temp.path().join("left behind"), "half a file").unwrap();
        std::fs::create_dir(temp.path().join("not ours")).unwrap();
        assert_eq!(staging(temp.path()).remove_abandoned().unwrap(), 1);
        check(temp.path(), 2);
        drop(living);
        check(temp.path(), 1);
    }

    #[test]
    fn a_file_is_placed_only_where_nothing_is() {
        let temp = tempfile::tempdir().unwrap();
        let target = tempfile::tempdir().unwrap();
        let folder = File::open(target.path()).unwrap();
        let create = || staging(temp.path()).create().unwrap();
        create().place(&folder, "x").unwrap();
        assert_eq!(create().place(&folder, "x").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        create().replace(&folder, "x").unwrap();
        check(temp.path(), 0);
        check(target.path(), 1);
    }
}
