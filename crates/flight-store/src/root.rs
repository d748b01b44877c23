//! The root folder: the only way to any file, always from one descriptor.
//!
//! Paths are resolved by `openat2` with `RESOLVE_BENEATH`, so that neither `..` nor a symbolic
//! link, nor one swapped in meanwhile, leaves the root. Links that stay beneath it are followed.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::faults::{Faults, Step};
use crate::limits::RACE_TRIES;

/// Folders that others may read, as far as the process' umask lets them.
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

pub(crate) struct Root {
    folder: OwnedFd,
    pub(crate) faults: Faults,
}

/// What tells one state of a file from another: a change of any of it means "read it again".
/// The change time is part of it since a writer cannot set it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    id: FileId,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Device and inode.
pub(crate) type FileId = (u64, u64);

/// What a path leads to.
pub(crate) enum Found {
    File(Stamp),
    Folder(FileId),
    Absent,
    /// Something that is never opened, and why.
    Refused(&'static str),
}

impl Root {
    /// Opens the folder at `path`, following links up to it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let folder = rustix::fs::openat(CWD, path, folder_flags(), Mode::empty())?;
        let root = Self { folder, faults: Faults::default() };
        match root.folder("") {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOSYS) => {
                let text = "this kernel has no openat2; Linux 5.6 or newer is needed";
                Err(io::Error::new(io::ErrorKind::Unsupported, text))
            }
            opened => opened.map(|_| root),
        }
    }

    /// What `path` leads to, without opening it for reading.
    pub(crate) fn look(&self, path: &str) -> io::Result<Found> {
        let opened = match self.resolve(path, OFlags::PATH | OFlags::CLOEXEC) {
            Ok(opened) => opened,
            Err(errno) => return absent_or_refused(errno),
        };
        let metadata = File::from(opened).metadata()?;
        if metadata.is_file() {
            Ok(Found::File(Stamp::of(&metadata)))
        } else if metadata.is_dir() {
            Ok(Found::Folder((metadata.dev(), metadata.ino())))
        } else {
            Ok(Found::Refused("is a FIFO, socket or device, not a file"))
        }
    }

    /// Opens the regular file at `path`; `None` where there is none.
    pub(crate) fn open_file(&self, path: &str) -> io::Result<Option<(File, Stamp)>> {
        let Found::File(_) = self.look(path)? else {
            return Ok(None);
        };
        // Non-blocking, for the case that a FIFO took the file's place since that look.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match self.resolve(path, flags) {
            Ok(opened) => File::from(opened),
            Err(errno) => return absent_or_refused(errno).map(|_| None),
        };
        let metadata = file.metadata()?;
        Ok(metadata.is_file().then(|| (file, Stamp::of(&metadata))))
    }

    /// Opens the folder at `path`; the empty path is the root.
    pub(crate) fn folder(&self, path: &str) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { "." } else { path };
        Ok(self.resolve(path, folder_flags())?)
    }

    /// Opens `path` and every folder above it, the root first, making those that are missing.
    pub(crate) fn create_folders(&self, path: &str) -> io::Result<Vec<OwnedFd>> {
        let mut chain = vec![self.folder("")?];
        for prefix in prefixes(path) {
            let folder = match self.folder(prefix) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.faults.at(Step::CreateFolder)?;
                    let parent = chain.last().expect("the chain starts with the root");
                    let name = prefix.rsplit('/').next().expect("a split has a first part");
                    match rustix::fs::mkdirat(parent, name, FOLDER_MODE) {
                        // Another upload made it at the same moment.
                        Ok(()) | Err(Errno::EXIST) => self.folder(prefix)?,
                        Err(errno) => return Err(errno.into()),
                    }
                }
                opened => opened?,
            };
            chain.push(folder);
        }
        Ok(chain)
    }

    /// Brings the entries of every folder of a chain to stable storage, innermost first. All of
    /// them, because a folder that another upload made may not have reached the disk yet.
    pub(crate) fn sync_folders(&self, chain: &[OwnedFd]) -> io::Result<()> {
        for folder in chain.iter().rev() {
            self.faults.at(Step::SyncFolder)?;
            rustix::fs::fsync(folder)?;
        }
        Ok(())
    }

    fn resolve(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut tries = 0;
        loop {
            tries += 1;
            match rustix::fs::openat2(&self.folder, path, flags, Mode::empty(), beneath) {
                // The kernel saw a rename on the way and cannot vouch for the result.
                Err(Errno::AGAIN | Errno::INTR) if tries < RACE_TRIES => {}
                result => return result,
            }
        }
    }
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            id: (metadata.dev(), metadata.ino()),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The folder of a path, empty for the root, and the last component.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The folders on the way to `path` and itself, outermost first.
pub(crate) fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    let whole = (!path.is_empty()).then_some(path.len());
    ends.chain(whole).map(|end| &path[..end])
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn absent_or_refused(errno: Errno) -> io::Result<Found> {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Ok(Found::Absent),
        Errno::XDEV => Ok(Found::Refused(
            "is an absolute link or one that leaves the data folder; only relative links within it \
             are followed",
        )),
        Errno::LOOP => Ok(Found::Refused("is a link that leads back to itself")),
        Errno::NXIO | Errno::NODEV => Ok(Found::Refused("is a FIFO, socket or device, not a file")),
        other => Err(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefixes_of_a_path_are_its_folders() {
        let check = |path, want: &[&str]| assert_eq!(prefixes(path).collect::<Vec<_>>(), want);
        check("", &[]);
        check("a", &["a"]);
        check("a/bc/d", &["a", "a/bc", "a/bc/d"]);
    }

    #[test]
    fn a_missing_chain_of_folders_is_made_once() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::open(temp.path()).unwrap();
        assert_eq!(root.create_folders("a/b/c").unwrap().len(), 4);
        assert_eq!(root.create_folders("a/b/c").unwrap().len(), 4);
        assert!(temp.path().join("a/b/c").is_dir());
        std::fs::write(temp.path().join("a/file"), "").unwrap();
        assert!(root.create_folders("a/file/x").is_err());
    }

    #[test]
    fn the_root_must_be_a_folder() {
        let temp = tempfile::NamedTempFile::new().unwrap();
        assert!(Root::open(temp.path()).is_err());
        assert!(Root::open(&temp.path().join("missing")).is_err());
    }
}
