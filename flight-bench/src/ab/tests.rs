//! What is said of pairs whose values are known.

use std::ffi::OsString;

use flight_stats::Verdict;

use super::*;
use crate::cli;
use crate::report::schema_check;

fn results(base: &[f64], value: &[f64], equal: bool) -> AbResults {
    on_machine(base, value, equal, None)
}

/// The same where equal sides differ by so much.
fn on_machine(base: &[f64], value: &[f64], equal: bool, floor: Option<Floor>) -> AbResults {
    let mut results = AbResults {
        started: SystemTime::UNIX_EPOCH,
        host: Host::default(),
        records: [None, None],
        labels: ["--streams 1".to_owned(), "--streams 4".to_owned()],
        asked: base.len(),
        equal,
        series: Vec::new(),
        pairs: 0,
        rows: Vec::new(),
        floor,
        left_out: Vec::new(),
        warnings: Vec::new(),
        outcome: Outcome { exit: Exit::Done, error: None, complete: true },
    };
    let figure = Figure::parse("get.bytes_per_s").expect("a name");
    for (base, value) in base.iter().zip(value) {
        results.add(&one(&figure, *base), &one(&figure, *value));
    }
    results.judge(Band::new(0.03).expect("a share")).expect("values above zero");
    results
}

/// A document of pairs that differ, on a machine whose noise is known.
pub(crate) fn document() -> String {
    let floor = Some(crate::floor::tests::floor(0.031));
    let mut results = on_machine(&BASE, &BASE.map(|rate| rate * 0.9), false, floor);
    results.records[1] = Some(crate::report::tests::results(&[]).record);
    results.left_out.push("get.wait.p99".to_owned());
    results.render(Format::Json)
}

fn one(figure: &Figure, value: f64) -> Measurement {
    Measurement { values: vec![(figure.clone(), value)], warnings: vec!["warm".to_owned().into()] }
}

const BASE: [f64; 6] = [1.00e9, 1.10e9, 0.95e9, 1.05e9, 1.02e9, 0.98e9];

#[test]
fn pairs_are_told_in_a_table_with_what_they_could_detect() {
    let slow = BASE.map(|rate| rate * 0.9);
    let got = report::text(&results(&BASE, &slow, false));
    // The product of the six is 1.0968, its sixth root 1.0155. All ratios are 0.9, so there is no spread; 2 of 64 assignments of signs are as extreme.
    let want = "\
A  --streams 1
B  --streams 4

                         A         B   B vs A         95 % CI     p   sees  verdict
get.bytes_per_s  1016 MB/s  914 MB/s  -10.0 %  [-10.0, -10.0]  .031  3.0 %  regressed

6 pairs in turn, ABBA, anew each time · could detect ≥ 3.0 %
p: sign flips
! warm
";
    assert_eq!(got, want);
}

#[test]
fn an_open_question_has_a_number_of_pairs() {
    let noisy = [1.1e9, 1.0e9, 1.0e9, 1.1e9, 0.95e9, 1.1e9];
    let results = results(&BASE, &noisy, false);
    assert_eq!(results.rows[0].verdict, Verdict::Inconclusive);
    let text = report::text(&results);
    assert!(text.contains("get.bytes_per_s would be settled by ≈ "), "{text}");
}

#[test]
fn equal_sides_show_the_noise_of_the_machine() {
    let near = [1.01e9, 1.09e9, 0.96e9, 1.04e9, 1.03e9, 0.97e9];
    let results = results(&BASE, &near, true);
    let floor = results.noise_floor().expect("six pairs");
    assert!(floor > 0.005 && floor < 0.02, "{floor}");
    let text = report::text(&results);
    assert!(text.contains("noise floor of this machine: 1."), "{text}");
}

#[test]
fn a_difference_below_the_floor_of_the_machine_is_told_as_noise() {
    let floor = crate::floor::tests::floor;
    let slow = BASE.map(|rate| rate * 0.9);
    let told = |share| on_machine(&BASE, &slow, false, Some(floor(share)));
    let loud = told(0.2);
    assert_eq!(loud.rows[0].verdict, Verdict::Inconclusive);
    let text = loud.render(Format::Text);
    for want in [
        "noise floor 20.0 % (doctor --aa, 2026-11-30) · of p50 4.2 %\n",
        "get.bytes_per_s: -10.0 % is within the noise floor of 20.0 %\n",
        "could detect ≥ 20.0 %",
    ] {
        assert!(text.contains(want), "{want} is missing in {text}");
    }
    assert!(!text.contains("would be settled"), "{text}");
    check_read_back(&loud);
    let quiet = told(0.031);
    assert_eq!(quiet.rows[0].verdict, Verdict::Regressed);
    let text = quiet.render(Format::Text);
    assert!(text.contains("noise floor 3.1 %") && !text.contains("is within"), "{text}");
}

