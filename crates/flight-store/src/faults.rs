//! The steps of an upload at which a test can make the disk fail.
//!
//! Outside this crate's unit tests every step passes, and the compiler removes the calls.

use std::io;

/// A call on the disk that durability depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    CreateStaging,
    SyncFile,
    CreateFolder,
    WriteEntry,
    SyncEntry,
    RenameEntry,
    SyncEntries,
    Rename,
    SyncFolder,
    Unlink,
}

#[cfg(not(test))]
#[derive(Default)]
pub(crate) struct Faults {}

#[cfg(not(test))]
impl Faults {
    #[expect(clippy::unused_self, reason = "the form that tests build has a field")]
    pub(crate) fn at(&self, _: Step) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[derive(Default)]
pub(crate) struct Faults {
    armed: std::sync::Mutex<Option<(Step, rustix::io::Errno)>>,
}

#[cfg(test)]
impl Faults {
    /// Makes every later call at `step` fail with `errno`; `None` heals the disk.
    pub(crate) fn arm(&self, fault: Option<(Step, rustix::io::Errno)>) {
        *self.armed.lock().unwrap() = fault;
    }

    pub(crate) fn at(&self, step: Step) -> io::Result<()> {
        match *self.armed.lock().unwrap() {
            Some((armed, errno)) if armed == step => Err(errno.into()),
            _ => Ok(()),
        }
    }
}
