//! The rules of the options that turn figures into an exit code.

use flight_stats::Band;
use flight_stats::limits::RANKS_MIN;

use super::Load;
use crate::cli::{BuildArgs, CheckArgs, FailIfArgs, JudgeArgs, RunsArgs};
use crate::exit::{Exit, Stop};
use crate::figure::Figure;
use crate::report::Workload;
use crate::saved::Saved;
use crate::threshold::Threshold;
use crate::workload::{Kind, Mix};

/// What a run has to pass.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) thresholds: Vec<Threshold>,
    /// The run that it is compared with.
    pub(crate) baseline: Option<Baseline>,
    pub(crate) judging: Judging,
}

/// A run by its name, and where runs are kept; absent where no folder is known.
#[derive(Debug)]
pub(crate) struct Baseline {
    pub(crate) name: String,
    pub(crate) saved: Option<Saved>,
}

/// How runs are compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Judging {
    /// Absent: as the way of comparing suggests.
    pub(crate) equivalence: Option<Band>,
    /// Names of what may differ.
    pub(crate) allowed: Vec<String>,
    pub(crate) strict: bool,
}

impl Checks {
    /// Of a command that measures `workload` alone.
    pub(super) fn new(
        args: CheckArgs,
        workload: Workload,
        load: &Load,
        runs: &RunsArgs,
    ) -> Result<Self, Stop> {
        Self::of(args, load, runs, |figure| {
            if figure.workload().is_none_or(|of| of == workload) {
                return Ok(());
            }
            Err(format!(
                "{figure} is not measured by {}; 'errors' and the metrics of {} are",
                workload.name(),
                workload.name()
            ))
        })
    }

    /// Of `mixed`, which measures the kinds of its mix and all of them together.
    pub(super) fn mixed(
        args: CheckArgs,
        mix: &Mix,
        load: &Load,
        runs: &RunsArgs,
    ) -> Result<Self, Stop> {
        Self::of(args, load, runs, |figure| {
            let kinds: Vec<Kind> = mix.parts().iter().map(|(kind, _)| *kind).collect();
            let told = kinds.iter().filter(|kind| figure.is_of_kind(**kind)).count();
            match (figure.workload(), told) {
                (None | Some(Workload::Mixed), _) if figure.at().is_none() => Ok(()),
                (_, 1) => Ok(()),
                (_, 0) => Err(format!(
                    "{figure} is not measured by --mix {mix}; 'errors', and the metrics of mixed and \
                     of its kinds are"
                )),
                (_, several) => Err(format!(
                    "{figure} is one of {several} kinds of --mix {mix}; say which, such as {figure}@{}",
                    kinds
                        .iter()
                        .find(|kind| figure.is_of_kind(**kind))
                        .map_or("", |one| one.name())
                )),
            }
        })
    }

    fn of(
        args: CheckArgs,
        load: &Load,
        runs: &RunsArgs,
        measured: impl Fn(&Figure) -> Result<(), String>,
    ) -> Result<Self, Stop> {
        check_build(args.judge.strict, &args.build, cfg!(debug_assertions))?;
        let thresholds = args.fail_if.fail_if;
        for threshold in &thresholds {
            let expr = &threshold.expr;
            measured(&threshold.figure)
                .map_err(|why| Stop::usage(format!("--fail-if '{expr}': {why}")))?;
            if threshold.needs_base() && args.baseline.is_none() {
                return Err(Stop::usage(format!(
                    "--fail-if '{expr}' has no base to compare with; name one with --baseline"
                )));
            }
        }
        if args.baseline.is_some() && load.repeats < RANKS_MIN {
            return Err(Stop::usage(format!(
                "--baseline compares repeats and --repeats {} are too few; give {RANKS_MIN} or more",
                load.repeats
            )));
        }
        check_repeats(&thresholds, load)?;
        let saved = || Saved::new(runs.runs_dir.as_deref());
        let baseline = args.baseline.map(|name| Baseline { name, saved: saved() });
        Ok(Self { thresholds, baseline, judging: args.judge.into() })
    }

    /// Of a command that has several rows and no base.
    pub(super) fn rows(command: &str, args: FailIfArgs, load: &Load) -> Result<Self, Stop> {
        let thresholds = args.fail_if;
        if let Some(threshold) = thresholds.iter().find(|threshold| threshold.needs_base()) {
            return Err(Stop::usage(format!(
                "--fail-if '{}': {command} has no --baseline; use get or put, or compare the kept run",
                threshold.expr
            )));
        }
        check_repeats(&thresholds, load)?;
        Ok(Self { thresholds, ..Self::default() })
    }
}

impl From<JudgeArgs> for Judging {
    fn from(args: JudgeArgs) -> Self {
        Self { equivalence: args.equivalence, allowed: args.allow_diff, strict: args.strict }
    }
}

/// Refuses to measure strictly with a build whose figures are not those of a release; `debug` says
/// that this program is one.
///
/// # Errors
///
/// It is, and nobody allowed it.
pub(crate) fn check_build(strict: bool, build: &BuildArgs, debug: bool) -> Result<(), Stop> {
    if !strict || !debug || build.allow_debug {
        return Ok(());
    }
    Err(Stop::with_exit(
        Exit::Unsettled,
        anyhow::anyhow!(
            "--strict: this flight-bench is built with debug assertions, and its figures are not \
             those of a release; use cargo build --release, or give --allow-debug"
        ),
    ))
}

/// One repeat has no interval, so nothing could lie wholly beyond a limit.
fn check_repeats(thresholds: &[Threshold], load: &Load) -> Result<(), Stop> {
    let interval = thresholds.iter().find(|threshold| !threshold.figure.is_count());
    match interval {
        Some(threshold) if load.repeats < 2 => Err(Stop::usage(format!(
            "--fail-if '{}' is judged by an interval over repeats, which --repeats 1 does not \
             have; give 3 or more",
            threshold.expr
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debug_build_measures_strictly_only_where_that_is_allowed() {
        let check = |strict, allow_debug, debug| {
            check_build(strict, &BuildArgs { allow_debug }, debug).map_err(|stop| stop.exit)
        };
        assert_eq!(check(true, false, true), Err(Exit::Unsettled));
        assert_eq!(check(true, true, true), Ok(()));
        assert_eq!(check(true, false, false), Ok(()));
        assert_eq!(check(false, false, true), Ok(()));
    }
}