#[test]
fn a_figure_that_one_run_lacks_is_left_out() {
    let mut results = results(&BASE, &BASE, false);
    let tail = Figure::parse("get.wait.p99").expect("a name");
    results.add(&one(&tail, 1.0), &one(&tail, 1.0));
    assert!(results.series.is_empty());
    assert_eq!(results.left_out, ["get.bytes_per_s"]);
}

#[test]
fn the_document_has_every_pair_and_who_was_first() {
    let text = report::document(&results(&BASE, &BASE, false));
    let got: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(got["schema"], "flight-bench.ab/1");
    assert_eq!(got["pairs"].as_array().map(Vec::len), Some(6));
    let first: Vec<_> = (0..4).map(|pair| got["pairs"][pair]["first"].as_str()).collect();
    assert_eq!(first, [Some("A"), Some("B"), Some("A"), Some("B")]);
    assert_eq!(got["pairs"][1]["a"]["get.bytes_per_s"].as_f64(), Some(1.10e9));
}

const FORMS: [Format; 4] = [Format::Text, Format::Json, Format::Md, Format::Html];

fn check_read_back(results: &AbResults) {
    let told = |results: &AbResults| FORMS.map(|format| results.render(format));
    let again = read(&results.render(Format::Json)).expect("a comparison");
    assert_eq!(told(&again), told(results));
    let page = results.render(Format::Html);
    let embedded = flight_chart::embedded(&page).expect("a document in the page");
    assert_eq!(told(&read(&embedded).expect("a comparison")), told(results));
}

#[test]
fn pairs_that_are_read_back_are_told_as_they_were() {
    let noisy = [1.1e9, 1.0e9, 1.000_000_000_000_000_2e9, 1.1e9, 0.95e9, 1.1e9];
    let mut warned = results(&BASE, &noisy, false);
    warned.warnings.push(Warning::of_run("unverified", "seen", "why", "an option"));
    warned.left_out.push("get.wait.p99".to_owned());
    warned.records[0] = Some(RunRecord { streams: 4, ..crate::report::tests::results(&[]).record });
    check_read_back(&warned);
    check_read_back(&results(&BASE, &BASE, true));
    let mut broken = results(&[], &[], false);
    (broken.asked, broken.outcome.complete) = (6, false);
    (broken.outcome.exit, broken.outcome.error) =
        (Exit::Interrupted, Some("interrupted".to_owned()));
    check_read_back(&broken);
    let mut times = results(&[], &[], false);
    for (base, value) in [(1e9, 2e9), (1.1e9, 2.1e9)] {
        times.add(&one(&Figure::WALL_TIME, base), &one(&Figure::WALL_TIME, value));
    }
    times.judge(Band::new(0.03).expect("a share")).expect("values above zero");
    check_read_back(&times);
}

#[test]
fn a_document_that_is_not_whole_is_refused_by_what_it_lacks() {
    let refused = |text: &str, want: &str| {
        let error = read(text).err().map(|error| format!("{error:#}"));
        assert!(error.as_ref().is_some_and(|error| error.contains(want)), "{error:?}");
    };
    let whole = results(&BASE, &BASE, false).render(Format::Json);
    refused("{}", "it has no \"schema\"");
    refused(&whole.replace("ab/1", "run/1"), "it is a flight-bench.run/1");
    refused(&whole.replace("\"pairs\"", "\"other\""), "missing field `pairs`");
    refused(&whole.replace("\"same\"", "\"x\""), "\"x\" is no verdict");
    refused(&whole.replace("\"B/s\"", "\"x\""), "\"x\" is no unit");
    refused(&whole.replacen("\"get.bytes_per_s\"", "\"speed\"", 1), "a pair lacks");
}

#[test]
fn the_page_draws_every_pair_and_the_change() {
    let page = results(&BASE, &BASE.map(|rate| rate * 0.9), false).render(Format::Html);
    for want in
        ["data-chart=\"changes\"", "data-chart=\"pairs-get.bytes_per_s\"", "regressed", "warm"]
    {
        assert!(page.contains(want), "{want}");
    }
    assert_eq!(page.matches("class=\"pair worse\"").count(), 6);
    let none = results(&[], &[], false).render(Format::Html);
    assert!(none.contains("no two pairs were measured") && !none.contains("<figure"), "{none}");
}

