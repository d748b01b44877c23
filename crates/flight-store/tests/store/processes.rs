//! What other processes leave behind, and a process at its file size limit.
//!
//! A test that needs another process runs itself again as a child, with the folder in a variable.

use std::path::{Path, PathBuf};
use std::process::Command;

use flight_store::{Mode, StoreError};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::fixture::{Fixture, batch, begin, name, open, put, read, request};

const CHILD_FOLDER: &str = "FLIGHT_STORE_CHILD_FOLDER";

fn child_folder() -> Option<PathBuf> {
    std::env::var_os(CHILD_FOLDER).map(PathBuf::from)
}

fn child(wrapper: &[&str], test: &str, folder: &Path) -> std::process::ExitStatus {
    let test_binary = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().map(PathBuf::from).collect::<Vec<_>>();
    words.push(test_binary);
    words.extend(["--exact", test, "--nocapture"].map(PathBuf::from));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env(CHILD_FOLDER, folder).stdout(std::process::Stdio::null());
    command.status().unwrap()
}

#[test]
fn what_a_dead_process_staged_is_removed_and_what_a_live_one_stages_is_kept() {
    if let Some(folder) = child_folder() {
        let store = open(&folder);
        let mut upload = begin(&store, request("a", Mode::Create)).unwrap();
        upload.write(&batch(&[1])).unwrap();
        std::process::abort();
    }
    let fixture = Fixture::new();
    let mut live = begin(&fixture.store, request("b", Mode::Create)).unwrap();
    live.write(&batch(&[2])).unwrap();
    let test =
        "processes::what_a_dead_process_staged_is_removed_and_what_a_live_one_stages_is_kept";
    let status = child(&[], test, &fixture.root());
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(6), "{status}");
    assert_eq!(fixture.private("staging").len(), 2);
    let other = open(&fixture.root());
    assert_eq!(fixture.private("staging").len(), 1);
    other.rescan();
    assert!(other.list("").is_empty());
    live.commit().unwrap();
    assert_eq!(read(&other, "b"), Ok(vec![2]));
    assert!(fixture.private("staging").is_empty());
}

#[test]
fn an_upload_past_the_file_size_limit_is_refused_and_the_next_works() {
    let values: Vec<i64> = (0..20_000).collect();
    if let Some(folder) = child_folder() {
        let store = open(&folder);
        for dataset in ["a", "b.parquet"] {
            let error = put(&store, request(dataset, Mode::Create), &values).unwrap_err();
            assert!(matches!(error, StoreError::Full { .. }), "{error}");
            assert!(store.lookup(&name(dataset)).is_err() && store.list("").is_empty());
            assert_eq!(std::fs::read_dir(folder.join(".flight/staging")).unwrap().count(), 0);
        }
        let limit = getrlimit(Resource::Fsize);
        setrlimit(Resource::Fsize, rustix::process::Rlimit { current: limit.maximum, ..limit })
            .unwrap();
        for dataset in ["a", "b.parquet"] {
            put(&store, request(dataset, Mode::Create), &values).unwrap();
            assert_eq!(read(&store, dataset).unwrap(), values);
        }
        return;
    }
    let test = "processes::an_upload_past_the_file_size_limit_is_refused_and_the_next_works";
    // In units of 512 or 1,024 bytes, by shell; the smaller file has some 25 KB.
    for limit in ["0", "1", "2", "4", "8", "16", "20"] {
        let fixture = Fixture::new();
        // Ignored, the signal becomes an error of the write.
        let script = "trap '' XFSZ; ulimit -S -f $0; exec \"$@\"";
        let status = child(&["sh", "-c", script, limit], test, &fixture.root());
        assert!(status.success(), "limit {limit}: {status}");
    }
}
