//! Documents that nobody wrote as they are: whatever stands in one, it is told or refused in a
//! sentence, and its page has no markup but this program's.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

use super::*;
use crate::ab::tests::document as pairs;
use crate::compare::tests::document as comparison;
use crate::report::Workload;
use crate::report::ladder_tests::ladder;
use crate::report::tests::{mix, single, six_rows};

const MARKUP: &str = "</script><x-hostile onload='1'>\"&|`\n# *";

/// What a value is replaced by, one after the other.
fn replacements(value: &Value) -> Vec<Value> {
    let mut all = vec![Value::Null, json!(MARKUP)];
    all.extend(match value {
        Value::Number(_) => vec![
            json!(0),
            json!(-1),
            json!(1),
            json!(u64::MAX),
            json!(1e308),
            json!(-1e308),
            json!(5e-324),
        ],
        Value::String(_) => vec![json!(""), json!("\u{1b}[2J"), json!("x".repeat(5000))],
        Value::Array(values) => {
            let twice = values.iter().chain(values).cloned().collect();
            let alone = values.first().cloned().into_iter().collect();
            vec![json!([]), Value::Array(twice), Value::Array(alone), json!([[]])]
        }
        Value::Object(values) => {
            let mut hostile = values.clone();
            let first = values.values().next().cloned().unwrap_or_default();
            hostile.insert(MARKUP.to_owned(), first);
            vec![json!({}), Value::Object(hostile)]
        }
        Value::Bool(yes) => vec![json!(!yes)],
        Value::Null => vec![json!(0), json!({}), json!([]), json!(1e308)],
    });
    all
}

/// The places of a document; of lists the first element, since the others are alike.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    // What a reader works out anew it does not look at.
    let derived = ["/summary", "/variants/0/latency", "/variants/0/cost", "/variants/0/bottleneck"];
    if derived.contains(&at) {
        return;
    }
    found.push(at.to_owned());
    match value {
        Value::Array(values) => {
            if let Some(first) = values.first() {
                places(first, &format!("{at}/0"), found);
            }
        }
        Value::Object(values) => {
            for (key, value) in values {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(value, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

const FORMS: [Format; 3] = [Format::Text, Format::Json, Format::Md];
const FORMS_OF_RUNS: [Format; 3] = [Format::Csv, Format::Ndjson, Format::Arrow];

/// Reads a document and tells it as a page and in one more form; how many were told.
fn told(document: &Value, turn: usize, changed: &str) -> usize {
    let text = document.to_string();
    let told = catch_unwind(AssertUnwindSafe(|| {
        let told = match Told::read(&text) {
            Ok(told) => told,
            Err(error) => {
                assert!(!format!("{error:#}").is_empty());
                return 0;
            }
        };
        let more: &[Format] = if matches!(told, Told::Run(_)) { &FORMS_OF_RUNS } else { &[] };
        let others: Vec<Format> = FORMS.iter().chain(more).copied().collect();
        for format in [Format::Html, others[turn % others.len()]] {
            let form = told.render(format);
            if format == Format::Html {
                assert!(!form.contains("<x-hostile"), "markup in the page");
                assert_eq!(form.matches("<script").count(), 2, "a script in the page");
            }
            assert!(!form.contains('\u{1b}'), "an escape in {format:?}");
        }
        1
    }));
    told.unwrap_or_else(|_| panic!("{changed} is not told"))
}

/// The document of a run with one histogram of all: each that is read takes its time.
fn document_of(run: &Results) -> String {
    let mut document: Value = serde_json::from_str(&report::document(run)).expect("JSON");
    let repeats = document["repeats"].as_array_mut().expect("repeats");
    let latencies = repeats.iter_mut().filter_map(|repeat| repeat["latency"].as_object_mut());
    for latency in latencies.flat_map(|latencies| latencies.values_mut()).skip(1) {
        latency["hdr_v2"] = Value::Null;
    }
    document.to_string()
}

/// Puts so many other values into each place, one at a time.
fn check(text: &str, each: usize) {
    let document: Value = serde_json::from_str(text).expect("JSON");
    let mut all = Vec::new();
    places(&document, "", &mut all);
    let (mut tried, mut made) = (0, 0);
    for (index, place) in all.iter().enumerate() {
        let value = document.pointer(place).expect("a place of it");
        let mut some = replacements(value);
        // Places that are alike stand beside each other: each gets others than its neighbours.
        let turn = index % some.len();
        some.rotate_left(turn);
        for replacement in some.into_iter().take(each) {
            let mut changed = document.clone();
            *changed.pointer_mut(place).expect("a place of it") = replacement.clone();
            made += told(&changed, tried, &format!("{place} as {replacement:.60}"));
            tried += 1;
        }
    }
    assert!(tried > 100 && made > tried / 10, "{made} of {tried} were told");
}

#[test]
fn a_run_with_anything_in_it_is_told_or_refused() {
    let mut run = single(Workload::Get);
    run.variants[0].measured.truncate(2);
    run.floor = Some(crate::floor::tests::floor(0.03));
    let sample = |t_ns| crate::load::CpuSample { t_ns, client_cpu_ns: 2, server_cpu_ns: Some(3) };
    run.variants[0].measured[0].repeat.timeline = [1, 2, 3, 4].map(sample).to_vec();
    run.warnings = vec![report::Warning::of_run("noisy", "seen", "why", "an option")];
    check(&document_of(&run), 2);
}

#[test]
fn a_mix_and_a_quick_run_with_anything_in_them_are_told_or_refused() {
    for mut run in [mix(), six_rows()] {
        run.variants.iter_mut().for_each(|variant| variant.measured.truncate(1));
        check(&document_of(&run), 1);
    }
}

#[test]
fn a_comparison_with_anything_in_it_is_told_or_refused() {
    check(&pairs(), usize::MAX);
    check(&comparison(), usize::MAX);
}

#[test]
fn a_ladder_with_anything_in_it_is_told_or_refused() {
    check(&ladder(2).render(Format::Json, Reason::InReport), usize::MAX);
}
