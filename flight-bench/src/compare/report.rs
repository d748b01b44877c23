//! Comparisons in the forms in which they are told.

use serde_json::{Value, json};

use super::{Compared, Comparison, Row, Side, html, table};
use crate::cli::Format;
use crate::floor::{self, Floor};
use crate::report::markdown::escaped;
use crate::report::of_thresholds;

pub(super) const SCHEMA: &str = "flight-bench.compare/1";

pub(super) fn render(compared: &Compared, format: Format) -> String {
    let all = |one: fn(&Comparison) -> String| {
        compared.comparisons.iter().map(one).collect::<Vec<_>>().join("\n")
    };
    match format {
        Format::Json => format!("{:#}\n", document(compared)),
        Format::Md => all(markdown),
        Format::Html => html::render(compared),
        // Other forms were refused.
        _ => all(text),
    }
}

pub(super) fn text(comparison: &Comparison) -> String {
    let mut out = sides(comparison).join("\n") + "\n\n";
    out.push_str(&table::text(&comparison.rows));
    out.push('\n');
    out.push_str(&notes(comparison).join("\n"));
    out.push('\n');
    out
}

fn markdown(comparison: &Comparison) -> String {
    let list = |lines: Vec<String>| {
        lines.iter().map(|line| format!("- {}\n", escaped(line))).collect::<String>()
    };
    format!(
        "{}\n{}\n{}",
        list(sides(comparison)),
        table::markdown(&comparison.rows),
        list(notes(comparison))
    )
}

pub(super) fn sides(comparison: &Comparison) -> Vec<String> {
    let side = |letter: &str, side: &Side| {
        format!("{letter}  {} ({}), {} repeats", side.name, side.id, side.repeats)
    };
    vec![side("A", &comparison.base), side("B", &comparison.value)]
}

pub(super) fn notes(comparison: &Comparison) -> Vec<String> {
    let band = comparison.rows.iter().find(|row| row.gates).map_or(0.0, |row| row.band);
    let tail = comparison.rows.iter().map(|row| row.band).fold(band, f64::max);
    let same = match tail > band {
        true => format!("{:.3} %, or {:.3} % of p99", Percent(band), Percent(tail)),
        false => format!("{:.3} %", Percent(band)),
    };
    let mut notes = vec![
        "not interleaved: drift not controlled; 'flight-bench ab' measures both in turn".to_owned(),
        format!("same: within {same} · sees: the difference that is found in 80 % of tries"),
        correction(&comparison.rows, "Mann-Whitney"),
    ];
    if comparison.is_of_mix {
        notes.push(OF_MIX.to_owned());
    }
    notes.extend(of_floor(&comparison.rows, comparison.floor.as_ref()));
    if comparison.is_paced {
        notes.push(
            "an open loop: the rate is the one that was asked for; response times decide"
                .to_owned(),
        );
    }
    notes.extend(comparison.skipped.iter().cloned());
    notes.extend(comparison.warnings.iter().map(|warning| format!("! {warning}")));
    notes.extend(of_thresholds(&comparison.thresholds));
    notes
}

/// Kinds of a mix share its streams: what one gets, another lacks. Holm's correction asks nothing of how
/// questions depend on each other.
const OF_MIX: &str = "kinds of a mix depend on each other and make up the whole: Holm's correction holds all the same";

/// What the noise floor of the machine is, and which differences lie within it.
pub(crate) fn of_floor(rows: &[Row], floor: Option<&Floor>) -> Vec<String> {
    let used = floor.filter(|_| rows.iter().any(|row| row.floor.is_some()));
    let within = rows.iter().filter(|row| row.lost_in_noise()).filter_map(|row| {
        let (figure, change) = (&row.figure, table::percent_more(row.ratio.value));
        let floor = floor::percent(row.floor?);
        Some(format!("{figure}: {change:+.1} % is within the noise floor of {floor}"))
    });
    used.map(Floor::told).into_iter().chain(within).collect()
}

/// How p came about, and how many questions were asked: those that gate are one family.
pub(crate) fn correction(rows: &[Row], test: &str) -> String {
    let gating = rows.iter().filter(|row| row.gates).count();
    let others = rows.len() - gating;
    // What decides in an open loop.
    let paced = rows.iter().any(|row| row.gates && row.figure.contains(".response."));
    let what = if paced { "response times" } else { "throughputs" };
    let first = rows.first().is_some_and(|row| row.gates);
    let one = rows.iter().find(|row| row.gates).map_or("", |row| &row.figure);
    let decides = if first { "the first row" } else { one };
    match (gating, others) {
        // One question needs no correction.
        (0 | 1, 0) => format!("p: {test}"),
        (1, 1) => format!("p: {test} · {decides} decides the exit code"),
        (1, _) => format!(
            "p: {test}; Holm over the {others} figures that do not gate · {decides} decides the exit \
             code"
        ),
        (0, _) => format!(
            "p: {test}; Holm over {others} figures · no response time has enough events to decide the \
             exit code"
        ),
        (_, 0) => format!("p: {test}; Holm over {gating} {what}, which decide the exit code"),
        _ => format!(
            "p: {test}; Holm over {gating} {what}, which decide the exit code, and over {others} \
             other figures"
        ),
    }
}

/// A share without zeros behind its point.
struct Percent(f64);

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = format!("{:.1$}", self.0 * 100.0, f.precision().unwrap_or(1));
        f.write_str(digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

pub(super) fn document(compared: &Compared) -> Value {
    let side = |side: &Side| json!({ "name": side.name, "id": side.id, "repeats": side.repeats });
    let one = |comparison: &Comparison| {
        json!({
            "base": side(&comparison.base),
            "value": side(&comparison.value),
            "paced": comparison.is_paced,
            "mixed": comparison.is_of_mix,
            "rows": comparison.rows.iter().map(json_row).collect::<Vec<_>>(),
            "thresholds": comparison.thresholds,
            "skipped": comparison.skipped,
            "warnings": comparison.warnings,
        })
    };
    json!({
        "schema": SCHEMA,
        "exit": compared.exit.code(),
        "env": { "aa_floor": compared.comparisons.iter().find_map(|one| one.floor.as_ref()) },
        "interleaved": false,
        "comparisons": compared.comparisons.iter().map(one).collect::<Vec<_>>(),
    })
}

/// A row of a document; shares are shares, not percentages.
pub(crate) fn json_row(row: &Row) -> Value {
    json!({
        "figure": row.figure,
        "unit": row.unit.name(),
        "base": row.base,
        "value": row.value,
        "ratio": row.ratio.value,
        "lo": row.ratio.interval.map(|(lo, _)| lo),
        "hi": row.ratio.interval.map(|(_, hi)| hi),
        "p": row.p,
        "verdict": table::name(row.verdict),
        "band": row.band,
        "detectable": row.detectable,
        "pairs_further": row.pairs_further,
        "floor": row.floor,
        "gates": row.gates,
    })
}
