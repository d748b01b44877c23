//! What is known of the files in the root, and which of them are open.
//!
//! Only memory: nothing here touches the disk, so that its lock is held for moments. Whoever loads
//! a file (`store`) notes the epoch first and hands it back with the result; a publish or delete in
//! between makes the result stale, and it is dropped.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::SchemaRef;
use bytes::Bytes;
use flight_files::{DatasetFile, Format, Version};

use crate::extension;
use crate::limits::OPEN_FILES_MAX;
use crate::name::DatasetName;
use crate::root::Stamp;

/// What a dataset is, without its data.
#[derive(Clone, Debug)]
pub struct DatasetInfo {
    /// The name it was asked for by, or is listed under.
    pub name: DatasetName,
    /// The name with the extension: it means this file whatever other files appear.
    pub path: DatasetName,
    pub format: Format,
    /// Exactly what a full scan yields.
    pub schema: SchemaRef,
    /// The same as an encapsulated IPC message; empty if the format cannot carry it.
    pub schema_message: Bytes,
    /// Row count, or `None` where only reading everything could tell.
    pub rows: Option<u64>,
    /// Size of the files.
    pub bytes: u64,
    pub version: Version,
}

/// A dataset, open for reading. It stays readable, at its version, when the file is replaced or
/// deleted.
#[derive(Clone)]
pub struct Dataset {
    pub info: DatasetInfo,
    /// The files of which the dataset consists, in row order. One, for now.
    pub parts: Vec<Part>,
}

/// One file of a dataset.
#[derive(Clone)]
pub struct Part {
    pub file: Arc<DatasetFile>,
    pub rows: Option<u64>,
    pub bytes: u64,
}

impl Dataset {
    pub(crate) fn new(name: DatasetName, path: DatasetName, file: Arc<DatasetFile>) -> Self {
        let facts = Facts::of(&file);
        let format = extension::split(path.as_str())
            .and_then(|(_, extension)| extension::format_of(extension))
            .expect("only paths with an extension of the table are opened");
        let part = Part { rows: facts.rows, bytes: facts.bytes, file };
        Self { info: facts.info(name, path, format), parts: vec![part] }
    }
}

#[derive(Default)]
pub(crate) struct Catalogue {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Grows with every change that a load in progress does not know of.
    epoch: u64,
    /// By path below the root, extension included.
    known: BTreeMap<String, Known>,
    open: HashMap<String, Open>,
    /// Grows with every use of an open file.
    uses: u64,
}

struct Known {
    stamp: Stamp,
    state: FileState,
    /// Whether a scan has told of it.
    reported: bool,
}

#[derive(Clone)]
pub(crate) enum FileState {
    Readable(Facts),
    /// Cannot be served, and why. After a passing fault the next scan tries again.
    Broken {
        sentence: String,
        passing: bool,
    },
}

#[derive(Clone)]
pub(crate) struct Facts {
    schema: SchemaRef,
    schema_message: Bytes,
    rows: Option<u64>,
    bytes: u64,
    pub(crate) version: Version,
}

struct Open {
    stamp: Stamp,
    file: Arc<DatasetFile>,
    last_use: u64,
}

impl Facts {
    pub(crate) fn of(file: &DatasetFile) -> Self {
        Self {
            schema: Arc::clone(file.schema()),
            schema_message: file.schema_message().clone(),
            rows: file.rows(),
            bytes: file.bytes(),
            version: file.version(),
        }
    }

    fn info(&self, name: DatasetName, path: DatasetName, format: Format) -> DatasetInfo {
        DatasetInfo {
            name,
            path,
            format,
            schema: Arc::clone(&self.schema),
            schema_message: self.schema_message.clone(),
            rows: self.rows,
            bytes: self.bytes,
            version: self.version,
        }
    }
}

impl Catalogue {
    pub(crate) fn epoch(&self) -> u64 {
        self.state().epoch
    }

    /// The open file at `path`, if it still is the one with this stamp.
    pub(crate) fn opened(&self, path: &str, stamp: Stamp) -> Option<Arc<DatasetFile>> {
        let mut state = self.state();
        state.uses += 1;
        let uses = state.uses;
        let usable = |open: &&mut Open| open.stamp == stamp && !open.file.is_lost();
        let open = state.open.get_mut(path).filter(usable)?;
        open.last_use = uses;
        Some(Arc::clone(&open.file))
    }

    /// Whether the file at `path` is known in this state and need not be loaded by a scan.
    pub(crate) fn is_current(&self, path: &str, stamp: Stamp) -> bool {
        let passing =
            |known: &Known| matches!(known.state, FileState::Broken { passing: true, .. });
        self.state().known.get(path).is_some_and(|known| known.stamp == stamp && !passing(known))
    }

    pub(crate) fn is_known(&self, path: &str) -> bool {
        self.state().known.contains_key(path)
    }

    pub(crate) fn version(&self, path: &str) -> Option<Version> {
        match &self.state().known.get(path)?.state {
            FileState::Readable(facts) => Some(facts.version),
            FileState::Broken { .. } => None,
        }
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.state().known.keys().cloned().collect()
    }

    /// Notes what a load that began at `epoch` found. False if the result is stale.
    pub(crate) fn note(&self, epoch: u64, path: &str, stamp: Stamp, found: FileState) -> bool {
        let mut state = self.state();
        if state.epoch != epoch {
            return false;
        }
        if state.open.get(path).is_some_and(|open| open.stamp != stamp) {
            // Its descriptor would keep the space of a replaced file from being freed.
            state.open.remove(path);
        }
        let passing = matches!(found, FileState::Broken { passing: true, .. });
        let readable = |known: &Known| matches!(known.state, FileState::Readable(_));
        if passing && state.known.get(path).is_some_and(|k| k.stamp == stamp && readable(k)) {
            // Too many open files, for example, say nothing about this one.
            return true;
        }
        let told =
            |known: &Known| known.reported && known.stamp == stamp && known.state.same(&found);
        let reported = state.known.get(path).is_some_and(told);
        state.known.insert(path.to_owned(), Known { stamp, state: found, reported });
        true
    }

