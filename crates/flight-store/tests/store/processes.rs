//! What other processes leave behind, and a process at its file size limit.
//!
//! A test that needs another process runs itself again as a child, with the folder in a variable.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flight_store::{Mode, StoreError};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::fixture::{Fixture, batch, begin, name, open, put, read, request, with_id};

const CHILD_FOLDER: &str = "FLIGHT_STORE_CHILD_FOLDER";

fn child_folder() -> Option<PathBuf> {
    std::env::var_os(CHILD_FOLDER).map(PathBuf::from)
}

fn child(wrapper: &[&str], test: &str, folder: &Path) -> Command {
    let test_binary = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().map(PathBuf::from).collect::<Vec<_>>();
    words.push(test_binary);
    words.extend(["--exact", test, "--nocapture"].map(PathBuf::from));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env(CHILD_FOLDER, folder).stdout(Stdio::null());
    command
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
    let status = child(&[], test, &fixture.root()).status().unwrap();
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
        let status = child(&["sh", "-c", script, limit], test, &fixture.root()).status().unwrap();
        assert!(status.success(), "limit {limit}: {status}");
    }
}

/// What the upload with this number holds: whole, it tells which one it is.
fn numbered(upload: i64) -> Vec<i64> {
    vec![upload; 100 + usize::try_from(upload).unwrap()]
}

/// Watches the upload with number `next` until it reaches a certain step, or has passed it.
fn wait_for_moment(fixture: &Fixture, moment: i64, next: i64) {
    let file = fixture.path(&format!("x{}/a.feather", next % 3));
    let inode = || file.metadata().map(|metadata| metadata.ino()).ok();
    let before = inode();
    for _ in 0..100_000 {
        let reached = match moment {
            0 => true,
            // The dataset is being written; then its entry as well; then it was renamed.
            1 => !fixture.private("staging").is_empty(),
            2 => fixture.private("staging").len() > 1,
            _ => false,
        };
        if reached || inode() != before {
            return;
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged_and_shows_nothing_partial() {
    if let Some(folder) = child_folder() {
        let store = open(&folder);
        for upload in 0..10_000 {
            let dataset = format!("x{}/a", upload % 3);
            let request = with_id(&dataset, Mode::Replace, &upload.to_string());
            put(&store, request, &numbered(upload)).unwrap();
            println!("stored {dataset} {upload}");
            std::io::stdout().flush().unwrap();
        }
        return;
    }
    let test = "processes::a_killed_process_loses_nothing_acknowledged_and_shows_nothing_partial";
    for kill_after in 0..24 {
        let fixture = Fixture::new();
        let mut running = child(&[], test, &fixture.root()).stdout(Stdio::piped()).spawn().unwrap();
        let mut acknowledged = BTreeMap::new();
        let (mut count, mut killed) = (0, false);
        // The lines that were written before the kill are acknowledged, too.
        for line in BufReader::new(running.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some((dataset, upload)) =
                line.strip_prefix("stored ").and_then(|rest| rest.split_once(' '))
            {
                acknowledged.insert(dataset.to_owned(), upload.parse::<i64>().unwrap());
                count += 1;
            }
            if count == kill_after + 1 && !killed {
                killed = true;
                wait_for_moment(&fixture, kill_after % 4, count);
                running.kill().unwrap();
            }
        }
        running.wait().unwrap();
        assert!(count > kill_after, "{count} uploads");

        let store = open(&fixture.root());
        assert!(fixture.private("staging").is_empty());
        assert_eq!(store.rescan().problems, []);
        for info in store.list("") {
            let values = read(&store, info.name.as_str()).unwrap();
            assert_eq!(values, numbered(values[0]), "{} is whole", info.name);
            assert!(values[0] >= acknowledged.get(info.name.as_str()).copied().unwrap_or(0));
        }
        for (dataset, upload) in acknowledged {
            let again = with_id(&dataset, Mode::Replace, &upload.to_string());
            let stored = put(&store, again, &[]).unwrap();
            assert_eq!(stored.rows, numbered(upload).len() as u64, "{dataset} {upload}");
        }
    }
}
