//! The connections that calls go over: kept, pooled, made for each call, resumed, left open.

use flight_testkit::ServerCommand;
use serde_json::Value;
use tempfile::TempDir;

use crate::secure::Secure;
use crate::support::{bench, count, known, serve_known, total};

/// The document of `unary info` over TLS, with these options.
fn secure(options: &str) -> Value {
    let folder = TempDir::new().expect("a temporary folder");
    known(folder.path());
    let server = Secure::over(folder.path(), "ec", &[]);
    let line = format!("unary info {} --server-pid {}", server.trusted(), server.pid());
    bench(&format!("{line} --repeats 1 --format json --quiet {options}")).ended(0).json()
}

fn descriptors(document: &Value, side: &str) -> u64 {
    count(document, &format!("/repeats/0/resources/{side}/descriptors"))
}

/// Connections opened, and handshakes full and resumed.
fn made(document: &Value) -> [u64; 3] {
    ["connections_opened", "handshakes_full", "handshakes_resumed"].map(|key| total(document, key))
}

#[test]
fn a_hundred_callers_of_a_pool_hold_its_connections_and_no_more() {
    let document = secure("--connect pooled:4 -s 100 --batches 100");
    assert_eq!(total(&document, "batches"), 10_000);
    let [opened, full, resumed] = made(&document);
    assert!((1..=4).contains(&opened) && full + resumed == opened, "{opened}, {full}, {resumed}");
    for side in ["client", "server"] {
        let held = descriptors(&document, side);
        assert!(held <= 4 + 20, "{side}: {held}");
    }
    assert_eq!(document["config"]["connect"], "pooled:4");
}

#[test]
fn every_call_has_a_connection_and_a_full_handshake_of_its_own() {
    let document = secure("--connect per-call -s 3 --batches 20");
    assert_eq!(made(&document), [60, 60, 0]);
    assert_eq!(count(&document, "/variants/0/latency/unary.service/n"), 60);
    let (server, _folder) = serve_known();
    let line = format!("unary list {} --connect per-call --batches 20", server.endpoint());
    let plain = bench(&format!("{line} --repeats 1 --format json --quiet")).ended(0).json();
    assert_eq!(made(&plain), [20, 0, 0]);
}

#[test]
fn every_call_resumes_a_session_once_there_is_one() {
    for engine in ["aws-lc", "ring"] {
        let document =
            secure(&format!("--connect resumed -s 24 --batches 10 --tls-engine {engine}"));
        let [opened, full, resumed] = made(&document);
        assert_eq!((opened, full + resumed), (24 + 240, opened), "{engine}");
        assert!((1..=24).contains(&full), "{engine}: {full} full handshakes");
        assert_eq!(total(&document, "batches"), 240, "{engine}");
    }
}

#[test]
fn shared_connections_are_made_once() {
    let document = secure("-s 4 -c 2 --batches 20");
    assert_eq!(document["config"]["connect"], Value::Null);
    assert_eq!(made(&document)[0], 2);
}

#[test]
fn connections_that_linger_are_held_by_both_sides() {
    let (server, _folder) = serve_known();
    let line = format!("unary info {} --server-pid {}", server.endpoint(), server.pid());
    let call = "--connect per-call -s 4 --batches 50 --repeats 3";
    let at_once = bench(&format!("{line} {call} --format json --quiet")).ended(0).json();
    let later = format!("{line} {call} --linger 10m --fail-if server.descriptors>150");
    let later = bench(&format!("{later} --format json --quiet")).ended(3).json();
    assert_eq!(made(&later)[0], 3 * 200);
    assert_eq!(later["config"]["linger_ns"], 600_000_000_000_u64);
    for side in ["client", "server"] {
        assert!(descriptors(&later, side) >= 200, "{side}");
    }
    assert!(descriptors(&at_once, "client") < 100, "{at_once}");
    assert_eq!(later["thresholds"][0]["pass"], false);
}

#[test]
fn a_server_that_is_full_is_named() {
    for scheme in ["grpc", "grpc+tls"] {
        let folder = TempDir::new().expect("a temporary folder");
        known(folder.path());
        let call = "--connect per-call --linger 10m -s 2 --batches 50 --repeats 1 --quiet";
        let line = |target: &str| format!("unary list {target} {call}");
        let run = if scheme == "grpc" {
            let server = ServerCommand::serve(folder.path());
            let server = server.args(["--admin", "none", "--max-connections", "20"]).start();
            bench(&line(server.endpoint()))
        } else {
            let server = Secure::over(folder.path(), "ec", &["--max-connections", "20"]);
            bench(&line(&server.trusted()))
        };
        let run = run.ended(1);
        let told = format!("{}{}", run.stdout, run.stderr);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let want = "a server that is full closes new connections";
        assert!(told.contains(want), "{scheme}: {told}");
    }
}

#[test]
fn a_sweep_sets_the_ways_to_connect_side_by_side() {
    let folder = TempDir::new().expect("a temporary folder");
    known(folder.path());
    let server = Secure::over(folder.path(), "ec", &[]);
    let sweep = "sweep --rounds 2 --vary connect=per-call,resumed,pooled:2";
    let line = format!(
        "unary info {} --server-pid {} -s 4 --duration 200ms --warmup 50ms",
        server.trusted(),
        server.pid()
    );
    let json = folder.path().join("sweep.json");
    let out = format!("--out {}", json.display());
    let run = bench(&format!("{sweep} {out} --quiet {line}")).ended(0);
    for head in ["connect", "calls/s", "× first", "p50", "p99", "fds c/s", "MB c/s"] {
        assert!(run.stdout.contains(head), "{head} is missing in\n{}", run.stdout);
    }
    let wide = run.stdout.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "the table fits");
    let document = std::fs::read_to_string(&json).expect("it was written");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    crate::support::follows("sweep", &document);
    for setting in 0..3 {
        for name in ["client.descriptors", "server.descriptors", "server.memory_bytes"] {
            let at = format!("/settings/{setting}/points/0/figures/{name}");
            assert!(crate::support::number(&document, &at) > 0.0, "{at}");
        }
    }
}

#[test]
fn ways_to_connect_that_cannot_be_are_refused() {
    let check = |line: &str, want: &str| {
        let run = bench(line).ended(2);
        assert!(run.stderr.contains(want), "{line}: {}", run.stderr);
    };
    let unary = |options: &str, want: &str| check(&format!("unary info {options}"), want);
    unary("--connect sometimes", "'sometimes' is none of shared, per-call, resumed and pooled:N");
    unary("--connect pooled:0", "'0' is no number of connections; write pooled:4");
    unary("--connect resumed", "the server that is started is without it; give a TARGET");
    unary("grpc://h:1 --connect resumed", "TARGET grpc://h:1 is without it; write grpc+tls://");
    unary("--connect per-call -c 1", "--connect per-call says how many there are");
    unary("--linger 5s", "--linger is for connections that a call makes");
    for call in ["get", "put", "unary info", "quick"] {
        check(&format!("{call} --tls-engine ring"), "--tls-engine goes with a TARGET such as");
        check(&format!("{call} --tls-min 1.3"), "--tls-min goes with a TARGET such as");
    }
    check("get grpc://h:1 --tls-engine ring", "TARGET grpc://h:1 is plaintext");
}
