//! The highest rate that keeps a promise: probes for `search`, and what they found.

use std::ffi::OsString;
use std::time::Duration;

use super::grid::ceiling_of;
use super::search::{Answer, Bounds, Trial, search};
use super::{Teller, about, option, words};
use crate::config::{Config, Extent, Rate};
use crate::exit::{Exit, Stop};
use crate::figure::Figure;
use crate::limits::{CEILING_REPEATS, SLO_ACHIEVED_MIN, SLO_HALVINGS};
use crate::load::Interrupt;
use crate::plan;
use crate::report::{Results, SloResults, SloTrial, SweepResults, Workload, is_saturated};
use crate::run;
use crate::threshold::Threshold;
use crate::turn;

/// A search as it will be done.
pub(super) struct Slo {
    promise: Threshold,
    /// Whose rate is searched.
    config: Config,
    ceiling: Config,
}

impl Slo {
    /// # Errors
    ///
    /// The promise is none that a rate can keep, or the command has no rate.
    pub(super) fn new(
        promise: Threshold,
        command: &[OsString],
        workload: Workload,
    ) -> Result<Self, Stop> {
        let (expr, figure) = (&promise.expr, &promise.figure);
        let refused = |why: String| Err(Stop::usage(format!("--slo '{expr}': {why}")));
        if figure.hides_waiting() {
            return refused(format!(
                "{figure} counts from when something is sent, and hides how long that had to wait; \
                 take {}.response",
                workload.name()
            ));
        }
        if figure.workload() != Some(workload) || figure.names_a_row() {
            return refused(format!("{figure} is no latency of {}", workload.name()));
        }
        if promise.needs_base() || !promise.is_upper_bound() || figure.events_needed().is_none() {
            return refused(
                "a promise is an upper bound of a latency, such as put.ack.p99 <= 5ms".into(),
            );
        }
        let sets_rate = |word: &OsString| {
            let word = word.to_string_lossy();
            word == "--rate" || word.starts_with("--rate=") || word.starts_with("-r")
        };
        if command.iter().any(sets_rate) {
            return refused("the rate is what is searched; leave --rate out of the command".into());
        }
        let config = turn::config_of(words(command, &[option("rate", "100%")]));
        let ceiling = turn::config_of(words(command, &[]));
        let (config, mut ceiling) = (config.map_err(Stop::usage)?, ceiling.map_err(Stop::usage)?);
        ceiling.pace = None;
        ceiling.load.repeats = CEILING_REPEATS;
        Ok(Self { promise, config, ceiling })
    }

    pub(super) fn expr(&self) -> &str {
        &self.promise.expr
    }

    pub(super) fn figure(&self) -> &Figure {
        &self.promise.figure
    }

    /// With as many probes as it may need, and one confirming run.
    pub(super) fn takes(&self, repeats: usize) -> Option<Duration> {
        let ceiling = plan::takes(&self.ceiling, 0)?;
        // Those of the bracket, which has halved once in most cases.
        let probes =
            u32::try_from(repeats).unwrap_or(u32::MAX).saturating_add(SLO_HALVINGS / 2 + 2);
        Some(ceiling + (ceiling / CEILING_REPEATS as u32).saturating_mul(probes))
    }

    /// Searches; the path and the answer are in `results`.
    ///
    /// # Errors
    ///
    /// A run failed, or the user broke it off.
    pub(super) async fn measure(
        &mut self,
        results: &mut SweepResults,
        teller: Teller,
        interrupt: &Interrupt,
    ) -> Result<(), Stop> {
        let repeats = results.rounds;
        teller.say(&format!("searching: {}", about(self.takes(repeats))));
        let expr = self.promise.expr.clone();
        results.slo = Some(SloResults { expr, ..SloResults::default() });
        let ceiling = ceiling_of(&self.ceiling, results, interrupt).await?;
        teller.say(&format!("closed loop: {ceiling:.0}/s"));
        let judged_from = self.judged_from();
        self.check_events(ceiling, judged_from)?;
        let bounds = Bounds::new(ceiling, judged_from);
        let mut told = SloResults {
            expr: self.promise.expr.clone(),
            ceiling: Some(ceiling),
            least: Some(bounds.least),
            least_is_of_events: bounds.least <= judged_from,
            ..SloResults::default()
        };
        let answer = search(bounds, async |rate, trial| {
            let count = if trial == Trial::Confirm { repeats } else { 1 };
            let tried = self.try_rate(rate, trial, count, results, interrupt).await?;
            teller.say(&tried.line(&self.promise.figure));
            let holds = tried.holds;
            told.trials.push(tried);
            Ok::<bool, Stop>(holds)
        })
        .await;
        told.answer = answer.as_ref().ok().copied();
        results.slo = Some(told);
        answer.map(|_: Answer| ())
    }

