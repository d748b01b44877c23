//! Finds the dataset files below the root.

use std::collections::BTreeMap;

use rustix::fs::{Dir, DirEntry, FileType};

use crate::extension;
use crate::limits::{COMPONENTS_MAX, FILES_MAX, PROBLEMS_MAX, WALK_ENTRIES_MAX};
use crate::name::{DatasetName, RESERVED, shown};
use crate::root::{FileId, Found, Root, Stamp};

/// What a walk through all folders saw.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) files: Vec<(DatasetName, Stamp)>,
    /// What looks like a dataset or folder but cannot be one, and why.
    pub(crate) unusable: BTreeMap<String, String>,
    entries: usize,
}

/// Walks through all folders below the root, except `.flight`.
pub(crate) fn walk(root: &Root) -> Walk {
    let mut walk = Walk::default();
    // Its own name is skipped as such; a link may lead there as well.
    let reserved = match root.look(RESERVED) {
        Ok(Found::Folder(id)) => Some(id),
        _ => None,
    };
    let mut ancestors = Vec::from_iter(reserved);
    match root.look(".") {
        Ok(Found::Folder(id)) => ancestors.push(id),
        Ok(_) => {}
        Err(error) => walk.unusable(".", error.to_string()),
    }
    walk.folder(root, "", 0, &mut ancestors);
    walk
}

impl Walk {
    /// Takes in the folder at `path`, which has `depth` components. `ancestors` are the folders
    /// that it lies in, so that a link back to one of them ends there.
    fn folder(&mut self, root: &Root, path: &str, depth: usize, ancestors: &mut Vec<FileId>) {
        if depth >= COMPONENTS_MAX {
            self.unusable(
                path,
                format!("lies {depth} folders deep; names end at {COMPONENTS_MAX}"),
            );
            return;
        }
        let rest = (WALK_ENTRIES_MAX + 1).saturating_sub(self.entries);
        let entries = root.folder(path).and_then(|folder| {
            Dir::new(folder)?.take(rest).collect::<Result<Vec<_>, _>>().map_err(Into::into)
        });
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => {
                let shown = if path.is_empty() { "." } else { path };
                self.unusable(shown, format!("cannot be read: {error}"));
                return;
            }
        };
        for entry in entries {
            self.entries += 1;
            if self.entries > WALK_ENTRIES_MAX || self.files.len() >= FILES_MAX {
                let reason = format!(
                    "has more than {WALK_ENTRIES_MAX} entries or {FILES_MAX} datasets; \
                     what lies beyond is served but not listed"
                );
                self.unusable(".", reason);
                return;
            }
            self.entry(root, path, depth, &entry, ancestors);
        }
    }

    fn entry(
        &mut self,
        root: &Root,
        folder: &str,
        depth: usize,
        entry: &DirEntry,
        ancestors: &mut Vec<FileId>,
    ) {
        let join = |name: &str| {
            if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
        };
        let bytes = entry.file_name().to_bytes();
        let file_type = entry.file_type();
        let may_be_folder =
            matches!(file_type, FileType::Directory | FileType::Symlink | FileType::Unknown);
        let Ok(name) = std::str::from_utf8(bytes) else {
            let path = join(&String::from_utf8_lossy(bytes));
            if may_be_folder || extension::split(&path).is_some() {
                self.unusable(&path, "is not UTF-8, so that no client can name it".to_owned());
            }
            return;
        };
        let path = join(name);
        let is_reserved =
            path.get(..RESERVED.len()).is_some_and(|head| head.eq_ignore_ascii_case(RESERVED));
        let is_dataset = extension::split(&path).is_some();
        if name == "." || name == ".." || is_reserved || !(may_be_folder || is_dataset) {
            return;
        }
        let parsed = match DatasetName::parse(&path) {
            Ok(parsed) => parsed,
            Err(error) => return self.unusable(&path, error.to_string()),
        };
        match root.look(&path) {
            Ok(Found::File(stamp)) if is_dataset => self.files.push((parsed, stamp)),
            Ok(Found::Folder(id)) if !ancestors.contains(&id) => {
                ancestors.push(id);
                self.folder(root, &path, depth + 1, ancestors);
                ancestors.pop();
            }
            Ok(Found::File(_) | Found::Folder(_)) => {}
            // A file that is deleted meanwhile is no news; a link stays where it is.
            Ok(Found::Absent) if file_type == FileType::Symlink => {
                self.unusable(&path, "is a link to nothing".to_owned());
            }
            Ok(Found::Absent) => {}
            Ok(Found::Refused(reason)) => self.unusable(&path, reason.to_owned()),
            Err(error) => self.unusable(&path, error.to_string()),
        }
    }

    fn unusable(&mut self, path: &str, reason: String) {
        if self.unusable.len() < PROBLEMS_MAX {
            self.unusable.insert(shown(path), reason);
        }
    }
}
