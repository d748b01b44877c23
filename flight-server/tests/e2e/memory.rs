//! What the server holds in memory while it serves what is larger.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use flight_testkit::{ServerCommand, ServerProcess};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use rand::RngExt as _;
use tempfile::{TempDir, tempdir};

use crate::client::{Client, admin_get};

/// Of the server's own memory: pages of files are the system's to give and take.
const ANONYMOUS_BYTES_MAX: u64 = 64 << 20;
/// The same while Parquet is decoded ahead of one reader.
const PARQUET_ANONYMOUS_BYTES_MAX: u64 = 256 << 20;

/// Bytes of the files; `FLIGHT_LONG=1` makes them of 2 GiB.
fn file_bytes() -> u64 {
    let long = std::env::var("FLIGHT_LONG").is_ok_and(|long| long == "1");
    if long { 2 << 30 } else { 256 << 20 }
}

/// `RssAnon` of a process, in bytes.
pub fn anonymous_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// A file of at least `bytes` bytes in batches of `rows` rows; how many rows it has.
fn write(path: &Path, bytes: u64, rows: usize) -> u64 {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let texts = (0..rows).map(|row| format!("text {row}"));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("number", numbers), ("text", texts)]).unwrap();
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new(File::create(path).unwrap(), &batch.schema())
            .unwrap();
    let mut written = 0;
    while path.metadata().unwrap().len() < bytes {
        writer.write(&batch).unwrap();
        written += rows as u64;
    }
    writer.finish().unwrap();
    written
}

