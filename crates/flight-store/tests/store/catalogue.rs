//! Lookups, lists and scans of folders that others write to.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use flight_store::limits::OPEN_FILES_MAX;
use flight_store::{Mode, ScanReport, Store, StoreError, StoreOptions};

use crate::fixture::{Fixture, name, names, open, scan};

/// Lists a folder with these files; every name on the list leads to its own file.
fn check(files: &[&str], want: &[&str]) {
    let fixture = Fixture::with(files);
    assert_eq!(fixture.names(), want);
    for info in fixture.store.list("") {
        let value = files.iter().position(|file| *file == info.path.as_str()).unwrap();
        let value = i64::try_from(value).unwrap();
        assert_eq!(fixture.read(info.name.as_str()), Ok(vec![value]), "{}", info.name);
        assert_eq!(fixture.read(info.path.as_str()), Ok(vec![value]), "{}", info.path);
        let dataset = fixture.store.lookup(&info.name).unwrap();
        assert_eq!(dataset.info.version, info.version);
        assert_eq!(dataset.info.schema, info.schema);
        assert_eq!((dataset.info.rows, info.rows), (Some(1), Some(1)));
    }
}

#[test]
fn names_are_paths_without_extension_in_order() {
    check(
        &["b.parquet", "a.feather", "x/y/z.arrows", "x/a.ipc", "c.arrow"],
        &["a", "b", "c", "x/a", "x/y/z"],
    );
    check(
        &["a b.feather", "ä.feather", "数据/表.parquet", "a.b.feather", "50%.arrow"],
        &["50%", "a b", "a.b", "ä", "数据/表"],
    );
}

#[test]
fn names_that_differ_by_normalisation_or_case_are_different() {
    check(
        &["\u{e9}.feather", "e\u{301}.feather", "É.feather", "e.feather", "E.feather"],
        &["E", "e", "e\u{301}", "\u{c9}", "\u{e9}"],
    );
}

#[test]
fn other_files_are_ignored() {
    let fixture = Fixture::with(&["a.feather"]);
    for file in ["a.csv", "README", "a.feather.bak", ".feather", "b.PARQUET", "a.feather~"] {
        std::fs::write(fixture.path(file), "x").unwrap();
    }
    let report = fixture.store.rescan();
    assert_eq!(report, ScanReport { datasets: 1, ..ScanReport::default() });
}

#[test]
fn names_shared_by_several_files_need_the_extension() {
    check(&["a.feather", "a.parquet", "b.feather"], &["a.feather", "a.parquet", "b"]);
    check(&["a.feather", "a.feather.parquet"], &["a", "a.feather.parquet"]);
    check(&["..feather", "...feather"], &["...feather", "..feather"]);
    let fixture = Fixture::with(&["x/a.feather", "x/a.parquet"]);
    match fixture.store.lookup(&name("x/a")) {
        Err(StoreError::Ambiguous { candidates, .. }) => {
            assert_eq!(candidates, ["x/a.feather", "x/a.parquet"]);
        }
        other => panic!("{:?}", other.map(|dataset| dataset.info)),
    }
}

#[test]
fn a_list_is_cut_to_its_prefix() {
    let fixture = Fixture::with(&["a.feather", "ab.feather", "b/a.feather", "b/c.feather"]);
    let check = |prefix: &str, want: &[&str]| {
        let listed = fixture.store.list(prefix);
        assert_eq!(listed.iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), want);
    };
    check("a", &["a", "ab"]);
    check("b/", &["b/a", "b/c"]);
    check("b/c", &["b/c"]);
    check("c", &[]);
    check("../", &[]);
}

#[test]
fn a_lookup_sees_a_change_before_any_scan() {
    let fixture = Fixture::new();
    assert!(fixture.read("a").is_err());
    fixture.write("a.feather", &[1]);
    assert_eq!(fixture.read("a"), Ok(vec![1]));
    assert_eq!(fixture.names(), ["a"]);
    fixture.write("a.feather", &[2]);
    assert_eq!(fixture.read("a"), Ok(vec![2]));
    std::fs::remove_file(fixture.path("a.feather")).unwrap();
    assert!(fixture.read("a").is_err());
    assert!(fixture.names().is_empty());
    fixture.write("a.parquet", &[3]);
    assert_eq!(fixture.read("a"), Ok(vec![3]));
}

#[test]
fn a_file_rewritten_in_place_is_another_version() {
    let fixture = Fixture::with(&["a.feather"]);
    let before = fixture.store.lookup(&name("a")).unwrap();
    let other = Fixture::with(&["x.feather", "a.feather"]);
    let bytes = std::fs::read(other.path("a.feather")).unwrap();
    std::fs::write(fixture.path("a.feather"), bytes).unwrap();
    let after = fixture.store.lookup(&name("a")).unwrap();
    assert_ne!(before.info.version, after.info.version);
    assert_eq!(scan(&after), Ok(vec![1]));
    let error = scan(&before).unwrap_err();
    assert!(error.contains("changed"), "{error}");
}

