//! Threads and stores that change one folder at the same time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use flight_store::{Begun, Mode, Store, StoreError};

use crate::fixture::{Fixture, batch, begin, name, names, open, put, read, request, with_id};

/// Two uploads of one new name reach their commit at the same moment, 100 times: one wins.
fn check(first: &Store, second: &Store) {
    for round in 0..100 {
        let dataset = format!("x{}/a{round}", round % 7);
        let barrier = Barrier::new(2);
        let upload = |store: &Store, value: i64| {
            let mut upload = begin(store, request(&dataset, Mode::Create)).unwrap();
            upload.write(&batch(&[value])).unwrap();
            barrier.wait();
            upload.commit().map(|_| value)
        };
        let (one, two) = std::thread::scope(|scope| {
            let other = scope.spawn(|| upload(second, 2));
            (upload(first, 1), other.join().unwrap())
        });
        let winner = match (one, two) {
            (Ok(value), Err(StoreError::AlreadyExists { .. }))
            | (Err(StoreError::AlreadyExists { .. }), Ok(value)) => value,
            other => panic!("round {round}: {other:?}"),
        };
        for store in [first, second] {
            assert_eq!(read(store, &dataset), Ok(vec![winner]));
        }
    }
}

#[test]
fn of_two_creates_in_one_store_one_wins() {
    let fixture = Fixture::new();
    check(&fixture.store, &fixture.store);
    assert_eq!(fixture.names().len(), 100);
    assert!(fixture.private("staging").is_empty());
}

#[test]
fn of_two_creates_in_two_stores_one_wins() {
    let fixture = Fixture::new();
    let other = open(&fixture.root());
    check(&fixture.store, &other);
    fixture.store.rescan();
    assert_eq!(fixture.names().len(), 100);
    assert!(fixture.private("staging").is_empty());
}

#[test]
fn of_creates_in_different_formats_one_wins() {
    let fixture = Fixture::new();
    for round in 0..20 {
        let barrier = Barrier::new(2);
        let upload = |extension: &str| {
            let dataset = format!("a{round}.{extension}");
            let mut upload = begin(&fixture.store, request(&dataset, Mode::Create)).unwrap();
            upload.write(&batch(&[1])).unwrap();
            barrier.wait();
            upload.commit().is_ok()
        };
        let (one, two) = std::thread::scope(|scope| {
            let other = scope.spawn(|| upload("parquet"));
            (upload("feather"), other.join().unwrap())
        });
        assert!(one != two, "round {round}: {one} {two}");
    }
}

#[test]
fn replaces_from_two_stores_end_with_one_that_is_remembered() {
    let fixture = Fixture::new();
    let other = open(&fixture.root());
    for round in 0..30 {
        let upload = |store: &Store, value: i64| {
            let id = format!("{round} {value}");
            put(store, with_id("a", Mode::Replace, &id), &[value]).unwrap()
        };
        let (one, two) = std::thread::scope(|scope| {
            let second = scope.spawn(|| upload(&other, 2));
            (upload(&fixture.store, 1), second.join().unwrap())
        });
        let now = fixture.store.lookup(&name("a")).unwrap().info.version;
        assert!(now == one.version || now == two.version);
        // Both are remembered, whichever came last.
        for (value, stored) in [(1, one), (2, two)] {
            let again = with_id("a", Mode::Replace, &format!("{round} {value}"));
            match fixture.store.begin(again, batch(&[]).schema()).unwrap() {
                Begun::AlreadyStored(known) => assert_eq!(known, stored),
                Begun::Upload(_) => panic!("round {round}: upload {value} is forgotten"),
            }
        }
    }
}

#[test]
fn a_scan_in_progress_does_not_undo_what_was_acknowledged() {
    let fixture = Fixture::with(&["other.feather"]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let report = fixture.store.rescan();
                assert!(report.problems.is_empty(), "{:?}", report.problems);
            }
        });
        for round in 0..100 {
            let dataset = format!("a{round}");
            let stored = fixture.put(&dataset, Mode::Create, &[round]).unwrap();
            let listed = |store: &Store| {
                let found = store.list(&dataset).into_iter().find(|i| i.name.as_str() == dataset);
                found.map(|info| info.version)
            };
            assert_eq!(listed(&fixture.store), Some(stored.version), "{dataset}");
            let stored = fixture.put(&dataset, Mode::Replace, &[-round]).unwrap();
            assert_eq!(listed(&fixture.store), Some(stored.version), "{dataset}");
            fixture.store.delete(&name(&dataset)).unwrap();
            assert_eq!(listed(&fixture.store), None, "{dataset}");
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(names(&fixture.store), ["other"]);
}

#[test]
fn readers_see_whole_versions_while_a_name_is_replaced() {
    let fixture = Fixture::new();
    let version = |n: i64| vec![n; 100 + usize::try_from(n).unwrap()];
    fixture.put("a", Mode::Create, &version(0)).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let values = fixture.read("a").unwrap();
                assert_eq!(values, version(values[0]));
                assert!(values[0] >= last, "versions do not go back");
                last = values[0];
            }
        });
        for n in 1..100 {
            fixture.put("a", Mode::Replace, &version(n)).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}
