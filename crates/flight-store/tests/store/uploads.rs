//! Uploads and deletes: what is stored, what is refused, what is left behind.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use flight_files::{Codec, Format};
use flight_store::{Mode, Store, StoreError, StoreOptions, UploadRequest};

use crate::fixture::{Fixture, batch, begin, name, names, open, put, read, request, scan, with_id};

/// Uploads to `dataset` with `files` in the folder; `want` is the file that it goes to.
fn check(files: &[&str], request: UploadRequest, want: &str) {
    let fixture = Fixture::with(files);
    let dataset = request.name.to_string();
    let stored = put(&fixture.store, request, &[5, 6, 7]).unwrap();
    let seen = |store: &Store| {
        let dataset = store.lookup(&name(&dataset)).unwrap();
        assert_eq!(dataset.info.path.as_str(), want);
        let info = &dataset.info;
        assert_eq!((info.rows, info.bytes), (Some(stored.rows), stored.bytes));
        assert_eq!(info.version, stored.version);
        assert_eq!(scan(&dataset), Ok(vec![5, 6, 7]));
    };
    seen(&fixture.store);
    seen(&open(&fixture.root()));
    assert_eq!(stored.rows, 3);
    assert_eq!(std::fs::metadata(fixture.path(want)).unwrap().len(), stored.bytes);
    assert!(fixture.private("staging").is_empty());
    let listed = fixture.store.list("").into_iter().find(|info| info.path.as_str() == want);
    assert_eq!(listed.map(|info| info.version), Some(stored.version), "listed without a scan");
}

#[test]
fn an_upload_is_read_back_the_same_in_every_process() {
    for mode in [Mode::Create, Mode::Replace] {
        check(&[], request("a", mode), "a.feather");
        check(&[], request("x/y/z", mode), "x/y/z.feather");
        check(&[], request("x/a.parquet", mode), "x/a.parquet");
        check(&["x/b.feather"], request("x/a.arrow", mode), "x/a.arrow");
        let format = Some(Format::Parquet);
        check(&[], UploadRequest { format, ..request("a", mode) }, "a.parquet");
        let codec = Some(Codec::Zstd);
        check(&[], UploadRequest { codec, ..request("a", mode) }, "a.feather");
    }
}

#[test]
fn a_replace_keeps_the_stored_extension() {
    check(&["a.arrow"], request("a", Mode::Replace), "a.arrow");
    check(&["a.parquet"], request("a", Mode::Replace), "a.parquet");
    check(&["a.feather", "a.parquet"], request("a.parquet", Mode::Replace), "a.parquet");
}

#[test]
fn a_create_never_replaces() {
    for stored in ["a.feather", "a.arrow", "a.ipc", "a.arrows", "a.parquet"] {
        let fixture = Fixture::with(&[stored]);
        for dataset in ["a", "a.feather", "a.parquet", stored] {
            if dataset == "a.arrows" {
                continue;
            }
            let error = fixture.put(dataset, Mode::Create, &[9]).unwrap_err();
            assert!(
                matches!(error, StoreError::AlreadyExists { .. }),
                "{stored}, {dataset}: {error}"
            );
        }
        assert_eq!(fixture.read("a"), Ok(vec![0]));
        assert!(fixture.private("staging").is_empty());
    }
}

#[test]
fn a_create_loses_against_a_file_that_appeared_meanwhile() {
    let fixture = Fixture::new();
    let mut upload = begin(&fixture.store, request("a", Mode::Create)).unwrap();
    upload.write(&batch(&[1])).unwrap();
    fixture.write("a.feather", &[2]);
    assert!(matches!(upload.commit().unwrap_err(), StoreError::AlreadyExists { .. }));
    assert_eq!(fixture.read("a"), Ok(vec![2]));
}

#[test]
fn a_replace_does_not_add_a_second_file_that_appeared_meanwhile() {
    let fixture = Fixture::new();
    let mut upload = begin(&fixture.store, request("a", Mode::Replace)).unwrap();
    upload.write(&batch(&[1])).unwrap();
    fixture.write("a.parquet", &[2]);
    assert!(matches!(upload.commit().unwrap_err(), StoreError::Conflict { .. }));
    assert_eq!(fixture.read("a"), Ok(vec![2]));
    assert!(fixture.private("staging").is_empty());
}

#[test]
fn an_upload_is_invisible_until_it_is_committed() {
    let fixture = Fixture::new();
    let mut upload = begin(&fixture.store, request("x/a", Mode::Create)).unwrap();
    upload.write(&batch(&[1, 2, 3])).unwrap();
    fixture.store.rescan();
    assert!(fixture.names().is_empty() && fixture.read("x/a").is_err());
    assert_eq!(fixture.private("staging").len(), 1);
    drop(upload);
    assert!(fixture.private("staging").is_empty());
    assert!(fixture.files().is_empty(), "not even a folder is left");
    assert!(!fixture.path("x").exists());
}

#[test]
fn an_upload_without_batches_is_a_dataset_without_rows() {
    let fixture = Fixture::new();
    let stored = begin(&fixture.store, request("a", Mode::Create)).unwrap().commit().unwrap();
    assert_eq!(stored.rows, 0);
    assert_eq!(fixture.read("a"), Ok(vec![]));
}

