//! Mixes of operations against real servers: what each kind did, and all of them together.

use flight_testkit::ServerCommand;
use serde_json::Value;

use crate::support::{bench, count, known, number, serve_known};

const SMALL: &str = "--sample-rows 5k --upload-bytes 256KiB --batch-rows 1000";
const SHORT: &str = "--duration 300ms --warmup 50ms --repeats 2";

/// The document of a run that went well.
fn check(line: &str) -> Value {
    let document = bench(&format!("mixed {line} --format json --quiet")).ended(0).json();
    assert_eq!(document["complete"], true);
    document
}

/// A count over all repeats of a variant.
fn total(document: &Value, variant: &str, key: &str) -> u64 {
    let repeats = document["repeats"].as_array().expect("a list of repeats").iter();
    let of_variant = repeats.filter(|repeat| repeat["variant"] == variant);
    of_variant.map(|repeat| count(repeat, &format!("/counts/{key}"))).sum()
}

fn errors(document: &Value, variant: &str, code: &str) -> u64 {
    let repeats = document["repeats"].as_array().expect("a list of repeats").iter();
    let of_variant = repeats.filter(|repeat| repeat["variant"] == variant);
    of_variant.filter_map(|repeat| repeat["errors"][code]["count"].as_u64()).sum()
}

fn latency(document: &Value, variant: &str, metric: &str) -> u64 {
    let variants = document["variants"].as_array().expect("a list of variants");
    let variant = variants.iter().find(|one| one["id"] == variant).expect("it was measured");
    variant["latency"][metric]["n"].as_u64().unwrap_or(0)
}

#[test]
fn every_kind_is_measured_by_itself_and_all_of_them_together() {
    let mix = "get=2,put=1,exchange=1,info=2,schema=2,list=2";
    let document = check(&format!("{SMALL} --streams 2 --batches 150 --repeats 1 --mix {mix}"));
    let kinds =
        ["get.plain", "put.plain", "exchange.plain", "info.plain", "schema.plain", "list.plain"];
    for key in ["operations", "batches", "rows", "logical_bytes", "encoded_bytes"] {
        let sum: u64 = kinds.iter().map(|kind| total(&document, kind, key)).sum();
        assert_eq!(sum, total(&document, "mixed.plain", key), "{key}");
    }
    assert_eq!(total(&document, "mixed.plain", "operations"), 300, "two streams of 150");
    let [gets, puts, echoes, infos, ..] = kinds.map(|kind| total(&document, kind, "operations"));
    // What an operation is: the whole sample, and 256 KiB of batches of 32 000 bytes.
    assert_eq!(total(&document, "get.plain", "rows"), gets * 5000);
    assert_eq!(total(&document, "put.plain", "batches"), puts * 9);
    assert_eq!(total(&document, "put.plain", "logical_bytes"), puts * 9 * 32_000);
    assert_eq!(total(&document, "exchange.plain", "logical_bytes"), echoes * 9 * 32_000);
    assert_eq!(total(&document, "info.plain", "batches"), infos);
    assert_eq!(total(&document, "info.plain", "logical_bytes"), 0);
    assert_eq!(latency(&document, "get.plain", "get.stream"), gets);
    assert_eq!(latency(&document, "put.plain", "put.commit"), puts);
    assert_eq!(latency(&document, "exchange.plain", "exchange.rtt"), echoes * 9);
    assert_eq!(latency(&document, "info.plain", "unary.service"), infos);
    assert_eq!(latency(&document, "mixed.plain", "mixed.service"), 300);
    assert_eq!(latency(&document, "mixed.plain", "get.stream"), 0, "it is that of get");
    assert_eq!(latency(&document, "mixed.plain", "connect"), 4, "two for batches, two for calls");
}

#[test]
fn the_mix_that_is_reached_is_the_one_that_was_asked_for() {
    let line =
        format!("{SMALL} --streams 4 --batches 250 --repeats 1 --mix put=20,info=70,list=10");
    let document = check(&line);
    for (kind, share) in [("put.plain", 0.2), ("info.plain", 0.7), ("list.plain", 0.1)] {
        let done = total(&document, kind, "operations") as f64;
        // Five standard deviations of a binomial count; the seed is fixed, so that it never varies.
        let bound = 5.0 * (1000.0 * share * (1.0_f64 - share)).sqrt();
        assert!((done - 1000.0 * share).abs() <= bound, "{kind}: {done} of 1000");
    }
    let again = check(&line);
    let other = check(&format!("{line} --seed 7"));
    let puts = |document: &Value| {
        ["put.plain", "info.plain", "list.plain"].map(|kind| total(document, kind, "operations"))
    };
    assert_eq!(puts(&document), puts(&again), "a seed draws the same operations");
    assert_ne!(puts(&document), puts(&other), "and another does not");
}

#[test]
fn what_ends_in_the_window_alone_makes_the_rates() {
    let document = check(&format!("{SMALL} --streams 2 {SHORT} --mix get=1,put=1,info=2"));
    for kind in ["mixed.plain", "get.plain", "put.plain", "info.plain"] {
        let done = total(&document, kind, "operations");
        assert_eq!(latency(&document, kind, "mixed.service"), done, "{kind}");
        assert!(done > 5, "{kind}: {done}");
    }
    assert_eq!(total(&document, "mixed.plain", "reconnects"), 0, "a kind's first is no second");
    let rate = |id: &str| number(&document, &format!("/summary/{id}/median"));
    let kinds = ["get", "put", "info"].map(|kind| rate(&format!("mixed.operations_per_s@{kind}")));
    let sum: f64 = kinds.iter().sum();
    assert!((sum / rate("mixed.operations_per_s") - 1.0).abs() < 1e-9, "medians of two are means");
    assert!(rate("unary.calls_per_s@info") == kinds[2] && rate("get.bytes_per_s") > 0.0);
    assert!(number(&document, "/variants/0/cost/client/cpu_ns_per_batch") > 1000.0);
    assert_eq!(document["variants"][1]["cost"]["client"], Value::Null, "not told apart by kind");
    let slices = document["repeats"][0]["slices"].as_array().expect("twenty slices");
    assert_eq!(slices.len(), 20);
}

