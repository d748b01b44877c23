//! A sweep's document read back, so that every form can be made of it again.
//!
//! Tables and maps find their cells by place. So what a document says of its grid is held against
//! what a sweep can be, before anything is made of it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use anyhow::{Context, anyhow, bail, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::read::{checked, time_of};
use super::{SloResults, SloTrial, SweepPoint, SweepResults, SweepSetting, json};
use crate::exit::Exit;
use crate::figure::Figure;
use crate::limits::{
    REPEATS_MAX, SLO_TRIALS_MAX, SWEEP_PARAMETERS_MAX, SWEEP_SETTINGS_MAX, SWEEP_WORD_BYTES_MAX,
};
use crate::report::{Costs, Host, Outcome, RunRecord, ServerRecord, Warning, Workload};
use crate::sweep::{Answer, Vary};

/// Reads the document that `--format json` prints and a page holds.
///
/// # Errors
///
/// The text is no such document, lacks what one has, or is of no sweep that there can be.
pub(crate) fn read(text: &str) -> anyhow::Result<SweepResults> {
    let document = checked(text, json::SCHEMA)?;
    let document: Document =
        serde_json::from_value(document).context("a sweep that is not whole")?;
    document.check()?;
    document.into_results()
}

#[derive(Deserialize)]
struct Document {
    started: Option<String>,
    complete: bool,
    exit: u8,
    error: Option<String>,
    target: Option<ServerRecord>,
    env: EnvironmentPart,
    command: String,
    workload: String,
    metric: MetricPart,
    rounds: usize,
    order_seed: u64,
    vary: Vec<VaryPart>,
    settings: Vec<SettingPart>,
    #[serde(default)]
    held: Option<IgnoredAny>,
    slo: Option<SloPart>,
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct EnvironmentPart {
    host: Host,
}

#[derive(Deserialize)]
struct MetricPart {
    name: String,
}

#[derive(Deserialize)]
struct VaryPart {
    name: String,
    values: Vec<String>,
}

#[derive(Deserialize)]
struct SettingPart {
    values: BTreeMap<String, String>,
    config: RunRecord,
    points: Vec<PointPart>,
}

#[derive(Deserialize)]
struct PointPart {
    round: usize,
    order: usize,
    offered: Option<f64>,
    saturated: Option<bool>,
    figures: BTreeMap<String, f64>,
    cost: Option<Costs>,
}

#[derive(Deserialize)]
struct SloPart {
    expr: String,
    closed_loop: Option<f64>,
    least: Option<f64>,
    least_is_of_events: bool,
    trials: Vec<TrialPart>,
    answer: Option<String>,
    rate: Option<f64>,
    probed: Option<f64>,
    broke: Option<f64>,
}

#[derive(Deserialize)]
struct TrialPart {
    rate: f64,
    confirms: bool,
    achieved: Vec<f64>,
    values: Vec<f64>,
    behind: usize,
    errors: u64,
    holds: bool,
}

impl Document {
    fn check(&self) -> anyhow::Result<()> {
        ensure!(self.rounds > 0, "it has no rounds, and a sweep has one at least");
        within(self.rounds, REPEATS_MAX, "rounds")?;
        let words = [Some(&self.command), self.error.as_ref()];
        words.into_iter().flatten().try_for_each(|word| check_word(word))?;
        match &self.slo {
            Some(slo) => {
                let alone = self.vary.is_empty() && self.settings.is_empty();
                ensure!(alone, "it has settings and a promise, and a sweep has one of them");
                slo.check(self.rounds)
            }
            None => self.check_grid(),
        }
    }

    fn check_grid(&self) -> anyhow::Result<()> {
        ensure!(!self.vary.is_empty(), "it varies nothing and searches for nothing");
        within(self.vary.len(), SWEEP_PARAMETERS_MAX, "parameters")?;
        if let [one, other] = &self.vary[..] {
            ensure!(one.name != other.name, "{} varies twice", one.name);
        }
        for vary in &self.vary {
            check_word(&vary.name)?;
            ensure!(!vary.values.is_empty(), "{} has no values", vary.name);
            within(vary.values.len(), SWEEP_SETTINGS_MAX, "values of one parameter")?;
            vary.values.iter().try_for_each(|value| check_word(value))?;
        }
        let pairs: usize = self.vary.iter().map(|vary| vary.values.len()).product();
        within(pairs, SWEEP_SETTINGS_MAX, "settings")?;
        let found = self.settings.len();
        ensure!(found == pairs, "it has {found} settings, and its parameters make {pairs}");
        for (index, setting) in self.settings.iter().enumerate() {
            setting.check(self.rounds, found).with_context(|| format!("setting {}", index + 1))?;
        }
        Ok(())
    }

    /// The value of each parameter at the place of a setting; the last changes fastest.
    fn values_at(&self, mut index: usize) -> Vec<String> {
        let mut values: Vec<String> = Vec::new();
        for vary in self.vary.iter().rev() {
            values.push(vary.values[index % vary.values.len()].clone());
            index /= vary.values.len();
        }
        values.reverse();
        values
    }

