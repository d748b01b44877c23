//! An interleaved comparison read back from its document.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use anyhow::{Context, anyhow, ensure};
use serde::Deserialize;

use super::{AbResults, Series};
use crate::compare::RowPart;
use crate::exit::Exit;
use crate::figure::Figure;
use crate::floor::Floor;
use crate::limits::PAIRS_MAX;
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
    /// Documents of earlier versions have none.
    #[serde(default)]
    aa_floor: Option<Floor>,
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
        let pairs = self.pairs.len();
        ensure!(pairs <= PAIRS_MAX, "{pairs} pairs are more than the {PAIRS_MAX} of a comparison");
        let rows =
            self.rows.into_iter().map(RowPart::into_row).collect::<anyhow::Result<Vec<_>>>()?;
        // Of the figures without a verdict, the order is nobody's concern.
        let mut known = BTreeSet::new();
        let judged = rows.iter().map(|row| &row.figure);
        let measured = self.pairs.first().into_iter().flat_map(|pair| pair.a.keys());
        let names: Vec<&String> =
            judged.chain(measured).filter(|name| known.insert(name.as_str())).collect();
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
            pairs,
            rows,
            floor: self.env.aa_floor.map(Floor::checked).transpose()?,
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
