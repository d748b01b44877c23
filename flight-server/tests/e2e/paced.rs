//! Streams whose batches leave at times of the server's own, for benchmarks.

use flight_testkit::{ServerCommand, ServerProcess};
use flight_wire::protocol::{EmitStamp, PACE_HEADER};
use tempfile::{TempDir, tempdir};
use tonic::Code;

use crate::client::{Client, table};

const INTERVAL_NS: u64 = 5_000_000;

async fn served(perf: &[&str], put: &str) -> (TempDir, ServerProcess, Client, Vec<u8>) {
    let data = tempdir().unwrap();
    let server = ServerCommand::serve(data.path()).args(perf).start();
    let mut client = Client::connect(server.endpoint()).await;
    client.put(put, &vec![table(7, 1000); 6]).await.unwrap();
    let info = client.info(r#"{"dataset":"t","batch_rows":500}"#).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap().ticket.to_vec();
    (data, server, client, ticket)
}

/// Reads at 200 batches a second; the stamps, and how many messages there were.
async fn stamps(client: &Client, ticket: &[u8], more: &str) -> (Vec<EmitStamp>, usize) {
    let asked = format!("rate=200; arrival=uniform; seed=1{more}");
    let messages = client.messages(ticket, &[(PACE_HEADER, &asked)]).await.unwrap();
    let stamps = messages.iter().filter_map(|message| EmitStamp::parse(&message.app_metadata));
    (stamps.collect(), messages.len())
}

#[tokio::test]
async fn every_batch_leaves_when_it_is_due_and_says_when_that_was() {
    for put in [r#"{"dataset":"t"}"#, r#"{"dataset":"t","format":"parquet"}"#] {
        let (_data, _server, client, ticket) = served(&["--perf"], put).await;
        let (stamps, messages) = stamps(&client, &ticket, "").await;
        assert_eq!((stamps.len(), messages), (12, 13), "{put}: all but the schema");
        for pair in stamps.windows(2) {
            assert_eq!(pair[1].intended_ns - pair[0].intended_ns, INTERVAL_NS, "{put}");
        }
        assert!(stamps.iter().all(|stamp| stamp.emitted_ns >= stamp.intended_ns), "{put}");
        assert!(stamps.iter().all(|stamp| stamp.clock == stamps[0].clock), "{put}");
    }
}

#[tokio::test]
async fn a_schedule_goes_on_after_the_last_batch_of_another_stream() {
    let (_data, _server, client, ticket) = served(&["--perf"], r#"{"dataset":"t"}"#).await;
    let last = *stamps(&client, &ticket, "").await.0.last().unwrap();
    let after = |clock: u64| format!("; after={clock}:{}", last.intended_ns);
    let (next, _) = stamps(&client, &ticket, &after(last.clock)).await;
    assert_eq!(next[0].intended_ns, last.intended_ns + INTERVAL_NS);
    let (other, _) = stamps(&client, &ticket, &after(last.clock ^ 1)).await;
    assert!(other[0].intended_ns > next[11].intended_ns, "another machine's clock says nothing");
}

#[tokio::test]
async fn a_slow_stream_ends_at_its_deadline() {
    let (_data, _server, client, ticket) = served(&["--perf"], r#"{"dataset":"t"}"#).await;
    let headers = [(PACE_HEADER, "rate=1; arrival=uniform; seed=1"), ("grpc-timeout", "300m")];
    let late = client.messages(&ticket, &headers).await.unwrap_err();
    assert_eq!(late.code(), Code::DeadlineExceeded, "{late}");
}

#[tokio::test]
async fn what_cannot_be_paced_is_refused() {
    let (_data, _server, mut client, ticket) = served(&["--perf"], r#"{"dataset":"t"}"#).await;
    let check = async |client: &Client, ticket: &[u8], header: &str, code, why: &str| {
        let refused = client.messages(ticket, &[(PACE_HEADER, header)]).await.unwrap_err();
        assert_eq!(refused.code(), code, "{header}: {refused}");
        assert!(refused.message().contains(why), "{header}: {refused}");
    };
    check(&client, &ticket, "fast", Code::InvalidArgument, "rate=1000; arrival=poisson").await;
    let info = client.info(r#"{"dataset":"t","checksum":"xxh3"}"#).await.unwrap();
    let checked = info.endpoint[0].ticket.clone().unwrap().ticket;
    check(&client, &checked, "rate=10", Code::InvalidArgument, "ask for one of them").await;
    let (_data, _server, client, ticket) = served(&[], r#"{"dataset":"t"}"#).await;
    check(&client, &ticket, "rate=10", Code::Unimplemented, "runs with --perf").await;
}