    /// The rate from which on a window has the events that the percentile needs, chance aside.
    fn judged_from(&self) -> f64 {
        let needed = self.promise.figure.events_needed().unwrap_or_default() as f64;
        match self.config.load.extent {
            Extent::Window { duration, .. } => {
                (needed + 4.0 * needed.sqrt()) / duration.as_secs_f64()
            }
            Extent::Batches(_) | Extent::Passes(_) => 0.0,
        }
    }

    fn check_events(&self, ceiling: f64, judged_from: f64) -> Result<(), Stop> {
        let Extent::Window { duration, .. } = self.config.load.extent else { return Ok(()) };
        if judged_from <= ceiling {
            return Ok(());
        }
        let figure = &self.promise.figure;
        let longer = (duration.as_secs_f64() * judged_from / ceiling * 2.0).ceil();
        Err(Stop::usage(format!(
            "{figure} needs {} events a repeat, and a closed loop has {:.0} in {duration:?}; give \
             --duration {longer:.0}s or a lower percentile",
            figure.events_needed().unwrap_or_default(),
            ceiling * duration.as_secs_f64()
        )))
    }

    async fn try_rate(
        &mut self,
        rate: f64,
        trial: Trial,
        repeats: usize,
        results: &mut SweepResults,
        interrupt: &Interrupt,
    ) -> Result<SloTrial, Stop> {
        if let Some(pace) = &mut self.config.pace {
            pace.rate = Rate::PerSecond(rate);
        }
        self.config.load.repeats = repeats;
        let found = Box::pin(run::run(&self.config, interrupt)).await;
        let failed =
            |why: String| Stop::failed(anyhow::Error::msg(why)).because(format!("at {rate:.0}/s"));
        let errors = found.errors().total();
        // Calls that fail under load are what the promise is about; all else ends the search.
        let overloaded = found.outcome.complete && errors > 0 && found.outcome.exit == Exit::Failed;
        if found.outcome.exit != Exit::Done && !overloaded {
            let why = found.outcome.error.clone().unwrap_or_else(|| "the run failed".to_owned());
            let stop = Stop::with_exit(found.outcome.exit, anyhow::Error::msg(why));
            return Err(stop.because(format!("at {rate:.0}/s")));
        }
        let values = self.promise.figure.values(&found);
        let tried = SloTrial {
            rate,
            confirms: trial == Trial::Confirm,
            achieved: Figure::events(results.workload).values(&found).unwrap_or_default(),
            values: values.unwrap_or_default(),
            behind: behind(&found, rate),
            errors,
            holds: false,
        };
        // What is warned of at rates that are too high is no news of the answer.
        if trial == Trial::Confirm {
            results.note(found);
        }
        // One that did not take in what was offered has too few events by itself.
        if tried.values.len() < repeats && errors == 0 && tried.behind == 0 {
            return Err(failed(format!(
                "{} was not measured; a percentile needs {} events a repeat: give a longer --duration",
                self.promise.figure,
                self.promise.figure.events_needed().unwrap_or_default()
            )));
        }
        let holds = tried.behind == 0
            && errors == 0
            && tried.values.iter().all(|value| self.promise.is_true_of(*value));
        Ok(SloTrial { holds, ..tried })
    }
}

/// Repeats that did not take in what was offered: latencies of what was sent say little then.
fn behind(results: &Results, rate: f64) -> usize {
    // The first is of all that is offered: in a mix its parts follow.
    let Some(variant) = results.variants.first() else { return 0 };
    let is_behind = |one: &&crate::report::Measured| {
        let expected = rate * one.repeat.elapsed.as_secs_f64();
        // Arrivals that are drawn differ by chance: three deviations of a Poisson number.
        let least = SLO_ACHIEVED_MIN * expected - 3.0 * expected.sqrt();
        is_saturated(rate, one)
            || variant.count_per_s(one) * one.repeat.elapsed.as_secs_f64() < least
    };
    variant.measured.iter().filter(is_behind).count()
}
