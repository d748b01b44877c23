//! What goes wrong is counted, named and never part of a figure.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

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
        let reason = format!("cannot reach grpc://127.0.0.1:{port}");
        assert!(run.stderr.contains(&reason));
        assert_eq!(got["repeats"].as_array().map(Vec::len), Some(0));
        // In text, the reason is on stderr alone, and there is nothing to explain.
        let text = bench(&format!("{call} grpc://127.0.0.1:{port}")).ended(5);
        assert_eq!(text.stderr.matches(&reason).count(), 1, "{}", text.stderr);
        for none in [reason.as_str(), "MB/s", "percentile", "·  ·"] {
            assert!(!text.stdout.contains(none), "{none:?} stands in: {}", text.stdout);
        }
    }
}

#[test]
fn a_target_that_is_waited_for_is_measured_once_it_is_there() {
    let folder = TempDir::new().expect("a temporary folder");
    known(folder.path());
    let uri = format!("grpc+unix://{}", folder.path().join("flight.sock").display());
    let line = format!("get {uri} --ready-timeout 60s --batches 3 --repeats 1 --format json");
    let mut child = command(&line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("flight-bench starts");
    let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
    // It says that it waits, and only then the server begins.
    let waits = format!("waiting for {uri}");
    let mut lines = stderr.lines().map(|line| line.expect("text"));
    assert!(lines.any(|line| line.contains(&waits)), "it does not wait");
    let args = ["--admin", "none", "--listen", &uri];
    let _server = ServerCommand::serve(folder.path()).args(args).start();
    // What it says meanwhile must not fill the pipe.
    lines.for_each(drop);
    let started = Instant::now();
    let run = Run::of(&child.wait_with_output().expect("it ends"), started.elapsed()).ended(0);
    assert_eq!(total(&run.json(), "batches"), 3);
}

#[test]
fn waiting_ends_with_code_5_where_nothing_comes_and_at_once_where_it_cannot_help() {
    let unused = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = unused.local_addr().expect("an address").port();
    drop(unused);
    let target = format!("grpc://127.0.0.1:{port}");
    let run = bench(&format!("get {target} --ready-timeout 200ms")).ended(5);
    let want = format!("{target} was not ready within 200ms: cannot reach {target}");
    assert!(run.stderr.contains(&want), "{}", run.stderr);
    assert!(run.took >= Duration::from_millis(150), "{:?}", run.took);
    // TLS that is refused stays so, however long one waits.
    let (server, _folder) = serve_known();
    let tls = server.endpoint().replace("grpc://", "grpc+tls://");
    let run = bench(&format!("get {tls} --tls-insecure --ready-timeout 10m")).ended(1);
    assert!(!run.stderr.contains("was not ready"), "{}", run.stderr);
}

#[test]
fn a_server_that_dies_in_a_put_gives_code_1_though_its_uploads_cannot_be_deleted() {
    let (mut server, folder) = serve_known();
    let line = format!("put {} --duration 1s --warmup 0s --repeats 1", server.endpoint());
    let child = command(&line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("flight-bench starts");
    // Once an upload is staged, the server was reached.
    let staging = folder.path().join(".flight").join("staging");
    let staged = || std::fs::read_dir(&staging).is_ok_and(|mut files| files.next().is_some());
    let started = Instant::now();
    while !staged() {
        assert!(started.elapsed() < Duration::from_secs(30), "no upload begins");
        std::thread::yield_now();
    }
    server.kill();
    let run = Run::of(&child.wait_with_output().expect("it ends"), started.elapsed()).ended(1);
    assert!(run.stderr.contains("flight-bench: "), "{}", run.stderr);
}

#[test]
fn a_round_without_data_is_not_among_the_repeats() {
    let (mut server, _folder) = serve_known();
    let line = format!(
        "get {} --source path:known --duration 200ms --warmup 0s --repeats 3",
        server.endpoint()
    );
    let run = when_the_first_round_is_over(&line, || {
        server.kill();
    })
    .ended(1);
    // Round 2 ran or not when the server was killed; nothing after it did.
    let asked = "asked for 3 repeats: 1 failed";
    let one = format!(" in 0.200 s of 1 repeat\n          {asked}, 1 not measured\n");
    let two = format!(" in 0.400 s of 2 repeats\n          {asked}\n");
    let one = run.stdout.contains(&one);
    assert!(one || run.stdout.contains(&two), "{}", run.stdout);
    assert!(run.stdout.contains(if one { "(single run)" } else { " to " }), "{}", run.stdout);
    assert!(run.stdout.ends_with("\nNOT COMPLETE\n"), "{}", run.stdout);
    let reason = "no stream could run: CONNECT: cannot reach";
    assert_eq!(run.stderr.matches(reason).count(), 1, "{}", run.stderr);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_anything_is_asked() {
    let folder = TempDir::new().expect("a temporary folder");
    let out = folder.path().join("missing").join("x.json").display().to_string();
    for call in ["quick", "get", "put"] {
        // Nothing answers there, which would be code 5.
        let run = bench(&format!("{call} grpc://127.0.0.1:1 --out {out}")).ended(2);
        assert!(run.stderr.contains(&format!("--out {out}: there is no folder")), "{}", run.stderr);
        assert!(!run.stderr.contains("missing/.tmp"), "{}", run.stderr);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn files_and_folders_that_are_missing_are_called_missing() {
    let check = |line: &str, want: &str| {
        let run = bench(line).ended(2);
        assert!(run.stderr.contains(want), "{line}: {}", run.stderr);
    };
    check("put --data-file nowhere/data", "--data-file nowhere/data: No such file");
    check("put --data-file nowhere/d.csv", "--data-file nowhere/d.csv: No such file");
    check("quick --data nowhere --dataset x", "--data nowhere is not a folder");
    check("quick --certs nowhere", "--certs nowhere is not a folder");
}

#[test]
fn a_path_that_exists_already_is_refused_with_what_replaces_it() {
    let (server, _folder) = serve_known();
    let target = server.endpoint();
    let command = r#"cmd:{"dataset":"copy","mode":"replace"}"#;
    let want = format!("--source '{command}'");
    let put = |source: &str, rest: &str| {
        bench(&format!("put {target} --source {source} --repeats 1 {rest}"))
    };
    // The first upload is stored; the second of the same run finds it.
    let run = put("path:copy", "--passes 2").ended(1);
    assert!(run.stdout.contains("1 × ALREADY_EXISTS") && run.stdout.contains(&want), "{run:?}");
    // The next run is refused at once.
    let run = put("path:copy", "--passes 1").ended(1);
    assert_eq!(run.stderr.matches(&want).count(), 1, "{run:?}");
    // What the sentence says works, and what was stored can be checked.
    let got = put(command, "--passes 2 --verify checksum --format json").ended(0).json();
    assert_eq!(
        (&got["verify"]["method"], &got["verify"]["equal"]),
        (&"read-back".into(), &true.into())
    );
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
        // Away for longer than a round, so that one has to notice, wherever it was when this came.
        std::thread::sleep(Duration::from_millis(600));
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
fn an_interrupted_sweep_reports_the_rounds_that_were_measured() {
    let (server, _folder) = serve_known();
    let line = format!(
        "sweep --vary streams=1,2 --rounds 1000 --format json get {} --duration 100ms --warmup 0s",
        server.endpoint()
    );
    let run = when_the_first_round_is_over(&line, || {}).ended(130);
    let got: Value = serde_json::from_str(&run.stdout).expect("one document");
    assert_eq!((&got["complete"], &got["exit"]), (&false.into(), &130.into()));
    let points = |setting: usize| got["settings"][setting]["points"].as_array().map_or(0, Vec::len);
    assert!(points(0) >= 1 && points(1) >= 1, "{got:#}");
    assert!(run.stderr.contains("interrupted; what was measured so far"), "{}", run.stderr);
}

#[test]
fn a_message_over_the_limit_is_an_error_that_names_both() {
    let (server, _folder) = serve_known();
    let run = bench(&format!(
        "get {} --source path:known --max-message-bytes 64KiB --passes 1 --repeats 1",
        server.endpoint()
    ))
    .ended(1);
    let want = "more than the 65536 that are taken";
    assert_eq!(run.stderr.matches(want).count(), 1, "{}", run.stderr);
    assert!(!run.stdout.contains("MB/s"), "no figure, no definition: {}", run.stdout);
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
        let ends = ["round 1:", "round 1 of 1000, 2 of 2:"];
        if said.last().is_some_and(|line| ends.iter().any(|end| line.contains(end))) {
            break;
        }
    }
    then();
    if line.contains("--repeats 1000") || line.contains("--rounds 1000") {
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