/// Reads the dataset to its end; the most anonymous memory that the server had meanwhile.
async fn read(server: &ServerProcess, rows: u64) -> u64 {
    let mut client = Client::connect(server.endpoint()).await;
    let info = client.info(r#"{"dataset":"large"}"#).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap().ticket;
    let mut stream = client.stream(&ticket).await.unwrap();
    let (mut seen, mut most) = (0, 0);
    while let Some(batch) = stream.next().await.unwrap() {
        seen += batch.num_rows() as u64;
        most = most.max(anonymous_bytes(server.pid()));
    }
    assert_eq!(seen, rows);
    most
}

/// A stored batch of [`write`] with 200 000 rows.
const BATCH_BYTES: u64 = 5 << 20;
/// A batch decoded from Parquet: `PARQUET_BATCH_BYTES` of flight-files.
const PARQUET_BATCH_BYTES: u64 = 3 << 19;
/// What a connection queues for its socket: `send_buffer_bytes` of flight-net's settings.
const SEND_WINDOW_BYTES: u64 = 2 << 20;

#[tokio::test]
async fn a_stalled_reader_holds_a_batch_and_the_send_window() {
    let data = tempdir().unwrap();
    let rows = write(&data.path().join("large.arrow"), 64 << 20, 200_000);
    let small = write(&data.path().join("small.arrow"), 1 << 20, 1_000);
    let bytes_max = BATCH_BYTES + SEND_WINDOW_BYTES;
    check_stalled(data, rows, small, bytes_max).await;
}

#[tokio::test]
async fn a_stalled_reader_of_parquet_gives_up_what_was_decoded_ahead() {
    let data = tempdir().unwrap();
    let rows = write_parquet(&data.path().join("large.parquet"), 64 << 20);
    // Also decoded: an allocator takes back what another thread freed when its own thread asks.
    let small = write_parquet(&data.path().join("small.parquet"), 1);
    let bytes_max = PARQUET_BATCH_BYTES + SEND_WINDOW_BYTES;
    check_stalled(data, rows, small, bytes_max).await;
}

/// Readers of the dataset "large" that stop after a batch hold little, and lose nothing.
///
/// `bytes_max` is of what the server keeps for each, and of what the process grows by.
async fn check_stalled(data: TempDir, rows: u64, small: u64, bytes_max: u64) {
    const READERS: usize = 16;
    const GROUPS: usize = 4;
    let server = ServerCommand::serve(data.path()).args(["--admin", "127.0.0.1:0"]).start();
    let mut other = Client::connect(server.endpoint()).await;
    let (mut stalled, mut settled_at) = (Vec::new(), Vec::new());
    // What those after the first group add: it has taken what the process takes but once.
    for _ in 0..GROUPS {
        for _ in 0..READERS {
            let mut client = Client::connect(server.endpoint()).await;
            let info = client.info(r#"{"dataset":"large"}"#).await.unwrap();
            let ticket = info.endpoint[0].ticket.clone().unwrap().ticket;
            let mut stream = client.stream(&ticket).await.unwrap();
            let first = stream.next().await.unwrap().unwrap().num_rows() as u64;
            stalled.push((client, stream, first));
        }
        settled_at.push(settled(&server, &mut other, small).await);
    }
    let further = ((GROUPS - 1) * READERS) as u64;
    let held = settled_at[GROUPS - 1].saturating_sub(settled_at[0]) / further;
    assert!(held <= bytes_max, "{held} resident bytes for each stalled reader");
    let metrics = admin_get(&server, "/metrics");
    let kept = ["flight_server_unsent_bytes ", "flight_server_decoded_ahead_bytes "].map(|name| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().parse::<u64>().unwrap()
    });
    let kept = kept.iter().sum::<u64>() / (GROUPS * READERS) as u64;
    assert!(kept <= bytes_max, "{kept} bytes are kept for each stalled reader");
    assert!(kept >= 256 << 10, "{kept} bytes: the readers did not stall");
    let (_client, mut stream, mut seen) = stalled.pop().unwrap();
    while let Some(batch) = stream.next().await.unwrap() {
        seen += batch.num_rows() as u64;
    }
    assert_eq!(seen, rows, "a reader that goes on gets the rest");
}

/// The anonymous memory of the server, once it has not changed much for three seconds, in which
/// others go on reading.
async fn settled(server: &ServerProcess, other: &mut Client, rows: u64) -> u64 {
    let (mut least, mut most, mut since) = (u64::MAX, 0, Instant::now());
    let began = Instant::now();
    while since.elapsed() < Duration::from_secs(3) && began.elapsed() < Duration::from_secs(60) {
        let got = other.get(r#"{"dataset":"small"}"#).await.unwrap();
        assert_eq!(got.iter().map(RecordBatch::num_rows).sum::<usize>() as u64, rows);
        let now = anonymous_bytes(server.pid());
        if now.max(most) - now.min(least) > 4 << 20 {
            (least, most, since) = (now, now, Instant::now());
        }
        (least, most) = (least.min(now), most.max(now));
    }
    least
}

/// A Parquet file of at least `bytes` bytes in row groups of 2^20 rows, 96 MiB each; its rows.
fn write_parquet(path: &Path, bytes: u64) -> u64 {
    const ROWS: usize = 1 << 17;
    let mut rng = flight_testkit::rng(1);
    let column = |_| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|_| rng.random::<i64>())))
    };
    let names = (0..12).map(|column| format!("c{column}"));
    let columns: Vec<_> = (0..12).map(column).collect();
    let batch = RecordBatch::try_from_iter(names.zip(columns)).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(1 << 20))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    let mut written = 0;
    while path.metadata().unwrap().len() < bytes {
        writer.write(&batch).unwrap();
        written += ROWS as u64;
    }
    writer.close().unwrap();
    written
}

async fn check(rows_of_a_batch: usize, flags: &[&str]) {
    let data = tempdir().unwrap();
    let rows = write(&data.path().join("large.arrow"), file_bytes(), rows_of_a_batch);
    let server = ServerCommand::serve(data.path()).args(flags).start();
    for pass in ["checked", "known to be sound"] {
        let most = read(&server, rows).await;

        assert!(most <= ANONYMOUS_BYTES_MAX, "{pass}, {flags:?}: {most} bytes");
    }
}

#[tokio::test]
async fn a_large_file_is_served_in_little_memory() {
    check(200_000, &[]).await;
}

#[tokio::test]
async fn a_large_file_that_is_mapped_is_served_in_little_memory() {
    check(200_000, &["--map-files"]).await;
}

#[tokio::test]
async fn large_batches_are_served_in_little_memory() {
    check(10_000_000, &[]).await;
}

#[tokio::test]
async fn a_large_parquet_file_is_decoded_in_bounded_memory() {
    let data = tempdir().unwrap();
    let rows = write_parquet(&data.path().join("large.parquet"), file_bytes());
    let server = ServerProcess::start(data.path());
    let most = read(&server, rows).await;
    assert!(most <= PARQUET_ANONYMOUS_BYTES_MAX, "{most} bytes");
}
