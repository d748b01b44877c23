//! The file of sealed keys: replaced whole or not at all, for its owner alone, one writer at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::error::KeyError;
use crate::limits::SEALED_BYTES_MAX;
use crate::sealed::{self, SealError};
use crate::{KeyRing, RootKey, encoded};

const OWNER_ALONE: u32 = 0o600;

/// A path, and the root key that its contents are sealed under.
pub(crate) struct KeyFile {
    path: PathBuf,
    root: RootKey,
}

/// Held by whoever changes the file, among threads and processes, until it is dropped.
pub(crate) struct Lock(#[expect(dead_code, reason = "what is locked is closed with it")] File);

impl KeyFile {
    pub(crate) fn new(path: PathBuf, root: RootKey) -> Self {
        Self { path, root }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for whoever changes the file. The lock is a file beside it, which stays.
    pub(crate) fn lock(&self) -> Result<Lock, KeyError> {
        let path = self.beside(".lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(OWNER_ALONE);
        let locked = options.open(&path).and_then(|file| {
            rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))?;
            Ok(Lock(file))
        });
        locked.map_err(|cause| KeyError::Io { file: path, cause })
    }

    /// The number of the last change and the keys; `None` where there is no file.
    pub(crate) fn read(&self) -> Result<Option<(u64, KeyRing)>, KeyError> {
        let file = || self.path.clone();
        let mut bytes = Vec::new();
        let read = File::open(&self.path)
            .and_then(|opened| opened.take(SEALED_BYTES_MAX as u64 + 1).read_to_end(&mut bytes));
        match read {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(KeyError::Io { file: file(), cause }),
            Ok(count) if SEALED_BYTES_MAX < count => {
                return Err(KeyError::NotKeys { file: file() });
            }
            Ok(_) => {}
        }
        let (change, plain) = sealed::open(&self.root, &bytes).map_err(|error| match error {
            SealError::NotSealed => KeyError::NotKeys { file: file() },
            SealError::Torn { expected } => {
                KeyError::Torn { file: file(), bytes: bytes.len(), expected }
            }
            SealError::OtherRoot => KeyError::OtherRoot { file: file() },
            SealError::Altered => KeyError::Altered { file: file() },
        })?;
        let ring = encoded::decode(&plain).ok_or_else(|| KeyError::Altered { file: file() })?;
        Ok(Some((change, ring)))
    }

    /// Replaces the file; it is on stable storage when this returns.
    pub(crate) fn write(&self, _lock: &Lock, change: u64, ring: &KeyRing) -> Result<(), KeyError> {
        let sealed = sealed::seal(&self.root, change, &encoded::encode(ring));
        let sealed = sealed.ok_or(KeyError::Crypto { what: "seal the keys" })?;
        if SEALED_BYTES_MAX < sealed.len() {
            return Err(KeyError::TooLarge { bytes: sealed.len(), max: SEALED_BYTES_MAX });
        }
        let staged = self.beside(".new");
        let written = match std::fs::remove_file(&staged) {
            // What a crash left behind; the lock is ours, so nobody is writing it.
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            _ => create_secret(&staged, &sealed),
        };
        written
            .and_then(|()| std::fs::rename(&staged, &self.path))
            .and_then(|()| File::open(folder(&self.path))?.sync_all())
            .map_err(|cause| KeyError::Io { file: self.path.clone(), cause })
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        name.into()
    }
}

/// Writes a file that must not exist, for its owner alone, to stable storage.
pub(crate) fn create_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().create_new(true).write(true).mode(OWNER_ALONE).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
