//! JSON by lines: one for each repeat and a last one for the whole run.
//!
//! A line is what the JSON document has of it, less histograms, slices, timelines and streams:
//! lines are read by log collectors, which want them short.

use serde_json::{Value, json};

use super::results::Results;
use super::{LadderResults, json};

/// What lines leave to the document.
const LEFT_OUT: [&str; 3] = ["streams", "slices", "timeline"];

pub(super) fn render(results: &Results) -> String {
    let mut document = json::document(results);
    let mut out = String::new();
    for mut repeat in taken_list(&mut document, "repeats") {
        shorten(&mut repeat);
        line(&mut out, "repeat", &results.id, repeat);
    }
    line(&mut out, "summary", &results.id, short(document));
    out
}

/// The last line alone.
pub(super) fn summary(results: &Results) -> String {
    let mut out = String::new();
    line(&mut out, "summary", &results.id, short(json::document(results)));
    out
}

/// The lines of a ladder: one for each rung of each round, and the last.
pub(super) fn ladder(results: &LadderResults) -> String {
    let mut document = results.document();
    let id = results.started_text().unwrap_or_default();
    let mut out = String::new();
    for rung in document["rungs"].as_array_mut().into_iter().flatten() {
        for mut sample in taken_list(rung, "samples") {
            sample["rung"] = rung["id"].clone();
            line(&mut out, "repeat", &id, sample);
        }
    }
    line(&mut out, "summary", &id, document);
    out
}

/// The last line of a ladder alone.
pub(super) fn ladder_summary(results: &LadderResults) -> String {
    ladder(results).lines().last().map_or_else(String::new, |line| format!("{line}\n"))
}

fn line(out: &mut String, kind: &str, run: &str, mut value: Value) {
    value["type"] = json!(kind);
    value["run"] = json!(run);
    out.push_str(&value.to_string());
    out.push('\n');
}

/// The document without its repeats and histograms.
fn short(mut document: Value) -> Value {
    remove(&mut document, "repeats");
    for variant in document["variants"].as_array_mut().into_iter().flatten() {
        shorten(variant);
    }
    document
}

fn shorten(part: &mut Value) {
    for key in LEFT_OUT {
        remove(part, key);
    }
    for latency in part["latency"].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
        remove(latency, "hdr_v2");
    }
}

fn remove(value: &mut Value, key: &str) {
    if let Some(object) = value.as_object_mut() {
        object.remove(key);
    }
}

fn taken_list(value: &mut Value, key: &str) -> Vec<Value> {
    match value.as_object_mut().and_then(|object| object.remove(key)) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Workload;
    use crate::report::ladder::tests::ladder as climbed;
    use crate::report::results::tests::{results, single, six_rows};

    fn check(text: &str, repeats: usize) -> Value {
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let (last, others) = lines.split_last().expect("a summary");
        assert_eq!(last["type"], "summary");
        assert_eq!(others.len(), repeats);
        assert!(others.iter().all(|line| line["type"] == "repeat" && line["run"] == last["run"]));
        assert!(!text.contains("hdr_v2") && !text.contains("\"slices\""), "{text}");
        last.clone()
    }

    #[test]
    fn a_run_is_a_line_a_repeat_and_one_for_all() {
        let last = check(&render(&single(Workload::Get)), 5);
        assert_eq!(last["summary"]["get.bytes_per_s"]["n"], 5);
        assert_eq!(last.get("repeats"), None);
        check(&render(&six_rows()), 30);
        assert_eq!(summary(&single(Workload::Get)).lines().count(), 1);
    }

    #[test]
    fn a_run_that_measured_nothing_is_its_summary() {
        let mut failed = results(&[]);
        failed.outcome.error = Some("cannot reach grpc://h:1".to_owned());
        assert_eq!(check(&render(&failed), 0)["error"], "cannot reach grpc://h:1");
    }

    #[test]
    fn a_ladder_is_a_line_a_rung_and_round() {
        let last = check(&ladder(&climbed(2)), 14);
        assert_eq!(last["schema"], "flight-bench.ladder/1");
        assert_eq!(check(&ladder_summary(&climbed(0)), 0)["run"], "1970-01-01T00:00:00Z");
    }
}
