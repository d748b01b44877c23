//! What goes wrong is counted, named and never part of a figure.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Instant;

use flight_testkit::ServerCommand;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{ROWS, Run, bench, command, count, known, serve_known, total};

#[test]
fn a_target_where_nothing_answers_gives_code_5_and_a_document_without_figures() {
    let unused = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = unused.local_addr().expect("an address").port();
    drop(unused);
    for call in ["get --source path:x", "put"] {
        let run = bench(&format!("{call} grpc://127.0.0.1:{port} --format json")).ended(5);
        let got = run.json();
        assert_eq!((&got["complete"], &got["exit"]), (&Value::Bool(false), &5.into()));
        assert!(run.stderr.contains(&format!("cannot reach grpc://127.0.0.1:{port}")));
        assert_eq!(got["repeats"].as_array().map(Vec::len), Some(0));
    }
}

#[test]
fn a_dataset_that_is_not_there_is_named_with_its_code() {
    let (server, _folder) = serve_known();
    let line = format!("get {} --source path:nowhere --passes 1", server.endpoint());
    let run = bench(&line).ended(1);
    assert!(run.stderr.contains("GetFlightInfo of path:nowhere: NOT_FOUND"), "{}", run.stderr);
}

#[test]
fn failing_streams_stand_beside_the_figures_of_the_others() {
    let (server, _folder) = serve_known();
    let run = bench(&format!(
        "get {} --source path:known --source ticket:nonsense --streams 2 --duration 300ms \
         --warmup 100ms --repeats 1 --format json",
        server.endpoint()
    ))
    .ended(1);
    let got = run.json();
    let errors = got["repeats"][0]["errors"].as_object().expect("errors");
    assert_eq!(errors.len(), 1, "{errors:?}");
    let failed: u64 = errors.values().map(|error| count(error, "/count")).sum();
    assert!(failed > 0);
    let streams = &got["repeats"][0]["streams"];
    assert!(count(&streams[0], "/batches") > 0);
    assert_eq!(count(&streams[1], "/batches"), 0);
    // Latencies are those of the batches that came.
    assert_eq!(count(&got, "/repeats/0/latency/get.wait/n"), total(&got, "batches"));
}

#[test]
fn when_all_streams_fail_there_is_no_figure() {
    let (server, _folder) = serve_known();
    let run = bench(&format!(
        "get {} --source ticket:nonsense --duration 100ms --repeats 3 --format json",
        server.endpoint()
    ))
    .ended(1);
    let got = run.json();
    assert_eq!(got["complete"], false);
    assert_eq!(got["summary"]["get.bytes_per_s"]["n"], 0);
    assert!(run.stderr.contains("no stream could run"), "{}", run.stderr);
}

#[test]
fn a_server_that_restarts_is_found_again_and_its_absence_counted() {
    let folder = TempDir::new().expect("a temporary folder");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("a new folder");
    known(&data);
    let uri = format!("grpc+unix://{}", folder.path().join("flight.sock").display());
    let serve =
        || ServerCommand::serve(&data).args(["--admin", "none", "--listen", uri.as_str()]).start();
    let mut server = serve();
    let line = format!(
        "get {uri} --source path:known --duration 500ms --warmup 0s --repeats 4 --format json"
    );
    let mut restarted = None;
    let run = when_the_first_round_is_over(&line, || {
        server.kill();
        restarted = Some(serve());
    });
    let run = run.ended(1);
    let got = run.json();
    assert_eq!(got["repeats"].as_array().map(Vec::len), Some(4), "{}", run.stderr);
    assert!(total(&got, "rows") > 0);
    let failures = |repeat: &Value| repeat["errors"].as_object().map_or(0, |e| e.len());
    let failed: usize = got["repeats"].as_array().expect("repeats").iter().map(failures).sum();
    assert!(failed > 0, "{got:#}");
    let last = &got["repeats"][3];
    assert!(count(last, "/counts/batches") > 0, "the server is back");
}

#[test]
fn an_interrupt_prints_what_was_measured_and_gives_code_130() {
    let (server, _folder) = serve_known();
    let line = format!(
        "put {} --duration 200ms --warmup 0s --repeats 1000 --format json",
        server.endpoint()
    );
    let run = when_the_first_round_is_over(&line, || {}).ended(130);
    let got = run.json();
    assert_eq!(got["complete"], false);
    assert!(count(&got, "/summary/put.bytes_per_s/n") >= 1);
    // Its uploads are gone: the known dataset is the only one again.
    let left = bench(&format!("get {} --passes 1 --repeats 1 --format json", server.endpoint()));
    assert_eq!(total(&left.ended(0).json(), "rows"), ROWS);
}

#[test]
fn a_message_over_the_limit_is_an_error_that_names_both() {
    let (server, _folder) = serve_known();
    let run = bench(&format!(
        "get {} --source path:known --max-message-bytes 64KiB --passes 1 --repeats 1",
        server.endpoint()
    ))
    .ended(1);
    assert!(run.stdout.contains("more than the 65536 that are taken"), "{}", run.stdout);
}

#[test]
fn several_datasets_and_no_source_is_a_question() {
    let (server, folder) = serve_known();
    std::fs::copy(folder.path().join("known.feather"), folder.path().join("more.feather"))
        .expect("room for a copy");
    // The second dataset is found once it was asked for, whatever the time of the next scan.
    let line = format!("get {} --source path:more --passes 1 --repeats 1", server.endpoint());
    bench(&line).ended(0);
    let run = bench(&format!("get {} --passes 1", server.endpoint())).ended(2);
    assert!(run.stderr.contains("the server has 2 datasets (known, more)"), "{}", run.stderr);
}

/// Runs flight-bench; after its first round does `then`, and interrupts it where a run has more
/// rounds than anyone waits for.
fn when_the_first_round_is_over(line: &str, then: impl FnOnce()) -> Run {
    let started = Instant::now();
    let mut child = command(line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("flight-bench starts");
    let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
    let mut lines = stderr.lines().map(|line| line.expect("text"));
    let mut said = Vec::new();
    for line in lines.by_ref() {
        said.push(line);
        if said.last().is_some_and(|line| line.contains("round 1:")) {
            break;
        }
    }
    then();
    if line.contains("--repeats 1000") {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("process ids are positive"), Signal::INT).expect("it runs");
    }
    // The report is smaller than a pipe only by luck: stdout is read while stderr is.
    let rest = std::thread::scope(|scope| {
        let reader = scope.spawn(|| lines.collect::<Vec<_>>());
        let output = child.wait_with_output().expect("flight-bench ends");
        said.extend(reader.join().expect("reading text does not panic"));
        output
    });
    let mut run = Run::of(&rest, started.elapsed());
    run.stderr = said.join("\n");
    run
}
