//! Which setting is worth choosing, in words.

use flight_stats::limits::KNEE_RATIO;
use flight_stats::{Confidence, Setting, knee};

use super::SweepResults;

/// What the whole rounds say. Indices are those of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Judged {
    pub(in super::super) best: usize,
    /// The smallest setting within 3 % of the best; absent where settings have no sizes.
    pub(in super::super) knee: Option<usize>,
    /// Others within 3 % of the best.
    pub(in super::super) near: Vec<usize>,
    /// Those that the rounds cannot tell from the best.
    pub(in super::super) rivals: Vec<usize>,
    /// Rounds that measured every setting.
    pub(in super::super) rounds: usize,
}

impl SweepResults {
    /// `None` where no round is whole, or a setting has nothing to be judged by; and of loads, which
    /// [`held`](Self::held) judges.
    pub(in super::super) fn judged(&self) -> Option<Judged> {
        if self.by_load {
            return None;
        }
        let value = |setting: usize, round: usize| {
            let points = &self.settings[setting].points;
            points.iter().find(|point| point.round == round)?.value(&self.metric)
        };
        let whole = (0..self.rounds).filter_map(|round| {
            (0..self.settings.len())
                .map(|setting| value(setting, round))
                .collect::<Option<Vec<_>>>()
        });
        let whole: Vec<Vec<f64>> = whole.collect();
        let of = |setting: usize| whole.iter().map(|round| round[setting]).collect::<Vec<f64>>();
        let values: Vec<Vec<f64>> = (0..self.settings.len()).map(of).collect();
        let sizes = match &self.vary[..] {
            [one] => one.sizes().map(|(sizes, _)| sizes),
            _ => None,
        };
        let size = |setting: usize| sizes.as_ref().map_or(setting as f64, |sizes| sizes[setting]);
        let settings = values.iter().enumerate();
        let settings: Vec<Setting<'_>> =
            settings.map(|(setting, values)| Setting { size: size(setting), values }).collect();
        let found = knee(&settings, self.metric.direction(), Confidence::P95).ok()?;
        let centre = |setting: usize| {
            flight_stats::geometric_mean(&values[setting], Confidence::P95).map(|one| one.value)
        };
        let best = centre(found.best)?;
        let is_near = |setting: &usize| {
            let ratio = centre(*setting).map(|value| (value / best).ln().abs());
            *setting != found.best && ratio.is_some_and(|ratio| ratio <= KNEE_RATIO.ln_1p())
        };
        Some(Judged {
            best: found.best,
            near: (0..self.settings.len()).filter(is_near).collect(),
            knee: sizes.is_some().then_some(found.knee),
            rivals: found.rivals,
            rounds: whole.len(),
        })
    }

    /// What the figures mean, a sentence each.
    pub(in super::super) fn reading(&self) -> Vec<String> {
        let mut told = Vec::new();
        if let Some(slo) = &self.slo {
            told.extend(slo.reading(&self.metric));
            return told;
        }
        match (self.held(), self.judged()) {
            (Some(held), _) => told.extend(self.told_of_load(&held)),
            (None, Some(judged)) => {
                told.push(self.choice(&judged));
                told.push(self.certainty(&judged));
            }
            (None, None) => told.extend(self.unjudged()),
        }
        let saturated: Vec<usize> =
            (0..self.settings.len()).filter(|one| self.settings[*one].saturated() > 0).collect();
        if !saturated.is_empty() && !self.by_load {
            told.push(format!(
                "Saturated: {}. More was offered than was taken in, so that response times tell the \
                 length of the run.",
                self.list(&saturated)
            ));
        }
        let (made, asked) = self.tally();
        if made < asked {
            told.push(format!("NOT COMPLETE: {made} of {asked} measurements."));
        }
        told
    }

    fn choice(&self, judged: &Judged) -> String {
        let best = self.brief(judged.best);
        let value = self.settings[judged.best].estimate(&self.metric);
        let value = value
            .map_or(String::new(), |value| format!(" ({})", self.metric.unit().show(value.value)));
        match judged.knee {
            Some(knee) if knee != judged.best => format!(
                "Knee: {}, the smallest within {:.0} % of the best, which is {best}{value}.",
                self.brief(knee),
                KNEE_RATIO * 100.0
            ),
            Some(_) => format!(
                "Best: {best}{value}; nothing smaller comes within {:.0} % of it.",
                KNEE_RATIO * 100.0
            ),
            None if judged.near.is_empty() => format!(
                "Best: {best}{value}; nothing else comes within {:.0} % of it.",
                KNEE_RATIO * 100.0
            ),
            None => format!(
                "Best: {best}{value}; within {:.0} % of it: {}.",
                KNEE_RATIO * 100.0,
                self.list(&judged.near)
            ),
        }
    }

    fn certainty(&self, judged: &Judged) -> String {
        if judged.rounds < 2 {
            return "One round cannot tell any setting from the best.".to_owned();
        }
        let rounds = judged.rounds;
        match judged.rivals.len() {
            0 => format!("{rounds} rounds tell the best from every other setting at 95 %."),
            count if count + 1 == self.settings.len() => format!(
                "{rounds} rounds cannot tell any setting from the best at 95 %; more --rounds may."
            ),
            _ => format!(
                "{rounds} rounds cannot tell from the best at 95 %: {}.",
                self.list(&judged.rivals)
            ),
        }
    }

    fn unjudged(&self) -> Option<String> {
        let lacking = |one: &usize| {
            let points = &self.settings[*one].points;
            points.iter().any(|point| point.value(&self.metric).is_none())
        };
        let lacking: Vec<usize> = (0..self.settings.len()).filter(lacking).collect();
        if lacking.is_empty() {
            return None;
        }
        let why = match self.metric.events_needed() {
            Some(events) => format!("; it needs {events} events a round, or another kind of load"),
            None => String::new(),
        };
        Some(format!("{} was not measured at {}{why}.", self.metric, self.list(&lacking)))
    }

    /// The first few of some settings.
    fn list(&self, settings: &[usize]) -> String {
        let mut names: Vec<String> =
            settings.iter().take(LISTED).map(|setting| self.brief(*setting)).collect();
        if settings.len() > LISTED {
            names.push(format!("and {} more", settings.len() - LISTED));
        }
        names.join(if self.vary.len() > 1 { "; " } else { ", " })
    }
}

/// Settings that a sentence names.
const LISTED: usize = 8;
