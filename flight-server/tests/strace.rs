//! The order of system calls: what is acknowledged was synced first.
//!
//! Needs strace, so it is not part of `make test`; `make ci` runs it by name.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unreachable_pub, dead_code, reason = "the client is shared with the end-to-end tests")]

#[path = "e2e/client.rs"]
mod client;

use std::path::Path;
use std::process::Command;

use flight_testkit::{ServerCommand, program};
use tempfile::tempdir;

use client::{Client, table};

/// What matters of a traced system call.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Step {
    WriteStaged,
    SyncStaged,
    RenameIntoPlace,
    SyncFolder,
    Answer,
}

/// Runs one upload under strace and returns its steps in order, repeats left out.
async fn steps(command: &str, prepare: bool) -> Vec<Step> {
    let data = tempdir().unwrap();
    // Traced paths are real paths.
    let root = data.path().canonicalize().unwrap();
    let log = tempdir().unwrap();
    let log = log.path().join("strace");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-yy", "-s", "256", "-o"]).arg(&log);
    traced.args([
        "-e",
        "trace=write,writev,pwrite64,sendto,sendmsg,fsync,fdatasync,rename,renameat,renameat2",
    ]);
    traced.arg(program("flight-server")).arg("serve").arg("--data").arg(&root);
    let mut server = ServerCommand::from(traced).start();
    let client = Client::connect(server.endpoint()).await;
    if prepare {
        client.put(r#"{"dataset":"folder/t"}"#, &[table(1, 10)]).await.unwrap();
    }
    client.put(command, &[table(2, 5000)]).await.unwrap();
    drop(client);
    server.close_stdin();
    server.wait();
    let text = std::fs::read_to_string(&log).unwrap();
    let mut steps: Vec<Step> = text.lines().filter_map(|line| step(line, &root)).collect();
    steps.dedup();
    steps
}

fn step(line: &str, root: &Path) -> Option<Step> {
    // `PID call(FD<path>, …` or its end, `PID <... call resumed>`: the beginning counts for what
    // precedes others, the end is not told apart since each upload runs on one thread at a time.
    let call = line.split_once(' ')?.1.trim_start();
    let staged = format!("{}/.flight/staging/", root.display());
    let folder = format!("<{}/folder>", root.display());
    let writes = ["write(", "writev(", "pwrite64("].iter().any(|name| call.starts_with(name));
    let syncs = call.starts_with("fsync(") || call.starts_with("fdatasync(");
    if writes && call.contains(&staged) {
        return Some(Step::WriteStaged);
    }
    if syncs && call.contains(&staged) {
        return Some(Step::SyncStaged);
    }
    if syncs && call.contains(&folder) {
        return Some(Step::SyncFolder);
    }
    if call.starts_with("rename") && call.contains("\"t.feather\"") {
        return Some(Step::RenameIntoPlace);
    }
    // The final acknowledgement: the summary's JSON on a socket.
    let sends = writes || call.starts_with("sendto(") || call.starts_with("sendmsg(");
    let summary = r#"{\"rows\":5000"#;
    (sends && call.contains("TCP") && call.contains(summary)).then_some(Step::Answer)
}

async fn check(command: &str, prepare: bool) {
    use Step::{Answer, RenameIntoPlace, SyncFolder, SyncStaged, WriteStaged};
    let steps = steps(command, prepare).await;
    let order = [WriteStaged, SyncStaged, RenameIntoPlace, SyncFolder, Answer];
    assert!(steps.ends_with(&order), "{steps:?}");
}

#[tokio::test]
async fn a_created_dataset_is_synced_renamed_and_its_folder_synced_before_the_answer() {
    check(r#"{"dataset":"folder/t"}"#, false).await;
}

#[tokio::test]
async fn a_replaced_dataset_too() {
    check(r#"{"dataset":"folder/t","mode":"replace"}"#, true).await;
}