/// The modification time alone would let rows of both versions through.
#[test]
fn a_rewrite_that_sets_the_time_back_is_noticed() {
    let paths = ["a.feather", "a.parquet", "a.arrows"];
    let others = Fixture::with(&["x.feather", "a.feather", "a.parquet", "a.arrows"]);
    let fixture = Fixture::with(&paths);
    for (old, path) in (0..).zip(paths) {
        let before = fixture.store.lookup(&name(path)).unwrap();
        assert_eq!(scan(&before), Ok(vec![old]), "{path}");
        let bytes = std::fs::read(others.path(path)).unwrap();
        assert_eq!(bytes.len() as u64, before.info.bytes, "{path}");
        rewrite_unseen(&fixture.path(path), &bytes);
        assert_eq!(fixture.read(path), Ok(vec![old + 1]), "{path}");
        let error = scan(&before).unwrap_err();
        assert!(error.contains("changed"), "{path}: {error}");
    }
}

/// Overwrites a file in place and sets its modification time back.
fn rewrite_unseen(path: &Path, bytes: &[u8]) {
    let file = File::options().write(true).open(path).unwrap();
    let before = file.metadata().unwrap();
    let changed = |metadata: &Metadata| (metadata.ctime(), metadata.ctime_nsec());
    let started = Instant::now();
    // The file system's clock has to tick once for anyone to see it.
    while changed(&file.metadata().unwrap()) == changed(&before) {
        assert!(started.elapsed() < Duration::from_secs(10), "the change time stands still");
        file.write_all_at(bytes, 0).unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
    }
    assert_eq!(file.metadata().unwrap().modified().unwrap(), before.modified().unwrap());
}

#[test]
fn an_upload_or_delete_leaves_readers_their_version() {
    let fixture = Fixture::new();
    for path in ["a.feather", "a.parquet"] {
        fixture.put(path, Mode::Create, &[1]).unwrap();
        let first = fixture.store.lookup(&name(path)).unwrap();
        assert_eq!(scan(&first), Ok(vec![1]), "{path}: renamed into place before it was opened");
        fixture.put(path, Mode::Replace, &[2]).unwrap();
        let second = fixture.store.lookup(&name(path)).unwrap();
        fixture.store.delete(&name(path)).unwrap();
        assert_eq!((scan(&first), scan(&second)), (Ok(vec![1]), Ok(vec![2])), "{path}");
    }
}

#[test]
fn an_empty_file_is_told_to_be_empty() {
    let fixture = Fixture::new();
    for path in ["a.arrows", "a.feather", "a.parquet"] {
        std::fs::write(fixture.path(path), "").unwrap();
        let error = fixture.read(path).unwrap_err();
        assert_eq!(
            error,
            format!("dataset \"{path}\": the file is damaged: it is empty (0 bytes)")
        );
    }
}

#[test]
fn a_file_cut_off_between_lookup_and_scan_is_an_error() {
    let fixture = Fixture::with(&["a.feather", "a.parquet", "a.arrows"]);
    for file in ["a.feather", "a.parquet", "a.arrows"] {
        let dataset = fixture.store.lookup(&name(file)).unwrap();
        let bytes = dataset.info.bytes;
        File::options().write(true).open(fixture.path(file)).unwrap().set_len(bytes / 2).unwrap();
        assert!(scan(&dataset).is_err(), "{file}");
        assert!(fixture.read(file).is_err(), "{file}");
    }
}

#[test]
fn a_broken_file_is_told_once_for_each_version_and_never_listed() {
    let fixture = Fixture::with(&["good.feather"]);
    let problems = |want: &[&str]| {
        let report = fixture.store.rescan();
        assert_eq!(report.datasets, 1);
        let names: Vec<_> = report.problems.iter().map(|problem| &problem.name).collect();
        assert_eq!(names, want);
        for problem in &report.problems {
            assert!(problem.sentence.contains(&problem.name), "{problem}");
        }
        report
    };
    std::fs::write(fixture.path("bad.feather"), "ARROW1 and nothing else").unwrap();
    std::fs::write(fixture.path("bad.parquet"), "").unwrap();
    std::fs::write(fixture.path("old.feather"), "FEA1....FEA1").unwrap();
    let report = problems(&["bad.feather", "bad.parquet", "old.feather"]);
    assert!(report.problems[2].sentence.contains("Feather V1"), "{}", report.problems[2]);
    problems(&[]);
    // Whether a lookup or the scan is the first to see it makes no difference.
    std::fs::write(fixture.path("bad.feather"), "broken otherwise").unwrap();
    assert!(fixture.read("bad.feather").unwrap_err().contains("bad.feather"));
    problems(&["bad.feather"]);
    problems(&[]);
    assert_eq!(fixture.names(), ["good"]);
    assert_eq!(fixture.read("good"), Ok(vec![0]));
}

