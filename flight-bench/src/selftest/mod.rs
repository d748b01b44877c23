//! `selftest`: experiments with known outcomes, which show that this program measures and judges as it
//! says.
//!
//! Services are made up and time is a number, so that outcomes are exact whatever the machine does:
//! what is tried are the schedule, the recorder and the statistics that runs are measured with.

mod services;

use std::fmt::Write;

use flight_stats::proof::{self, Experiment};

use crate::exit::{Exit, Stop};
use crate::report;

/// Runs all experiments and says how each ended.
///
/// # Errors
///
/// One of them failed, or stdout is gone.
pub(crate) fn run() -> Result<Exit, Stop> {
    let experiments: Vec<Experiment> =
        services::experiments().into_iter().chain(proof::experiments()).collect();
    report::print(&table(&experiments))?;
    let failed = experiments.iter().filter(|experiment| !experiment.passed).count();
    if failed > 0 {
        return Err(Stop::failed(anyhow::anyhow!(
            "{failed} of {} experiments failed: do not trust the figures of this build",
            experiments.len()
        )));
    }
    Ok(Exit::Done)
}

fn table(experiments: &[Experiment]) -> String {
    let mut out = String::new();
    for Experiment { name, what, passed } in experiments {
        let mark = if *passed { "passed" } else { "FAILED" };
        report::wrapped(&mut out, &format!("{mark}  "), "        ", &format!("{name}: {what}"));
    }
    let passed = experiments.iter().filter(|experiment| experiment.passed).count();
    writeln!(out, "\n{passed} of {} experiments passed", experiments.len())
        .expect("writing to a string cannot fail");
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
        let experiment = |name: &'static str, passed| Experiment {
            name,
            what: "wanted 1, found 2".to_owned(),
            passed,
        };
        let text = table(&[experiment("one", true), experiment("two", false)]);
        assert_eq!(
            text,
            "passed  one: wanted 1, found 2\nFAILED  two: wanted 1, found 2\n\n1 of 2 experiments \
             passed\n"
        );
    }
}
