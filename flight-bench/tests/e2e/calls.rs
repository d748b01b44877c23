//! Calls, connections and open loops against real servers.

use crate::support::{bench, command, count, finished, number, serve_known};

/// Runs `line` against a server over the known dataset; its document.
fn check(line: &str) -> serde_json::Value {
    let (server, _folder) = serve_known();
    let line = line.replace("TARGET", server.endpoint());
    let document = bench(&format!("{line} --format json --quiet")).ended(0).json();
    assert_eq!(document["complete"], true);
    document
}

const SHORT: &str = "--duration 200ms --warmup 50ms --repeats 2";

#[test]
fn every_call_is_measured_in_a_closed_loop() {
    for call in ["info", "schema", "list", "action", "poll"] {
        let document = check(&format!("unary {call} TARGET -s 4 {SHORT}"));
        assert_eq!(document["config"]["model"], "closed");
        let calls = count(&document, "/variants/0/latency/unary.service/n");
        assert!(calls > 50, "{call}: {calls}");
        assert!(number(&document, "/summary/unary.calls_per_s/median") > 100.0, "{call}");
        let lag = document.pointer("/variants/0/latency/unary.lag");
        assert!(lag.is_none(), "a closed loop has no schedule");
    }
}

#[test]
fn an_open_loop_sends_at_its_rate_and_counts_from_the_intended_time() {
    for arrival in ["poisson", "uniform"] {
        let line = format!("unary info TARGET -s 8 --rate 500 --arrival {arrival}");
        let document = check(&format!("{line} --duration 1s --warmup 100ms --repeats 2"));
        assert_eq!(document["config"]["rate"], 500.0);
        assert_eq!(document["config"]["arrival"], arrival);
        let rate = number(&document, "/summary/unary.calls_per_s/median");
        assert!((rate - 500.0).abs() < 100.0, "{arrival}: {rate}/s");
        let of = |metric| number(&document, &format!("/variants/0/latency/{metric}/mean_ns"));
        let parts = of("unary.service") + of("unary.lag");
        assert!((of("unary.response") / parts - 1.0).abs() < 0.01, "{arrival}: of lag and service");
    }
}

#[test]
fn a_share_is_one_of_what_a_closed_loop_reaches() {
    let document = check(&format!("unary list TARGET -s 2 --rate 20% {SHORT}"));
    assert_eq!(document["config"]["rate_share"], 0.2);
    let (rate, reached) =
        (number(&document, "/config/rate"), number(&document, "/summary/unary.calls_per_s/median"));
    assert!(rate > 20.0 && reached > rate / 2.0, "{rate} and {reached}");
}

#[test]
fn uploads_are_paced_too() {
    let line = "put TARGET --rate 200 --batch-rows 1000";
    let document = check(&format!("{line} --duration 500ms --warmup 100ms --repeats 2"));
    let rate = number(&document, "/summary/put.batches_per_s/median");
    assert!((rate - 200.0).abs() < 80.0, "{rate}/s");
    assert!(count(&document, "/variants/0/latency/put.response/n") > 50);
}

#[test]
fn the_server_paces_what_it_sends_however_short_its_streams_are() {
    for source in ["--sample-rows 200k", "--source perf --records-per-stream 4096"] {
        let line = format!("get {source} -s 2 --rate 200 --duration 1s --warmup 100ms --repeats 2");
        let document = bench(&format!("{line} --format json --quiet")).ended(0).json();
        let rate = number(&document, "/summary/get.batches_per_s/median");
        assert!((rate - 200.0).abs() < 80.0, "{source}: {rate}/s");
        let of = |metric| number(&document, &format!("/variants/0/latency/{metric}/mean_ns"));
        let parts = of("get.delivery") + of("get.lag");
        assert!((of("get.response") / parts - 1.0).abs() < 0.01, "{source}: of lag and delivery");
    }
}

#[test]
fn a_server_that_paces_nothing_is_named() {
    let (server, _folder) = serve_known();
    let run = bench(&format!("get {} --rate 50 {SHORT}", server.endpoint())).ended(1);
    assert!(run.stderr.contains("this server paces no streams"), "{}", run.stderr);
}

