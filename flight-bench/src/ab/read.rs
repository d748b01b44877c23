//! An interleaved comparison read back from its document.

use std::collections::BTreeMap;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use serde::Deserialize;

use super::{AbResults, Series};
use crate::compare::RowPart;
use crate::exit::Exit;
use crate::figure::Figure;
use crate::report::{Host, Outcome, RunRecord, Warning, checked, time_of};

/// Reads the document that `--format json` prints and a page holds.
///
/// # Errors
///
/// The text is no such document, or lacks what one has.
pub(crate) fn read(text: &str) -> anyhow::Result<AbResults> {
    let document = checked(text, super::report::SCHEMA)?;
    let document: Document =
        serde_json::from_value(document).context("a comparison that is not whole")?;
    document.into_results()
}

#[derive(Deserialize)]
struct Document {
    started: Option<String>,
    complete: bool,
    exit: u8,
    error: Option<String>,
    env: EnvironmentPart,
    a: SidePart,
    b: SidePart,
    aa: bool,
    pairs_asked: usize,
    pairs: Vec<PairPart>,
    rows: Vec<RowPart>,
    left_out: Vec<String>,
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct EnvironmentPart {
    host: Host,
}

#[derive(Deserialize)]
struct SidePart {
    label: String,
    config: Option<RunRecord>,
}

#[derive(Deserialize)]
struct PairPart {
    a: BTreeMap<String, f64>,
    b: BTreeMap<String, f64>,
}

impl Document {
    fn into_results(self) -> anyhow::Result<AbResults> {
        let rows =
            self.rows.into_iter().map(RowPart::into_row).collect::<anyhow::Result<Vec<_>>>()?;
        // Of the figures without a verdict, the order is nobody's concern.
        let mut names: Vec<String> = rows.iter().map(|row| row.figure.clone()).collect();
        let others = self.pairs.first().into_iter().flat_map(|pair| pair.a.keys());
        let others: Vec<_> = others.filter(|name| !names.contains(name)).cloned().collect();
        names.extend(others);
        let series = names.iter().map(|name| series(name, &self.pairs));
        let series = series.collect::<anyhow::Result<_>>()?;
        let started = self.started.as_deref().map(time_of).transpose()?;
        Ok(AbResults {
            started: started.unwrap_or(SystemTime::UNIX_EPOCH),
            host: self.env.host,
            labels: [self.a.label, self.b.label],
            records: [self.a.config, self.b.config],
            asked: self.pairs_asked,
            equal: self.aa,
            series,
            pairs: self.pairs.len(),
            rows,
            left_out: self.left_out,
            warnings: self.warnings,
            outcome: Outcome {
                exit: Exit::from_code(self.exit),
                error: self.error,
                complete: self.complete,
            },
        })
    }
}

/// The values of a figure in all pairs.
fn series(name: &str, pairs: &[PairPart]) -> anyhow::Result<Series> {
    let figure = Figure::of_document(name).map_err(|error| anyhow!(error))?;
    let of = |side: fn(&PairPart) -> &BTreeMap<String, f64>| {
        let value = |pair: &PairPart| side(pair).get(name).copied();
        let values: Option<Vec<f64>> = pairs.iter().map(value).collect();
        values.ok_or_else(|| anyhow!("a pair lacks {name}"))
    };
    Ok(Series { figure, sides: [of(|pair| &pair.a)?, of(|pair| &pair.b)?] })
}
