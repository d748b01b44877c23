//! Brings the catalogue up to date with the folder.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::PoisonError;

use crate::entries::Entries;
use crate::error::StoreError;
use crate::extension;
use crate::name::{DatasetName, shown};
use crate::root::Found;
use crate::store::{Shared, Writing};
use crate::walk::walk;

/// What a scan found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Readable datasets now.
    pub datasets: usize,
    /// Readable ones that were not known before.
    pub added: usize,
    /// Readable ones that were known in another state.
    pub changed: usize,
    /// Files that were known and are gone.
    pub removed: usize,
    /// Files and folders that cannot be served, each told once for each state it is in.
    pub problems: Vec<Problem>,
}

/// Something in the folder that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path below the root.
    pub name: String,
    /// A sentence that names it and says why.
    pub sentence: String,
}

/// What earlier scans told of things that are no dataset files.
#[derive(Default)]
pub(crate) struct Told {
    unusable: BTreeMap<String, String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

pub(crate) fn scan(shared: &Shared) -> ScanReport {
    // Held to the end, so that there is one scan at a time.
    let mut told = shared.told.lock().unwrap_or_else(PoisonError::into_inner);
    let mut report = ScanReport::default();
    let walk = walk(&shared.root);
    let mut fresh = Vec::new();
    for (path, stamp) in &walk.files {
        if shared.catalogue.is_current(path.as_str(), *stamp) {
            continue;
        }
        let known = shared.catalogue.is_known(path.as_str());
        // A file that cannot be read is in the catalogue's report, below.
        if shared.load(path, path).is_ok() {
            *(if known { &mut report.changed } else { &mut report.added }) += 1;
        }
        fresh.push(path);
    }
    let seen: HashSet<&str> = walk.files.iter().map(|(path, _)| path.as_str()).collect();
    report.removed = forget_removed(shared, &seen);
    if let Some(writing) = &shared.writing
        && let Err(error) = clean_entries(shared, writing, &fresh)
    {
        tracing::warn!(%error, "old entries stay");
    }
    report.datasets = shared.catalogue.count();
    let broken = shared.catalogue.report().into_iter();
    report.problems =
        broken.map(|(name, sentence)| Problem { name: shown(&name), sentence }).collect();
    for (name, reason) in &walk.unusable {
        if told.unusable.get(name) != Some(reason) {
            let sentence = format!("\"{name}\" {reason}");
            report.problems.push(Problem { name: name.clone(), sentence });
        }
    }
    told.unusable = walk.unusable;
    report
}

/// Forgets the known files that the walk did not see, if they really are gone: a folder may just
/// have been unreadable for a moment.
fn forget_removed(shared: &Shared, seen: &HashSet<&str>) -> usize {
    let mut removed = 0;
    for path in shared.catalogue.paths() {
        if seen.contains(path.as_str()) {
            continue;
        }
        let epoch = shared.catalogue.epoch();
        let gone = matches!(
            shared.root.look(&path),
            Ok(Found::Absent | Found::Refused(_) | Found::Folder(_))
        );
        if gone && shared.catalogue.forget_since(epoch, &path) {
            removed += 1;
        }
    }
    removed
}

/// Removes entries whose dataset is gone, or is a file that no upload made.
fn clean_entries(
    shared: &Shared,
    writing: &Writing,
    fresh: &[&DatasetName],
) -> Result<(), StoreError> {
    let reading = StoreError::folder("reading its entries");
    let known: HashSet<String> =
        shared.catalogue.paths().iter().map(|path| Entries::key(path)).collect();
    for key in writing.entries.keys().map_err(reading)? {
        if known.contains(&key) {
            continue;
        }
        let path = writing.entries.path_of(&key);
        let Some(path) = path.as_deref().and_then(|path| DatasetName::parse(path).ok()) else {
            writing.entries.remove(&key);
            continue;
        };
        remove_entry_if(writing, &path, || {
            matches!(shared.root.look(path.as_str()), Ok(Found::Absent))
        })?;
    }
    for path in fresh {
        let foreign = || {
            let Some(version) = shared.catalogue.version(path.as_str()) else { return false };
            let entry = writing.entries.read(path.as_str());
            entry.is_some_and(|entry| entry.effective_at(version).is_none())
        };
        if foreign() {
            remove_entry_if(writing, path, || shared.load(path, path).is_ok() && foreign())?;
        }
    }
    Ok(())
}

/// Removes the entry of a path if `stale` still holds when its name is locked: an upload writes
/// the entry first and renames afterwards. While one is at it, the entry waits for the next scan.
fn remove_entry_if(
    writing: &Writing,
    path: &DatasetName,
    stale: impl FnOnce() -> bool,
) -> Result<(), StoreError> {
    let bare = extension::split(path.as_str()).map_or(path.as_str(), |(bare, _)| bare);
    let locked =
        writing.locks.try_lock(bare).map_err(StoreError::folder("locking a name in it"))?;
    if locked.is_some() && stale() {
        writing.entries.remove(&Entries::key(path.as_str()));
    }
    Ok(())
}
