//! `selftest`: experiments with known outcomes, which show that this program measures and judges as it
//! says.
//!
//! Services are made up and time is a number, so that outcomes are exact whatever the machine does:
//! what is tried are the schedule, the recorder and the statistics that runs are measured with.

//!
//! With `--long` real processes are stopped, starved and killed too.

mod long;
mod services;

use flight_stats::proof::{self, Experiment};

use crate::cli::SelftestArgs;
use crate::exit::{Exit, Stop};
use crate::{on_this_thread, report, target};

/// Runs all experiments and says how each ended.
///
/// # Errors
///
/// One of them failed, or stdout is gone.
pub(crate) fn run(args: &SelftestArgs) -> Result<Exit, Stop> {
    let mut tally = Tally::default();
    for experiment in services::experiments().into_iter().chain(proof::experiments()) {
        tally.tell(&experiment)?;
    }
    if args.long {
        let program = target::server_program(args.server_bin.as_deref())?;
        for name in long::NAMES {
            tally.tell(&on_this_thread(async |_| long::experiment(name, &program).await)?)?;
        }
    }
    report::print(&tally.sentence())?;
    if tally.passed < tally.told {
        return Err(Stop::failed(anyhow::anyhow!(
            "{} of {} experiments failed: do not trust the figures of this build",
            tally.told - tally.passed,
            tally.told
        )));
    }
    Ok(Exit::Done)
}

#[derive(Default)]
struct Tally {
    told: usize,
    passed: usize,
}

impl Tally {
    fn tell(&mut self, experiment: &Experiment) -> Result<(), Stop> {
        self.told += 1;
        self.passed += usize::from(experiment.passed);
        report::print(&row(experiment))?;
        Ok(())
    }

    fn sentence(&self) -> String {
        format!("\n{} of {} experiments passed\n", self.passed, self.told)
    }
}

fn row(Experiment { name, what, passed }: &Experiment) -> String {
    let mut out = String::new();
    let mark = if *passed { "passed" } else { "FAILED" };
    report::wrapped(&mut out, &format!("{mark}  "), "        ", &format!("{name}: {what}"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_with_a_made_up_service_passes() {
        for experiment in services::experiments() {
            assert!(experiment.passed, "{}: {}", experiment.name, experiment.what);
        }
    }

    #[test]
    fn one_that_failed_stands_out() {
        let check = |passed, want: &str| {
            let what = "wanted 1, found 2".to_owned();
            assert_eq!(row(&Experiment { name: "one", what, passed }), want);
        };
        check(true, "passed  one: wanted 1, found 2\n");
        check(false, "FAILED  one: wanted 1, found 2\n");
        assert_eq!(Tally { told: 2, passed: 1 }.sentence(), "\n1 of 2 experiments passed\n");
    }
}
