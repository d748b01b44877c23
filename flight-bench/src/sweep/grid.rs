//! The settings of a sweep, and their rounds.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::order::order_of;
use super::taken::Arrivals;
use super::{Teller, Vary, about, option, shown, words};
use crate::config::{Config, Rate};
use crate::exit::Stop;
use crate::figure::{Figure, Held};
use crate::limits::{CEILING_REPEATS, SWEEP_SETTINGS_MAX};
use crate::load::Interrupt;
use crate::plan;
use crate::report::{Costs, RATE, Results, SweepPoint, SweepResults, SweepSetting, Workload};
use crate::run;
use crate::turn::{self, Series};

/// Every pair of values, or every value of one parameter.
pub(super) struct Grid {
    vary: Vec<Vary>,
    metric: Figure,
    by_load: bool,
    /// The values of the second parameter change fastest.
    settings: Vec<Setting>,
    /// Closed loops of which rates are shares.
    ceilings: Vec<Ceiling>,
}

struct Setting {
    values: Vec<String>,
    config: Config,
    /// Of its rate, where that is a share.
    ceiling: Option<usize>,
}

struct Ceiling {
    /// The values of the parameters other than the rate.
    words: Vec<OsString>,
    config: Config,
}

impl Grid {
    /// # Errors
    ///
    /// There are too many settings, or the command refuses one.
    pub(super) fn new(
        vary: Vec<Vary>,
        metric: Figure,
        by_load: bool,
        command: &[OsString],
    ) -> Result<Self, Stop> {
        let count = vary.iter().map(|one| one.values.len()).product::<usize>();
        if count > SWEEP_SETTINGS_MAX {
            return Err(Stop::usage(format!(
                "{count} settings are more than {SWEEP_SETTINGS_MAX}, the most of a sweep; take \
                 fewer values"
            )));
        }
        let mut grid = Self { vary, metric, by_load, settings: Vec::new(), ceilings: Vec::new() };
        for values in pairs(&grid.vary) {
            grid.add(values, command)?;
        }
        if let [only] = &grid.settings[..] {
            return Err(Stop::usage(format!(
                "{} is one setting, and a sweep compares several; give more values",
                label(&grid.vary, &shown(&only.values))
            )));
        }
        Ok(grid)
    }

    fn add(&mut self, values: Vec<String>, command: &[OsString]) -> Result<(), Stop> {
        let name = label(&self.vary, &shown(&values));
        let refused = |sentence: String| Stop::usage(format!("{name}: {sentence}"));
        let added = |keep: &dyn Fn(&str) -> bool| -> Vec<OsString> {
            let pairs = self.vary.iter().zip(&values).filter(|(vary, _)| keep(&vary.name));
            pairs.map(|(vary, value)| option(&vary.name, value)).collect()
        };
        let all = added(&|_| true);
        let line = words(command, &all);
        Series::Sweep.check_options(&line)?;
        let config = turn::config_of(line).map_err(refused)?;
        let share = matches!(config.pace.map(|pace| pace.rate), Some(Rate::Share(_)));
        let ceiling = if share && self.vary.iter().any(|vary| vary.name == RATE) {
            let others = added(&|name| name != RATE);
            let known = self.ceilings.iter().position(|ceiling| ceiling.words == others);
            Some(match known {
                Some(index) => index,
                None => {
                    let mut config = turn::config_of(words(command, &others)).map_err(refused)?;
                    config.pace = None;
                    config.load.repeats = CEILING_REPEATS;
                    self.ceilings.push(Ceiling { words: others, config });
                    self.ceilings.len() - 1
                }
            })
        } else {
            None
        };
        self.settings.push(Setting { values, config, ceiling });
        Ok(())
    }

    /// The parameters, as they may be told.
    pub(super) fn told(&self) -> Vec<Vary> {
        let told = |vary: &Vary| Vary { name: vary.name.clone(), values: shown(&vary.values) };
        self.vary.iter().map(told).collect()
    }

    pub(super) fn metric(&self) -> &Figure {
        &self.metric
    }

    /// Whether settings are judged by the highest rate that is held.
    pub(super) fn by_load(&self) -> bool {
        self.by_load
    }

    pub(super) fn settings(&self) -> usize {
        self.settings.len()
    }

    /// The settings before anything is measured.
    pub(super) fn empty(&self) -> Vec<SweepSetting> {
        let setting = |setting: &Setting| SweepSetting {
            values: shown(&setting.values),
            record: run::run_record(&setting.config),
            points: Vec::new(),
        };
        self.settings.iter().map(setting).collect()
    }

    pub(super) fn takes(&self, rounds: usize) -> Option<Duration> {
        let each = |setting: &Setting| {
            let own =
                if setting.ceiling.is_some() { 0 } else { plan::calibrations(&setting.config) };
            plan::takes(&setting.config, own)
        };
        let round: Duration = self.settings.iter().map(each).sum::<Option<_>>()?;
        let ceilings = self.ceilings.iter().map(|ceiling| plan::takes(&ceiling.config, 0));
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
        Some(round.saturating_mul(rounds) + ceilings.sum::<Option<Duration>>()?)
    }

