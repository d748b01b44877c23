//! The page of an interleaved comparison: every pair as a line, and what is said of all.

use flight_chart::{Axis, Better, Caption, Column, Pairs};

use super::report::{document_of, notes};
use super::{AbResults, Series};
use crate::compare::changes;
use crate::report::facts::{self, Fact};
use crate::report::html::{Part, bullets, paragraph, strong, table, whole};
use crate::report::tables::{Table, facts as fact_table};
use flight_stats::Direction;

pub(super) fn render(results: &AbResults) -> String {
    let parts = [
        Part { heading: "Figures", html: figures(results) },
        Part {
            heading: "Pair by pair",
            html: results.series.iter().map(|one| slopes(results, one)).collect(),
        },
        Part { heading: "Warnings", html: warnings(results) },
        Part { heading: "Environment and configuration", html: told(results) },
    ];
    let parts: Vec<Part> = parts.into_iter().filter(|part| !part.html.is_empty()).collect();
    whole(&title(results), &parts, &document_of(results).to_string())
}

pub(super) fn title(results: &AbResults) -> String {
    let command = results.records[0].as_ref().map_or("two commands", |record| &record.command);
    format!("flight-bench ab · {command}")
}

fn figures(results: &AbResults) -> String {
    let [base, value] = &results.labels;
    let version = env!("CARGO_PKG_VERSION");
    let mut html = paragraph(&format!("A: {base} · B: {value} · version {version}"));
    html.extend(facts::ending(&results.outcome).map(|ending| strong(&ending)));
    if results.rows.is_empty() {
        html.push_str(&paragraph("Nothing to compare: no two pairs were measured."));
        return html;
    }
    html.push_str(&table(&crate::compare::table(&results.rows)));
    html.push_str(&changes(&results.rows));
    html.push_str(&bullets(&notes(results)));
    html
}

fn warnings(results: &AbResults) -> String {
    bullets(&results.warnings.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// A figure of which there is a verdict, a line a pair.
fn slopes(results: &AbResults, series: &Series) -> String {
    let name = series.figure.to_string();
    let Some(row) = results.rows.iter().find(|row| row.figure == name) else {
        return String::new();
    };
    let [base, value] = &series.sides;
    let pairs = Pairs {
        a: format!("A: {}", results.labels[0]),
        b: format!("B: {}", results.labels[1]),
        values: base.iter().copied().zip(value.iter().copied()).collect(),
        // Those of the table, whose ratio is the one that is judged.
        mean: Some((row.base, row.value)),
        better: match series.figure.direction() {
            Direction::HigherIsBetter => Better::Higher,
            Direction::LowerIsBetter => Better::Lower,
        },
    };
    let caption = Caption {
        name: &format!("pairs-{name}"),
        title: &name,
        note: "A line is a pair; the bold one is their geometric mean.",
    };
    flight_chart::slopes(
        &caption,
        &pairs,
        Axis { label: &name, unit: series.figure.unit().drawn() },
    )
}

fn told(results: &AbResults) -> String {
    let mut environment: Vec<Fact> = facts::started(results.started).into_iter().collect();
    environment.extend(facts::host(&results.host));
    table(&fact_table("Environment", environment)) + &table(&configuration(results))
}

/// What each side was told; of what only one was told, the other has a dash.
fn configuration(results: &AbResults) -> Table {
    let of = |side: usize| -> Vec<Fact> {
        results.records[side].as_ref().map(facts::of_record).unwrap_or_default()
    };
    let (base, value) = (of(0), of(1));
    let find = |facts: &[Fact], name: &str| {
        let found = facts.iter().find(|(known, _)| known == name);
        found.map_or_else(|| "–".to_owned(), |(_, value)| value.clone())
    };
    let only_value = value.iter().filter(|(name, _)| !base.iter().any(|(known, _)| known == name));
    let rows = base
        .iter()
        .chain(only_value)
        .map(|(name, _)| vec![name.clone(), find(&base, name), find(&value, name)]);
    let columns = ["", "A", "B"].map(Column::Text).to_vec();
    Table { title: "Configuration".to_owned(), columns, rows: rows.collect() }
}
