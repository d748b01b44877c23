//! The ring that a process uses, and the file, if any, that it shares with others.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::error::KeyError;
use crate::file::KeyFile;
use crate::{Algorithm, Key, KeyRing, RootKey, Schedule};

/// A ring that is read by many and changed by one at a time. Blocks on the disk where it has a file,
/// except for [`ring`](Self::ring).
pub struct KeyStore {
    file: Option<KeyFile>,
    ring: RwLock<Arc<KeyRing>>,
    /// The number of the last change that was seen; held by whoever makes the next.
    change: Mutex<u64>,
}

impl KeyStore {
    /// Keys that end with this process.
    pub fn in_memory() -> Self {
        Self { file: None, ring: RwLock::default(), change: Mutex::default() }
    }

    /// Keys of a file, sealed under `root`; without the file there are none yet.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, was made with another root key, or is damaged.
    pub fn open(path: PathBuf, root: RootKey) -> Result<Self, KeyError> {
        let file = KeyFile::new(path, root);
        let (change, ring) = file.read()?.unwrap_or_default();
        let (ring, change) = (RwLock::new(Arc::new(ring)), Mutex::new(change));
        Ok(Self { file: Some(file), ring, change })
    }

    /// The keys as they were last seen.
    pub fn ring(&self) -> Arc<KeyRing> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at the file and takes what others changed. Whether there was something.
    ///
    /// # Errors
    ///
    /// When it cannot be read or is older than what was read before; the keys stay as they were.
    pub fn refresh(&self) -> Result<bool, KeyError> {
        let Some(file) = &self.file else { return Ok(false) };
        let mut known = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((change, ring)) = file.read()? else { return Ok(false) };
        let newer = refuse_older(file, change, *known)?;
        if newer {
            *known = change;
            self.swap(ring);
        }
        Ok(newer)
    }

    /// Changes the keys, here and in the file.
    ///
    /// # Errors
    ///
    /// What `make` fails with, and what the file cannot take; nothing is changed then.
    pub fn update<T>(
        &self,
        make: impl FnOnce(&mut KeyRing) -> Result<T, KeyError>,
    ) -> Result<T, KeyError> {
        let mut known = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ring = KeyRing::clone(&self.ring());
        let Some(file) = &self.file else {
            let made = make(&mut ring)?;
            self.swap(ring);
            return Ok(made);
        };
        let lock = file.lock()?;
        let mut change = *known;
        if let Some((found, present)) = file.read()? {
            refuse_older(file, found, change)?;
            (change, ring) = (found, present);
        }
        let made = make(&mut ring)?;
        change += 1;
        file.write(&lock, change, &ring)?;
        *known = change;
        self.swap(ring);
        Ok(made)
    }

    /// Makes the key that is due, if one is. Whether it was.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    pub fn rotate_if_due(
        &self,
        schedule: &Schedule,
        algorithm: Algorithm,
        now_ms: u64,
    ) -> Result<bool, KeyError> {
        if self.ring().due(schedule, algorithm, now_ms).is_none() {
            return Ok(false);
        }
        self.update(|ring| {
            // Another process may have made it meanwhile.
            let Some(lifetime) = ring.due(schedule, algorithm, now_ms) else { return Ok(false) };
            ring.add(Key::generate(algorithm, lifetime)?, now_ms)?;
            Ok(true)
        })
    }

    fn swap(&self, ring: KeyRing) {
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ring);
    }
}

/// Whether `found` is newer than what is known.
fn refuse_older(file: &KeyFile, found: u64, known: u64) -> Result<bool, KeyError> {
    if found < known {
        return Err(KeyError::RolledBack { file: file.path().to_owned(), found, known });
    }
    Ok(known < found)
}
