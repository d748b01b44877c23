//! An interleaved comparison in the forms in which it is told.

use serde_json::{Map, Value, json};

use super::side::Measurement;
use super::{AbResults, Series};
use crate::compare::{correction, json_row, of_floor, percent_more, table_markdown, table_text};
use crate::report::markdown::{code, escaped};
use crate::report::{tool, warnings};
use flight_stats::Verdict;

pub(super) const SCHEMA: &str = "flight-bench.ab/1";

/// The line of a pair that is done.
pub(super) fn progress(
    pair: usize,
    pairs: usize,
    base: &Measurement,
    value: &Measurement,
) -> String {
    let told = match (base.values.first(), value.values.first()) {
        (Some((figure, base)), Some((_, value))) => {
            let (unit, change) = (figure.unit(), percent_more(value / base));
            format!("A {}, B {} ({change:+.1} %)", unit.show(*base), unit.show(*value))
        }
        _ => "nothing was measured".to_owned(),
    };
    format!("pair {} of {pairs}: {told}", pair + 1)
}

pub(super) fn text(results: &AbResults) -> String {
    let [base, value] = &results.labels;
    let mut out = format!("A  {base}\nB  {value}\n\n");
    if results.rows.is_empty() {
        out.push_str("nothing to compare: no two pairs were measured\n");
        return out;
    }
    out.push_str(&table_text(&results.rows));
    out.push('\n');
    for note in notes(results) {
        out.push_str(&note);
        out.push('\n');
    }
    warnings(&mut out, &results.warnings, "in --format json or md, or --out FILE.html");
    out
}

pub(super) fn markdown(results: &AbResults) -> String {
    let list =
        |lines: &[String]| -> String { lines.iter().map(|line| format!("- {line}\n")).collect() };
    let [base, value] = &results.labels;
    let mut out = list(&[format!("A: {}", code(base)), format!("B: {}", code(value))]) + "\n";
    if results.rows.is_empty() {
        return out + "Nothing to compare: no two pairs were measured.\n";
    }
    let mut lines: Vec<_> = notes(results).iter().map(|note| escaped(note)).collect();
    let warnings = results.warnings.iter().map(|warning| escaped(&warning.to_string()));
    lines.extend(warnings.map(|warning| format!("**Warning:** {warning}")));
    out.push_str(&table_markdown(&results.rows));
    out.push('\n');
    out + &list(&lines)
}

pub(super) fn notes(results: &AbResults) -> Vec<String> {
    let detectable = results.gate().and_then(|row| row.detectable);
    let seen = detectable.map(|share| format!(" · could detect ≥ {:.1} %", share * 100.0));
    let mut notes = vec![
        format!(
            "{} pairs in turn, ABBA, anew each time{}",
            results.pairs,
            seen.unwrap_or_default()
        ),
        correction(&results.rows, "sign flips"),
    ];
    notes.extend(of_floor(&results.rows, results.floor.as_ref()));
    if results.pairs < results.asked {
        notes.push(format!("NOT COMPLETE: {} of {} pairs", results.pairs, results.asked));
    }
    let lacking = results.left_out.iter();
    notes.extend(lacking.map(|name| format!("{name} is left out: a run has too few events")));
    if results.equal {
        notes.extend(floor(results));
        return notes;
    }
    let open = results.rows.iter().filter(|row| row.verdict == Verdict::Inconclusive);
    let further = open.filter_map(|row| {
        let pairs = row.pairs_further?;
        let pairs = if pairs == 1 { "1 more pair".into() } else { format!("{pairs} more pairs") };
        Some(format!("{} would be settled by ≈ {pairs}", row.figure))
    });
    notes.extend(further);
    notes
}

/// What a series of equal sides says of the machine.
fn floor(results: &AbResults) -> Option<String> {
    let floor = results.noise_floor()?;
    let warning = match results.sides_differ() {
        true => "; equal sides were told apart: the machine is not steady",
        false => "",
    };
    Some(format!(
        "noise floor of this machine: {:.1} % with {} pairs, at 95 %{warning}",
        floor * 100.0,
        results.pairs
    ))
}

pub(super) fn document(results: &AbResults) -> String {
    format!("{:#}\n", document_of(results))
}

pub(super) fn document_of(results: &AbResults) -> Value {
    let pair = |index: usize| {
        let side = |side: usize| {
            let value =
                |series: &Series| (series.figure.to_string(), json!(series.sides[side].get(index)));
            Value::Object(results.series.iter().map(value).collect::<Map<_, _>>())
        };
        let first = if index.is_multiple_of(2) { "A" } else { "B" };
        json!({ "pair": index, "first": first, "a": side(0), "b": side(1) })
    };
    json!({
        "schema": SCHEMA,
        "started": results.started_text(),
        "complete": results.outcome.complete,
        "exit": results.outcome.exit.code(),
        "error": results.outcome.error,
        "tool": tool(),
        "env": { "host": results.host, "aa_floor": results.floor },
        "a": { "label": results.labels[0], "config": results.records[0] },
        "b": { "label": results.labels[1], "config": results.records[1] },
        "aa": results.equal,
        "noise_floor": results.noise_floor().filter(|_| results.equal),
        "pairs_asked": results.asked,
        "pairs": (0..results.pairs).map(pair).collect::<Vec<_>>(),
        "rows": results.rows.iter().map(json_row).collect::<Vec<_>>(),
        "left_out": results.left_out,
        "warnings": results.warnings,
    })
}
