//! What requests ask for: columns, ranges, sizes, versions, deadlines.

use arrow_array::RecordBatch;
use flight_testkit::ServerProcess;
use tempfile::{TempDir, tempdir};
use tonic::Code;

use crate::client::{Client, table, tag_of};

async fn served(rows: usize) -> (TempDir, ServerProcess, Client) {
    let data = tempdir().unwrap();
    let server = ServerProcess::start(data.path());
    let client = Client::connect(server.endpoint()).await;
    client.put(r#"{"dataset":"t"}"#, &[table(7, rows)]).await.unwrap();
    (data, server, client)
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

#[tokio::test]
async fn columns_come_in_the_order_asked_for() {
    let (_data, _server, mut client) = served(100).await;
    let got = client.get(r#"{"dataset":"t","columns":["text","tag"]}"#).await.unwrap();
    let names: Vec<_> = got[0].schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["text", "tag"]);
    assert_eq!(got[0].column(0), table(7, 100).column(2));
    let none = client.get(r#"{"dataset":"t","columns":[]}"#).await.unwrap();
    assert_eq!((rows(&none), none[0].num_columns()), (100, 0));
}

#[tokio::test]
async fn endpoints_split_the_rows_and_lose_none() {
    let (_data, _server, mut client) = served(1003).await;
    for endpoints in [1, 2, 7, 64] {
        let command = format!(r#"{{"dataset":"t","endpoints":{endpoints}}}"#);
        assert_eq!(client.info(&command).await.unwrap().endpoint.len(), endpoints);
        assert_eq!(tag_of(&client.get(&command).await.unwrap(), 1003), 7);
    }
    let part = client.get(r#"{"dataset":"t","offset":1000,"limit":2}"#).await.unwrap();
    assert_eq!(part[0], table(7, 1003).slice(1000, 2));
}

#[tokio::test]
async fn messages_keep_within_what_was_asked() {
    let (_data, _server, mut client) = served(200_000).await;
    for (command, most_rows) in [
        (r#"{"dataset":"t","batch_rows":1000}"#, 1000),
        (r#"{"dataset":"t","message_bytes":65536}"#, 65_536 / 16),
    ] {
        let got = client.get(command).await.unwrap();
        let most = got.iter().map(RecordBatch::num_rows).max().unwrap();
        assert!(most <= most_rows, "{command}: {most} rows in a batch");
        assert_eq!(tag_of(&got, 200_000), 7);
    }
    for compression in ["lz4", "zstd"] {
        let command = format!(r#"{{"dataset":"t","compression":"{compression}"}}"#);
        assert_eq!(tag_of(&client.get(&command).await.unwrap(), 200_000), 7);
    }
}

#[tokio::test]
async fn a_ticket_of_an_older_version_is_refused_with_the_way_out() {
    let (_data, _server, mut client) = served(10).await;
    let info = client.info(r#"{"dataset":"t"}"#).await.unwrap();
    client.put(r#"{"dataset":"t","mode":"replace"}"#, &[table(8, 10)]).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap().ticket;
    let Err(refused) = client.stream(&ticket).await else { panic!("an old ticket was taken") };
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("call GetFlightInfo again"), "{refused}");
}

#[tokio::test]
async fn tickets_that_were_not_issued_are_refused() {
    let (_data, _server, client) = served(10).await;
    for ticket in [&b""[..], b"t", b"FTK1", &[0xff; 100], &[0; 3000]] {
        let Err(refused) = client.stream(ticket).await else { panic!("{ticket:?} was taken") };
        assert_eq!(refused.code(), Code::InvalidArgument, "{ticket:?}: {refused}");
    }
}

#[tokio::test]
async fn the_same_upload_sent_twice_is_stored_once() {
    let (_data, _server, mut client) = served(10).await;
    let command = r#"{"dataset":"once","upload_id":"8b1f"}"#;
    let first = client.put(command, &[table(1, 500)]).await.unwrap();
    let again = client.put(command, &[table(1, 500)]).await.unwrap();
    assert_eq!(first, again);
    let other = client.put(r#"{"dataset":"once","upload_id":"other"}"#, &[table(2, 5)]).await;
    assert_eq!(other.unwrap_err().code(), Code::AlreadyExists);
    assert_eq!(tag_of(&client.get(r#"{"dataset":"once"}"#).await.unwrap(), 500), 1);
}

#[tokio::test]
async fn parquet_and_feather_store_the_same_rows() {
    let (data, _server, mut client) = served(10).await;
    for (format, extension) in [("feather", "feather"), ("parquet", "parquet")] {
        let command = format!(r#"{{"dataset":"in/{format}","format":"{format}"}}"#);
        let summary = client.put(&command, &[table(3, 5000), table(3, 0)]).await.unwrap();
        assert_eq!(summary.rows, 5000);
        let path = data.path().join(format!("in/{format}.{extension}"));
        assert_eq!(std::fs::metadata(path).unwrap().len(), summary.bytes);
        let got = client.get(&format!(r#"{{"dataset":"in/{format}"}}"#)).await.unwrap();
        assert_eq!(tag_of(&got, 5000), 3);
    }
}

#[tokio::test]
async fn deleting_takes_a_dataset_away_and_readers_read_on() {
    let (_data, _server, mut client) = served(300_000).await;
    let info = client.info(r#"{"dataset":"t","message_bytes":65536}"#).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap().ticket;
    let mut stream = client.stream(&ticket).await.unwrap();
    let mut rows = stream.next().await.unwrap().unwrap().num_rows();
    client.action("delete-dataset", r#"{"dataset":"t"}"#).await.unwrap();
    assert!(client.names().await.is_empty());
    while let Some(batch) = stream.next().await.unwrap() {
        rows += batch.num_rows();
    }
    assert_eq!(rows, 300_000);
    let gone = client.action("delete-dataset", r#"{"dataset":"t"}"#).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound);
}
