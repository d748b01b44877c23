//! Which options go together.

use std::ffi::OsString;

use super::*;
use crate::cli;
use crate::exit::Exit;

#[test]
fn defaults_are_one_connection_a_stream() {
    let load = load("get --streams 8");
    assert_eq!((load.streams, load.connections, load.repeats), (8, 8, 5));
    assert!(load.threads >= 1 && load.threads <= 8);
    let second = Duration::from_secs(1);
    assert_eq!(load.extent, Extent::Window { warmup: second, duration: 3 * second });
}

#[test]
fn a_run_ends_by_time_batches_or_passes() {
    assert_eq!(load("get --batches 10k").extent, Extent::Batches(10_000));
    assert_eq!(load("put --passes 2").extent, Extent::Passes(2));
    let millis = Duration::from_millis;
    let want = Extent::Window { warmup: millis(0), duration: millis(500) };
    assert_eq!(load("get --duration 500ms --warmup 0s").extent, want);
}

#[test]
fn numbers_out_of_bounds_are_refused_with_both() {
    check("get --streams 0", "--streams 0 is outside 1 to 10000");
    check("get --streams 4 --connections 5", "--connections 5 is outside 1 to 4");
    check("get --streams 4 --threads 5", "--threads 5 is outside 1 to 4");
    check("get --repeats 1001", "--repeats 1001 is outside 1 to 1000");
    check("get --duration 0s", "--duration 0ns is too short to measure; give 10ms or more");
    check("get --batches 0", "--batches 0 is outside 1");
    check("put --pool 0", "--pool 0 is outside 1 to 4096");
    check("put --inflight 0", "--inflight 0 is outside 1 to 65536");
    check("put --message-bytes 1kB", "--message-bytes 1000 is outside 16384 to 67108864");
    check("get --h2-stream-window 1kB", "--h2-stream-window 1000 is outside 65535 to 2147483647");
}

#[test]
fn batches_go_over_the_own_transport_unless_told_otherwise() {
    let transport = |line| config(line).expect("options that go together").link.transport;
    assert_eq!(transport("get"), Transport::Own);
    assert_eq!(transport("quick --transport own"), Transport::Own);
    assert_eq!(transport("put --transport hyper"), Transport::Hyper);
}

#[test]
fn tls_options_need_a_target_that_speaks_tls() {
    check("get --tls-ca ca.pem", "--tls-ca goes with a TARGET such as grpc+tls://HOST:PORT");
    check(
        "get grpc://h:1 --tls-insecure",
        "--tls-insecure goes with TLS and TARGET grpc://h:1 is plaintext",
    );
    check("get grpc+tls://h:1 --tls-insecure", "accepted");
}

#[test]
fn a_client_certificate_is_not_shown_to_whomever_an_unverified_server_names() {
    let line = "get grpc+tls://h:1 --tls-cert c.pem --tls-key c.key";
    let with = |rest: &str| format!("{line} {rest}");
    let refused = "to any host that the server names";
    check(&with("--follow-locations always --tls-insecure"), refused);
    check(&with("--follow-locations same --tls-insecure"), "accepted");
    check(&with("--follow-locations always --tls-ca ca.pem"), "accepted");
    check("get grpc+tls://h:1 --follow-locations always --tls-insecure", "accepted");
}

#[test]
fn what_a_foreign_request_says_cannot_be_changed() {
    check("get --source cmd:x --message-bytes 1MiB", "it goes with --source path:, not with cmd:x");
    check("get --source ticket:x --verify checksum", "not with ticket:<redacted>");
    check("get --source perf --batch-rows 100", "accepted");
    check("put --source ticket:x", "--source ticket: is for get");
    check("put --source sql:x", "--source sql: is for get");
    check("exchange --source sql:x", "path:a/b or cmd:TEXT");
    check("get --sql x --batch-rows 100", "not with sql:x");
    check("get --sql x --verify checksum", "not with sql:x");
    check("get --sql x --sql @file.sql", "accepted");
    check("unary schema --sql x", "accepted");
    check("unary list --sql x", "--sql goes with info, schema and poll, not with ListFlights");
    check("put --source perf --verify checksum", "which --source perf does not name");
    check("put --source cmd:x --verify checksum", "which --source cmd:x does not name");
    let replace = r#"put --source cmd:{"dataset":"x","mode":"replace"} --verify checksum"#;
    check(replace, "accepted");
}

#[test]
fn a_started_server_and_a_running_one_exclude_each_other() {
    check("quick grpc://h:1 --data d --dataset x", "--data is for the server that quick starts");
    check("get grpc://h:1 --server-bin s", "--server-bin starts a server and TARGET grpc://h:1");
}

#[test]
fn outputs_name_their_form() {
    check(
        "get --out r.xls",
        "--out r.xls has no form in its name; end it with .txt, .json, .ndjson, .csv, .md or .html",
    );
    check("get --out r.json", "accepted");
    check("quick --format arrow", "--format arrow has one measurement and quick makes several");
    check("get --semantics arrow", "give --format arrow too");
    check("get --format arrow --semantics arrow", "must end by itself; give --batches or --passes");
    check("get --format arrow --semantics arrow --batches 9", "accepted");
    check("get --format arrow --semantics own", "accepted");
}

