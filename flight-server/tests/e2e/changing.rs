//! Files that change while they are served: the old version whole, or DATA_LOSS.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use arrow_array::RecordBatch;
use flight_net::client::Transport;
use flight_testkit::ServerProcess;
use tempfile::tempdir;
use tonic::{Code, Status};

use crate::client::{Client, table, tag_of};
use crate::served::Served;

const ROWS: usize = 2_000_000;

struct Case {
    format: &'static str,
    /// Whether the file was read before.
    known: bool,
    secure: bool,
}

/// Feather files are mapped, since the server wrote them.
const CASES: [Case; 4] = [
    Case { format: "feather", known: false, secure: false },
    Case { format: "feather", known: true, secure: false },
    Case { format: "feather", known: true, secure: true },
    Case { format: "parquet", known: false, secure: false },
];

/// Reads the first message of a large dataset, lets `change` loose on its file, and reads on; if
/// `known`, one that was read before and so is known to be sound.
async fn read_across(case: &Case, change: impl FnOnce(&Path)) -> Result<Vec<RecordBatch>, Status> {
    let Case { format, known, secure } = *case;
    let served = Served::start(tempdir().unwrap(), &[]);
    let mut client = served.client(secure, Transport::Own).await;
    let rows = table(1, ROWS);
    let batches: Vec<_> =
        (0..ROWS).step_by(50_000).map(|start| rows.slice(start, 50_000)).collect();
    let put = format!(r#"{{"dataset":"t","format":"{format}","codec":"none"}}"#);
    client.put(&put, &batches).await.unwrap();
    if known {
        client.get(r#"{"dataset":"t"}"#).await.unwrap();
    }
    let info = client.info(r#"{"dataset":"t"}"#).await.unwrap();
    let mut stream = client.stream(&info.endpoint[0].ticket.clone().unwrap().ticket).await.unwrap();
    let mut got = vec![stream.next().await.unwrap().unwrap()];
    let maps = fs::read_to_string(format!("/proc/{}/maps", served.pid())).unwrap();
    assert_eq!(maps.contains("t.feather"), format == "feather", "what was uploaded is mapped");
    change(&served.data().join(format!("t.{format}")));
    let outcome = loop {
        match stream.next().await {
            Ok(Some(batch)) => got.push(batch),
            Ok(None) => break Ok(got),
            Err(status) => break Err(status),
        }
    };
    // The server lives and serves others.
    client.put(r#"{"dataset":"after"}"#, &[table(5, 10)]).await.unwrap();
    let after = client.get(r#"{"dataset":"after"}"#).await.unwrap();
    assert_eq!(tag_of(&after, 10), 5);
    outcome
}

/// The old version whole, or DATA_LOSS; never other rows, never a shorter success.
fn check(outcome: Result<Vec<RecordBatch>, Status>) {
    match outcome {
        Ok(batches) => assert_eq!(tag_of(&batches, ROWS), 1),
        Err(status) => assert_eq!(status.code(), Code::DataLoss, "{status}"),
    }
}

#[tokio::test]
async fn a_file_replaced_by_rename_is_read_to_its_end() {
    for case in &CASES {
        let outcome = read_across(case, |path| {
            let other = path.with_extension("new");
            fs::write(&other, b"not a table").unwrap();
            fs::rename(&other, path).unwrap();
        });
        assert_eq!(
            tag_of(&outcome.await.unwrap(), ROWS),
            1,
            "{}: the open file stays whole",
            case.format
        );
    }
}

#[tokio::test]
async fn a_file_deleted_is_read_to_its_end() {
    let outcome = read_across(&CASES[0], |path| fs::remove_file(path).unwrap());
    assert_eq!(tag_of(&outcome.await.unwrap(), ROWS), 1);
}

#[tokio::test]
async fn a_file_truncated_is_data_loss() {
    for case in &CASES {
        let outcome = read_across(case, |path| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() / 3).unwrap();
        });
        check(outcome.await);
    }
}

#[tokio::test]
async fn a_file_overwritten_in_place_is_data_loss() {
    for case in &CASES {
        let outcome = read_across(case, |path| {
            let mut file = OpenOptions::new().write(true).open(path).unwrap();
            let length = file.metadata().unwrap().len();
            file.seek(SeekFrom::Start(length / 4)).unwrap();
            let filler = vec![0x5a; 1 << 20];
            for _ in 0..(length / 2) >> 20 {
                file.write_all(&filler).unwrap();
            }
        });
        check(outcome.await);
    }
}

#[tokio::test]
async fn everybody_sees_the_changes_from_before_they_asked() {
    let data = tempdir().unwrap();
    let server = ServerProcess::start(data.path());
    let clients: Vec<_> =
        futures_util::future::join_all((0..8).map(|_| Client::connect(server.endpoint()))).await;
    for rows in 1..=50 {
        let temporary = data.path().join("writing");
        let batch = table(1, rows);
        let file = File::create(&temporary).unwrap();
        let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        fs::rename(temporary, data.path().join("a.arrow")).unwrap();
        // Several at once on each connection, so that lookups are shared.
        let asked = clients.iter().flat_map(|client| (0..8).map(|_| client.clone()));
        let asked = asked.map(|mut client| async move {
            client.info(r#"{"dataset":"a"}"#).await.unwrap().total_records
        });
        let seen = futures_util::future::join_all(asked).await;
        assert!(seen.iter().all(|seen| *seen == rows as i64), "{rows}: {seen:?}");
    }
}

#[tokio::test]
async fn files_that_come_change_and_go_are_noticed() {
    let data = tempdir().unwrap();
    let server =
        flight_testkit::ServerCommand::serve(data.path()).args(["--rescan", "100ms"]).start();
    let mut client = Client::connect(server.endpoint()).await;
    let write = |name: &str, tag| {
        let batch = table(tag, 100);
        let temporary = data.path().join("writing");
        let file = File::create(&temporary).unwrap();
        let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        fs::rename(temporary, data.path().join(name)).unwrap();
    };
    write("a.arrow", 1);
    fs::write(data.path().join("broken.arrow"), b"ARROW1\0\0 and nothing").unwrap();
    // A file that was asked for by name is found before any scan.
    assert_eq!(tag_of(&client.get(r#"{"dataset":"a"}"#).await.unwrap(), 100), 1);
    write("a.arrow", 2);
    assert_eq!(tag_of(&client.get(r#"{"dataset":"a"}"#).await.unwrap(), 100), 2);
    let listed = listed_within(&mut client, &["a"]).await;
    assert_eq!(listed, ["a"], "the broken file is not listed");
    fs::remove_file(data.path().join("a.arrow")).unwrap();
    assert_eq!(client.get(r#"{"dataset":"a"}"#).await.unwrap_err().code(), Code::NotFound);
    assert!(listed_within(&mut client, &[]).await.is_empty());
    let reported = within_ten_seconds(async || server.stderr().contains("\"broken")).await;
    assert!(reported, "the broken file is reported by name: {}", server.stderr());
    let broken = client.get(r#"{"dataset":"broken"}"#).await.unwrap_err();
    assert_eq!(broken.code(), Code::DataLoss, "{broken}");
}

/// Lists until the names are those expected, for ten seconds at most.
async fn listed_within(client: &mut Client, expected: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..TRIES {
        names = client.names().await;
        if names == expected {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    names
}

async fn within_ten_seconds(mut is_so: impl AsyncFnMut() -> bool) -> bool {
    for _ in 0..TRIES {
        if is_so().await {
            return true;
        }
        tokio::time::sleep(PAUSE).await;
    }
    false
}

const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);
