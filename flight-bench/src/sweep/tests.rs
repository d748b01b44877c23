//! Which sweeps are taken, and what they are made of.

use super::*;

#[test]
fn sweeps_that_mean_nothing_are_refused() {
    check(&["--vary", "streams=1,2", "get"], "accepted");
    check(&["--vary", "streams=1,2", "--vary", "rate=10%..50%:20%", "unary", "info"], "accepted");
    check(&["--slo", "unary.response.p99 <= 2ms", "unary", "info"], "accepted");
    check(&["--vary", "streams=1,2", "--metric", "get.wait.p90", "get"], "accepted");
    check(&["get"], "sweep has nothing to vary; give --vary NAME=VALUES");
    check(&["--vary", "streams=1,2"], "sweep has no COMMAND; end with get, put,");
    check(
        &["--vary", "streams=1,2", "quick"],
        "sweep measures get, put, exchange, unary, tls or mixed",
    );
    check(&["--vary", "streams=4", "get"], "streams=4 is one setting, and a sweep compares");
    check(
        &["--vary", "streams=1,2", "--vary", "threads=1,2", "--vary", "pool=1,2", "put"],
        "3 parameters vary, and a sweep has 2 at most",
    );
    check(&["--vary", "pool=1,2", "--vary", "pool=3,4", "put"], "pool varies twice");
    check(
        &["--vary", "streams=1..20:1", "--vary", "pool=1..20:1", "put"],
        "400 settings are more than 256, the most of a sweep",
    );
    check(&["--rounds", "0", "--vary", "streams=1,2", "get"], "--rounds 0 is outside 1 to 1000");
}

#[test]
fn a_value_that_the_command_refuses_is_told_with_its_setting() {
    check(&["--vary", "streams=1,0", "get"], "streams=0: --streams 0 is outside 1 to 10000");
    check(&["--vary", "sideways=1,2", "get"], "sideways=1: unexpected argument '--sideways' found");
    check(&["--vary", "duration=1s,5", "get"], "duration=5: ");
    check(&["--vary", "message-bytes=64k,1MiB", "put"], "'64k' can mean 64kB");
    check(&["--vary", "pool=1,2", "get"], "pool=1: unexpected argument '--pool' found");
    check(&["--vary", "repeats=1,2", "get"], "give --rounds in place of --repeats");
    check(&["--vary", "streams=1,2", "get", "--streams", "4"], "--streams varies; leave it out");
    check(&["--vary", "streams=1,2", "get", "--streams=4"], "--streams varies; leave it out");
    check(&["--vary", "streams=1,2", "get", "-s", "4"], "--streams varies; leave it out");
    check(&["--vary", "streams=1,2", "get", "-s4"], "--streams varies; leave it out");
    check(
        &["--vary", "source=ticket:secret,ticket:other", "get", "--batch-rows", "5"],
        "source=ticket:<redacted>: --batch-rows is part of a request",
    );
}

#[test]
fn options_of_the_sweep_stand_before_the_command() {
    let with = |rest: &[&str], want| {
        check(&[&["--vary", "streams=1,2", "get"][..], rest].concat(), want);
    };
    with(&["--format", "json"], "--format is an option of sweep; write it before the command");
    with(&["--dry-run"], "--dry-run is an option of sweep; write it before the command");
    with(&["--fail-if", "errors > 0"], "sweep judges all settings together; leave --fail-if out");
    check(
        &["--out", "x.ndjson", "--vary", "streams=1,2", "get"],
        "a sweep has no lines of JSON; end the name with .json or .csv",
    );
    check(&["--out", "/none/x.json", "--vary", "streams=1,2", "get"], "there is no folder /none");
}

#[test]
fn a_metric_is_one_that_the_command_measures() {
    let metric = |name, want| check(&["--vary", "streams=1,2", "--metric", name, "get"], want);
    metric("put.ack.p99", "--metric put.ack.p99 is not measured by get");
    metric("errors", "--metric errors is no figure of a repeat of get; take one such as get.bytes");
    metric("get.bytes_per_s@plain", "is no figure of a repeat of get");
}

