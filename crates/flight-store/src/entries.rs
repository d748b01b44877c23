//! What the store remembers of the datasets that it wrote: which uploads they came from.
//!
//! One JSON file for each dataset file in `.flight/entries`, written before the dataset is renamed
//! into place. An entry is only a memory: the catalogue works without any. It counts as far as
//! the dataset file still is one of the uploads that it lists; what a crash left above that one
//! never became visible, and a file that was changed by hand matches none.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use flight_files::Version;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::faults::{Faults, Step};
use crate::limits::{ENTRY_BYTES_MAX, UPLOADS_REMEMBERED};
use crate::staging::Staging;
use crate::upload::Stored;

pub(crate) struct Entries {
    folder: OwnedFd,
}

/// The uploads that one dataset file came from, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Path below the root, with the extension: two paths may share a hash.
    path: String,
    uploads: Vec<Record>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    upload_id: Option<String>,
    version: String,
    rows: u64,
    bytes: u64,
}

impl Entry {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.to_owned(), uploads: Vec::new() }
    }

    /// The entry as it counts while the dataset file has this version; `None` if it does not.
    pub(crate) fn effective_at(mut self, current: Version) -> Option<Self> {
        let current = current.to_string();
        let at = self.uploads.iter().position(|record| record.version == current)?;
        self.uploads.drain(..at);
        Some(self)
    }

    /// What became of the upload with this id.
    pub(crate) fn stored(&self, upload_id: &str) -> Option<Stored> {
        let wanted = |record: &&Record| record.upload_id.as_deref() == Some(upload_id);
        let record = self.uploads.iter().find(wanted)?;
        let version = record.version.parse().ok()?;
        Some(Stored { rows: record.rows, bytes: record.bytes, version })
    }

    /// Adds an upload and forgets the oldest beyond the bound.
    pub(crate) fn push(&mut self, upload_id: Option<&str>, stored: &Stored) {
        let record = Record {
            upload_id: upload_id.map(str::to_owned),
            version: stored.version.to_string(),
            rows: stored.rows,
            bytes: stored.bytes,
        };
        self.uploads.insert(0, record);
        self.uploads.truncate(UPLOADS_REMEMBERED);
    }
}

impl Entries {
    pub(crate) fn new(folder: OwnedFd) -> Self {
        Self { folder }
    }

    /// The name of the file that remembers the dataset file at `path`.
    pub(crate) fn key(path: &str) -> String {
        format!("{:032x}.json", xxh3_128(path.as_bytes()))
    }

    /// The entry of a dataset file; one that cannot be read counts as none.
    pub(crate) fn read(&self, path: &str) -> Option<Entry> {
        match self.try_read(path) {
            Ok(entry) => entry.filter(|entry| entry.path == path),
            Err(error) => {
                tracing::warn!(dataset = path, %error, "the record of its uploads is ignored");
                None
            }
        }
    }

    /// Writes an entry so that it survives a power loss.
    pub(crate) fn write(
        &self,
        staging: &Staging,
        faults: &Faults,
        entry: &Entry,
    ) -> io::Result<()> {
        let text = serde_json::to_vec(entry)?;
        let staged = staging.create()?;
        faults.at(Step::WriteEntry)?;
        let mut file = staged.writer()?;
        file.write_all(&text)?;
        faults.at(Step::SyncEntry)?;
        file.sync_all()?;
        faults.at(Step::RenameEntry)?;
        staged.replace(&self.folder, &Self::key(&entry.path))?;
        faults.at(Step::SyncEntries)?;
        Ok(rustix::fs::fsync(&self.folder)?)
    }

    /// Forgets the entry of a dataset file. Not synced: an entry without its file counts as none.
    pub(crate) fn remove(&self, key: &str) {
        match rustix::fs::unlinkat(&self.folder, key, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => tracing::warn!(%error, "an entry could not be removed"),
        }
    }

