//! Clients that stop half-way: none keeps memory, a connection or another client for long.

use std::time::{Duration, Instant};

use arrow_flight::Ticket;
use flight_testkit::ServerCommand;
use h2::Reason;
use tempfile::{TempDir, tempdir};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{Client, table};
use crate::raw::{Raw, claim, message, status, upload};

const DEADLINE_EXCEEDED: &str = "4";
/// The largest message that is taken, and the least memory for uploads.
const MESSAGE_BYTES_MAX: u32 = 256 << 20;

fn serve(data: &TempDir, flags: &[&str]) -> flight_testkit::ServerProcess {
    ServerCommand::serve(data.path()).args(flags).start()
}

async fn check_that_others_can_upload(endpoint: &str, name: &str) {
    let client = Client::connect(endpoint).await;
    let put = format!(r#"{{"dataset":"{name}","mode":"replace"}}"#);
    let stored =
        timeout(Duration::from_secs(20), async { client.put(&put, &[table(1, 10)]).await });
    stored.await.expect("an upload ends within 20 s").unwrap();
}

#[tokio::test]
async fn a_claim_without_bytes_holds_no_memory_once_its_client_is_gone() {
    let data = tempdir().unwrap();
    let server = serve(&data, &["--upload-memory", "256MiB"]);
    let raw = Raw::connect(server.endpoint()).await;
    let mut calls = Vec::new();
    for name in ["a", "b", "c"] {
        let (response, mut body) = raw.call("DoPut", None).await;
        let [schema, _] = upload(name);
        body.send_data(schema, false).unwrap();
        body.send_data(claim(MESSAGE_BYTES_MAX), false).unwrap();
        calls.push((response, body));
    }
    raw.vanish();
    check_that_others_can_upload(server.endpoint(), "after").await;
}

#[tokio::test]
async fn an_upload_that_sends_nothing_is_ended() {
    let data = tempdir().unwrap();
    let server = serve(&data, &["--upload-memory", "256MiB", "--stall-timeout", "300ms"]);
    let raw = Raw::connect(server.endpoint()).await;
    let (response, mut body) = raw.call("DoPut", None).await;
    let [schema, batch] = upload("t");
    body.send_data(schema, false).unwrap();
    body.send_data(batch, false).unwrap();
    body.send_data(claim(MESSAGE_BYTES_MAX), false).unwrap();
    assert_eq!(status(response).await, Ok(DEADLINE_EXCEEDED.into()));
    check_that_others_can_upload(server.endpoint(), "after").await;
    let mut client = Client::connect(server.endpoint()).await;
    assert_eq!(client.names().await, ["after"], "nothing of the upload is stored");
}

#[tokio::test]
async fn uploads_of_one_connection_that_wait_for_memory_do_not_stop_each_other() {
    let data = tempdir().unwrap();
    let server = serve(&data, &["--upload-memory", "256MiB"]);
    let client = std::sync::Arc::new(Client::connect(server.endpoint()).await);
    let mut uploads = tokio::task::JoinSet::new();
    let large = table(1, 2_000_000);
    for upload in 0..5 {
        let (client, large) = (client.clone(), large.clone());
        uploads.spawn(async move {
            let put = format!(r#"{{"dataset":"t{upload}"}}"#);
            client.put_whole(&put, &[large]).await
        });
    }
    let all = timeout(Duration::from_secs(60), uploads.join_all()).await;
    for stored in all.expect("no upload waits for ever") {
        assert_eq!(stored.unwrap().rows, 2_000_000);
    }
}

/// A reset with NO_ERROR reads like the end of the upload, and is none.
#[tokio::test]
async fn an_upload_that_is_reset_is_not_stored_whatever_the_reason() {
    let data = tempdir().unwrap();
    let server = serve(&data, &[]);
    for reason in [Reason::NO_ERROR, Reason::CANCEL, Reason::INTERNAL_ERROR] {
        let raw = Raw::connect(server.endpoint()).await;
        let (response, mut body) = raw.call("DoPut", None).await;
        for bytes in upload("cut") {
            body.send_data(bytes, false).unwrap();
        }
        body.send_reset(reason);
        drop(response);
        // A call that is answered after the reset was taken.
        let (response, mut body) = raw.call("DoPut", None).await;
        body.send_data(claim(0), true).unwrap();
        assert_eq!(status(response).await, Ok("3".into()));
    }
    check_that_others_can_upload(server.endpoint(), "after").await;
    let mut client = Client::connect(server.endpoint()).await;
    assert_eq!(client.names().await, ["after"]);
}

#[tokio::test]
async fn a_ticket_that_does_not_come_is_not_waited_for_beyond_the_deadline() {
    let data = tempdir().unwrap();
    let server = serve(&data, &[]);
    let raw = Raw::connect(server.endpoint()).await;
    for method in ["DoGet", "DoPut"] {
        let (response, _body) = raw.call(method, Some("200m")).await;
        assert_eq!(status(response).await, Ok(DEADLINE_EXCEEDED.into()), "{method}");
    }
}

/// Reads a connection to its end.
async fn closed_within(mut stream: TcpStream, limit: Duration) -> bool {
    let mut bytes = Vec::new();
    timeout(limit, stream.read_to_end(&mut bytes)).await.is_ok()
}

#[tokio::test]
async fn connections_without_a_call_are_closed() {
    let data = tempdir().unwrap();
    let flags = ["--first-call-timeout", "300ms", "--idle-timeout", "400ms"];
    let server = serve(&data, &flags);
    let address = server.endpoint().strip_prefix("grpc://").unwrap().to_owned();
    let silent = TcpStream::connect(&address).await.unwrap();
    assert!(closed_within(silent, Duration::from_secs(10)).await, "a silent connection");
    let mut client = Client::connect(server.endpoint()).await;
    client.action("ping", "").await.unwrap();
    for _ in 0..100 {
        if client.is_closed() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("an idle connection is still open after 10 s");
}

#[tokio::test]
async fn silent_connections_do_not_delay_the_end() {
    let data = tempdir().unwrap();
    let mut server = serve(&data, &["--drain", "40s"]);
    let address = server.endpoint().strip_prefix("grpc://").unwrap().to_owned();
    let _silent = TcpStream::connect(&address).await.unwrap();
    let idle = Raw::connect(server.endpoint()).await;
    let mut client = Client::connect(server.endpoint()).await;
    client.action("ping", "").await.unwrap();
    let began = Instant::now();
    assert_eq!(server.terminate().code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
    assert!(!server.stderr().contains("broken off"), "{}", server.stderr());
    idle.vanish();
}

#[tokio::test]
async fn a_reader_that_stops_is_cut_and_holds_nothing_up() {
    let data = tempdir().unwrap();
    let server = serve(&data, &["--stall-timeout", "500ms"]);
    let mut client = Client::connect(server.endpoint()).await;
    client.put(r#"{"dataset":"large"}"#, &[table(1, 4_000_000)]).await.unwrap();
    let info = client.info(r#"{"dataset":"large"}"#).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap().ticket;
    let mut stream = client.stream(&ticket).await.unwrap();
    stream.next().await.unwrap();
    // Other calls of the same connection are answered until it is closed.
    let mut pings = 0;
    let refused = timeout(Duration::from_secs(60), async {
        loop {
            match client.action("ping", "").await {
                Ok(_) => pings += 1,
                Err(status) => break status,
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let refused = refused.await.expect("the connection is closed");
    assert_eq!(refused.code(), tonic::Code::Unavailable, "{refused}");
    assert!(pings > 1, "{pings}");
    let ended = loop {
        match stream.next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a cut stream looked like a whole one"),
            Err(status) => break status,
        }
    };
    let codes = [tonic::Code::Cancelled, tonic::Code::Unavailable];
    assert!(codes.contains(&ended.code()), "{ended}");
}

/// A reader that takes the head of the answer and none of its rows, whatever it is told.
async fn read_nothing(raw: &Raw, endpoint: &str) -> http::Response<h2::RecvStream> {
    let client = &mut Client::connect(endpoint).await;
    client.put(r#"{"dataset":"large"}"#, &[table(1, 1_000_000)]).await.unwrap();
    let info = client.info(r#"{"dataset":"large"}"#).await.unwrap();
    let ticket: Ticket = info.endpoint[0].ticket.clone().unwrap();
    let (response, mut body) = raw.call("DoGet", None).await;
    body.send_data(message(&ticket), true).unwrap();
    response.await.unwrap()
}

#[tokio::test]
async fn a_reader_whose_window_stays_closed_loses_its_connection() {
    for window in [0, 1, 65_535] {
        let data = tempdir().unwrap();
        let mut server = serve(&data, &["--stall-timeout", "300ms", "--drain", "40s"]);
        let raw = Raw::with_window(server.endpoint(), window).await;
        let _unread = read_nothing(&raw, server.endpoint()).await;
        assert!(raw.closed_within(Duration::from_secs(30)).await, "window {window}");
        check_that_others_can_upload(server.endpoint(), "after").await;
        assert_eq!(server.terminate().code(), Some(0));
        assert!(!server.stderr().contains("broken off"), "{}", server.stderr());
    }
}

#[tokio::test]
async fn the_other_calls_of_a_connection_end_before_it_is_closed_for_one_that_is_stuck() {
    let data = tempdir().unwrap();
    let server = serve(&data, &["--stall-timeout", "2s"]);
    let raw = Raw::with_window(server.endpoint(), 0).await;
    let (response, mut body) = raw.call("DoPut", None).await;
    let [schema, batch] = upload("t");
    body.send_data(schema, false).unwrap();
    let unread = read_nothing(&raw, server.endpoint()).await;
    // Longer than the reader's stall time and what is waited for its end: its window is closed, the
    // upload sends on.
    for _ in 0..14 {
        body.send_data(batch.clone(), false).unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    body.send_data(bytes::Bytes::new(), true).unwrap();
    let uploaded = response.await.expect("the upload was answered");
    assert!(raw.closed_within(Duration::from_secs(30)).await);
    drop((unread, uploaded));
    let mut client = Client::connect(server.endpoint()).await;
    assert_eq!(client.names().await, ["large", "t"], "the upload was stored");
}
