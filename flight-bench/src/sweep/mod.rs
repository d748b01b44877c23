//! `sweep`: one or two options of a command vary, and every round measures every setting once.
//!
//! Or, with a promise in place of values, the rate varies until the highest is found that keeps it.
//! What was found is told by `report`.

mod grid;
mod order;
mod search;
mod slo;
mod taken;
mod vary;

use std::ffi::OsString;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

use crate::cli::{self, Format, Progress, SweepArgs};
use crate::config::{Config, Output, Work, files_of, keep};
use crate::exit::{Exit, Stop};
use crate::figure::Figure;
use crate::limits::{REPEATS_MAX, SLO_STEPS_DOWN, SWEEP_PARAMETERS_MAX};
use crate::load::Interrupt;
use crate::report::{Host, Outcome, RATE, SweepResults, Workload, check_files};
use crate::turn::{self, Series};
use grid::Grid;
pub(crate) use search::Answer;
use slo::Slo;
pub(crate) use vary::{Measure, Vary};

/// A sweep as it will be done.
pub(crate) struct SweepConfig {
    /// As it may be told: `unary info`.
    told: String,
    workload: Workload,
    what: What,
    rounds: usize,
    seed: u64,
    output: Output,
}

enum What {
    Grid(Grid),
    Slo(Box<Slo>),
}

impl SweepConfig {
    /// # Errors
    ///
    /// Settings that the command refuses, or options that do not go together: exit code 2.
    pub(crate) fn from_args(args: SweepArgs) -> Result<Self, Stop> {
        let (design, output, command) = (args.design, args.output, args.command);
        let rounds = usize::try_from(design.rounds).unwrap_or(usize::MAX);
        if !(1..=REPEATS_MAX).contains(&rounds) {
            return Err(Stop::usage(format!(
                "--rounds {} is outside 1 to {REPEATS_MAX}; 5 show what differs much",
                design.rounds
            )));
        }
        Series::Sweep.check_command(&command)?;
        let plain = turn::config_of(words(&command, &[])).map_err(Stop::usage)?;
        let (told, workload) = (told(&plain), workload(&plain));
        let what = match design.slo {
            Some(promise) => What::Slo(Box::new(Slo::new(promise, &command, workload)?)),
            None => {
                check_parameters(&design.vary, &command)?;
                let by_load =
                    design.metric.is_none() && design.vary.iter().any(|one| one.name == RATE);
                let metric = match by_load {
                    true => Figure::response_p99(workload),
                    false => metric(design.metric, workload)?,
                };
                What::Grid(Grid::new(design.vary, metric, by_load, &command)?)
            }
        };
        let files = files_of(output.out)?;
        if let Some((path, _)) = files.iter().find(|(_, format)| *format == Format::Ndjson) {
            return Err(Stop::usage(format!(
                "--out {}: a sweep has no lines of JSON; end the name with .json or .csv",
                path.display()
            )));
        }
        let output = Output {
            format: output.format.into(),
            files,
            progress: Progress::None,
            quiet: output.quiet,
            dry_run: output.dry_run,
            keep: keep(&output.keep),
            runs: None,
        };
        check_files(&output)?;
        Ok(Self { told, workload, what, rounds, seed: design.order_seed, output })
    }

    pub(crate) fn output(&self) -> &Output {
        &self.output
    }

    pub(crate) fn dry_run(&self) -> bool {
        self.output.dry_run
    }

    /// What would be measured, in words.
    pub(crate) fn plan(&self) -> String {
        let mut out = String::new();
        let mut line = |name: &str, text: &str| {
            writeln!(out, "{name:<9} {text}").expect("writing to a string cannot fail");
        };
        line("measures", &self.told);
        match &self.what {
            What::Grid(grid) => {
                for vary in grid.told() {
                    line("varies", &format!("{}: {}", vary.name, vary.values.join(", ")));
                }
                let metric = grid.metric().to_string();
                line(
                    "judges",
                    &match grid.by_load() {
                        true => format!("the highest rate that is held, and its {metric}"),
                        false => metric,
                    },
                );
                line("rounds", &format!("{} of {} settings", self.rounds, grid.settings()));
            }
            What::Slo(slo) => {
                line("searches", &format!("the highest rate that holds {}", slo.expr()));
                let rates = SLO_STEPS_DOWN.len();
                line(
                    "confirms",
                    &format!("with {} repeats each, {rates} rates at most", self.rounds),
                );
            }
        }
        line("takes", &about(self.takes()));
        out
    }

    fn takes(&self) -> Option<Duration> {
        match &self.what {
            What::Grid(grid) => grid.takes(self.rounds),
            What::Slo(slo) => slo.takes(self.rounds),
        }
    }
}

