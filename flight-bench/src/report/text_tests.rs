//! The text report: what it says of whole, partial and failed runs, and how wide it is.

use super::*;
use crate::exit::Exit;
use crate::record::Failure;
use crate::report::Warning;
use crate::report::results::tests::single;

#[test]
fn a_get_fits_100_columns_and_names_its_metrics() {
    let text = render(&single(Workload::Get), Reason::OnStderr);
    check(
        &text,
        &[
            "get · path:taxi · 4 streams · 4 connections · 1 thread · closed loop\n",
            "server flight-server 0.1.0 (pid 4312) grpc://127.0.0.1:40213 · plaintext · transport own\n",
            "DoGet  131 MB/s ±0.0 % (131 to 131)   1000 batches/s   4.10M rows/s",
            "total     5000 batches · 20480000 rows · 655360000 bytes in 5.000 s of 5 repeats",
            "get.wait",
            "first     median 412 µs, max 412 µs from a stream's first call to its first batch",
            "errors    none",
        ],
    );
}

#[test]
fn percentiles_without_enough_events_are_dashes() {
    let mut results = single(Workload::Put);
    results.variants[0].measured.truncate(1);
    let text = render(&results, Reason::OnStderr);
    let row = text.lines().find(|line| line.contains("put.ack")).expect("a row");
    // 1000 events support p99 and not p99.9.
    assert!(row.contains("990 µs") && row.contains("–"), "{row}");
}

#[test]
fn failures_and_an_early_end_are_told() {
    let mut results = single(Workload::Get);
    let errors = &mut results.variants[0].measured[0].repeat.recording.errors;
    errors.add(Failure::new("NOT_FOUND", "no such ticket"));
    errors.add(Failure::new("NOT_FOUND", "no such ticket"));
    results.outcome.exit = Exit::Interrupted;
    results.outcome.error = Some("interrupted".to_owned());
    results.outcome.complete = false;
    check(
        &render(&results, Reason::OnStderr),
        &["errors    2 × NOT_FOUND: no such ticket", "NOT COMPLETE\n"],
    );
}

#[test]
fn the_interval_needs_three_repeats() {
    let spread_of = |repeats: usize, want: &str| {
        let mut results = single(Workload::Get);
        results.record.repeats = repeats;
        results.variants[0].measured.truncate(repeats);
        let text = render(&results, Reason::OnStderr);
        check(&text, &[&format!("DoGet  131 MB/s{want}   1000 b")]);
        assert_eq!(text.contains("±: 95 % interval"), repeats >= 3, "{text}");
    };
    spread_of(1, " (single run)");
    spread_of(2, " (131 to 131)");
    spread_of(3, " ±0.0 % (131 to 131)");
}

#[test]
fn the_total_counts_what_was_measured_alone() {
    let mut results = single(Workload::Get);
    let measured = &mut results.variants[0].measured;
    measured.truncate(3);
    measured[1].complete = false;
    let failed = &mut measured[2].repeat.recording;
    failed.counts = crate::record::Counts::default();
    failed.errors.add(Failure::new("CONNECT", "connection refused"));
    measured[2].complete = false;
    let text = render(&results, Reason::OnStderr);
    check(
        &text,
        &[
            "DoGet  131 MB/s (single run)",
            "262144000 bytes in 2.000 s of 2 repeats\n",
            "          asked for 5 repeats: 1 cut short, 1 failed, 2 not measured\n",
            "errors    1 × CONNECT: connection refused",
        ],
    );
}

#[test]
fn a_run_without_a_figure_explains_none_and_leaves_its_reason_to_stderr() {
    let mut results = crate::report::tests::results(&[]);
    results.record.sources = Vec::new();
    results.outcome.complete = false;
    results.outcome.error = Some("cannot reach grpc://h:1".to_owned());
    let head = format!(
        "flight-bench {} · get · 4 streams · 4 connections · 1 thread · closed loop\n",
        env!("CARGO_PKG_VERSION")
    );
    results.warnings.push("unverified".to_owned().into());
    assert_eq!(render(&results, Reason::OnStderr), head);
    // A file has no stderr beside it.
    let kept = render(&results, Reason::InReport);
    assert_eq!(kept, format!("{head}NOT COMPLETE: cannot reach grpc://h:1\n"));
}

#[test]
fn an_unverified_server_is_marked() {
    let mut results = crate::report::results::tests::six_rows();
    results.variants.truncate(2);
    results.variants.remove(0);
    let tls = results.variants[0].tls.as_mut().expect("a TLS row");
    (tls.verified, tls.trust) = (false, "insecure".into());
    check(
        &render(&results, Reason::OnStderr),
        &["TLS 1.3 · TLS13_AES_128_GCM_SHA256", "NOT VERIFIED"],
    );
}

#[test]
fn warnings_are_two_lines_each_and_five_at_most() {
    let with = |count: usize| {
        let mut results = single(Workload::Get);
        let rows = ["put.plain", "get.plain", "get.tls-ec", "get.tls-rsa", "put.tls-ec"];
        let warning = |index: usize| Warning {
            rows: rows.iter().map(ToString::to_string).collect(),
            ..Warning::of_run("x", format!("{index} {}", "seen ".repeat(14)), "why", "an option")
        };
        results.warnings = (0..count).map(warning).collect();
        render(&results, Reason::OnStderr)
    };
    let lines = |text: &str, of: &str| text.lines().filter(|line| line.starts_with(of)).count();
    let five = with(5);
    check(&five, &["\n! put.plain (also 4 more): 0 seen ", "\n  why; try: an option\n"]);
    assert_eq!((lines(&five, "! "), lines(&five, "  why; try: ")), (5, 5), "{five}");
    let seven = with(7);
    let more = "! 2 more warnings: --format md or --out FILE.html has all of them";
    check(&seven, &[more]);
    assert_eq!((lines(&seven, "! "), lines(&seven, "  why; try: ")), (6, 5), "{seven}");
}

fn check(text: &str, wants: &[&str]) {
    for want in wants {
        assert!(text.contains(want), "{want:?} is missing in:\n{text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
}