#[test]
fn the_page_draws_the_means_that_are_judged() {
    // Each side is 2 GB/s by its geometric mean, and 2.5 by the other.
    let (base, value) = ([1e9, 4e9, 1e9, 4e9, 1e9, 4e9], [4e9, 1e9, 4e9, 1e9, 4e9, 1e9]);
    let page = results(&base, &value, false).render(Format::Html).replace('\u{202f}', " ");
    assert!(page.contains("Mean get.bytes_per_s 2.00 GB/s to 2.00 GB/s"), "{page}");
    assert!(page.contains("<td class=\"number\">2000 MB/s</td>"), "{page}");
}

#[test]
fn the_table_in_markdown_has_its_notes_below() {
    let text = results(&BASE, &BASE.map(|rate| rate * 0.9), false).render(Format::Md);
    for want in [
        "- A: `--streams 1`\n",
        "| get.bytes\\_per\\_s | 1016 MB/s |",
        "| regressed |",
        "- **Warning:** warm",
    ] {
        assert!(text.contains(want), "{want} is missing in {text}");
    }
    let mut odd = results(&BASE, &BASE, false);
    odd.labels[0] = "a`b\n# c".to_owned();
    odd.warnings = vec![Warning::from("<b>*x*".to_owned())];
    let text = odd.render(Format::Md);
    assert!(text.contains("- A: `a'b # c`\n"), "{text}");
    assert!(text.contains("- **Warning:** &lt;b>\\*x\\*\n"), "{text}");
}

#[test]
fn the_document_follows_its_schema() {
    let schema = include_str!("../../../docs/flight-bench.ab.schema.json");
    let check = |results: &AbResults| schema_check::check(schema, &results.render(Format::Json));
    let mut found = results(&BASE, &BASE.map(|rate| rate * 0.9), false);
    found.records[1] = Some(crate::report::tests::results(&[]).record);
    check(&found);
    let equal = check(&results(&BASE, &BASE, true));
    assert!(equal["noise_floor"].is_number());
    assert!(equal["env"]["aa_floor"].is_null() && equal["rows"][0]["floor"].is_null());
    let floor = Some(crate::floor::tests::floor(0.031));
    let with_floor = check(&on_machine(&BASE, &BASE, false, floor));
    assert_eq!(with_floor["env"]["aa_floor"]["throughput"], 0.031);
    assert_eq!(with_floor["rows"][0]["floor"], 0.031);
    let mut broken = results(&[], &[], false);
    (broken.asked, broken.outcome.error) = (6, Some("interrupted".to_owned()));
    check(&broken);
}

#[test]
fn sides_that_mean_nothing_are_refused() {
    check(&["--b", "--streams 4", "get"], "accepted");
    check(&["--aa", "unary", "info"], "accepted");
    check(&["--a-run", "true", "--b-run", "true"], "accepted");
    check(&["get"], "both sides are the same; tell them apart with --a and --b");
    check(&[], "ab has no COMMAND; end with get, put, exchange, unary, tls or mixed");
    check(&["--aa", "quick"], "ab compares get, put, exchange, unary, tls or mixed, not quick");
    check(&["--aa", "get", "--repeats", "3"], "give --pairs in place of --repeats");
    check(&["--a-run", "true"], "--a-run has nothing to be compared with; give --b-run CMD");
    check(&["--aa", "--pairs", "1", "get"], "--pairs 1 is outside 2 to");
    check(&["--b", "--streams 0", "get"], "side B: --streams 0 is outside 1 to 10000");
    check(&["--b", "--sideways", "get"], "side B: unexpected argument '--sideways' found");
    check(
        &["--aa", "get", "--format", "json"],
        "--format is an option of ab; write it before the command",
    );
    check(&["--aa", "get", "-ojson"], "--format is an option of ab");
    check(&["--aa", "get", "--baseline", "main"], "leave --baseline out of the command");
    check(&["--b", "--repeats=2", "get"], "give --pairs in place of --repeats");
    check(&["--aa", "--out", "/none/x.json", "get"], "--out /none/x.json: there is no folder");
    check(&["--aa", "--out", "x.csv", "get"], "--out x.csv: a comparison has no such form");
}

fn check(words: &[&str], want: &str) {
    let line = ["flight-bench", "ab"].iter().chain(words).map(OsString::from);
    let Some(cli::Command::Ab(args)) = cli::from(line).expect("clap takes the line").command else {
        panic!("{words:?} is no ab");
    };
    let got = AbConfig::from_args(args).map_or_else(
        |stop| {
            assert_eq!(stop.exit, Exit::Usage);
            stop.to_string()
        },
        |_| "accepted".to_owned(),
    );
    assert!(got.contains(want), "{words:?}: {got}");
}