#[test]
fn a_threshold_that_cannot_be_judged_is_refused_before_the_run() {
    let check = |words: &str, expr: &str, want: &str| {
        let words = format!("flight-bench {words} --fail-if");
        let words = words.split_whitespace().chain([expr]).map(OsString::from);
        let got = Config::from_cli(cli::from(words).expect("clap takes the line"));
        let got = got.map_or_else(|stop| stop.to_string(), |_| "accepted".to_owned());
        assert!(got.contains(want), "{expr}: {got}");
    };
    check("get", "get.bytes_per_s < 1GB/s", "accepted");
    check("get", "connect.p50 > 1s", "accepted");
    check("get", "put.ack.p99 > 5ms", "put.ack.p99 is not measured by get; 'errors' and");
    check("put --repeats 1", "put.ack.p99 > 5ms", "--repeats 1 does not have; give 3 or more");
    check("put --repeats 1", "errors > 0", "accepted");
    check("get", "get.bytes_per_s vs base < -3%", "no base to compare with; name one with");
    check("get --baseline main", "get.bytes_per_s vs base < -3%", "accepted");
    check("quick", "get.bytes_per_s@tls-ec < 1MB/s", "accepted");
    check("quick", "get.bytes_per_s vs base < -3%", "quick has no --baseline");
}

#[test]
fn a_comparison_needs_four_repeats() {
    check("get --baseline main --repeats 3", "--repeats 3 are too few; give 4 or more");
    check("get --baseline main", "accepted");
}

fn config(line: &str) -> Result<Config, Stop> {
    let words = std::iter::once("flight-bench").chain(line.split_whitespace());
    Config::from_cli(cli::from(words.map(OsString::from)).expect("clap takes the line"))
}

fn load(line: &str) -> Load {
    config(line).expect("options that go together").load
}

fn check(line: &str, want: &str) {
    let got = match config(line) {
        Ok(_) => "accepted".to_owned(),
        Err(stop) => {
            assert_eq!(stop.exit, Exit::Usage, "{line}");
            stop.to_string()
        }
    };
    assert!(got.contains(want), "{line:?} gave {got:?}");
}

#[test]
fn a_mix_is_refused_what_it_has_no_kind_for() {
    check("mixed", "accepted");
    check("mixed --mix get=1,put=1,exchange=1,info=1,schema=1,list=1 --rate 70%", "accepted");
    check("mixed --passes 2", "a mix has operations; give --batches");
    check("mixed --batches 20", "accepted");
    check("mixed --source ticket:x", "--source of mixed is what get reads and info and schema ask");
    check("mixed --source perf", "path:a/b or cmd:TEXT");
    check(
        "mixed --mix put=1,list=1 --source path:a",
        "--source is for get, info or schema, of which",
    );
    check("mixed --mix get=1,info=1 --upload-bytes 1MiB", "--mix get=1,info=1 has none");
    check("mixed --mix list=1 --inflight 2", "--inflight is for put or exchange");
    check("mixed --verify checksum", "use it with one of them, and none or count with mixed");
    check("mixed --upload-bytes 0B", "--upload-bytes 0 is outside 1");
    check("mixed --format arrow", "lines for get and put alone");
}

#[test]
fn a_threshold_of_a_mix_names_one_of_its_kinds() {
    let fail_if = |mix: &str, figure: &str, want: &str| {
        let words =
            ["flight-bench", "mixed", "--mix", mix, "--fail-if", figure].map(OsString::from);
        let cli = cli::from(words).expect("right use");
        let got = Config::from_cli(cli).map_or_else(|stop| stop.to_string(), |_| "accepted".into());
        assert!(got.contains(want), "{figure}: {got}");
    };
    fail_if("get=1,info=1", "mixed.operations_per_s < 5", "accepted");
    fail_if("get=1,info=1", "mixed.service.p99@get > 5ms", "accepted");
    fail_if("get=1,info=1", "unary.service.p99 > 5ms", "accepted");
    fail_if("get=1,info=1", "errors > 0", "accepted");
    fail_if("get=1,info=1", "connect.p50 > 5ms", "accepted");
    fail_if(
        "get=1,info=1",
        "put.ack.p99 > 5ms",
        "put.ack.p99 is not measured by --mix get=1,info=1",
    );
    fail_if("get=1,info=1", "get.bytes_per_s@info < 1MB/s", "get.bytes_per_s@info is not measured");
    fail_if("get=1,info=1", "mixed.operations_per_s@put < 1", "is not measured by --mix");
    fail_if("list=1,info=1", "unary.service.p99 > 5ms", "such as unary.service.p99@info");
    fail_if("list=1,info=1", "unary.service.p99@list > 5ms", "accepted");
}
