//! How far a rate can be raised: which rates are held, and what they do to latency.
//!
//! A sweep over the rate is read by this unless another figure was asked for: a higher throughput is
//! what a higher rate is, and says nothing.

use super::SweepResults;
use crate::figure::Figure;

/// The option whose values are loads.
pub(crate) const RATE: &str = "rate";
/// Latency is told to have grown beyond so many times that of the lowest rate.
const GROWTH: f64 = 2.0;
/// Means of logarithms are off by less.
const ROUNDING: f64 = 1e-9;

/// What the rates say, for each value of the other parameter, or for all. Indices are those of the
/// settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Held {
    /// The value of the other parameter.
    pub(in super::super) at: Option<String>,
    /// Every rate up to it took in what was offered, in every round.
    pub(in super::super) highest: Option<usize>,
    /// The lowest that did not.
    pub(in super::super) broke: Option<usize>,
    /// The highest of those that are held whose latency is at most [`GROWTH`] times that of the
    /// lowest rate, as is that of all below it.
    pub(in super::super) knee: Option<usize>,
}

impl SweepResults {
    /// Absent where settings are judged by a figure, or nothing was measured.
    pub(in super::super) fn held(&self) -> Option<Vec<Held>> {
        let rate = self.vary.iter().position(|vary| vary.name == RATE)?;
        if !self.by_load || self.settings.iter().all(|setting| setting.points.is_empty()) {
            return None;
        }
        let other = (0..self.vary.len()).find(|one| *one != rate);
        let groups: Vec<Option<&String>> = match other {
            Some(other) => self.vary[other].values.iter().map(Some).collect(),
            None => vec![None],
        };
        let held = |at: Option<&String>| {
            let is_of_it = |index: &usize| {
                other.zip(at).is_none_or(|(other, at)| self.settings[*index].values[other] == *at)
            };
            let offered = |index: &usize| self.settings[*index].offered().unwrap_or(f64::INFINITY);
            let measured = |index: &usize| !self.settings[*index].points.is_empty();
            let mut rates: Vec<usize> =
                (0..self.settings.len()).filter(measured).filter(is_of_it).collect();
            rates.sort_by(|one, other| offered(one).total_cmp(&offered(other)));
            self.held_of(&rates, at.cloned())
        };
        Some(groups.into_iter().map(held).collect())
    }

    /// Of settings in the order of their rates.
    fn held_of(&self, rates: &[usize], at: Option<String>) -> Held {
        let breaks = |index: &&usize| self.settings[**index].saturated() > 0;
        let broke = rates.iter().find(breaks).copied();
        let held: Vec<usize> =
            rates.iter().copied().take_while(|index| Some(*index) != broke).collect();
        let latency = |index: usize| {
            let value = self.settings[index].estimate(&self.metric)?;
            Some(value.value)
        };
        let lowest = held.first().and_then(|first| latency(*first));
        let has_grown = |index: &usize| {
            latency(*index)
                .zip(lowest)
                .is_none_or(|(value, lowest)| value / lowest > GROWTH + ROUNDING)
        };
        let knee = held.iter().copied().take_while(|index| !has_grown(index)).last();
        Held { at, highest: held.last().copied(), broke, knee }
    }

    /// The same in words.
    pub(super) fn told_of_load(&self, all: &[Held]) -> Vec<String> {
        let mut told: Vec<String> = all.iter().map(|one| self.told_of(one)).collect();
        if self.settings.iter().any(|setting| setting.saturated() > 0) {
            told.push(
                "Beyond what is held, more is offered than is taken in, so that response times tell \
                 the length of the run."
                    .to_owned(),
            );
        }
        told
    }

    fn told_of(&self, held: &Held) -> String {
        let other = self.vary.iter().find(|vary| vary.name != RATE).map(|vary| &vary.name);
        let at = other.zip(held.at.as_ref()).map(|(name, at)| format!(" at {name}={at}"));
        let at = at.unwrap_or_default();
        let value = |index: usize, figure: &Figure| {
            let value = self.settings[index].estimate(figure)?;
            Some(figure.unit().show(value.value))
        };
        let Some(highest) = held.highest else {
            return match held.broke {
                Some(lowest) => {
                    format!("No rate is held{at}: even {} was not taken in.", self.rate_of(lowest))
                }
                None => format!("Nothing was measured{at}."),
            };
        };
        let latency = match value(highest, &self.metric) {
            Some(latency) => format!(", with {} of {latency}", self.metric),
            None => format!(
                "; {} was not measured, which takes {} events a round",
                self.metric,
                self.metric.events_needed().unwrap_or_default()
            ),
        };
        let beyond = match held.broke {
            Some(broke) => format!("{} was not taken in", self.rate_of(broke)),
            None => "nothing higher was tried".to_owned(),
        };
        let grown = match held.knee {
            Some(knee) if knee == highest => {
                " Up to there it is within twice that of the lowest rate.".to_owned()
            }
            Some(knee) => {
                format!(" Up to {} it is within twice that of the lowest rate.", self.rate_of(knee))
            }
            None => String::new(),
        };
        format!(
            "Highest rate that is held{at}: {}{latency}; {beyond}.{grown}",
            self.rate_of(highest)
        )
    }

    /// `rate=60% (1200/s)`.
    fn rate_of(&self, setting: usize) -> String {
        let at = self.vary.iter().position(|vary| vary.name == RATE).unwrap_or_default();
        let setting = &self.settings[setting];
        let offered = setting.offered().map(super::super::figures::amount);
        let offered = offered.map_or(String::new(), |rate| format!(" ({rate}/s)"));
        format!("{RATE}={}{offered}", setting.values[at])
    }
}
