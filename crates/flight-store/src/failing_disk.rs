//! Tests: a disk that fails at any step of an upload or delete.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::faults::Step;
use crate::{Begun, DatasetName, Mode, Store, StoreError, StoreOptions, Stored, UploadRequest};

const ERRNOS: [Errno; 4] = [Errno::NOSPC, Errno::DQUOT, Errno::FBIG, Errno::IO];

struct Fixture {
    temp: TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(temp.path(), StoreOptions::default()).unwrap();
        let fixture = Self { temp, store };
        fixture.put("a/stored", Mode::Create, "first", 1).unwrap();
        fixture
    }

    fn put(&self, name: &str, mode: Mode, id: &str, rows: i64) -> Result<Stored, StoreError> {
        let values = Int64Array::from_iter_values(0..rows);
        let batch = RecordBatch::try_from_iter([("value", Arc::new(values) as _)]).unwrap();
        let request = UploadRequest {
            name: DatasetName::parse(name).unwrap(),
            mode,
            format: None,
            codec: None,
            upload_id: Some(id.to_owned()),
        };
        match self.store.begin(request, batch.schema())? {
            Begun::AlreadyStored(stored) => Ok(stored),
            Begun::Upload(mut upload) => {
                upload.write(&batch)?;
                upload.commit()
            }
        }
    }

    /// Rows of a dataset as a lookup, the list and another process see it.
    fn rows(&self, name: &str) -> Option<u64> {
        let listed = |store: &Store| {
            store.list("").into_iter().find(|info| info.name.as_str() == name).map(|info| info.rows)
        };
        let dataset = match self.store.lookup(&DatasetName::parse(name).unwrap()) {
            Ok(dataset) => Some(dataset.info.rows),
            Err(StoreError::NotFound { .. }) => None,
            Err(error) => panic!("{name}: {error}"),
        };
        assert_eq!(listed(&self.store), dataset, "{name} is listed as it is");
        let other = Store::open(self.temp.path(), StoreOptions::default()).unwrap();
        other.rescan();
        assert_eq!(listed(&other), dataset, "{name} is seen by others as it is");
        dataset.map(|rows| rows.expect("a Feather file knows its rows"))
    }

    fn fail_at(&self, fault: Option<(Step, Errno)>) {
        self.store.shared().root.faults.arm(fault);
    }

    fn staged(&self) -> usize {
        std::fs::read_dir(self.temp.path().join(".flight/staging")).unwrap().count()
    }
}

/// Uploads 2 rows to `name` while `step` fails; then `visible` rows are seen. Afterwards the same
/// upload succeeds.
fn check(step: Step, errno: Errno, name: &str, mode: Mode, visible: Option<u64>) {
    let what = format!("{step:?} fails with {errno:?}");
    let fixture = Fixture::new();
    fixture.fail_at(Some((step, errno)));
    let error = fixture.put(name, mode, "second", 2).expect_err(&what);
    let full = errno != Errno::IO;
    assert_eq!(matches!(error, StoreError::Full { .. }), full, "{what}: {error}");
    assert_eq!(matches!(error, StoreError::Io { .. }), !full, "{what}: {error}");
    assert!(error.to_string().contains(name), "{what}: {error}");
    fixture.fail_at(None);
    assert_eq!(fixture.rows(name), visible, "{what}");
    assert_eq!(fixture.staged(), 0, "{what}");
    if name != "a/stored" {
        assert_eq!(fixture.rows("a/stored"), Some(1), "{what}");
    }
    let stored = fixture.put(name, mode, "second", 2).expect(&what);
    assert_eq!((stored.rows, fixture.rows(name)), (2, Some(2)), "{what}");
    assert_eq!(fixture.put(name, mode, "second", 2).expect(&what), stored, "{what}");
}

#[test]
fn a_create_that_fails_at_any_step_leaves_nothing() {
    use Step::{
        CreateFolder, CreateStaging, Rename, RenameEntry, SyncEntries, SyncEntry, SyncFile,
        SyncFolder, WriteEntry,
    };
    for step in [
        CreateStaging,
        SyncFile,
        CreateFolder,
        WriteEntry,
        SyncEntry,
        RenameEntry,
        SyncEntries,
        Rename,
        SyncFolder,
    ] {
        for errno in ERRNOS {
            check(step, errno, "b/c/new", Mode::Create, None);
        }
    }
}

#[test]
fn a_replace_that_fails_before_its_rename_leaves_the_old_version() {
    use Step::{CreateStaging, Rename, RenameEntry, SyncEntries, SyncEntry, SyncFile, WriteEntry};
    for step in [CreateStaging, SyncFile, WriteEntry, SyncEntry, RenameEntry, SyncEntries, Rename] {
        for errno in ERRNOS {
            check(step, errno, "a/stored", Mode::Replace, Some(1));
        }
    }
}

#[test]
fn a_replace_whose_folder_cannot_be_synced_is_whole_but_not_acknowledged() {
    for errno in ERRNOS {
        check(Step::SyncFolder, errno, "a/stored", Mode::Replace, Some(2));
    }
}

#[test]
fn an_upload_that_failed_is_not_remembered_as_stored() {
    for step in [Step::SyncEntries, Step::Rename, Step::SyncFolder] {
        let fixture = Fixture::new();
        fixture.fail_at(Some((step, Errno::IO)));
        fixture.put("a/stored", Mode::Replace, "second", 2).unwrap_err();
        fixture.fail_at(None);
        // The repeated upload writes again: it is the one with 3 rows that counts.
        assert_eq!(
            fixture.put("a/stored", Mode::Replace, "second", 3).unwrap().rows,
            3,
            "{step:?}"
        );
        assert_eq!(fixture.rows("a/stored"), Some(3), "{step:?}");
    }
}

#[test]
fn a_stored_upload_is_confirmed_only_after_its_folder_is_synced() {
    let fixture = Fixture::new();
    fixture.fail_at(Some((Step::SyncFolder, Errno::IO)));
    fixture.put("a/stored", Mode::Create, "first", 1).unwrap_err();
    fixture.fail_at(None);
    assert_eq!(fixture.put("a/stored", Mode::Create, "first", 1).unwrap().rows, 1);
}

#[test]
fn a_delete_that_fails_says_so_and_can_be_repeated() {
    let name = DatasetName::parse("a/stored").unwrap();
    for (step, visible) in [(Step::Unlink, Some(1)), (Step::SyncFolder, None)] {
        let fixture = Fixture::new();
        fixture.fail_at(Some((step, Errno::IO)));
        let error = fixture.store.delete(&name).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
        fixture.fail_at(None);
        assert_eq!(fixture.rows("a/stored"), visible);
        let again = fixture.store.delete(&name);
        assert_eq!(again.is_ok(), visible.is_some());
        assert_eq!(fixture.rows("a/stored"), None);
    }
}