#[test]
fn a_scan_counts_what_changed() {
    let fixture = Fixture::new();
    let check = |datasets, added, changed, removed| {
        let report = fixture.store.rescan();
        let want = ScanReport { datasets, added, changed, removed, problems: vec![] };
        assert_eq!(report, want);
    };
    check(0, 0, 0, 0);
    fixture.write("a.feather", &[1]);
    fixture.write("x/b.parquet", &[1]);
    check(2, 2, 0, 0);
    check(2, 0, 0, 0);
    fixture.write("a.feather", &[2]);
    std::fs::remove_dir_all(fixture.path("x")).unwrap();
    check(1, 0, 1, 1);
    std::fs::remove_file(fixture.path("a.feather")).unwrap();
    check(0, 0, 0, 1);
}

#[test]
fn names_that_no_client_can_give_are_told_and_skipped() {
    use std::os::unix::ffi::OsStrExt as _;
    let fixture = Fixture::with(&["a.feather"]);
    let copy = |name: &[u8]| {
        let target = fixture.root().join(std::ffi::OsStr::from_bytes(name));
        std::fs::copy(fixture.path("a.feather"), target).unwrap();
    };
    copy(b"\xff.feather");
    copy(b"new\nline.feather");
    copy(b"\xff.csv");
    let report = fixture.store.rescan();
    let told: Vec<_> = report.problems.iter().map(|problem| problem.sentence.as_str()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("U+000A") && told[1].contains("is not UTF-8"), "{told:?}");
    assert!(!told.iter().any(|sentence| sentence.contains('\n')));
    assert_eq!(fixture.names(), ["a"]);
    assert!(fixture.store.rescan().problems.is_empty(), "told once");
}

#[test]
fn every_public_test_file_is_listed_or_told() {
    let Some(corpus) = flight_testkit::corpus("every_public_test_file_is_listed_or_told") else {
        return;
    };
    let options = StoreOptions { read_only: true, ..StoreOptions::default() };
    let store = Store::open(&corpus, options).unwrap();
    let report = store.rescan();
    let listed = store.list("");
    assert_eq!(report.datasets, listed.len());
    assert!(!listed.is_empty() && !report.problems.is_empty(), "it holds good and bad files");
    for info in &listed {
        let dataset = store.lookup(&info.name).unwrap();
        assert_eq!((dataset.info.version, &dataset.info.schema), (info.version, &info.schema));
        assert_eq!(dataset.info.rows, info.rows);
    }
    for problem in &report.problems {
        assert!(problem.sentence.contains(&problem.name), "{problem}");
        assert!(problem.sentence.len() < 2048 && !problem.sentence.contains('\n'), "{problem}");
    }
    assert_eq!(store.rescan().problems, []);
    assert!(!corpus.join(".flight").exists());
}

#[test]
fn open_files_are_bounded() {
    let fixture = Fixture::with(&["0.feather"]);
    let count = OPEN_FILES_MAX + 44;
    for n in 1..count {
        std::fs::copy(fixture.path("0.feather"), fixture.path(&format!("{n}.feather"))).unwrap();
    }
    assert_eq!(fixture.store.rescan().datasets, count);
    for round in 0..2 {
        for n in 0..count {
            assert_eq!(fixture.read(&n.to_string()), Ok(vec![0]), "round {round}");
        }
    }
    let root = fixture.root();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| {
        let target = std::fs::read_link(fd.unwrap().path()).ok()?;
        (target.starts_with(&root) && target.extension().is_some()).then_some(target)
    });
    let open: HashSet<_> = open.collect();
    assert_eq!(open.len(), OPEN_FILES_MAX);
}

#[test]
fn a_file_that_was_opened_is_served_from_its_descriptor() {
    let fixture = Fixture::with(&["a.feather"]);
    let file = |name_: &str| fixture.store.lookup(&name(name_)).unwrap().parts[0].file.clone();
    assert!(std::sync::Arc::ptr_eq(&file("a"), &file("a.feather")));
}

#[test]
fn uploads_of_one_process_are_seen_by_another() {
    let fixture = Fixture::new();
    let other = open(&fixture.root());
    fixture.put("a", Mode::Create, &[1]).unwrap();
    assert_eq!(crate::fixture::read(&other, "a"), Ok(vec![1]));
    other.rescan();
    assert_eq!(names(&other), ["a"]);
    other.delete(&name("a")).unwrap();
    assert!(fixture.read("a").is_err());
    assert!(fixture.names().is_empty());
}

#[test]
fn a_file_that_grows_while_it_is_scanned_for_is_caught_up_with() {
    let fixture = Fixture::with(&["a.feather"]);
    let whole = std::fs::read(fixture.path("a.feather")).unwrap();
    let mut copy = File::create(fixture.path("copy.feather")).unwrap();
    for part in whole.chunks(100) {
        assert!(fixture.read("copy").is_err());
        fixture.store.rescan();
        assert_eq!(fixture.names(), ["a"]);
        copy.write_all(part).unwrap();
    }
    fixture.store.rescan();
    assert_eq!(fixture.names(), ["a", "copy"]);
    copy.set_len(whole.len() as u64 - 1).unwrap();
    fixture.store.rescan();
    assert_eq!(fixture.names(), ["a"]);
}