    /// Measures all rounds into `results`.
    ///
    /// # Errors
    ///
    /// A run failed, or the user broke it off; what was measured until then is in `results`.
    pub(super) async fn measure(
        &mut self,
        results: &mut SweepResults,
        teller: Teller,
        interrupt: &Interrupt,
    ) -> Result<(), Stop> {
        let (count, rounds) = (self.settings.len(), results.rounds);
        teller.say(&format!("{count} settings, {rounds} rounds: {}", about(self.takes(rounds))));
        self.set_rates(results, teller, interrupt).await?;
        let began = Instant::now();
        for round in 0..rounds {
            for (order, index) in order_of(round, count, results.seed).into_iter().enumerate() {
                let setting = &self.settings[index];
                let name = label(&self.vary, &results.settings[index].values);
                let failed = |stop: Stop| stop.because(format!("round {}, {name}", round + 1));
                let found =
                    turn::measure(&setting.config, round, interrupt).await.map_err(failed)?;
                let arrivals = Arrivals::of(&setting.config);
                let point = point(&found, arrivals, &self.metric, round, order).map_err(failed)?;
                let value = self.told_of(&point, results.workload);
                results.note(found);
                results.settings[index].points.push(point);
                let done = round * count + order + 1;
                let left =
                    began.elapsed().div_f64(done as f64).mul_f64((rounds * count - done) as f64);
                teller.say(&format!(
                    "round {} of {rounds}, {} of {count}: {name}: {value}; {} left",
                    round + 1,
                    order + 1,
                    about(Some(left))
                ));
            }
        }
        Ok(())
    }

    /// What a measurement found, for the line about it.
    fn told_of(&self, point: &SweepPoint, workload: Workload) -> String {
        let show = |figure: &Figure| point.value(figure).map(|value| figure.unit().show(value));
        let value = show(&self.metric);
        if !self.by_load {
            return value.unwrap_or_else(|| "not measured".to_owned());
        }
        let taken = show(&Figure::events(workload)).unwrap_or_else(|| "nothing".to_owned());
        let value = value.map_or_else(String::new, |value| format!(", {} {value}", self.metric));
        format!("{taken} taken in{value}")
    }

    /// Measures the closed loops that rates are shares of, and sets those.
    async fn set_rates(
        &mut self,
        results: &mut SweepResults,
        teller: Teller,
        interrupt: &Interrupt,
    ) -> Result<(), Stop> {
        let mut rates = Vec::new();
        for ceiling in &self.ceilings {
            let (rate, found) = ceiling_of(&ceiling.config, results.workload, interrupt).await?;
            results.note(found);
            let words = turn::shown_line(&ceiling.words);
            let name: Vec<String> =
                std::iter::once("closed loop".to_owned()).chain(words).collect();
            teller.say(&format!("{}: {rate:.0}/s", name.join(" ")));
            rates.push(rate);
        }
        for (setting, told) in self.settings.iter_mut().zip(&mut results.settings) {
            let Some(pace) = &mut setting.config.pace else { continue };
            if let (Some(ceiling), Rate::Share(share)) = (setting.ceiling, pace.rate) {
                pace.rate = Rate::PerSecond(share * rates[ceiling]);
                told.record.rate_share = Some(share);
            }
        }
        Ok(())
    }
}

/// Batches or calls a second that a closed loop reaches, over several repeats; and these.
///
/// # Errors
///
/// The run failed, or moved nothing in one of its repeats.
pub(super) async fn ceiling_of(
    config: &Config,
    workload: Workload,
    interrupt: &Interrupt,
) -> Result<(f64, Results), Stop> {
    let failed = |stop: Stop| stop.because("the closed loop".to_owned());
    let found = turn::measure(config, 0, interrupt).await.map_err(failed)?;
    let rates = Figure::events(workload).values(&found).unwrap_or_default();
    let rate = flight_stats::geometric_mean(&rates, flight_stats::Confidence::P95);
    match rate {
        Some(rate) => Ok((rate.value, found)),
        None => {
            Err(failed(Stop::failed(anyhow::anyhow!("nothing was moved: the source is empty"))))
        }
    }
}

/// What one run says of its setting.
fn point(
    results: &Results,
    arrivals: Option<Arrivals>,
    metric: &Figure,
    round: usize,
    order: usize,
) -> Result<SweepPoint, Stop> {
    let mut values = turn::figures(results)?;
    if !values.iter().any(|(figure, _)| figure == metric) {
        let value = metric.values(results).and_then(|values| values.first().copied());
        values.extend(value.map(|value| (metric.clone(), value)));
    }
    for figure in Held::ALL.map(Figure::held) {
        let is_known = values.iter().any(|(known, _)| *known == figure);
        let value = figure.values(results).filter(|_| !is_known);
        values.extend(value.and_then(|values| Some((figure, *values.first()?))));
    }
    // By name, as the document has them: it is told again as it was.
    values.sort_by_cached_key(|(figure, _)| figure.to_string());
    let offered = results.record.rate;
    let behind = |(arrivals, rate): (Arrivals, f64)| arrivals.behind(results, rate) > 0;
    let saturated = arrivals.zip(offered).map(behind);
    let costs = results.variants.first().map(Costs::of);
    Ok(SweepPoint { round, order, values, offered, saturated, costs })
}

/// `streams=4, batch-rows=1024`.
pub(crate) fn label(vary: &[Vary], values: &[String]) -> String {
    let pairs = vary.iter().zip(values);
    pairs.map(|(vary, value)| format!("{}={value}", vary.name)).collect::<Vec<_>>().join(", ")
}

/// The settings of a grid, row by row.
fn pairs(vary: &[Vary]) -> Vec<Vec<String>> {
    vary.iter().fold(vec![Vec::new()], |before, one| {
        let longer = |known: &Vec<String>| {
            let known = known.clone();
            one.values.iter().map(move |value| [&known[..], std::slice::from_ref(value)].concat())
        };
        before.iter().flat_map(longer).collect()
    })
}
