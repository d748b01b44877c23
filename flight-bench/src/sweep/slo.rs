//! The highest rate that keeps a promise: probes for `search`, and what they found.

use std::ffi::OsString;
use std::time::Duration;

use super::grid::ceiling_of;
use super::search::{Answer, Bounds, Trial, search};
use super::taken::Arrivals;
use super::{Teller, about, option, words};
use crate::cli;
use crate::config::{Config, Extent, Rate};
use crate::exit::{Exit, Stop};
use crate::figure::Figure;
use crate::limits::{CEILING_REPEATS, SLO_HALVINGS};
use crate::load::Interrupt;
use crate::plan;
use crate::report::{Results, SloResults, SloTrial, SweepResults, Workload};
use crate::run;
use crate::threshold::Threshold;
use crate::turn;

/// A search as it will be done.
pub(super) struct Slo {
    promise: Threshold,
    /// Whose rate is searched.
    config: Config,
    arrivals: Arrivals,
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
        if cli::given(command.iter().cloned()).iter().any(|name| name == "rate") {
            return refused("the rate is what is searched; leave --rate out of the command".into());
        }
        let config = turn::config_of(words(command, &[option("rate", "100%")]));
        let ceiling = turn::config_of(words(command, &[]));
        let (config, mut ceiling) = (config.map_err(Stop::usage)?, ceiling.map_err(Stop::usage)?);
        ceiling.pace = None;
        ceiling.load.repeats = CEILING_REPEATS;
        let arrivals = Arrivals::of(&config).expect("it was given a rate");
        Ok(Self { promise, config, arrivals, ceiling })
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
        let (ceiling, closed) = ceiling_of(&self.ceiling, results.workload, interrupt).await?;
        teller.say(&format!("closed loop: {ceiling:.0}/s"));
        let judged_from = self.judged_from(ceiling, &closed)?;
        results.note(closed);
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

    /// The rate from which on a window has the events that the percentile needs, chance aside, by
    /// how many of them each batch or call of the closed loop had.
    ///
    /// # Errors
    ///
    /// Not even the closed loop has them.
    fn judged_from(&self, ceiling: f64, closed: &Results) -> Result<f64, Stop> {
        let Extent::Window { duration, .. } = self.config.load.extent else { return Ok(0.0) };
        let (figure, seconds) = (&self.promise.figure, duration.as_secs_f64());
        let needed = figure.events_needed().unwrap_or_default();
        let each = figure.per_event(closed).unwrap_or_default();
        let judged_from = self.arrivals.offered_for(needed as f64) / each / seconds;
        if judged_from <= ceiling {
            return Ok(judged_from);
        }
        let way_out = match (seconds * judged_from / ceiling * 2.0).ceil() {
            longer if longer.is_finite() => format!("--duration {longer:.0}s"),
            _ => "a longer --duration".to_owned(),
        };
        Err(Stop::usage(format!(
            "{figure} needs {needed} events a repeat, and a closed loop has {:.0} in {duration:?}; \
             give {way_out} or a lower percentile",
            ceiling * each * seconds
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
            behind: self.arrivals.behind(&found, rate),
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