/// Measures; the results tell how it ended.
pub(crate) async fn run(config: &mut SweepConfig, interrupt: &Interrupt) -> SweepResults {
    let (vary, metric, settings) = match &config.what {
        What::Grid(grid) => (grid.told(), grid.metric().clone(), grid.empty()),
        What::Slo(slo) => (Vec::new(), slo.figure().clone(), Vec::new()),
    };
    let by_load = matches!(&config.what, What::Grid(grid) if grid.by_load());
    let mut results = SweepResults {
        by_load,
        started: SystemTime::now(),
        host: Host::read(),
        server: None,
        command: config.told.clone(),
        workload: config.workload,
        metric,
        vary,
        settings,
        rounds: config.rounds,
        seed: config.seed,
        slo: None,
        warnings: Vec::new(),
        outcome: Outcome { exit: Exit::Failed, error: None, complete: false },
    };
    let say = Teller { quiet: config.output.quiet };
    let ended = match &mut config.what {
        What::Grid(grid) => grid.measure(&mut results, say, interrupt).await,
        What::Slo(slo) => slo.measure(&mut results, say, interrupt).await,
    };
    results.outcome = match ended {
        Ok(()) => Outcome { exit: results.exit(), error: None, complete: true },
        Err(stop) => Outcome { exit: stop.exit, error: Some(stop.to_string()), complete: false },
    };
    results
}

/// Says how far it is.
#[derive(Debug, Clone, Copy)]
struct Teller {
    quiet: bool,
}

impl Teller {
    fn say(self, line: &str) {
        if !self.quiet {
            crate::progress::say(line);
        }
    }
}

/// The words of a command line with others after the command's name, where options may stand
/// whatever follows.
fn words(command: &[OsString], added: &[OsString]) -> Vec<OsString> {
    let (name, rest) = command.split_at(command.len().min(1));
    name.iter().chain(added).chain(rest).cloned().collect()
}

/// An option of the command with its value, as one word.
fn option(name: &str, value: &str) -> OsString {
    format!("--{name}={value}").into()
}

fn told(config: &Config) -> String {
    let name = turn::name(&config.work);
    match &config.work {
        Work::Unary(unary) => format!("{name} {}", unary.call.name()),
        _ => name.to_owned(),
    }
}

fn workload(config: &Config) -> Workload {
    let name = turn::name(&config.work);
    Workload::of_name(name).expect("quick, which is none, is refused before")
}

/// Values as they may be told.
fn shown(values: &[String]) -> Vec<String> {
    values.iter().map(|value| turn::shown(value)).collect()
}

fn about(time: Option<Duration>) -> String {
    match time {
        Some(time) if time < Duration::from_secs(600) => format!("about {} s", time.as_secs()),
        Some(time) => format!("about {} min", time.as_secs() / 60),
        None => "as long as moving the data does".to_owned(),
    }
}

fn check_parameters(vary: &[Vary], command: &[OsString]) -> Result<(), Stop> {
    if vary.is_empty() {
        return Err(Stop::usage(
            "sweep has nothing to vary; give --vary NAME=VALUES, such as --vary streams=1,2,4, or \
             --slo",
        ));
    }
    if vary.len() > SWEEP_PARAMETERS_MAX {
        return Err(Stop::usage(format!(
            "{} parameters vary, and a sweep has {SWEEP_PARAMETERS_MAX} at most; leave --vary out \
             of the others",
            vary.len()
        )));
    }
    if vary.iter().any(|one| one.name == "header") {
        return Err(Stop::usage(
            "--header is not varied: a sweep tells its values, and those of metadata are secrets",
        ));
    }
    if let [one, other] = vary
        && one.name == other.name
    {
        return Err(Stop::usage(format!("{} varies twice; give one list of values", one.name)));
    }
    let given = cli::given(command.iter().cloned());
    match vary.iter().find(|one| given.contains(&one.name)) {
        Some(Vary { name, .. }) => {
            Err(Stop::usage(format!("--{name} varies; leave it out of the command")))
        }
        None => Ok(()),
    }
}

fn metric(asked: Option<Figure>, workload: Workload) -> Result<Figure, Stop> {
    let Some(figure) = asked else { return Ok(Figure::rate(workload, 0)) };
    let name = workload.name();
    if figure.is_count() || figure.names_a_row() {
        return Err(Stop::usage(format!(
            "--metric {figure} is no figure of a repeat of {name}; take one such as {}",
            Figure::rate(workload, 0)
        )));
    }
    if figure.workload().is_some_and(|of| of != workload) {
        return Err(Stop::usage(format!("--metric {figure} is not measured by {name}")));
    }
    Ok(figure)
}

#[cfg(test)]
mod tests;
