//! What a sweep found, and the forms in which it is told.

mod csv;
mod held;
mod json;
mod judged;
mod markdown;
mod read;
mod slo;
mod table;
mod text;

use std::time::SystemTime;

use flight_stats::{Confidence, Estimate, geometric_mean, median};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::cost::{Cost, Costs};
use super::ending::Reason;
use super::results::{Outcome, Results, RunRecord, ServerRecord};
use super::warning::Warning;
use super::workload::Workload;
use super::{Host, html};
use crate::cli::Format;
use crate::exit::Exit;
use crate::figure::Figure;
use crate::record::PERCENTILES;
use crate::sweep::{Answer, Vary};
pub(crate) use held::RATE;
pub(crate) use read::read;
pub(crate) use slo::{SloResults, SloTrial};
pub(super) use table::{Head, Sheet};

/// Everything that the report is made of.
pub(crate) struct SweepResults {
    pub(crate) started: SystemTime,
    pub(crate) host: Host,
    pub(crate) server: Option<ServerRecord>,
    /// As it may be told: `unary GetFlightInfo`.
    pub(crate) command: String,
    pub(crate) workload: Workload,
    /// By which settings are judged.
    pub(crate) metric: Figure,
    /// Whether they are, beyond that, by the highest rate that is held.
    pub(crate) by_load: bool,
    /// One parameter or two; none where a promise was searched for.
    pub(crate) vary: Vec<Vary>,
    /// The values of the second parameter change fastest.
    pub(crate) settings: Vec<SweepSetting>,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
    pub(crate) slo: Option<SloResults>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) outcome: Outcome,
}

/// One pair of values, or one value.
pub(crate) struct SweepSetting {
    /// In the order of the parameters; without secrets.
    pub(crate) values: Vec<String>,
    pub(crate) record: RunRecord,
    /// In the order of rounds.
    pub(crate) points: Vec<SweepPoint>,
}

/// What one round said of a setting.
pub(crate) struct SweepPoint {
    pub(crate) round: usize,
    /// Its place in the round.
    pub(crate) order: usize,
    /// By their names.
    pub(crate) values: Vec<(Figure, f64)>,
    /// Of an open loop.
    pub(crate) offered: Option<f64>,
    pub(crate) saturated: Option<bool>,
    pub(crate) costs: Option<Costs>,
}

impl SweepPoint {
    pub(crate) fn value(&self, figure: &Figure) -> Option<f64> {
        self.values.iter().find(|(one, _)| one == figure).map(|(_, value)| *value)
    }
}

impl SweepSetting {
    /// A figure over the rounds, if all of them have it.
    pub(super) fn estimate(&self, figure: &Figure) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.points.iter().map(|one| one.value(figure)).collect();
        geometric_mean(&values?, Confidence::P95)
    }

    /// The interval, where people are to see it: that of two rounds is wide enough for anything.
    pub(super) fn shown_interval(&self, figure: &Figure) -> Option<(f64, f64)> {
        self.estimate(figure)?.interval.filter(|_| self.points.len() >= 3)
    }

    pub(super) fn offered(&self) -> Option<f64> {
        let offered: Vec<f64> = self.points.iter().filter_map(|one| one.offered).collect();
        geometric_mean(&offered, Confidence::P95).map(|rate| rate.value)
    }

    /// Rounds that did not take in what was offered.
    pub(super) fn saturated(&self) -> usize {
        self.points.iter().filter(|one| one.saturated == Some(true)).count()
    }

    /// Processor time of each side, the median of the rounds: seconds a gigabyte or, of what moves
    /// no batches, nanoseconds a call.
    pub(super) fn cost(&self, workload: Workload, side: Side) -> Option<f64> {
        let cost = |point: &SweepPoint| {
            let costs = point.costs.as_ref()?;
            let cost: &Cost = match side {
                Side::Client => costs.client.as_ref()?,
                Side::Server => costs.server.as_ref()?,
            };
            if workload.moves_batches() { cost.cpu_s_per_gb } else { cost.cpu_ns_per_batch }
        };
        median(&self.points.iter().filter_map(cost).collect::<Vec<_>>())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

impl SweepResults {
    pub(crate) fn render(&self, format: Format, reason: Reason) -> String {
        match format {
            Format::Json => json::render(self),
            Format::Csv => csv::render(self),
            Format::Md => markdown::render(self),
            Format::Html => html::sweep(self),
            // There is no line of options by which the others could be asked for.
            Format::Text | Format::Arrow | Format::ArrowsOwn | Format::Ndjson => {
                text::render(self, reason)
            }
        }
    }

    /// Takes over what a run says of its server, and what it warns of.
    pub(crate) fn note(&mut self, run: Results) {
        self.server = self.server.take().or(run.server);
        for warning in run.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// How it ends once it came to its end.
    pub(crate) fn exit(&self) -> Exit {
        match self.slo.as_ref().and_then(|slo| slo.answer) {
            Some(Answer::Never { .. } | Answer::Unconfirmed { .. }) => Exit::Regressed,
            Some(Answer::Holds { .. }) | None => Exit::Done,
        }
    }

    /// When it began, as the JSON has it.
    pub(super) fn started_text(&self) -> Option<String> {
        OffsetDateTime::from(self.started).format(&Rfc3339).ok()
    }

    pub(super) fn have_figures(&self) -> bool {
        self.settings.iter().any(|setting| !setting.points.is_empty())
            || self.slo.as_ref().is_some_and(|slo| !slo.trials.is_empty())
    }

    pub(super) fn throughput(&self) -> Figure {
        Figure::rate(self.workload, 0)
    }

    /// Whether any setting is an open loop.
    pub(super) fn is_open(&self) -> bool {
        self.settings.iter().any(|setting| setting.offered().is_some())
    }

    /// The response times that a latency-versus-load curve shows: p50 and p99.
    pub(super) fn responses(&self) -> Vec<(&'static str, Figure)> {
        let of = |name: &'static str| {
            let percentile = PERCENTILES.iter().position(|(one, _)| *one == name)?;
            Some((name, Figure::response(self.workload, percentile)))
        };
        ["p50", "p99"].into_iter().filter_map(of).collect()
    }

    /// `streams=4, batch-rows=1024`.
    pub(super) fn label(&self, setting: usize) -> String {
        let pairs = self.vary.iter().zip(&self.settings[setting].values);
        pairs.map(|(vary, value)| format!("{}={value}", vary.name)).collect::<Vec<_>>().join(", ")
    }

    /// The same where people read it: long names and values are cut.
    pub(super) fn brief(&self, setting: usize) -> String {
        let pairs = self.vary.iter().zip(&self.settings[setting].values);
        let brief = pairs.map(|(vary, value)| format!("{}={}", cut(&vary.name), cut(value)));
        brief.collect::<Vec<_>>().join(", ")
    }

    /// Measurements that were made, and those that were asked for.
    pub(super) fn tally(&self) -> (usize, usize) {
        let made = self.settings.iter().map(|setting| setting.points.len()).sum();
        (made, self.settings.len() * self.rounds)
    }
}

/// At most so many letters of a name or a value are shown where lines have an end.
const CELL: usize = 24;

pub(super) fn cut(text: &str) -> String {
    match text.chars().count() {
        long if long > CELL => text.chars().take(CELL - 1).chain(['…']).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
