//! What is said of two runs whose difference is known.

use std::time::Duration;

use super::*;
use crate::cli::Format;
use crate::record::Metric;
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
    on_machine(value, &thresholds, &Known::default())
}

/// The same where equal sides differ by so much.
fn on_machine(
    value: [u64; 5],
    thresholds: &[Threshold],
    known: &Known,
) -> Result<Comparison, Stop> {
    Comparison::of(&run("pr", value), &run("main", STEADY), &Judging::default(), thresholds, known)
}

/// A document of runs that differ, on a machine whose noise is known.
pub(crate) fn document() -> String {
    let here = Known::test(crate::floor::tests::floor(0.031), &run("main", STEADY).1.host);
    let slow = STEADY.map(|batches| batches * 9 / 10);
    let thresholds = ["errors > 0", "get.bytes_per_s vs base < -3%", "get.wait.p50 vs base > 3%"];
    let thresholds = thresholds.map(|expr| expr.parse().expect("an expression"));
    let mut one = on_machine(slow, &thresholds, &here).expect("comparable runs");
    one.warnings.push("the kernel differs".to_owned());
    Compared { comparisons: vec![one], exit: Exit::Regressed }.render(Format::Json)
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
fn thresholds_against_the_base_are_corrected_for_each_other() {
    // The lowest of 252 assignments of five and five: 1/252 is .004, and .025 holds six of these.
    let slow = STEADY.map(|batches| batches * 9 / 10);
    let limits = [-1, -2, -3, -4, -5, -6];
    let all: Vec<String> =
        limits.iter().map(|limit| format!("get.bytes_per_s vs base < {limit}%")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let six = compared(slow, &all).expect("comparable runs");
    assert!(six.thresholds.iter().all(|threshold| !threshold.pass), "{six:?}");
    let p: Vec<_> = six.thresholds.iter().filter_map(|threshold| threshold.p).collect();
    assert!(p.len() == 6 && p.iter().all(|p| (p - 6.0 / 252.0).abs() < 1e-12), "{p:?}");
    let text = six.text();
    for want in [
        "FAIL  get.bytes_per_s vs base < -1%: -10.0 % (",
        " %) · p .024\n",
        "p of thresholds: Mann-Whitney, one-sided; Holm over 6 against the base; up to .025 fails",
    ] {
        assert!(text.contains(want), "{want:?} is missing in\n{text}");
    }
    let seven = [&all[..], &["get.bytes_per_s vs base < -7%"]].concat();
    let stop = compared(slow, &seven).expect_err("no seventh could fail");
    let want = "7 thresholds against the base are too many for 5 repeats and the 5 of main: corrected \
                for each other (Holm), none could fail; measure 6 a side";
    assert_eq!((stop.to_string().as_str(), stop.exit), (want, Exit::Usage));
}

#[test]
fn a_threshold_that_fails_alone_may_pass_among_others() {
    // One pair of ranks out of order: 2 of 252 assignments are as low, so .0079 alone.
    let mut slow = STEADY.map(|batches| batches * 98 / 100);
    slow[4] = 1001;
    let close = "get.bytes_per_s vs base < -0.1%";
    let thresholds = [close, "get.wait.p50 vs base > 50%", "get.wait.p99 vs base > 50%"];
    let alone = compared(slow, &[close]).expect("comparable runs");
    let p = alone.thresholds[0].p.expect("it is against the base");
    assert!((0.005..=0.025).contains(&p), "{alone:?}");
    let among = compared(slow, &[&thresholds[..], &[close; 3]].concat()).expect("comparable runs");
    let corrected = among.thresholds[0].p.expect("it is against the base");
    assert!((corrected - 4.0 * p).abs() < 0.02 + 2.0 * p, "{corrected} of {p}");
    assert!(corrected > 0.025, "{corrected}");
    assert!(!alone.thresholds[0].pass && among.thresholds[0].pass, "{among:?}");
}

#[test]
fn absolute_thresholds_are_no_part_of_the_family() {
    let slow = STEADY.map(|batches| batches * 9 / 10);
    let exprs = ["get.bytes_per_s vs base < -1%", "get.bytes_per_s < 1GB/s", "errors > 0"];
    let found = compared(slow, &exprs).expect("comparable runs");
    let p: Vec<_> = found.thresholds.iter().map(|threshold| threshold.p).collect();
    assert!((p[0].expect("against the base") - 1.0 / 252.0).abs() < 1e-12, "{p:?}");
    assert_eq!(p[1..], [None, None]);
    assert!(!found.text().contains("p of thresholds"), "one alone needs no correction");
}

#[test]
fn a_floor_of_this_machine_is_used_for_runs_that_were_made_on_it() {
    let floor = crate::floor::tests::floor(0.2);
    let slow = STEADY.map(|batches| batches * 9 / 10);
    let here = Known::test(floor.clone(), &run("main", STEADY).1.host);
    let found = on_machine(slow, &[], &here).expect("comparable runs");
    assert_eq!((found.rows[0].verdict, found.exit(false)), (Verdict::Inconclusive, Exit::Done));
    let text = found.text();
    for want in
        ["noise floor 20.0 % (doctor --aa, 2026-11-30)", "-10.0 % is within the noise floor"]
    {
        assert!(text.contains(want), "{want:?} is missing in\n{text}");
    }
    let mut other = run("main", STEADY).1.host;
    other.kernel = Some("another".to_owned());
    let found = on_machine(slow, &[], &Known::test(floor, &other)).expect("comparable runs");
    assert_eq!(found.exit(false), Exit::Regressed);
    let text = found.text();
    assert!(
        text.contains("! the noise floor of this machine is not used: a run was made"),
        "{text}"
    );
}

#[test]
fn gates_of_a_mix_are_one_family_and_the_text_says_so() {
    let mix = || ("mix".to_owned(), crate::report::tests::mix());
    let known = Known::default();
    let found = Comparison::of(&mix(), &mix(), &Judging::default(), &[], &known).expect("a mix");
    let gates = found.rows.iter().filter(|row| row.gates).count();
    assert!(gates > 1, "{found:?}");
    let text = found.text();
    for want in [
        &*format!("Holm over {gates} throughputs, which decide the exit code, and over "),
        "kinds of a mix depend on each other and make up the whole: Holm's correction holds",
    ] {
        assert!(text.contains(want), "{want:?} is missing in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

/// Calls at a rate that was asked for: `calls` were made, and answered in twice the time or the same.
fn paced(name: &str, calls: u64, twice: bool) -> (String, Results) {
    let mut run = single(Workload::Unary);
    run.record.model = "open".into();
    for measured in &mut run.variants[0].measured {
        measured.repeat.recording.counts.transfer.batches = calls;
        if twice {
            let latencies = &mut measured.repeat.recording.latencies;
            for micros in 1..=1000 {
                latencies.record(Metric::UnaryResponse, Duration::from_micros(micros + 1000));
            }
        }
    }
    (name.to_owned(), run)
}

#[test]
fn where_the_rate_was_asked_for_response_times_decide() {
    let compared = |value: (String, Results)| {
        let base = paced("main", 1000, false);
        let judging = Judging::default();
        Comparison::of(&value, &base, &judging, &[], &Known::default()).expect("comparable runs")
    };
    // Fewer arrivals were drawn: nothing got worse.
    let fewer = compared(paced("pr", 900, false));
    assert_eq!(fewer.exit(true), Exit::Done, "{fewer:?}");
    assert!(fewer.rows[0].ratio.value < 0.95 && !fewer.rows[0].gates, "{fewer:?}");
    let slower = compared(paced("pr", 1000, true));
    assert_eq!(slower.exit(false), Exit::Regressed, "{slower:?}");
    for (compared, want) in [
        (&fewer, "an open loop: the rate is the one that was asked for; response times decide"),
        (&slower, "Holm over 2 response times, which decide the exit code, and over "),
    ] {
        assert!(compared.text().contains(want), "{want:?} is missing in\n{}", compared.text());
    }
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
    let comparison =
        Comparison::of(&quick(), &quick(), &Judging::default(), &[], &Known::default());
    let text = comparison.expect("comparable runs").text();
    assert!(text.contains("put.write_wait.p99@tls-rsa"), "{text}");
    let want = "Holm over 6 throughputs, which decide the exit code, and over ";
    assert!(text.contains(want), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn too_few_repeats_are_refused_with_the_number_needed() {
    let (mut short, base) = (run("pr", STEADY), run("main", STEADY));
    short.1.variants[0].measured.truncate(3);
    let stop = Comparison::of(&short, &base, &Judging::default(), &[], &Known::default())
        .expect_err("three repeats");
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
    paced.floor = Some(crate::floor::tests::floor(0.031));
    paced.rows[0].floor = Some(0.031);
    paced.is_of_mix = true;
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