#[test]
fn an_open_loop_paces_operations() {
    let line = format!("{SMALL} --streams 8 --rate 200 --mix get=1,put=1,info=8");
    let document = check(&format!("{line} --duration 1s --warmup 100ms --repeats 2"));
    assert_eq!(document["config"]["model"], "open");
    let rate = number(&document, "/summary/mixed.operations_per_s/median");
    assert!((rate - 200.0).abs() < 60.0, "{rate}/s");
    let of = |metric| number(&document, &format!("/variants/0/latency/{metric}/mean_ns"));
    let parts = of("mixed.service") + of("mixed.lag");
    assert!((of("mixed.response") / parts - 1.0).abs() < 0.01, "of lag and service");
    assert_eq!(latency(&document, "put.plain", "put.response"), 0, "batches are not paced");
    let share = check(&format!("{line} --rate 30% {SHORT}").replace("--rate 200 ", ""));
    assert_eq!(share["config"]["rate_share"], 0.3);
}

#[test]
fn failures_of_a_kind_are_its_own_and_hide_no_other() {
    // The server has no echo, so that each exchange fails.
    let (server, folder) = serve_known();
    let mix = "--mix get=1,exchange=1,info=2 --batches 40 --repeats 2 --format json --quiet";
    let run = bench(&format!("mixed {} {mix}", server.endpoint())).ended(1);
    let document = run.json();
    assert_eq!(document["complete"], false, "exchange has no figure");
    let failed = errors(&document, "exchange.plain", "UNIMPLEMENTED");
    assert!(failed > 10, "{failed}");
    assert_eq!(errors(&document, "mixed.plain", "UNIMPLEMENTED"), failed);
    assert!(run.stderr.contains(&format!("{failed} calls failed")), "{}", run.stderr);
    let done = |kind: &str| total(&document, kind, "operations");
    assert_eq!(done("get.plain") + done("info.plain") + failed, 80, "each was tried or done");
    assert_eq!(done("exchange.plain"), 0);
    assert_eq!(total(&document, "get.plain", "rows"), done("get.plain") * 1_000_000);
    for kind in ["get.plain", "info.plain"] {
        assert!(done(kind) > 5 && errors(&document, kind, "UNIMPLEMENTED") == 0, "{kind}");
    }
    drop(folder);
}

#[test]
fn a_first_operation_that_fails_does_not_end_a_window() {
    let (server, _folder) = serve_known();
    let line = format!(
        "mixed {} --duration 1s --warmup 50ms --repeats 1 --mix exchange=3,info=1 --streams 2",
        server.endpoint()
    );
    let document = bench(&format!("{line} --format json --quiet")).ended(1).json();
    assert!(total(&document, "info.plain", "operations") > 0);
    assert!(errors(&document, "exchange.plain", "UNIMPLEMENTED") > 0);
}

#[test]
fn uploads_are_deleted_in_the_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    known(folder.path());
    let server = ServerCommand::serve(folder.path()).args(["--admin", "none"]).start();
    let line =
        format!("{} {SMALL} --streams 2 --batches 5 --repeats 1 --mix put=1", server.endpoint());
    let document = check(&line.replace("--sample-rows 5k ", ""));
    assert_eq!(total(&document, "put.plain", "operations"), 10);
    let left: Vec<_> = std::fs::read_dir(folder.path().join("flight-bench"))
        .map(|runs| {
            runs.flatten().flat_map(|run| std::fs::read_dir(run.path())).flatten().flatten()
        })
        .map(|files| files.map(|file| file.path()).collect())
        .unwrap_or_default();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_mix_is_told_in_words_and_judged() {
    let line = "mixed --sample-rows 5k --duration 300ms --warmup 50ms --repeats 3 --quiet --streams 2 \
                --mix get=3,info=1";
    let text = bench(&format!("{line} --fail-if errors>0")).ended(0).stdout;
    for want in ["Mix  ", "operations/s", "asked", "75.0 %", "GetFlightInfo", "mixed.service"] {
        assert!(text.contains(want), "{want} is missing in\n{text}");
    }
    let wide = text.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "{text}");
    let slow = bench(&format!("{line} --fail-if mixed.service.p50@get>1ns")).ended(3);
    assert!(slow.stdout.contains("mixed.service.p50@get>1ns"), "{}", slow.stdout);
    for (bad, want) in [
        ("--mix get=70,fetch=30", "'fetch' is no kind of operation"),
        ("--mix get=0", "has no weight above 0"),
        ("--mix get=1,get=1", "get stands twice"),
        ("--mix get=-1", "get: '-1' is no weight"),
        ("--passes 3", "give --batches"),
    ] {
        let run = bench(&format!("mixed {bad}")).ended(2);
        assert!(run.stderr.contains(want), "{bad}: {}", run.stderr);
    }
}
