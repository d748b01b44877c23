//! What is said of two runs whose difference is known.

use super::*;
use crate::cli::Format;
use crate::report::Workload;
use crate::report::tests::single;

/// Five repeats with these batches a second, named.
fn run(name: &str, batches: [u64; 5]) -> (String, Results) {
    let mut results = single(Workload::Get);
    results.id = format!("{name}-id");
    for (measured, batches) in results.variants[0].measured.iter_mut().zip(batches) {
        let transfer = &mut measured.repeat.recording.counts.transfer;
        (transfer.batches, transfer.logical_bytes) = (batches, batches * 131_072);
    }
    (name.to_owned(), results)
}

const STEADY: [u64; 5] = [1000, 1002, 1004, 1006, 1008];

fn compared(value: [u64; 5], thresholds: &[&str]) -> Result<Comparison, Stop> {
    let thresholds: Vec<Threshold> =
        thresholds.iter().map(|expr| expr.parse().expect("an expression")).collect();
    Comparison::of(&run("pr", value), &run("main", STEADY), &Judging::default(), &thresholds)
}

#[test]
fn a_throughput_that_fell_decides_the_exit_code() {
    check(STEADY.map(|batches| batches * 9 / 10), false, Exit::Regressed, "-10.0 %");
    check(STEADY.map(|batches| batches * 11 / 10), false, Exit::Done, "+10.0 %");
    check(STEADY, true, Exit::Done, "+0.0 %");
}

#[test]
fn what_is_inconclusive_matters_to_the_strict_alone() {
    let wide = [900, 960, 1000, 1040, 1100];
    check(wide, false, Exit::Done, "inconclusive");
    check(wide, true, Exit::Unsettled, "inconclusive");
}

#[test]
fn thresholds_are_judged_against_the_base() {
    let slower = STEADY.map(|batches| batches * 98 / 100);
    let exit = |expr: &str| compared(slower, &[expr]).expect("comparable runs").exit(false);
    assert_eq!(exit("get.bytes_per_s vs base < -1%"), Exit::Regressed);
    assert_eq!(exit("get.bytes_per_s vs base < -3%"), Exit::Done);
    assert_eq!(exit("get.bytes_per_s < 1GB/s"), Exit::Regressed);
}

#[test]
fn a_comparison_says_what_it_does_not_control() {
    let text = compared(STEADY.map(|batches| batches * 9 / 10), &["errors > 0"])
        .expect("comparable runs")
        .text();
    for want in [
        "A  main (main-id), 5 repeats\nB  pr (pr-id), 5 repeats\n\n",
        "not interleaved: drift not controlled",
        "same: within 5 %, or 10 % of p99",
        "figures that do not gate · the first row decides the exit code",
        "pass  errors > 0: 0\n",
        "regressed",
    ] {
        assert!(text.contains(want), "{want:?} is missing in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn the_rows_of_quick_fit_100_columns_and_gate_together() {
    let quick = || ("quick".to_owned(), crate::report::tests::six_rows());
    let comparison = Comparison::of(&quick(), &quick(), &Judging::default(), &[]);
    let text = comparison.expect("comparable runs").text();
    assert!(text.contains("put.write_wait.p99@tls-rsa"), "{text}");
    assert!(text.contains("6 throughputs decide the exit code"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn too_few_repeats_are_refused_with_the_number_needed() {
    let (mut short, base) = (run("pr", STEADY), run("main", STEADY));
    short.1.variants[0].measured.truncate(3);
    let stop = Comparison::of(&short, &base, &Judging::default(), &[]).expect_err("three repeats");
    let want = "run pr has 3 whole repeats and a comparison at 95 % needs 4 a side";
    assert!(stop.to_string().starts_with(want), "{stop}");
    assert_eq!(stop.exit, Exit::Usage);
}

#[test]
fn the_document_has_shares_and_words() {
    let comparison = compared(STEADY.map(|batches| batches / 2), &[]).expect("comparable runs");
    let compared = Compared { comparisons: vec![comparison], exit: Exit::Regressed };
    let text = compared.render(Format::Json);
    let got: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&got["schema"], &got["exit"]), (&"flight-bench.compare/1".into(), &3.into()));
    let row = &got["comparisons"][0]["rows"][0];
    assert_eq!((&row["figure"], &row["verdict"]), (&"get.bytes_per_s".into(), &"regressed".into()));
    let ratio = row["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
}

#[test]
fn the_document_follows_its_schema() {
    let schema = include_str!("../../../docs/flight-bench.compare.schema.json");
    let one = compared(STEADY, &["errors > 0", "put.ack.p99 > 5ms"]).expect("comparable runs");
    let whole = Compared { comparisons: vec![one], exit: Exit::Regressed };
    crate::report::schema_check::check(schema, &whole.render(Format::Json));
}

#[test]
fn comparisons_that_are_read_back_are_told_as_they_were() {
    let forms = [Format::Text, Format::Json, Format::Md, Format::Html];
    let told = |compared: &Compared| forms.map(|format| compared.render(format));
    let exprs = ["errors > 0", "get.bytes_per_s vs base < -3%"];
    let one = |value| compared(value, &exprs).expect("comparable runs");
    let mut paced = one(STEADY);
    paced.is_paced = true;
    paced.warnings.push("the kernel differs".to_owned());
    paced.skipped.push("get.wait.p99 is not compared".to_owned());
    let comparisons = vec![one(STEADY.map(|batches| batches * 9 / 10)), paced];
    let whole = Compared { comparisons, exit: Exit::Regressed };
    let again = read(&whole.render(Format::Json)).expect("a comparison");
    assert_eq!(told(&again), told(&whole));
    let page = whole.render(Format::Html);
    assert_eq!(page.matches("data-chart=\"changes\"").count(), 2);
    let embedded = flight_chart::embedded(&page).expect("a document in the page");
    assert_eq!(told(&read(&embedded).expect("a comparison")), told(&whole));
    let error = read("{\"schema\":\"flight-bench.ab/1\"}").expect_err("another document");
    assert!(error.to_string().contains("it is a flight-bench.ab/1"), "{error}");
}

fn check(value: [u64; 5], strict: bool, exit: Exit, want: &str) {
    let comparison = compared(value, &[]).expect("comparable runs");
    assert_eq!(comparison.exit(strict), exit, "{comparison:?}");
    let text = comparison.text();
    assert!(text.contains(want), "{text}");
}
