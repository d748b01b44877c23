//! Starting, announcing, stopping.

use flight_testkit::{ServerCommand, ServerProcess};
use tempfile::tempdir;

use crate::client::{Client, admin_get, table};

#[tokio::test]
async fn sigterm_ends_it_with_code_0() {
    let data = tempdir().unwrap();
    let mut server = ServerProcess::start(data.path());
    let mut client = Client::connect(server.endpoint()).await;
    assert_eq!(client.action("healthcheck", "").await.unwrap(), "ok");
    drop(client);
    assert_eq!(server.terminate().code(), Some(0));
    assert!(server.stderr().contains("stopped"), "{}", server.stderr());
}

#[tokio::test]
async fn a_stream_that_runs_is_let_to_its_end() {
    let data = tempdir().unwrap();
    let mut server = ServerProcess::start(data.path());
    let mut client = Client::connect(server.endpoint()).await;
    let batches: Vec<_> = (0..40).map(|_| table(1, 50_000)).collect();
    client.put(r#"{"dataset":"a"}"#, &batches).await.unwrap();
    let info = client.info(r#"{"dataset":"a"}"#).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap().ticket;
    let mut stream = client.stream(&ticket).await.unwrap();
    let mut rows = stream.next().await.unwrap().unwrap().num_rows();
    server.begin_termination();
    while let Some(batch) = stream.next().await.unwrap() {
        rows += batch.num_rows();
    }
    assert_eq!(rows, 40 * 50_000);
    drop((stream, client));
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn it_stops_when_stdin_closes() {
    let data = tempdir().unwrap();
    let mut server = ServerProcess::start(data.path());
    server.close_stdin();
    assert_eq!(server.wait().code(), Some(0));
}

#[tokio::test]
async fn it_listens_on_ipv6_and_on_a_unix_socket_at_once() {
    let data = tempdir().unwrap();
    let socket = data.path().join("s.sock");
    let unix = format!("grpc+unix://{}", socket.display());
    let server = ServerCommand::serve(data.path())
        .args(["--listen", "grpc://[::1]:0", "--listen", &unix])
        .start();
    let endpoints = server.ready()["endpoints"].as_array().unwrap().clone();
    assert_eq!(endpoints.len(), 2);
    for endpoint in endpoints {
        let mut client = Client::connect(endpoint.as_str().unwrap()).await;
        assert_eq!(client.action("ping", "hello").await.unwrap(), "hello");
    }
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only this user may connect");
}

#[tokio::test]
async fn metrics_and_health_are_told_over_http() {
    let data = tempdir().unwrap();
    let server = ServerCommand::serve(data.path()).args(["--admin", "127.0.0.1:0"]).start();
    let mut client = Client::connect(server.endpoint()).await;
    client.put(r#"{"dataset":"a"}"#, &[table(1, 1000)]).await.unwrap();
    client.get(r#"{"dataset":"a"}"#).await.unwrap();
    client.info(r#"{"dataset":"b"}"#).await.unwrap_err();
    let get = |path: &str| admin_get(&server, path);
    let metrics = get("/metrics");
    for line in [
        r#"flight_server_calls_total{method="DoGet",code="OK"} 1"#,
        r#"flight_server_calls_total{method="GetFlightInfo",code="NOT_FOUND"} 1"#,
        "flight_server_received_rows_total 1000",
        "flight_server_sent_rows_total 1000",
        "flight_server_open_connections 1",
        "flight_server_unsent_bytes 0",
        "flight_server_decoded_ahead_bytes 0",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} is not in\n{metrics}");
    }
    assert!(get("/healthz").ends_with("ok\n"));
    assert!(get("/other").starts_with("HTTP/1.1 404"));
}

/// Starts with flags that must be refused, and finds the reason.
fn check_refused(flags: &[&str], code: i32, why: &str) {
    let data = tempdir().unwrap();
    let (got, text) = ServerCommand::serve(data.path()).args(flags).refused();
    assert_eq!(got, code, "{flags:?}: {text}");
    assert!(text.contains(why), "{flags:?}: {text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn what_cannot_start_says_why_in_one_line() {
    check_refused(&["--listen", "grpc+tls://127.0.0.1:0"], 2, "needs --tls-cert and --tls-key");
    check_refused(&["--listen", "nowhere"], 2, "write grpc://HOST:PORT");
    check_refused(&["--listen", "grpc://192.0.2.1:0"], 1, "cannot listen on grpc://192.0.2.1:0");
    let missing = ["--tls-cert", "no.pem", "--tls-key", "no.key"];
    check_refused(&missing, 2, "every --listen is plaintext");
    let listen = ["--listen", "grpc+tls://127.0.0.1:0"];
    check_refused(
        &[listen, [missing[0], missing[1]], [missing[2], missing[3]]].concat(),
        1,
        "no.pem",
    );
    check_refused(&["--admin", "192.0.2.1:1"], 1, "--admin 192.0.2.1:1");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let data = tempdir().unwrap();
    let (code, text) = ServerCommand::serve(&data.path().join("none")).refused();
    assert_eq!(code, 1);
    assert!(text.contains("--data") && text.contains("none"), "{text}");
}

#[tokio::test]
async fn a_port_in_use_is_refused_and_its_owner_goes_on() {
    let data = tempdir().unwrap();
    let server = ServerProcess::start(data.path());
    let endpoint = server.endpoint().to_owned();
    check_refused(&["--listen", &endpoint], 1, "another process listens there already");
    let mut client = Client::connect(&endpoint).await;
    assert_eq!(client.action("healthcheck", "").await.unwrap(), "ok");
}

#[tokio::test]
async fn a_read_only_server_refuses_changes_and_writes_nothing() {
    let data = tempdir().unwrap();
    let server = ServerCommand::serve(data.path()).arg("--read-only").start();
    let mut client = Client::connect(server.endpoint()).await;
    let refused = client.put(r#"{"dataset":"a"}"#, &[table(1, 1)]).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused}");
    assert!(client.names().await.is_empty());
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
}