    /// The names of all entry files.
    pub(crate) fn keys(&self) -> io::Result<Vec<String>> {
        let mut keys = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            if let Ok(name) = entry?.file_name().to_str()
                && name.ends_with(".json")
            {
                keys.push(name.to_owned());
            }
        }
        Ok(keys)
    }

    /// The path that the entry file with this name is about, if it can be read.
    pub(crate) fn path_of(&self, key: &str) -> Option<String> {
        let entry = self.read_key(key).ok().flatten()?;
        (Self::key(&entry.path) == key).then_some(entry.path)
    }

    fn try_read(&self, path: &str) -> io::Result<Option<Entry>> {
        self.read_key(&Self::key(path))
    }

    fn read_key(&self, key: &str) -> io::Result<Option<Entry>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, key, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let mut text = Vec::new();
        file.take(ENTRY_BYTES_MAX + 1).read_to_end(&mut text)?;
        if text.len() as u64 > ENTRY_BYTES_MAX {
            return Err(io::Error::other(format!("it is longer than {ENTRY_BYTES_MAX} bytes")));
        }
        Ok(Some(serde_json::from_slice(&text)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(rows: u64) -> Stored {
        Stored { rows, bytes: rows * 8, version: format!("{rows:032x}").parse().unwrap() }
    }

    fn entry(uploads: &[(&str, u64)]) -> Entry {
        let mut entry = Entry::new("a.feather");
        for (id, rows) in uploads {
            entry.push(Some(id), &stored(*rows));
        }
        entry
    }

    /// With the file at the version of `current` rows, is `id` answered?
    fn check(entry: &Entry, current: u64, id: &str, want: Option<u64>) {
        let effective = entry.clone().effective_at(stored(current).version);
        let found = effective.and_then(|entry| entry.stored(id));
        assert_eq!(found.map(|stored| stored.rows), want, "{id} as of {current}");
    }

    #[test]
    fn uploads_up_to_the_current_one_are_answered() {
        let entry = entry(&[("first", 1), ("second", 2), ("third", 3)]);
        check(&entry, 3, "third", Some(3));
        check(&entry, 3, "first", Some(1));
        check(&entry, 3, "fourth", None);
        check(&entry, 2, "third", None);
        check(&entry, 2, "second", Some(2));
        check(&entry, 9, "third", None);
    }

    #[test]
    fn the_last_sixteen_are_remembered() {
        let ids: Vec<_> = (1..=17).map(|n| (format!("id {n}"), n)).collect();
        let ids: Vec<_> = ids.iter().map(|(id, n)| (id.as_str(), *n)).collect();
        let entry = entry(&ids);
        check(&entry, 17, "id 2", Some(2));
        check(&entry, 17, "id 1", None);
    }

    #[test]
    fn an_entry_that_is_not_one_counts_as_none() {
        let temp = tempfile::tempdir().unwrap();
        let entries = Entries::new(File::open(temp.path()).unwrap().into());
        let write = |text: &[u8]| {
            std::fs::write(temp.path().join(Entries::key("a.feather")), text).unwrap();
        };
        assert_eq!(entries.read("a.feather"), None);
        let good = serde_json::to_vec(&entry(&[("x", 1)])).unwrap();
        write(&good);
        assert_eq!(entries.read("a.feather"), Some(entry(&[("x", 1)])));
        for bad in [&b""[..], b"{}", b"[]", b"\xff", &good[..good.len() - 1]] {
            write(bad);
            assert_eq!(entries.read("a.feather"), None, "{bad:?}");
        }
        write(&[b' '; 70_000]);
        assert_eq!(entries.read("a.feather"), None);
        // Another path with the same hash.
        write(&serde_json::to_vec(&Entry::new("b.feather")).unwrap());
        assert_eq!(entries.read("a.feather"), None);
        assert_eq!(entries.path_of(&Entries::key("a.feather")), None);
    }
}
