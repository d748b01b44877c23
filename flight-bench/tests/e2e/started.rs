//! Runs without a target: flight-server is started, measured and stopped.

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{bench, command, count, number, serve_known, total};

#[test]
fn quick_measures_six_rows_and_prints_one_table() {
    let folder = TempDir::new().expect("a temporary folder");
    let out = folder.path().join("run.json");
    let run = bench(&format!(
        "quick --duration 100ms --warmup 20ms --repeats 3 --streams 2 --sample-rows 20k --out {}",
        out.display()
    ))
    .ended(0);
    for line in run.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    for row in ["plaintext", "TLS EC P-256", "TLS RSA-4096"] {
        for call in ["DoGet", "DoPut"] {
            assert!(run.stdout.contains(&format!("{call} {row}")), "{}", run.stdout);
        }
    }
    let got: Value =
        serde_json::from_slice(&std::fs::read(&out).expect("--out was written")).expect("JSON");
    assert_eq!(got["repeats"].as_array().map(Vec::len), Some(18));
    assert_eq!(got["complete"], true);
    for workload in ["get", "put"] {
        let ratio = number(&got, &format!("/summary/{workload}.bytes_per_s@tls-ec~1plain/est"));
        assert!(ratio > 0.0 && ratio < 5.0, "{ratio}");
    }
    let certificates: Vec<&Value> = got["variants"]
        .as_array()
        .expect("variants")
        .iter()
        .map(|variant| &variant["tls"]["certificate"])
        .collect();
    let (ec, rsa) = (Value::from("EC P-256"), Value::from("RSA-4096"));
    assert_eq!(certificates, [&Value::Null, &ec, &rsa, &Value::Null, &ec, &rsa]);
}

#[test]
fn quick_measures_a_running_server_in_two_rows() {
    let (server, _folder) = serve_known();
    let got = bench(&format!(
        "quick {} --duration 100ms --warmup 20ms --repeats 2 --format json",
        server.endpoint()
    ))
    .ended(0)
    .json();
    let ids: Vec<&Value> =
        got["variants"].as_array().expect("variants").iter().map(|v| &v["id"]).collect();
    assert_eq!(ids, ["get.plain", "put.plain"]);
    assert_eq!(got["repeats"].as_array().map(Vec::len), Some(4));
}

#[test]
fn get_and_put_start_a_server_of_their_own() {
    let got = bench("get --sample-rows 10k --passes 1 --repeats 2 --format json").ended(0).json();
    assert_eq!(total(&got, "rows"), 20_000);
    assert_eq!(got["target"]["kind"], "child");
    assert!(count(&got, "/target/pid") > 0);
    let got = bench("put --batches 20 --repeats 1 --format json").ended(0).json();
    assert_eq!(total(&got, "batches"), 20);
    let line = "get --source perf --records-per-stream 5000 --passes 1 --repeats 1 --format json";
    assert_eq!(total(&bench(line).ended(0).json(), "rows"), 5000);
}

#[test]
fn a_server_that_cannot_be_started_is_named() {
    let run = bench("get --server-bin nowhere/flight-server").ended(2);
    assert!(run.stderr.contains("--server-bin nowhere/flight-server is not a file"));
    // A program that is not flight-server: it ends, and says nothing that helps.
    let run = bench("put --server-bin /bin/false").ended(1);
    assert!(run.stderr.contains("ended before it was ready"), "{}", run.stderr);
}

#[test]
fn a_signal_asks_for_a_line_whatever_is_shown() {
    use std::io::{BufRead, BufReader};
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    let line = "get --source perf -d 2s -w 100ms --repeats 1 --progress plain";
    let mut child = command(line)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("flight-bench starts");
    let pid = rustix::process::Pid::from_child(&child);
    let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    // Steps are told once signals are minded.
    let first = lines.recv().expect("a step");
    let mut told = vec![first];
    let answered = loop {
        // It is asked until the window is open; by itself it would answer after ten seconds.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::USR1);
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(line) if line.contains(" after ") && line.contains(" MB/s, ") => break true,
            Ok(line) => told.push(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break false,
        }
    };
    assert!(answered, "{told:#?}");
    assert!(child.wait().expect("it ends").success(), "a signal does no harm");
}
