//! Symbolic links, hard links, FIFOs and sockets in the folder.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use flight_store::{Mode, StoreError};
use rustix::fs::{CWD, FileType, Mode as FileMode, RenameFlags, renameat_with};

use crate::fixture::{Fixture, name, open, write_file};

const SECRET: i64 = 666;

/// A folder with `a.feather`, `x/b.feather`, and a file beside the root that is never served.
fn fixture() -> Fixture {
    let fixture = Fixture::with(&["a.feather", "x/b.feather"]);
    let outside = fixture.temp.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    write_file(&fixture.temp.path().join("t"), &outside.join("secret.feather"), &[SECRET]);
    fixture
}

/// Puts a link to `target` at `path`; `served` is the name under which it is served, if it is.
fn check(path: &str, target: &str, served: Option<(&str, i64)>) {
    let fixture = fixture();
    let target = target.replace("OUTSIDE", fixture.temp.path().join("outside").to_str().unwrap());
    let target = target.replace("ROOT", fixture.root().to_str().unwrap());
    std::fs::create_dir_all(fixture.path(path).parent().unwrap()).unwrap();
    symlink(&target, fixture.path(path)).unwrap();
    let report = fixture.store.rescan();
    match served {
        Some((name, value)) => {
            assert!(report.problems.is_empty(), "{:?}", report.problems);
            assert!(fixture.names().contains(&name.to_owned()), "{:?}", fixture.names());
            assert_eq!(fixture.read(name), Ok(vec![value]));
        }
        None => {
            assert_eq!(fixture.names(), ["a", "x/b"]);
            let told: Vec<_> = report.problems.iter().map(|p| p.name.as_str()).collect();
            assert_eq!(told, [path], "{:?}", report.problems);
            assert!(fixture.store.rescan().problems.is_empty(), "told once");
        }
    }
}

#[test]
fn links_within_the_root_are_followed() {
    check("link.feather", "a.feather", Some(("link", 0)));
    check("link.feather", "x/b.feather", Some(("link", 1)));
    check("x/link.feather", "../a.feather", Some(("x/link", 0)));
    check("link", "x", Some(("link/b", 1)));
    check("y/link", "../x", Some(("y/link/b", 1)));
}

#[test]
fn links_out_of_the_root_are_not_followed() {
    for target in [
        "OUTSIDE/secret.feather",
        "../outside/secret.feather",
        "x/../../outside/secret.feather",
        "ROOT/a.feather",
        "/dev/zero",
        "/proc/self/environ",
        "missing.feather",
        "link.feather",
    ] {
        check("link.feather", target, None);
    }
    for target in ["OUTSIDE", "../outside", "..", "/", "/proc/self/cwd", "../root/x"] {
        check("link", target, None);
    }
}

#[test]
fn a_lookup_does_not_follow_a_link_out_of_the_root() {
    let fixture = fixture();
    symlink("../outside", fixture.path("folder")).unwrap();
    symlink("../outside/secret.feather", fixture.path("file.feather")).unwrap();
    symlink("/proc/self/fd", fixture.path("magic")).unwrap();
    for missing in ["folder/secret", "folder/secret.feather", "file", "file.feather", "magic/0"] {
        let error = fixture.store.lookup(&name(missing)).map(|d| d.info).unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{missing}: {error}");
        let error = fixture.store.delete(&name(missing)).unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{missing}: {error}");
    }
}

#[test]
fn an_upload_does_not_follow_a_link_out_of_the_root() {
    let fixture = fixture();
    symlink("../outside", fixture.path("folder")).unwrap();
    symlink("../outside/secret.feather", fixture.path("file.feather")).unwrap();
    let before = fixture.files();
    for (dataset, mode) in [
        ("folder/new", Mode::Create),
        ("folder/secret", Mode::Replace),
        ("folder/deep/new", Mode::Create),
        ("file", Mode::Create),
        ("file", Mode::Replace),
        ("file.feather", Mode::Replace),
        ("a.feather/new", Mode::Create),
    ] {
        let error = fixture.put(dataset, mode, &[1]).unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{dataset}: {error}");
    }
    assert_eq!(fixture.files(), before);
}

