//! What the search for the highest rate that keeps a promise went through.

use super::super::figures::{amount, or_dash};
use super::super::lines::counted;
use super::table::{Head, Sheet};
use crate::figure::Figure;
use crate::sweep::Answer;

/// The path of a search and its answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct SloResults {
    /// As it was written.
    pub(crate) expr: String,
    /// What a closed loop reached; absent before it was measured.
    pub(crate) ceiling: Option<f64>,
    /// The lowest rate that is tried.
    pub(crate) least: Option<f64>,
    /// It is that from which on a window has events enough.
    pub(crate) least_is_of_events: bool,
    /// In their order.
    pub(crate) trials: Vec<SloTrial>,
    /// Absent where the search was broken off.
    pub(crate) answer: Option<Answer>,
}

/// One rate that was tried.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SloTrial {
    pub(crate) rate: f64,
    /// Whether it is the longer measurement of a rate that held.
    pub(crate) confirms: bool,
    /// What was taken in, in each repeat.
    pub(crate) achieved: Vec<f64>,
    /// The latency in each repeat, in nanoseconds.
    pub(crate) values: Vec<f64>,
    /// Repeats that did not take in what was offered.
    pub(crate) behind: usize,
    /// Calls that failed.
    pub(crate) errors: u64,
    pub(crate) holds: bool,
}

impl SloTrial {
    /// `12300/s: 1.31 ms, holds`.
    pub(crate) fn line(&self, figure: &Figure) -> String {
        let what = if self.confirms { "confirming " } else { "" };
        format!("{what}{}/s: {}, {}", amount(self.rate), self.shown(figure), self.verdict())
    }

    /// The latency, or its range over repeats.
    fn shown(&self, figure: &Figure) -> String {
        let show = |value| figure.unit().show(value);
        let ends = self.values.iter().copied().reduce(f64::min);
        match ends.zip(self.values.iter().copied().reduce(f64::max)) {
            Some((low, high)) if self.values.len() > 1 => {
                format!("{} to {}", show(low), show(high))
            }
            Some((value, _)) => show(value),
            None => "–".to_owned(),
        }
    }

    fn verdict(&self) -> String {
        let repeats = self.achieved.len();
        match self {
            Self { holds: true, .. } => "holds".to_owned(),
            Self { errors, .. } if *errors > 0 => {
                format!("breaks: {} failed", counted(*errors as usize, "call"))
            }
            Self { behind, .. } if *behind > 0 && repeats > 1 => {
                format!("breaks: not taken in, in {behind} of {repeats}")
            }
            Self { behind, .. } if *behind > 0 => "breaks: not taken in".to_owned(),
            _ => "breaks".to_owned(),
        }
    }
}

impl SloResults {
    /// The path, a row a trial.
    pub(in super::super) fn sheet(&self, figure: &Figure) -> Sheet {
        let head =
            |text: &str, is_number| Head { text: text.to_owned(), is_number, optional: false };
        let heads = vec![
            head("", false),
            head("rate", true),
            head("of closed loop", true),
            head("taken in/s", true),
            head(&figure.to_string(), true),
            head("", false),
        ];
        let row = |trial: &SloTrial| {
            let taken = flight_stats::mean(&trial.achieved);
            let share = self.ceiling.map(|ceiling| trial.rate / ceiling * 100.0);
            vec![
                if trial.confirms { "confirm" } else { "probe" }.to_owned(),
                format!("{}/s", amount(trial.rate)),
                or_dash(share.map(|share| format!("{} %", amount(share)))),
                or_dash(taken.map(amount)),
                trial.shown(figure),
                trial.verdict(),
            ]
        };
        Sheet { heads, rows: self.trials.iter().map(row).collect() }
    }

    /// The answer, and what it rests on.
    pub(super) fn reading(&self, figure: &Figure) -> Vec<String> {
        let expr = &self.expr;
        let repeats = |rate: f64| {
            let trial = self.trials.iter().find(|one| one.confirms && one.rate == rate);
            counted(trial.map_or(0, |trial| trial.achieved.len()), "repeat")
        };
        let missed = self.trials.iter().filter(|one| one.confirms && !one.holds).count();
        let after = match missed {
            0 => String::new(),
            1 => ", after a higher rate was not".to_owned(),
            more => format!(", after {more} higher rates were not"),
        };
        let told = match self.answer {
            None => {
                return vec!["The search was broken off before there was an answer.".to_owned()];
            }
            Some(Answer::Holds { rate, broke: Some(broke) }) => format!(
                "highest rate that holds {expr}: {}/s (confirmed by {}{after}; {}/s broke it)",
                amount(rate),
                repeats(rate),
                amount(broke)
            ),
            Some(Answer::Holds { rate, broke: None }) => format!(
                "highest rate that holds {expr}: {}/s, all that a closed loop of these streams \
                 reaches (confirmed by {}); more --streams may reach more",
                amount(rate),
                repeats(rate)
            ),
            Some(Answer::Never { least }) => {
                let why = if self.least_is_of_events {
                    let events = figure.events_needed().unwrap_or_default();
                    format!(
                        "the lowest at which a repeat has the {events} events of {figure}; a longer \
                         --duration reaches lower"
                    )
                } else {
                    "a thousandth of a closed loop".to_owned()
                };
                format!("no rate holds {expr}: even {}/s broke it, {why}", amount(least))
            }
            Some(Answer::Unconfirmed { probed, broke }) => format!(
                "no rate that holds {expr} was confirmed: a probe at {}/s held it, and repeats down \
                 to {}/s did not; try a longer --duration",
                amount(probed),
                amount(broke)
            ),
        };
        std::iter::once(told).chain(self.second_probes()).collect()
    }

    /// What is said of rates that broke the promise once and held it when they were tried again.
    fn second_probes(&self) -> Option<String> {
        let probes: Vec<&SloTrial> = self.trials.iter().filter(|one| !one.confirms).collect();
        let pairs = probes.windows(2);
        let held_again =
            |pair: &&[&SloTrial]| pair[0].rate == pair[1].rate && !pair[0].holds && pair[1].holds;
        match pairs.filter(held_again).count() {
            0 => None,
            count => Some(format!(
                "{} held it only in a second probe: one that broke it is repeated, since a pause of \
                 the machine must not decide.",
                counted(count, "rate")
            )),
        }
    }
}
