//! Sweeps and searches against the real flight-server.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Run, bench, command, finished, number, serve_known};

const SHORT: &str = "--duration 100ms --warmup 10ms";

#[test]
fn every_round_measures_every_setting_once_in_an_order_of_its_own() {
    let (server, _folder) = serve_known();
    let line = format!(
        "sweep --vary streams=1,2 --vary connections=1 --rounds 3 --format json get {} {SHORT}",
        server.endpoint()
    );
    let run = bench(&line).ended(0);
    assert!(run.stderr.contains("2 settings, 3 rounds: about "), "{}", run.stderr);
    assert!(run.stderr.contains("round 3 of 3, 2 of 2: streams="), "{}", run.stderr);
    let got = document(&run);
    assert_eq!(
        (&got["complete"], &got["metric"]["name"]),
        (&json!(true), &json!("get.bytes_per_s"))
    );
    let settings = got["settings"].as_array().expect("settings");
    for (setting, streams) in settings.iter().zip([1, 2]) {
        assert_eq!(setting["config"]["streams"], json!(streams));
        assert_eq!(
            setting["values"],
            json!({ "streams": streams.to_string(), "connections": "1" })
        );
        let rounds: Vec<_> =
            setting["points"].as_array().expect("points").iter().map(|one| &one["round"]).collect();
        assert_eq!(rounds, [&json!(0), &json!(1), &json!(2)]);
        let rate = number(setting, "/points/0/figures/get.bytes_per_s");
        assert!(rate > 0.0, "{setting:#}");
        let client = number(setting, "/points/0/cost/client/cpu_ns_per_batch");
        assert!(client > 0.0, "{setting:#}");
    }
    // A round is the mirror of the one before it.
    let order = |setting: usize, round: usize| &settings[setting]["points"][round]["order"];
    assert_ne!(order(0, 0), order(1, 0));
    assert_eq!(order(0, 0), order(1, 1));
}

#[test]
fn a_server_is_started_for_every_run_and_every_form_is_written() {
    let folder = TempDir::new().expect("a temporary folder");
    let out = |ending: &str| folder.path().join(format!("x.{ending}"));
    let outs: String = ["txt", "json", "csv", "md", "html"]
        .map(|ending| format!(" --out {}", out(ending).display()))
        .concat();
    let line = format!(
        "sweep --vary transport=own,hyper --rounds 2 --quiet{outs} get --sample-rows 10k {SHORT}"
    );
    let run = bench(&line).ended(0);
    assert_eq!(run.stderr, "");
    let read = |ending: &str| std::fs::read_to_string(out(ending)).expect("it was written");
    assert_eq!(read("txt"), run.stdout);
    assert!(run.stdout.contains("Best: transport="), "{}", run.stdout);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{}", run.stdout);
    assert!(read("csv").contains(",transport=hyper,1,get.bytes_per_s,value,"), "{}", read("csv"));
    assert!(read("md").contains("| transport | MB/s |"), "{}", read("md"));
    assert!(read("html").contains("data-chart=\"sweep\""));
    let json: Value = serde_json::from_str(&read("json")).expect("JSON");
    assert_eq!(json["target"]["kind"], "child");
}

#[test]
fn shares_of_a_rate_are_of_one_closed_loop() {
    let (server, _folder) = serve_known();
    let line = format!(
        "sweep --vary rate=10%,20% --rounds 2 --format json unary list {} {SHORT}",
        server.endpoint()
    );
    let run = bench(&line).ended(0);
    assert_eq!(run.stderr.matches("closed loop: ").count(), 1, "{}", run.stderr);
    let got = document(&run);
    let offered = |setting: usize, round: usize| {
        number(&got, &format!("/settings/{setting}/points/{round}/offered"))
    };
    assert!((offered(0, 0) - offered(0, 1)).abs() < 1e-6 * offered(0, 0), "{got:#}");
    assert!((offered(1, 0) / offered(0, 0) - 2.0).abs() < 1e-6, "{got:#}");
    for setting in 0..2 {
        let response = format!("/settings/{setting}/points/0/figures/unary.response.p50");
        assert!(number(&got, &response) > 0.0);
    }
}

#[test]
fn a_promise_that_is_easily_kept_is_answered_with_a_rate_that_was_confirmed() {
    let (server, _folder) = serve_known();
    let run = search("unary.response.p50 <= 60s", server.endpoint());
    let got = document(&run);
    let trials = got["slo"]["trials"].as_array().expect("trials");
    let last = trials.last().expect("one at least");
    assert_eq!(last["confirms"], json!(true), "{trials:#?}");
    assert_eq!(last["values"].as_array().map(Vec::len), Some(2));
    // Every latency keeps it. On a busy machine calls may pile up at any rate all the same.
    // A tenth of a second has the events of a p50 from some hundred calls a second on.
    assert_eq!(got["slo"]["least_is_of_events"], json!(true));
    if last["holds"] == json!(true) {
        assert_eq!((run.code, &got["slo"]["answer"]), (0, &json!("holds")));
        assert_eq!(got["slo"]["rate"], last["rate"]);
        assert!(number(&got, "/slo/rate") <= number(&got, "/slo/closed_loop"));
    } else {
        assert_eq!((run.code, &got["slo"]["answer"]), (3, &json!("unconfirmed")));
    }
}

#[test]
fn a_promise_that_no_rate_keeps_ends_with_3() {
    let (server, _folder) = serve_known();
    let got = document(&search("unary.response.p50 <= 1ns", server.endpoint()).ended(3));
    assert_eq!((&got["slo"]["answer"], &got["slo"]["rate"]), (&json!("never"), &Value::Null));
    let trials = got["slo"]["trials"].as_array().expect("trials");
    assert!(trials.iter().all(|trial| trial["holds"] == json!(false)), "{trials:#?}");
}

#[test]
fn a_sweep_that_cannot_be_made_says_why() {
    let check = |line: &str, code: i32, want: &str| {
        let run = bench(&format!("sweep {line}")).ended(code);
        assert!(run.stderr.contains(want), "{line}: {}", run.stderr);
    };
    check("--vary streams=1..8 get", 2, "'1..8' has no step; write 1..8:x2 for factors");
    check("--vary streams=1,0 get", 2, "streams=0: --streams 0 is outside 1 to 10000");
    check("--vary streams=1,2 --slo unary.lag.p99<=1s unary info", 2, "cannot be used with");
    let gone = "--vary streams=1,2 --rounds 1 get grpc://127.0.0.1:1";
    check(gone, 5, "round 1, streams=");
}

#[test]
fn nothing_is_measured_by_a_dry_run() {
    let run = bench("sweep --vary streams=1,2 --dry-run get grpc://127.0.0.1:1").ended(0);
    assert!(run.stdout.contains("rounds    5 of 2 settings\ntakes     about "), "{}", run.stdout);
}

fn search(promise: &str, endpoint: &str) -> Run {
    let mut command = command("sweep --rounds 2 --format json --slo");
    command.arg(promise).args(["unary", "list", endpoint]).args(SHORT.split(' '));
    finished(command)
}

/// The one document on stdout, which follows the schema.
fn document(run: &Run) -> Value {
    let document: Value = serde_json::from_str(&run.stdout).expect("one document");
    let schema = include_str!("../../../docs/flight-bench.sweep.schema.json");
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    let schema = jsonschema::validator_for(&schema).expect("the schema is a JSON Schema");
    let errors: Vec<String> =
        schema.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    document
}