    /// Keeps a file open for later lookups; the least recently used one goes when there are many.
    pub(crate) fn keep_open(&self, path: &str, stamp: Stamp, file: Arc<DatasetFile>) {
        let mut state = self.state();
        state.uses += 1;
        let last_use = state.uses;
        state.open.insert(path.to_owned(), Open { stamp, file, last_use });
        if state.open.len() > OPEN_FILES_MAX {
            let oldest = state.open.iter().min_by_key(|(_, open)| open.last_use);
            let oldest = oldest.map(|(path, _)| path.clone()).expect("more than none are open");
            state.open.remove(&oldest);
        }
    }

    /// Takes in a file that was just put in place.
    pub(crate) fn publish(&self, path: &str, stamp: Stamp, file: Arc<DatasetFile>) {
        let facts = FileState::Readable(Facts::of(&file));
        {
            let mut state = self.state();
            state.epoch += 1;
            let known = Known { stamp, state: facts, reported: true };
            state.known.insert(path.to_owned(), known);
        }
        self.keep_open(path, stamp, file);
    }

    /// Forgets a file that is gone, whatever is being loaded.
    pub(crate) fn forget(&self, path: &str) {
        let mut state = self.state();
        state.epoch += 1;
        state.known.remove(path);
        state.open.remove(path);
    }

    /// Forgets a file that was seen to be gone since `epoch`. False if that may be stale.
    pub(crate) fn forget_since(&self, epoch: u64, path: &str) -> bool {
        let mut state = self.state();
        if state.epoch != epoch {
            return false;
        }
        state.open.remove(path);
        state.known.remove(path).is_some()
    }

    /// The sentences about broken files that no scan has told yet.
    pub(crate) fn report(&self) -> Vec<(String, String)> {
        let mut told = Vec::new();
        for (path, known) in &mut self.state().known {
            if let FileState::Broken { sentence, .. } = &known.state
                && !known.reported
            {
                told.push((path.clone(), sentence.clone()));
            }
            known.reported = true;
        }
        told
    }

    /// The readable datasets, by name.
    pub(crate) fn list(&self, prefix: &str) -> Vec<DatasetInfo> {
        let state = self.state();
        let mut sharing: HashMap<&str, usize> = HashMap::new();
        for path in state.known.keys() {
            if let Some((bare, _)) = extension::split(path) {
                *sharing.entry(bare).or_default() += 1;
            }
        }
        let mut listed = Vec::new();
        for (path, known) in &state.known {
            let FileState::Readable(facts) = &known.state else { continue };
            let Some((bare, extension)) = extension::split(path) else { continue };
            // The bare name is used where it leads back to this file and no other.
            let unique = sharing.get(bare) == Some(&1) && !state.known.contains_key(bare);
            let bare = if unique { DatasetName::parse(bare).ok() } else { None };
            let (Ok(path), Some(format)) =
                (DatasetName::parse(path), extension::format_of(extension))
            else {
                continue;
            };
            let name = bare.unwrap_or_else(|| path.clone());
            if name.as_str().starts_with(prefix) {
                listed.push(facts.info(name, path, format));
            }
        }
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        listed
    }

    /// Readable datasets.
    pub(crate) fn count(&self) -> usize {
        let readable = |known: &&Known| matches!(known.state, FileState::Readable(_));
        self.state().known.values().filter(readable).count()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a whole one, so a panic of another thread leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileState {
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Readable(_), Self::Readable(_)) => true,
            (Self::Broken { sentence: a, .. }, Self::Broken { sentence: b, .. }) => a == b,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> FileState {
        FileState::Broken { sentence: "broken".to_owned(), passing: false }
    }

    fn stamp() -> Stamp {
        Stamp::of(&tempfile::tempfile().unwrap().metadata().unwrap())
    }

    /// A scan loads `a`; meanwhile something happens. Is what the scan found taken in?
    fn check(meanwhile: impl FnOnce(&Catalogue), want: bool) {
        let catalogue = Catalogue::default();
        let epoch = catalogue.epoch();
        meanwhile(&catalogue);
        assert_eq!(catalogue.note(epoch, "a", stamp(), broken()), want);
        assert_eq!(catalogue.is_known("a"), want);
        assert_eq!(catalogue.report().len(), usize::from(want));
        assert!(catalogue.report().is_empty(), "told once");
    }

    #[test]
    fn what_a_scan_found_before_a_delete_is_dropped() {
        check(|_| {}, true);
        check(|catalogue| catalogue.forget("a"), false);
        check(|catalogue| catalogue.forget("b"), false);
        let noted = |catalogue: &Catalogue| {
            catalogue.note(catalogue.epoch(), "b", stamp(), broken());
            catalogue.report();
        };
        check(noted, true);
    }

    #[test]
    fn a_file_seen_to_be_gone_before_a_publish_is_kept() {
        let catalogue = Catalogue::default();
        let epoch = catalogue.epoch();
        catalogue.note(epoch, "a", stamp(), broken());
        catalogue.forget("b");
        assert!(!catalogue.forget_since(epoch, "a") && catalogue.is_known("a"));
        assert!(catalogue.forget_since(catalogue.epoch(), "a") && !catalogue.is_known("a"));
    }
}
