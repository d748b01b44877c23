//! Whole reports of made-up runs, compared letter by letter with files of this repository.
//!
//! `FLIGHT_UPDATE_GOLDEN=1` writes the files anew.

use std::path::Path;

use super::engines::tests::engines;
use super::handshakes::tests::handshakes;
use super::results::tests::{mix, results, single, six_rows};
use super::{Format, Reason, Results, Workload, arrow, csv, html, markdown, render};
use crate::cli::Semantics;
use crate::record::{Latencies, Metric};

#[test]
fn a_get_is_told_as_before() {
    check("get", single(Workload::Get));
}

#[test]
fn a_put_is_told_as_before() {
    check("put", single(Workload::Put));
}

#[test]
fn calls_in_an_open_loop_are_told_as_before() {
    let mut calls = single(Workload::Unary);
    let record = &mut calls.record;
    record.call = Some("GetFlightInfo".to_owned());
    (record.model, record.arrival) = ("open".into(), Some("poisson".into()));
    (record.rate, record.rate_share) = (Some(1000.0), Some(0.7));
    check("unary", calls);
}

#[test]
fn quick_is_told_as_before() {
    let mut quick = six_rows();
    quick.variants.iter_mut().for_each(|variant| variant.measured.truncate(3));
    quick.record.repeats = 3;
    check("quick", quick);
}

#[test]
fn engines_are_told_as_before() {
    check("engines", engines());
}

#[test]
fn kinds_of_connections_are_told_as_before() {
    check("tls", handshakes());
}

#[test]
fn a_mix_is_told_as_before() {
    check("mixed", mix());
}

#[test]
fn a_run_that_broke_off_is_told_as_before() {
    let mut broken = single(Workload::Get);
    broken.outcome.complete = false;
    broken.outcome.error = Some("interrupted; what was measured so far is reported".to_owned());
    broken.warnings.push("no frequency of the processor is known here".to_owned().into());
    let measured = &mut broken.variants[0].measured;
    measured.truncate(2);
    measured[1].complete = false;
    measured[1].repeat.elapsed /= 2;
    let failure = crate::record::Failure::new("UNAVAILABLE", "the server is gone");
    measured[1].repeat.recording.errors.add(failure);
    check("broken-off", broken);
}

#[test]
fn a_run_that_reached_nothing_is_told_as_before() {
    let mut failed = results(&[]);
    failed.server = None;
    failed.outcome.complete = false;
    failed.outcome.error = Some("cannot reach grpc://h:1".to_owned());
    check("unreachable", failed);
}

fn check(name: &str, results: Results) {
    // A mix is made with those of its kinds.
    let is_mix = results.record.command == "mixed";
    let results = &if is_mix { results } else { with_own_latencies(results) };
    let text = render(results, Format::Text, Reason::InReport);
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
    compare(&format!("{name}.txt"), &text);
    compare(&format!("{name}.md"), &markdown::render(results));
    compare(&format!("{name}.csv"), &csv::render(results));
    // The frame of the page, its style and its data are tested where they are made.
    compare(&format!("{name}.html"), &html::body(results));
    // Of several measurements there are no such lines.
    if results.variants.len() == 1 {
        compare(&format!("{name}.arrow"), &arrow::render(results, Semantics::Own));
    }
}

/// The made-up runs have every latency that there is; those of real ones are of their workload.
fn with_own_latencies(mut results: Results) -> Results {
    for variant in &mut results.variants {
        let workload = variant.workload.name();
        for measured in &mut variant.measured {
            let recording = &mut measured.repeat.recording;
            let mut own = Latencies::default();
            for metric in Metric::ALL {
                let histogram = recording.latencies.histogram(metric);
                if let Some(histogram) = histogram.filter(|_| metric.id().starts_with(workload)) {
                    own.insert(metric, histogram.clone());
                }
            }
            recording.latencies = own;
        }
    }
    results
}

fn compare(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let got = got.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    if std::env::var_os("FLIGHT_UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
        std::fs::write(&path, got).expect("room for a report");
        return;
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    let line = want.lines().zip(got.lines()).find(|(want, got)| want != got);
    assert!(
        got == want,
        "tests/golden/{name} differs, first at {line:#?}; write it with FLIGHT_UPDATE_GOLDEN=1"
    );
}
