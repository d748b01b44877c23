//! Sweeps whose documents are read back, and documents that are of none.

use serde_json::{Value, json};

use super::super::Reason;
use super::super::tests::{FOUND, load, searched, sweep};
use super::*;
use crate::cli::Format;

const FORMS: [Format; 5] = [Format::Text, Format::Json, Format::Csv, Format::Md, Format::Html];

fn told(results: &SweepResults) -> [String; 5] {
    FORMS.map(|format| results.render(format, Reason::InReport))
}

/// The sweep as it is told again, by its document and by its page.
fn check(results: &SweepResults) {
    let want = told(results);
    let page = flight_chart::embedded(&want[4]).expect("a document in the page");
    for text in [&want[1], &page] {
        let again = read(text).unwrap_or_else(|error| panic!("{error:#}\n{text}"));
        for (got, want) in told(&again).iter().zip(&want) {
            assert_eq!(got, want);
        }
    }
}

#[test]
fn a_sweep_that_is_read_back_is_told_as_it_was() {
    check(&sweep(&["streams=1,2,4"], &[1e9, 2e9, 2e9], 3));
    check(&sweep(&["transport=own,hyper"], &[1e9, 2e9], 1));
    let grid = [1e9, 2e9, 1.2e9, 1.1e9, 1.3e9, 2.001e9];
    check(&sweep(&["streams=1,2", "batch-rows=10,20,30"], &grid, 3));
    check(&load(2));
    let mut odd = load(9);
    // A number whose last digit a reader in a hurry would lose.
    odd.settings[0].points[0].values[0].1 = 0.100_000_000_000_000_02;
    odd.settings[1].record.rate_share = Some(0.1 + 0.2);
    odd.server = Some(ServerRecord { kind: "child".into(), ..ServerRecord::default() });
    odd.warnings.push(Warning::of_run("noisy", "they differ", "a lot", "--rounds 20"));
    check(&odd);
}

#[test]
fn a_search_that_is_read_back_is_told_as_it_was() {
    for answer in [
        None,
        Some(FOUND),
        Some(Answer::Holds { rate: 20_000.0, broke: None }),
        Some(Answer::Never { least: 39.0 }),
        Some(Answer::Unconfirmed { probed: 20_000.0, broke: 14_430.0 }),
    ] {
        let mut results = searched(answer);
        check(&results);
        if let Some(slo) = &mut results.slo {
            slo.least_is_of_events = true;
        }
        check(&results);
    }
}

#[test]
fn a_sweep_that_was_broken_off_is_told_with_its_reason() {
    let mut results = sweep(&["streams=1,2"], &[1e9, 2e9], 3);
    results.settings[1].points.pop();
    let error = Some("round 3, streams=2: interrupted".to_owned());
    results.outcome = Outcome { exit: Exit::Interrupted, error, complete: false };
    check(&results);
    results.settings.iter_mut().for_each(|setting| setting.points.clear());
    check(&results);
}

#[test]
fn what_a_later_version_adds_is_passed_over() {
    let mut document = sweep(&["streams=1,2"], &[1e9, 2e9], 3).document();
    document["new"] = json!([1]);
    document["settings"][0]["points"][0]["new"] = json!(1);
    assert!(read(&document.to_string()).is_ok());
}

/// Changes a document, which is then refused.
fn refused(results: &SweepResults, change: impl Fn(&mut Value), want: &str) {
    let mut document = results.document();
    change(&mut document);
    let error = read(&document.to_string()).err().map(|error| format!("{error:#}"));
    assert!(error.as_ref().is_some_and(|error| error.contains(want)), "{want}: {error:?}");
}

fn at<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Value {
    document.pointer_mut(pointer).expect("a place in it")
}

#[test]
fn what_is_no_sweep_is_refused_by_what_it_lacks() {
    let plain = sweep(&["streams=1,2"], &[1e9, 2e9], 3);
    let check = |pointer: &str, value: Value, want: &str| {
        refused(&plain, |document| *at(document, pointer) = value.clone(), want);
    };
    check("/schema", json!("flight-bench.run/1"), "it is a flight-bench.run/1");
    check("/workload", json!("walk"), "\"walk\" is no workload");
    check("/metric/name", json!("speed"), "'speed' is no metric");
    check("/rounds", json!("many"), "a sweep that is not whole");
    for key in ["workload", "rounds", "vary", "settings", "env", "warnings"] {
        let change = |document: &mut Value| {
            document.as_object_mut().expect("an object").remove(key);
        };
        refused(&plain, change, &format!("missing field `{key}`"));
    }
}