#[test]
fn an_upload_goes_through_a_folder_link_and_replaces_a_file_link() {
    let fixture = fixture();
    symlink("x", fixture.path("folder")).unwrap();
    symlink("a.feather", fixture.path("current.feather")).unwrap();
    fixture.put("folder/new", Mode::Create, &[5]).unwrap();
    assert_eq!(fixture.read("x/new"), Ok(vec![5]));
    fixture.put("current", Mode::Replace, &[6]).unwrap();
    assert_eq!(fixture.read("current"), Ok(vec![6]));
    assert_eq!(fixture.read("a"), Ok(vec![0]), "what it led to is left alone");
    symlink("a.feather", fixture.path("gone.feather")).unwrap();
    fixture.store.delete(&name("gone")).unwrap();
    assert_eq!(fixture.read("a"), Ok(vec![0]));
}

#[test]
fn folder_links_that_lead_back_end_there() {
    let fixture = fixture();
    for (path, target) in [("self", "."), ("x/up", ".."), ("x/itself", "../x"), ("l", "x/up/x")] {
        symlink(target, fixture.path(path)).unwrap();
    }
    let report = fixture.store.rescan();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert_eq!(fixture.names(), ["a", "l/b", "x/b"]);
}

#[test]
fn a_link_into_the_private_folder_shows_nothing() {
    let fixture = fixture();
    symlink(".flight", fixture.path("private")).unwrap();
    symlink("../.flight", fixture.path("x/private")).unwrap();
    fixture.store.rescan();
    assert_eq!(fixture.names(), ["a", "x/b"]);
}

#[test]
fn a_hard_link_is_a_file_like_any_other() {
    let fixture = fixture();
    std::fs::hard_link(fixture.path("a.feather"), fixture.path("h.feather")).unwrap();
    fixture.store.rescan();
    assert_eq!(fixture.read("h"), Ok(vec![0]));
    fixture.put("h", Mode::Replace, &[7]).unwrap();
    assert_eq!(fixture.read("a"), Ok(vec![0]));
}

#[test]
fn a_fifo_or_socket_is_told_and_never_opened() {
    let fixture = fixture();
    let fifo = fixture.path("fifo.feather");
    rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, FileMode::RUSR | FileMode::WUSR, 0).unwrap();
    let _socket = UnixListener::bind(fixture.path("socket.parquet")).unwrap();
    std::fs::create_dir(fixture.path("folder.feather")).unwrap();
    // Would wait for ever if anything opened the FIFO for reading.
    let report = fixture.store.rescan();
    let told: Vec<_> = report.problems.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(told, ["fifo.feather", "socket.parquet"]);
    assert_eq!(fixture.names(), ["a", "x/b"]);
    for dataset in ["fifo", "fifo.feather", "socket", "folder"] {
        assert!(fixture.read(dataset).is_err());
        let error = fixture.put(dataset, Mode::Replace, &[1]);
        let refused = matches!(error, Err(StoreError::Conflict { .. }));
        // A socket of the other format is in nobody's way.
        assert_eq!(refused, dataset != "socket", "{dataset}: {error:?}");
    }
    assert!(fixture.put("socket.parquet", Mode::Replace, &[1]).is_err());
}

#[test]
fn a_folder_swapped_for_a_link_out_never_leads_out() {
    let fixture = fixture();
    write_file(
        &fixture.temp.path().join("t"),
        &fixture.temp.path().join("outside/b.feather"),
        &[SECRET],
    );
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let [folder, link] = [fixture.path("x"), fixture.path("link")];
            symlink("../outside", &link).unwrap();
            while !done.load(Ordering::Relaxed) {
                for _ in 0..2 {
                    renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        let store = open(&fixture.root());
        for _ in 0..2_000 {
            // While the folder is away there is no answer; there never is the secret.
            if let Ok(values) = crate::fixture::read(&store, "x/b") {
                assert_eq!(values, [1]);
            }
        }
        for round in 0..50 {
            let _ = crate::fixture::put(
                &store,
                crate::fixture::request(&format!("x/new{round}"), Mode::Create),
                &[2],
            );
        }
        done.store(true, Ordering::Relaxed);
    });
    let outside = std::fs::read_dir(fixture.temp.path().join("outside")).unwrap().count();
    assert_eq!(outside, 2, "nothing was written out there");
    assert_eq!(fixture.read("x/b"), Ok(vec![1]));
}
