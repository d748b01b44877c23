//! What a document may hold, whoever wrote it: no more than a run has, and no text that acts.

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::limits::{HISTOGRAMS_READ_MAX, REPEATS_MAX, STREAMS_MAX, VARIANTS_READ_MAX, WEIGHT_MAX};

/// Replaces control characters, by which a name in a report could command the terminal that shows it.
pub(super) fn disarm(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(acts) => {
            *text = text.replace(acts, "\u{fffd}");
        }
        Value::Array(values) => values.iter_mut().for_each(disarm),
        Value::Object(values) => {
            if values.keys().any(|key| key.contains(acts)) {
                let renamed = std::mem::take(values).into_iter();
                values.extend(renamed.map(|(key, value)| (key.replace(acts, "\u{fffd}"), value)));
            }
            values.values_mut().for_each(disarm);
        }
        _ => {}
    }
}

fn acts(letter: char) -> bool {
    letter.is_control() && letter != '\n' && letter != '\t'
}

/// Refuses a run that is larger than any this program makes, before memory is set aside for it; and
/// numbers that do not add up within 64 bits, which is what is done with them.
///
/// # Errors
///
/// One sentence that names what is too much. What is missing is its reader's to tell.
pub(super) fn check_run(document: &Value) -> anyhow::Result<()> {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
    let variants = list(document.get("variants"));
    ensure!(variants <= VARIANTS_READ_MAX, "{variants} variants are more than a run has");
    let repeats = document.get("repeats");
    let count = list(repeats);
    ensure!(count <= REPEATS_MAX * variants.max(1), "{count} repeats are more than a run has");
    let each = || repeats.and_then(Value::as_array).into_iter().flatten();
    for repeat in each() {
        let streams = list(repeat.get("streams"));
        ensure!(streams <= STREAMS_MAX, "{streams} streams of a repeat are more than a run has");
    }
    let latencies = |repeat: &Value| {
        repeat.get("latency").and_then(Value::as_object).map_or(0, serde_json::Map::len)
    };
    let histograms: usize = each().map(latencies).sum();
    ensure!(histograms <= HISTOGRAMS_READ_MAX, "{histograms} histograms are more than are read");
    for variant in document.get("variants").and_then(Value::as_array).into_iter().flatten() {
        let weight = variant.pointer("/part/weight").and_then(Value::as_u64);
        ensure!(weight.is_none_or(|weight| weight <= WEIGHT_MAX), "a weight of a mix is too large");
    }
    repeats.map_or(Ok(0), |repeats| total(repeats, 0)).map(drop)
}

/// The sum of all whole numbers of a value, and `sum`.
fn total(value: &Value, sum: u64) -> anyhow::Result<u64> {
    match value {
        Value::Number(number) => sum
            .checked_add(number.as_u64().unwrap_or_default())
            .context("the numbers of its repeats are larger than those of any run"),
        Value::Array(values) => values.iter().try_fold(sum, |sum, value| total(value, sum)),
        Value::Object(values) => values.values().try_fold(sum, |sum, value| total(value, sum)),
        _ => Ok(sum),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_that_would_command_a_terminal_is_only_text() {
        let mut value =
            json!({ "a\u{1b}[2J": ["x\u{7}\u{9b}y\nz\t", 7, null], "b": { "c": "\r" } });
        disarm(&mut value);
        let want = json!({ "a\u{fffd}[2J": ["x\u{fffd}\u{fffd}y\nz\t", 7, null], "b": { "c": "\u{fffd}" } });
        assert_eq!(value, want);
    }

    fn check(document: &Value, want: Option<&str>) {
        let got = check_run(document).err().map(|error| error.to_string());
        assert_eq!(got.as_deref(), want, "{document:.100}");
    }

    #[test]
    fn a_run_that_is_larger_than_any_is_refused_by_what_is_too_much() {
        let run = |variants: usize, repeats: Vec<Value>| json!({ "variants": vec![json!({}); variants], "repeats": repeats });
        check(&json!({}), None);
        check(&json!({ "variants": 7, "repeats": "x" }), None);
        check(&run(64, vec![json!({}); 6000]), None);
        check(&run(65, Vec::new()), Some("65 variants are more than a run has"));
        check(&run(1, vec![json!({}); 1001]), Some("1001 repeats are more than a run has"));
        let streams = vec![json!({ "streams": vec![0; 10_001] })];
        check(&run(1, streams), Some("10001 streams of a repeat are more than a run has"));
        let latency: Value = (0..17).map(|name| (name.to_string(), json!(0))).collect();
        let many = vec![json!({ "latency": latency }); 1000];
        check(&run(1, many), Some("17000 histograms are more than are read"));
        let mix = json!({ "variants": [{ "part": { "weight": 1_000_001 } }] });
        check(&mix, Some("a weight of a mix is too large"));
    }

    #[test]
    fn numbers_add_up_within_64_bits_or_are_refused() {
        let run = |numbers: Value| json!({ "variants": [{}], "repeats": [{ "counts": numbers }] });
        check(&run(json!([u64::MAX])), None);
        check(&run(json!([u64::MAX / 2, 7, { "a": u64::MAX / 2 - 7 }, 0.5, -3])), None);
        let large = "the numbers of its repeats are larger than those of any run";
        check(&run(json!([u64::MAX, 1])), Some(large));
        check(&run(json!([u64::MAX / 2, { "a": u64::MAX / 2 }, [2]])), Some(large));
    }
}
