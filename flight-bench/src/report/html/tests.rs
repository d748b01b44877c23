//! Which charts a page has, and that it holds its run.

use super::*;
use crate::exit::Exit;
use crate::record::Failure;
use crate::report::ladder::tests::ladder as climbed;
use crate::report::results::tests::{results, single, six_rows};
use crate::report::{Workload, read};

/// The page has these charts in this order, and the run comes back as it was.
fn check(results: &Results, charts: &[&str]) -> String {
    let html = render(results);
    assert_eq!(charts_of(&html), charts);
    let run = flight_chart::embedded(&html).expect("a run in the page");
    let again = read(&run).map(|again| json::render(&again));
    assert_eq!(again.expect("a run"), json::render(results));
    for outside in ["http:", "https:", " src=", " href=", "url(", "NaN"] {
        assert!(!html.contains(outside), "{outside} is in the page");
    }
    html
}

fn charts_of(html: &str) -> Vec<&str> {
    let named = html.split("<figure").skip(1).filter_map(|rest| rest.split("data-chart=\"").nth(1));
    named.filter_map(|rest| rest.split('"').next()).collect()
}

fn with_two_streams(mut results: Results) -> Results {
    for measured in results.variants.iter_mut().flat_map(|variant| &mut variant.measured) {
        let streams = &mut measured.repeat.recording.streams;
        let mut second = streams[0];
        second.id = 1;
        streams.push(second);
    }
    results
}

#[test]
fn a_get_and_a_put_have_every_chart_of_their_own() {
    let charts = ["repeats", "throughput", "latency", "fairness"];
    check(&with_two_streams(single(Workload::Get)), &charts);
    let html = check(&with_two_streams(single(Workload::Put)), &charts);
    assert!(html.contains("put.ack") && html.contains("MB/s"), "{html}");
}

#[test]
fn one_stream_has_nobody_to_be_fair_to() {
    check(&single(Workload::Get), &["repeats", "throughput", "latency"]);
}

#[test]
fn calls_are_counted_and_have_no_bytes() {
    let mut calls = single(Workload::Unary);
    calls.record.call = Some("GetFlightInfo".to_owned());
    calls.record.model = "open".into();
    let html = check(&calls, &["repeats", "throughput", "latency"]);
    assert!(!html.contains("MB/s") && !html.contains("B/s<"), "{html}");
    for want in ["calls/s", "unary.response", "unary.service", "unary.lag"] {
        assert!(html.contains(want), "{want}");
    }
}

#[test]
fn quick_shows_the_cost_of_tls() {
    let html =
        check(&six_rows(), &["repeats", "tls-cost", "throughput", "latency-get", "latency-put"]);
    assert!(html.contains("50.0"), "{html}");
}

#[test]
fn a_run_by_batches_has_no_time_line() {
    let mut run = single(Workload::Get);
    run.record.extent.window_ns = None;
    run.record.extent.batches = Some(1000);
    check(&run, &["repeats", "latency"]);
}

#[test]
fn a_run_that_broke_off_shows_what_it_has() {
    let mut broken = single(Workload::Get);
    broken.outcome.complete = false;
    broken.outcome.exit = Exit::Interrupted;
    broken.outcome.error = Some("interrupted".to_owned());
    let measured = &mut broken.variants[0].measured;
    measured.truncate(2);
    measured[1].complete = false;
    measured[1].repeat.elapsed /= 2;
    let html = check(&broken, &["repeats", "throughput", "latency"]);
    assert!(html.contains("NOT COMPLETE: interrupted"), "{html}");
    assert!(html.contains("asked for 5 repeats: 1 cut short, 3 not measured"), "{html}");
}

#[test]
fn a_run_without_a_figure_has_words_alone() {
    let mut failed = results(&[]);
    failed.outcome.complete = false;
    failed.outcome.exit = Exit::Unreachable;
    failed.outcome.error = Some("cannot reach grpc://<b>:1".to_owned());
    let html = check(&failed, &[]);
    assert!(html.contains("cannot reach grpc://&lt;b&gt;:1"), "{html}");
    let mut empty = single(Workload::Get);
    empty.variants[0].measured.clear();
    check(&empty, &[]);
    let mut failures = single(Workload::Get);
    let measured = &mut failures.variants[0].measured;
    measured.truncate(1);
    measured[0].complete = false;
    measured[0].repeat.recording = crate::record::Recording::default();
    measured[0].repeat.recording.errors.add(Failure::new("INTERNAL", "</script><script>"));
    let html = check(&failures, &[]);
    assert!(html.contains("1 × INTERNAL: &lt;/script&gt;"), "{html}");
}

#[test]
fn a_ladder_has_its_waterfall_and_holds_its_document() {
    let html = ladder(&climbed(3));
    assert_eq!(charts_of(&html), ["ladder", "rungs", "cpu"]);
    let document = flight_chart::embedded(&html).expect("a document in the page");
    assert!(document.contains("flight-bench.ladder/1"), "{document}");
    assert_eq!(charts_of(&ladder(&climbed(0))), [""; 0]);
}