    fn into_results(self) -> anyhow::Result<SweepResults> {
        let started = self.started.as_deref().map(time_of).transpose()?;
        let workload = Workload::of_name(&self.workload)
            .ok_or_else(|| anyhow!("{:?} is no workload that this program knows", self.workload))?;
        let metric = figure(&self.metric.name)?;
        let places: Vec<_> = (0..self.settings.len()).map(|index| self.values_at(index)).collect();
        let names: Vec<String> = self.vary.iter().map(|vary| vary.name.clone()).collect();
        let settings = self.settings.into_iter().zip(places).enumerate();
        let settings = settings.map(|(index, (setting, values))| {
            let setting = setting.into_setting(&names, values);
            setting.with_context(|| format!("setting {}", index + 1))
        });
        let vary = self.vary.into_iter();
        Ok(SweepResults {
            started: started.unwrap_or(SystemTime::UNIX_EPOCH),
            host: self.env.host,
            server: self.target,
            command: self.command,
            workload,
            metric,
            // Told of rates alone, once something was measured.
            by_load: self.held.is_some(),
            settings: settings.collect::<anyhow::Result<_>>()?,
            vary: vary.map(|vary| Vary { name: vary.name, values: vary.values }).collect(),
            rounds: self.rounds,
            seed: self.order_seed,
            slo: self.slo.map(SloPart::into_results).transpose()?,
            warnings: self.warnings,
            outcome: Outcome {
                exit: Exit::from_code(self.exit),
                error: self.error,
                complete: self.complete,
            },
        })
    }
}

impl SettingPart {
    fn check(&self, rounds: usize, settings: usize) -> anyhow::Result<()> {
        let mut measured = vec![false; rounds];
        for point in &self.points {
            let (round, order) = (point.round, point.order);
            ensure!(round < rounds, "it has a round {round}, and {rounds} count from 0");
            ensure!(!measured[round], "it has round {round} twice");
            ensure!(order < settings, "it has a place {order} in a round of {settings}");
            measured[round] = true;
        }
        Ok(())
    }

    /// `values` are those of its place.
    fn into_setting(self, names: &[String], values: Vec<String>) -> anyhow::Result<SweepSetting> {
        for (name, value) in names.iter().zip(&values) {
            ensure!(self.values.get(name) == Some(value), "its {name} is not that of its place");
        }
        let points = self.points.into_iter().map(PointPart::into_point);
        let points = points.collect::<anyhow::Result<_>>()?;
        Ok(SweepSetting { values, record: self.config, points })
    }
}

impl PointPart {
    fn into_point(self) -> anyhow::Result<SweepPoint> {
        let values = self.figures.into_iter().map(|(name, value)| Ok((figure(&name)?, value)));
        Ok(SweepPoint {
            round: self.round,
            order: self.order,
            values: values.collect::<anyhow::Result<_>>()?,
            offered: self.offered,
            saturated: self.saturated,
            costs: self.cost,
        })
    }
}

impl SloPart {
    fn check(&self, rounds: usize) -> anyhow::Result<()> {
        check_word(&self.expr)?;
        within(self.trials.len(), SLO_TRIALS_MAX, "trials")?;
        for trial in &self.trials {
            let repeats = trial.achieved.len().max(trial.values.len());
            ensure!(
                repeats <= rounds,
                "a trial has {repeats} repeats, more than its {rounds} rounds"
            );
        }
        Ok(())
    }

    fn into_results(self) -> anyhow::Result<SloResults> {
        let lacks = |what: &str| anyhow!("the answer of its search has no {what:?}");
        let answer = match self.answer.as_deref() {
            None => None,
            Some("holds") => {
                let rate = self.rate.ok_or_else(|| lacks("rate"))?;
                Some(Answer::Holds { rate, broke: self.broke })
            }
            Some("never") => {
                Some(Answer::Never { least: self.broke.ok_or_else(|| lacks("broke"))? })
            }
            Some("unconfirmed") => Some(Answer::Unconfirmed {
                probed: self.probed.ok_or_else(|| lacks("probed"))?,
                broke: self.broke.ok_or_else(|| lacks("broke"))?,
            }),
            Some(other) => bail!("{other:?} is no answer of a search"),
        };
        let trial = |trial: TrialPart| SloTrial {
            rate: trial.rate,
            confirms: trial.confirms,
            achieved: trial.achieved,
            values: trial.values,
            behind: trial.behind,
            errors: trial.errors,
            holds: trial.holds,
        };
        Ok(SloResults {
            expr: self.expr,
            ceiling: self.closed_loop,
            least: self.least,
            least_is_of_events: self.least_is_of_events,
            trials: self.trials.into_iter().map(trial).collect(),
            answer,
        })
    }
}

fn figure(name: &str) -> anyhow::Result<Figure> {
    check_word(name)?;
    Figure::parse(name).map_err(|error| anyhow!(error))
}

fn within(found: usize, most: usize, what: &str) -> anyhow::Result<()> {
    ensure!(found <= most, "it has {found} {what}, more than {most}, the most of a sweep");
    Ok(())
}

fn check_word(word: &str) -> anyhow::Result<()> {
    let (long, most) = (word.len(), SWEEP_WORD_BYTES_MAX);
    ensure!(long <= most, "it has a word of {long} bytes, more than {most}, the most of a sweep");
    Ok(())
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
