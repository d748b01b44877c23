//! Locks that serialise changes of one dataset among threads and processes.
//!
//! A lock is `flock` on one of a fixed number of files, chosen by the dataset's name, so that
//! nothing has to be cleaned up after a crash and the folder does not grow with the datasets.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use xxhash_rust::xxh3::xxh3_64;

use crate::limits::LOCK_FILES;

pub(crate) struct Locks {
    folder: OwnedFd,
}

/// Held until it is dropped.
pub(crate) struct Lock {
    _file: File,
}

impl Locks {
    pub(crate) fn new(folder: OwnedFd) -> Self {
        Self { folder }
    }

    /// Waits for the lock of the datasets that share `bare`, a path without its extension.
    pub(crate) fn lock(&self, bare: &str) -> io::Result<Lock> {
        let file = self.file(bare)?;
        rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))?;
        Ok(Lock { _file: file })
    }

    /// Takes the lock if nobody holds it.
    pub(crate) fn try_lock(&self, bare: &str) -> io::Result<Option<Lock>> {
        let file = self.file(bare)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    fn file(&self, bare: &str) -> io::Result<File> {
        let name = format!("{:02x}", xxh3_64(bare.as_bytes()) % LOCK_FILES);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(File::from(rustix::fs::openat(&self.folder, name, flags, mode)?))
    }
}