#[test]
fn batches_come_back_over_either_transport() {
    for transport in ["own", "hyper"] {
        let line = format!("exchange --transport {transport} -s 2 --batch-rows 1000 {SHORT}");
        let document = bench(&format!("{line} --format json --quiet")).ended(0).json();
        let batches = count(&document, "/variants/0/latency/exchange.rtt/n");
        assert!(batches > 50, "{transport}: {batches}");
        let bytes = number(&document, "/summary/exchange.bytes_per_s/median");
        let rows = number(&document, "/summary/exchange.rows_per_s/median");
        assert!((bytes / rows - 32.0).abs() < 0.01, "four int64: {bytes} and {rows}");
    }
    let counted = "exchange --batches 40 --repeats 2 --inflight 1 --format json --quiet";
    let document = bench(counted).ended(0).json();
    assert_eq!(crate::support::total(&document, "batches"), 80);
}

#[test]
fn a_server_without_an_exchange_is_named() {
    let (server, _folder) = serve_known();
    let run = bench(&format!("exchange {} {SHORT}", server.endpoint())).ended(1);
    assert!(run.stderr.contains("no DoExchange but the echo of --perf"), "{}", run.stderr);
}

#[test]
fn handshakes_are_full_or_resumed_as_was_asked() {
    for (resume, key) in [("full", "ec"), ("ticket", "ec"), ("full", "rsa")] {
        let line = format!("tls --resume {resume} --key {key} -s 2 {SHORT} --format json --quiet");
        let document = bench(&line).ended(0).json();
        let label = if key == "ec" { "TLS EC P-256" } else { "TLS RSA-4096" };
        assert_eq!(document["variants"][0]["label"], label);
        assert_eq!(document["config"]["resume"], resume);
        let handshakes = count(&document, "/variants/0/latency/tls.handshake/n");
        assert!(handshakes > 5, "{line}: {handshakes}");
        assert!(number(&document, "/variants/0/cost/server/cpu_ns_per_batch") > 1000.0);
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |line: &str, want: &str| {
        let run = bench(line).ended(2);
        assert!(run.stderr.contains(want), "{line}: {}", run.stderr);
    };
    refused("unary list --source path:a", "--source goes with info, schema and poll");
    refused("unary info --action x", "--action goes with action, not with GetFlightInfo");
    refused("unary info --source ticket:a", "ticket: is for get");
    refused("unary info --format arrow", "lines for batches alone");
    refused("unary info --rate 0", "sends nothing");
    refused("tls grpc+tls://h:1 --key rsa", "TARGET runs already, which has a key of its own");
    refused("quick --rate 5", "unexpected argument '--rate'");
}

#[test]
fn a_run_is_kept_and_told_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |line: &str| {
        let mut command = command(line);
        command.env_remove("FLIGHT_BENCH_NO_SAVE").env("FLIGHT_BENCH_RUNS_DIR", folder.path());
        finished(command)
    };
    let first = run(&format!("unary list {SHORT} --quiet")).ended(0);
    let again = run("report").ended(0);
    assert_eq!(again.stdout, first.stdout);
    run("baseline save main").ended(0);
    assert_eq!(run("baseline list").ended(0).stdout, "main\n");
    let document = run("report main --format json").ended(0).json();
    assert_eq!(document["config"]["call"], "ListFlights");
    let missing = run("report last~5").ended(2);
    assert!(missing.stderr.contains("1 runs are kept"), "{}", missing.stderr);
}

#[test]
fn the_tool_proves_itself_and_looks_at_the_machine() {
    assert!(bench("selftest").ended(0).stdout.contains("experiments passed"));
    let found = bench("doctor --format json").ended(0).stdout;
    let found: serde_json::Value = serde_json::from_str(&found).expect("one JSON document");
    assert!(found["findings"].as_array().is_some_and(|found| found.len() > 10), "{found}");
    assert!(bench("completions bash").ended(0).stdout.contains("flight-bench"));
    assert!(bench("man").ended(0).stdout.contains(".SH FLIGHT-BENCH GET"));
}