#[test]
fn a_batch_of_another_schema_ends_the_upload() {
    let fixture = Fixture::new();
    let mut upload = begin(&fixture.store, request("a", Mode::Create)).unwrap();
    upload.write(&batch(&[1])).unwrap();
    let column = Arc::new(StringArray::from(vec!["x"]));
    let other = RecordBatch::try_from_iter([("other", column as _)]).unwrap();
    assert!(matches!(upload.write(&other).unwrap_err(), StoreError::File { .. }));
    let error = upload.write(&batch(&[1])).unwrap_err().to_string();
    assert!(error.contains("an earlier batch could not be stored"), "{error}");
    assert!(upload.commit().is_err());
    assert!(fixture.read("a").is_err() && fixture.private("staging").is_empty());
}

#[test]
fn modes_are_those_of_the_umask_and_the_private_folder_is_closed() {
    let fixture = Fixture::new();
    fixture.put("x/a", Mode::Create, &[1]).unwrap();
    let mode = |path: &str| fixture.path(path).metadata().unwrap().permissions().mode() & 0o7777;
    // A file and a folder that the standard library makes tell what the umask lets through.
    std::fs::write(fixture.path("other"), "").unwrap();
    assert_eq!(mode("x/a.feather"), mode("other") & 0o644);
    std::fs::create_dir(fixture.path("folder")).unwrap();
    assert_eq!(mode("x"), mode("folder"));
    for private in [".flight", ".flight/staging", ".flight/entries", ".flight/locks"] {
        assert_eq!(mode(private), 0o700, "{private}");
    }
    std::fs::set_permissions(fixture.path(".flight"), Permissions::from_mode(0o777)).unwrap();
    open(&fixture.root());
    assert_eq!(mode(".flight"), 0o700, "closed again at the next start");
}

#[test]
fn a_read_only_store_changes_nothing_at_all() {
    let temp = tempfile::tempdir().unwrap();
    crate::fixture::write_file(&temp.path().join("t"), &temp.path().join("a.feather"), &[3]);
    let options = StoreOptions { read_only: true, ..StoreOptions::default() };
    let store = Store::open(temp.path(), options).unwrap();
    store.rescan();
    assert_eq!(names(&store), ["a"]);
    assert_eq!(read(&store, "a"), Ok(vec![3]));
    for result in [
        put(&store, request("b", Mode::Create), &[1]).map(|_| ()),
        put(&store, with_id("a", Mode::Replace, "x"), &[1]).map(|_| ()),
        store.delete(&name("a")),
        store.delete(&name("missing")),
    ] {
        assert!(matches!(result, Err(StoreError::ReadOnly { .. })), "{result:?}");
    }
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_opened_says_why() {
    let temp = tempfile::tempdir().unwrap();
    let check = |path: &std::path::Path, want: &str| {
        let error = Store::open(path, StoreOptions::default()).err().unwrap().to_string();
        assert!(error.contains(want) && !error.contains("/tmp"), "{error}");
    };
    check(&temp.path().join("missing"), "data folder: opening it: No such file");
    std::fs::write(temp.path().join("file"), "").unwrap();
    check(&temp.path().join("file"), "Not a directory");
    std::fs::write(temp.path().join(".flight"), "").unwrap();
    check(temp.path(), "making .flight in it: Not a directory");
    std::fs::remove_file(temp.path().join(".flight")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), temp.path().join(".flight")).unwrap();
    check(temp.path(), "making .flight in it");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_deleted_dataset_is_gone_at_once_and_read_to_its_end() {
    let fixture = Fixture::with(&["x/a.feather", "b.parquet", "c.feather", "c.parquet"]);
    let reader = fixture.store.lookup(&name("x/a")).unwrap();
    fixture.store.delete(&name("x/a")).unwrap();
    assert_eq!(fixture.names(), ["b", "c.feather", "c.parquet"]);
    assert!(!fixture.path("x/a.feather").exists());
    assert_eq!(scan(&reader), Ok(vec![0]));
    for missing in ["x/a", "x/a.feather", "x", "missing"] {
        let error = fixture.store.delete(&name(missing)).unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{missing}: {error}");
    }
    let error = fixture.store.delete(&name("c")).unwrap_err();
    assert!(matches!(error, StoreError::Ambiguous { .. }), "{error}");
    fixture.store.delete(&name("c.parquet")).unwrap();
    assert_eq!(fixture.names(), ["b", "c"]);
    fixture.put("x/a", Mode::Create, &[4]).unwrap();
    assert_eq!(fixture.read("x/a"), Ok(vec![4]));
}

#[test]
fn a_reader_keeps_the_version_it_began_with() {
    let fixture = Fixture::new();
    let first = fixture.put("a", Mode::Create, &[1]).unwrap();
    let reader = fixture.store.lookup(&name("a")).unwrap();
    let second = fixture.put("a", Mode::Replace, &[2]).unwrap();
    assert_ne!(first.version, second.version);
    assert_eq!(reader.info.version, first.version);
    assert_eq!(scan(&reader), Ok(vec![1]));
    assert_eq!(fixture.read("a"), Ok(vec![2]));
}

#[test]
fn quick_uploads_of_one_size_have_versions_of_their_own() {
    let fixture = Fixture::new();
    let mut versions = std::collections::HashSet::new();
    for value in 0..50 {
        let stored = fixture.put("a", Mode::Replace, &[value]).unwrap();
        assert!(versions.insert(stored.version.to_string()), "upload {value}");
        assert_eq!(fixture.read("a"), Ok(vec![value]));
    }
}
