//! Figures over the repeats of a run, with their intervals.

use std::collections::BTreeMap;

use flight_stats::{self as stats, Confidence};
use serde::Serialize;

use super::results::{Part, Results, Variant};
use super::workload::{OPERATIONS, Rate, Workload};
use crate::record::Transfer;

/// A figure over repeats; every number is finite or absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Statistic {
    pub(crate) est: Option<f64>,
    pub(crate) lo: Option<f64>,
    pub(crate) hi: Option<f64>,
    pub(crate) median: Option<f64>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) n: usize,
    pub(crate) cv: Option<f64>,
    pub(crate) unit: &'static str,
    pub(crate) better: &'static str,
}

impl Statistic {
    /// The interval, where people are to see it: that of two repeats is wide enough for anything.
    pub(crate) fn shown_interval(&self) -> Option<(f64, f64)> {
        (self.n >= SHOWN_INTERVAL_REPEATS_MIN).then_some((self.lo?, self.hi?))
    }

    fn of(values: &[f64], unit: &'static str, estimate: Option<stats::Estimate>) -> Self {
        let interval = estimate.and_then(|estimate| estimate.interval);
        Self {
            est: estimate.map(|estimate| estimate.value),
            lo: interval.map(|(lo, _)| lo),
            hi: interval.map(|(_, hi)| hi),
            median: stats::median(values),
            min: values.iter().copied().reduce(f64::min),
            max: values.iter().copied().reduce(f64::max),
            n: values.len(),
            cv: stats::coefficient_of_variation(values),
            unit,
            better: "higher",
        }
    }
}

/// Repeats from which on an interval is shown.
const SHOWN_INTERVAL_REPEATS_MIN: usize = 3;

impl Results {
    /// Figures over repeats, by stable id: `get.bytes_per_s`; in quick `get.bytes_per_s@tls-ec`
    /// and `get.bytes_per_s@tls-ec/plain`.
    pub(crate) fn summary(&self) -> BTreeMap<String, Statistic> {
        let mut summary = BTreeMap::new();
        let of = |variant: &Variant, (_, unit, amount): &Rate| {
            let values = variant.rates(amount);
            Statistic::of(&values, unit, stats::geometric_mean(&values, Confidence::P95))
        };
        for variant in &self.variants {
            for rate in variant.workload.rates() {
                summary.insert(self.figure_id(variant, rate.0), of(variant, rate));
            }
            if let Some(part) = variant.part {
                let id = format!("mixed.{}@{}", OPERATIONS.0, part.kind.name());
                summary.insert(id, of(variant, &OPERATIONS));
            }
            if let Some((base, ratio)) = self.ratio_to_plain(variant) {
                let id = self.figure_id(variant, "bytes_per_s");
                summary.insert(format!("{id}/{}", base.transport), ratio);
            }
        }
        summary
    }

    /// The stable id of a rate: `get.bytes_per_s`, in quick `get.bytes_per_s@tls-ec`.
    pub(crate) fn figure_id(&self, variant: &Variant, rate: &str) -> String {
        let at = self.at(variant).map_or_else(String::new, |at| format!("@{at}"));
        format!("{}.{rate}{at}", variant.workload.name())
    }

    /// What tells a variant from others of its workload: in quick its transport, in a mix the kind of
    /// call.
    pub(crate) fn at<'a>(&self, variant: &'a Variant) -> Option<&'a str> {
        match variant.part {
            Some(part) => (variant.workload == Workload::Unary).then(|| part.kind.name()),
            None => self.has_rows().then_some(&*variant.transport),
        }
    }

    /// The parts of a mix, in their order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&Variant, Part)> {
        self.variants.iter().filter_map(|variant| Some((variant, variant.part?)))
    }

    /// The throughput of `variant` as a share of the same workload in plaintext, round by round.
    pub(crate) fn ratio_to_plain(&self, variant: &Variant) -> Option<(&Variant, Statistic)> {
        let base = self
            .variants
            .iter()
            .find(|base| base.workload == variant.workload && base.transport == "plain")?;
        if variant.transport == "plain" {
            return None;
        }
        let logical = |amount: &Transfer| amount.logical_bytes;
        let rounds = |of: &Variant| -> BTreeMap<usize, f64> {
            let complete = of.measured.iter().filter(|measured| measured.complete);
            complete.map(|measured| (measured.round, measured.rate(logical))).collect()
        };
        let (ours, theirs) = (rounds(variant), rounds(base));
        let both: Vec<(f64, f64)> =
            ours.iter().filter_map(|(round, rate)| Some((*rate, *theirs.get(round)?))).collect();
        let (values, base_values): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
        let ratios: Vec<f64> = values
            .iter()
            .zip(&base_values)
            .filter(|(_, base)| **base > 0.0)
            .map(|(value, base)| value / base)
            .collect();
        let estimate = stats::paired_ratio(&values, &base_values, Confidence::P95);
        Some((base, Statistic::of(&ratios, "ratio", estimate)))
    }
}