#[test]
fn a_grid_that_no_sweep_can_have_is_refused_in_one_sentence() {
    let plain = sweep(&["streams=1,2", "batch-rows=10,20"], &[1e9; 4], 3);
    let check = |pointer: &str, value: Value, want: &str| {
        refused(&plain, |document| *at(document, pointer) = value.clone(), want);
    };
    check("/rounds", json!(0), "it has no rounds");
    check("/rounds", json!(1001), "it has 1001 rounds, more than 1000, the most of a sweep");
    check("/rounds", json!(u64::MAX), "rounds, more than 1000");
    check("/rounds", json!(2), "setting 1: it has a round 2, and 2 count from 0");
    check("/settings/1/points/1/round", json!(0), "setting 2: it has round 0 twice");
    check("/settings/3/points/0/order", json!(4), "a place 4 in a round of 4");
    check("/settings/0", json!({}), "missing field");
    check("/settings", json!([]), "it has 0 settings, and its parameters make 4");
    check("/settings/0/values/streams", json!("2"), "setting 1: its streams is not that of");
    check("/settings/0/values", json!({}), "setting 1: its streams is not that of its place");
    check("/settings/0/points/0/figures", json!({ "x": 1 }), "setting 1: 'x' is no metric");
    check("/vary", json!([]), "it varies nothing and searches for nothing");
    let vary = |name: &str, count: usize| json!({ "name": name, "values": (0..count).map(|one| one.to_string()).collect::<Vec<_>>() });
    check("/vary/0", vary("streams", 3), "it has 4 settings, and its parameters make 6");
    check("/vary/0", vary("streams", 0), "streams has no values");
    check("/vary/0", vary("streams", 257), "257 values of one parameter, more than 256");
    check("/vary/0", vary("streams", 129), "it has 258 settings, more than 256");
    check("/vary/0", vary("batch-rows", 2), "batch-rows varies twice");
    check("/vary", json!([vary("a", 2), vary("b", 2), vary("c", 1)]), "it has 3 parameters");
    let long = "x".repeat(SWEEP_WORD_BYTES_MAX + 1);
    for pointer in ["/command", "/metric/name", "/vary/0/name", "/vary/1/values/0"] {
        check(pointer, json!(long), "it has a word of 131073 bytes, more than 131072");
    }
}

#[test]
fn a_search_that_cannot_have_been_is_refused_in_one_sentence() {
    let plain = searched(Some(FOUND));
    let check = |pointer: &str, value: Value, want: &str| {
        refused(&plain, |document| *at(document, pointer) = value.clone(), want);
    };
    check("/slo/answer", json!("perhaps"), "\"perhaps\" is no answer of a search");
    check("/slo/answer", json!("unconfirmed"), "the answer of its search has no \"probed\"");
    check("/slo/rate", Value::Null, "the answer of its search has no \"rate\"");
    check("/slo/trials/0/achieved", json!([1, 2, 3, 4]), "a trial has 4 repeats, more than its 3");
    let trial = plain.document()["slo"]["trials"][0].clone();
    check("/slo/trials", json!(vec![trial; 35]), "it has 35 trials, more than 34");
    let vary = json!([{ "name": "streams", "values": ["1"] }]);
    check("/vary", vary, "it has settings and a promise");
    check("/slo", Value::Null, "it varies nothing and searches for nothing");
}

#[test]
fn figures_that_make_no_sense_are_told_and_end_nothing() {
    for value in [0.0, -1.0, 1e-300, f64::MAX, f64::MIN] {
        for results in [load(2), sweep(&["aa=1,2", "bb=1,2"], &[1e9; 4], 3), searched(Some(FOUND))]
        {
            let mut document = results.document();
            set(&mut document["settings"], value);
            set(&mut document["slo"], value);
            let again = read(&document.to_string()).expect("a sweep all the same");
            assert!(told(&again).iter().all(|text| !text.is_empty()));
        }
    }
}

/// Sets all numbers with a point, at any depth.
fn set(document: &mut Value, value: f64) {
    match document {
        Value::Number(number) if number.is_f64() => *document = json!(value),
        Value::Array(parts) => parts.iter_mut().for_each(|part| set(part, value)),
        Value::Object(parts) => parts.values_mut().for_each(|part| set(part, value)),
        _ => {}
    }
}
