//! The same upload again, after its answer was lost.

use flight_store::{Begun, Mode, StoreError, Stored};

use crate::fixture::{Fixture, batch, begin, name, open, put, request, with_id};

/// Asks again for the upload `id` of `dataset`; `want` is what it is known to have stored.
fn check(fixture: &Fixture, dataset: &str, mode: Mode, id: &str, want: Option<Stored>) {
    for store in [&fixture.store, &open(&fixture.root())] {
        let begun = store.begin(with_id(dataset, mode, id), batch(&[]).schema());
        let stored = match begun {
            Ok(Begun::AlreadyStored(stored)) => Some(stored),
            Ok(Begun::Upload(_)) | Err(StoreError::AlreadyExists { .. }) => None,
            Err(error) => panic!("{dataset} {id}: {error}"),
        };
        assert_eq!(stored, want, "{dataset} {id}");
    }
}

#[test]
fn a_repeated_upload_is_stored_once() {
    for mode in [Mode::Create, Mode::Replace] {
        for dataset in ["a", "x/a.parquet", "a.arrow"] {
            let fixture = Fixture::new();
            let stored = put(&fixture.store, with_id(dataset, mode, "id"), &[1, 2]).unwrap();
            check(&fixture, dataset, mode, "id", Some(stored));
            check(&fixture, dataset, mode, "other", None);
            assert_eq!(fixture.read(dataset), Ok(vec![1, 2]));
        }
    }
}

#[test]
fn a_late_repetition_does_not_undo_what_came_after() {
    let fixture = Fixture::new();
    let first = put(&fixture.store, with_id("a", Mode::Create, "first"), &[1]).unwrap();
    let second = put(&fixture.store, with_id("a", Mode::Replace, "second"), &[2]).unwrap();
    fixture.put("a", Mode::Replace, &[3]).unwrap();
    check(&fixture, "a", Mode::Create, "first", Some(first));
    check(&fixture, "a", Mode::Replace, "first", Some(first));
    check(&fixture, "a", Mode::Replace, "second", Some(second));
    assert_eq!(fixture.read("a"), Ok(vec![3]));
}

#[test]
fn sixteen_uploads_of_a_name_are_remembered() {
    let fixture = Fixture::new();
    let upload =
        |n: i64| put(&fixture.store, with_id("a", Mode::Replace, &n.to_string()), &[n]).unwrap();
    let stored: Vec<_> = (0..17).map(upload).collect();
    check(&fixture, "a", Mode::Replace, "0", None);
    check(&fixture, "a", Mode::Replace, "1", Some(stored[1]));
    check(&fixture, "a", Mode::Replace, "16", Some(stored[16]));
}

#[test]
fn upload_ids_belong_to_their_dataset() {
    let fixture = Fixture::new();
    put(&fixture.store, with_id("a", Mode::Create, "id"), &[1]).unwrap();
    check(&fixture, "b", Mode::Create, "id", None);
}

#[test]
fn a_deleted_dataset_is_uploaded_anew() {
    let fixture = Fixture::new();
    put(&fixture.store, with_id("a", Mode::Create, "id"), &[1]).unwrap();
    fixture.store.delete(&name("a")).unwrap();
    check(&fixture, "a", Mode::Create, "id", None);
    assert!(fixture.private("entries").is_empty());
}

#[test]
fn a_dataset_changed_by_hand_is_not_the_uploaded_one() {
    let fixture = Fixture::new();
    put(&fixture.store, with_id("a", Mode::Create, "id"), &[1]).unwrap();
    fixture.write("a.feather", &[2]);
    check(&fixture, "a", Mode::Replace, "id", None);
    std::fs::write(fixture.path("a.feather"), "broken").unwrap();
    check(&fixture, "a", Mode::Replace, "id", None);
    std::fs::remove_file(fixture.path("a.feather")).unwrap();
    check(&fixture, "a", Mode::Create, "id", None);
}

#[test]
fn a_scan_removes_the_entries_of_files_that_are_no_longer_uploads() {
    let fixture = Fixture::new();
    for dataset in ["kept", "removed", "changed"] {
        put(&fixture.store, with_id(dataset, Mode::Create, "id"), &[1]).unwrap();
    }
    std::fs::write(fixture.path(".flight/entries/garbage.json"), "{").unwrap();
    assert_eq!(fixture.private("entries").len(), 4);
    std::fs::remove_file(fixture.path("removed.feather")).unwrap();
    fixture.write("changed.feather", &[2]);
    let other = open(&fixture.root());
    other.rescan();
    assert_eq!(fixture.private("entries").len(), 1);
    let kept = put(&other, with_id("kept", Mode::Create, "id"), &[9]).unwrap();
    assert_eq!(kept.rows, 1);
    assert_eq!(fixture.read("kept"), Ok(vec![1]));
}

#[test]
fn two_uploads_of_one_id_at_once_are_stored_once() {
    let fixture = Fixture::new();
    let upload = |value: i64| {
        let mut upload = begin(&fixture.store, with_id("a", Mode::Create, "id")).unwrap();
        upload.write(&batch(&[value])).unwrap();
        upload
    };
    let (first, second) = (upload(1), upload(2));
    let stored = second.commit().unwrap();
    assert_eq!(first.commit().unwrap(), stored);
    assert_eq!(fixture.read("a"), Ok(vec![2]));
}

#[test]
fn upload_ids_are_bounded() {
    let fixture = Fixture::new();
    let check = |id: &str, good: bool| {
        let begun = fixture.store.begin(with_id("a", Mode::Create, id), batch(&[]).schema());
        match begun {
            Ok(_) => assert!(good, "{id:?}"),
            Err(error) => {
                assert!(!good && matches!(error, StoreError::BadUpload { .. }), "{id:?}: {error}");
                assert!(error.to_string().contains("128 printable"), "{error}");
            }
        }
    };
    check("x", true);
    check("a b\"\\~", true);
    check(&"x".repeat(128), true);
    check(&"x".repeat(129), false);
    check("", false);
    for bad in ["\0", "a\n", "\x1b", "\x7f", "ä"] {
        check(bad, false);
    }
    assert!(begin(&fixture.store, request("a", Mode::Create)).is_ok(), "and none is fine");
}
