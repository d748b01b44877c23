//! Comparisons read back from their document.

use anyhow::{Context, anyhow};
use flight_stats::Estimate;
use serde::Deserialize;

use super::{Compared, Comparison, Row, Side, table};
use crate::exit::Exit;
use crate::figure::Unit;
use crate::floor::Floor;
use crate::report::checked;
use crate::threshold::ThresholdRecord;

/// Reads the document that `--format json` prints and a page holds.
///
/// # Errors
///
/// The text is no such document, or lacks what one has.
pub(crate) fn read(text: &str) -> anyhow::Result<Compared> {
    let document = checked(text, super::report::SCHEMA)?;
    let document: Document =
        serde_json::from_value(document).context("a comparison that is not whole")?;
    let floor = document.env.aa_floor.map(Floor::checked).transpose()?;
    let comparisons = document.comparisons.into_iter();
    let comparisons = comparisons.map(|part| part.into_comparison(floor.as_ref()));
    Ok(Compared {
        comparisons: comparisons.collect::<anyhow::Result<_>>()?,
        exit: Exit::from_code(document.exit),
    })
}

#[derive(Deserialize)]
struct Document {
    exit: u8,
    /// Documents of earlier versions have none.
    #[serde(default)]
    env: EnvironmentPart,
    comparisons: Vec<ComparisonPart>,
}

#[derive(Deserialize, Default)]
struct EnvironmentPart {
    aa_floor: Option<Floor>,
}

#[derive(Deserialize)]
struct ComparisonPart {
    base: Side,
    value: Side,
    paced: bool,
    #[serde(default)]
    mixed: bool,
    rows: Vec<RowPart>,
    thresholds: Vec<ThresholdRecord>,
    skipped: Vec<String>,
    warnings: Vec<String>,
}

/// A row as documents hold it.
#[derive(Deserialize)]
pub(crate) struct RowPart {
    figure: String,
    unit: String,
    base: f64,
    value: f64,
    ratio: f64,
    lo: Option<f64>,
    hi: Option<f64>,
    p: f64,
    verdict: String,
    band: f64,
    detectable: Option<f64>,
    pairs_further: Option<usize>,
    #[serde(default)]
    floor: Option<f64>,
    gates: bool,
}

impl ComparisonPart {
    fn into_comparison(self, floor: Option<&Floor>) -> anyhow::Result<Comparison> {
        let rows = self.rows.into_iter().map(RowPart::into_row);
        let rows: Vec<Row> = rows.collect::<anyhow::Result<_>>()?;
        // One of runs of another machine did not use it.
        let floor = floor.filter(|_| rows.iter().any(|row| row.floor.is_some()));
        Ok(Comparison {
            base: self.base,
            value: self.value,
            rows,
            skipped: self.skipped,
            warnings: self.warnings,
            thresholds: self.thresholds,
            is_paced: self.paced,
            is_of_mix: self.mixed,
            floor: floor.cloned(),
        })
    }
}

impl RowPart {
    /// # Errors
    ///
    /// A unit or a verdict that this program does not know.
    pub(crate) fn into_row(self) -> anyhow::Result<Row> {
        let unit =
            Unit::of_name(&self.unit).with_context(|| format!("{:?} is no unit", self.unit))?;
        let verdict = table::verdict_of(&self.verdict)
            .ok_or_else(|| anyhow!("{:?} is no verdict", self.verdict))?;
        Ok(Row {
            figure: self.figure,
            unit,
            base: self.base,
            value: self.value,
            ratio: Estimate { value: self.ratio, interval: self.lo.zip(self.hi) },
            p: self.p,
            verdict,
            detectable: self.detectable,
            pairs_further: self.pairs_further,
            band: self.band,
            floor: self.floor,
            gates: self.gates,
        })
    }
}