#[test]
fn a_promise_is_an_upper_bound_of_a_latency_of_an_open_loop() {
    let slo = |expr, command: &[&str], want| check(&[&["--slo", expr][..], command].concat(), want);
    slo("put.ack.p99 <= 5ms", &["unary", "info"], "put.ack.p99 is no latency of unary");
    slo("connect.p99 <= 5ms", &["put"], "connect.p99 is no latency of put");
    slo("unary.service.p99 <= 5ms", &["unary", "info"], "take unary.response");
    slo("put.ack.p99 >= 5ms", &["put"], "a promise is an upper bound of a latency");
    slo("put.bytes_per_s <= 5MB/s", &["put"], "a promise is an upper bound of a latency");
    slo("put.ack.p99 vs base <= 5%", &["put"], "a promise is an upper bound of a latency");
    slo("put.ack.p99 <= 5ms", &["put", "--rate", "70%"], "leave --rate out of the command");
    slo("put.ack.p99 <= 5ms", &["put", "-r70%"], "leave --rate out of the command");
    slo("put.ack.p99 <= 5ms", &["put", "-s", "2", "-r", "70%"], "leave --rate out of the command");
}

#[test]
fn a_plan_says_what_varies_and_how_long_it_takes() {
    let plan = |words: &[&str]| config(words).map(|config| config.plan()).expect("right use");
    let got = plan(&["--vary", "streams=1..4:x2", "--rounds", "2", "get", "grpc://h:1", "-d1s"]);
    // Three settings, twice: a second, as much of warm-up, and what is around them.
    let want = "\
measures  get
varies    streams: 1, 2, 4
judges    get.bytes_per_s
rounds    2 of 3 settings
takes     about 25 s
";
    assert_eq!(got, want);
    let got = plan(&["--vary", "rate=10,20", "put", "grpc://h:1"]);
    let want = "judges    the highest rate that is held, and its put.response.p99\n";
    assert!(got.contains(want), "{got}");
    let got = plan(&["--vary", "rate=10,20", "--metric", "put.ack.p50", "put", "grpc://h:1"]);
    assert!(got.contains("judges    put.ack.p50\n"), "{got}");
    let got = plan(&["--slo", "put.ack.p99 <= 5ms", "put", "grpc://h:1"]);
    assert!(got.contains("confirms  with 5 repeats each, 4 rates at most\n"), "{got}");
    assert!(got.contains("searches  the highest rate that holds put.ack.p99 <= 5ms\n"), "{got}");
}

#[test]
fn settings_are_every_pair_and_the_second_changes_fastest() {
    let words =
        ["--vary", "streams=1,2", "--vary", "batch-rows=10,20,30", "put", "grpc://h:1", "-d1s"];
    let config = config(&words).expect("right use");
    let What::Grid(grid) = &config.what else { panic!("no grid") };
    let settings = grid.empty();
    let got: Vec<_> =
        settings.iter().map(|one| (one.record.streams, one.record.batch_rows)).collect();
    let want = [(1, 10), (1, 20), (1, 30), (2, 10), (2, 20), (2, 30)];
    assert_eq!(got, want.map(|(streams, rows)| (streams, Some(rows))));
    assert_eq!(settings[4].values, ["2", "20"]);
}

#[test]
fn options_are_put_where_the_command_takes_them() {
    let command = ["unary", "info", "--", "grpc://h:1"].map(OsString::from);
    let got = words(&command, &[option("streams", "4")]);
    assert_eq!(got, ["unary", "--streams=4", "info", "--", "grpc://h:1"].map(OsString::from));
}

fn check(words: &[&str], want: &str) {
    let got = config(words).map_or_else(
        |stop| {
            assert_eq!(stop.exit, Exit::Usage);
            stop.to_string()
        },
        |_| "accepted".to_owned(),
    );
    assert!(got.contains(want), "{words:?}: {got}");
}

fn config(words: &[&str]) -> Result<SweepConfig, Stop> {
    let line = ["flight-bench", "sweep"].iter().chain(words).map(OsString::from);
    let Some(cli::Command::Sweep(args)) = cli::from(line).expect("clap takes the line").command
    else {
        panic!("{words:?} is no sweep");
    };
    SweepConfig::from_args(args)
}
