//! A run from start to end: servers, rows, rounds, checks, and taking everything down again.
//!
//! Whatever goes wrong, what was measured until then is in the results, and what was started or
//! uploaded is stopped or deleted.

mod record;
mod rows;
mod stage;
mod verify;

use std::sync::Arc;

use crate::config::{Config, Load};
use crate::exit::{Exit, Stop};
use crate::load::{self, Interrupt, Job};
use crate::progress::Progress;
use crate::record::Live;
use crate::report::{Measured, Outcome, Results, Variant};
use stage::Stage;

/// Runs what `config` says; the results tell how it ended.
pub(crate) async fn run(config: &Config, interrupt: &Interrupt) -> Results {
    let mut results = record::of(config);
    let mut stage = Stage::default();
    let progress = Progress::new(&config.output);
    let ended = stages(config, interrupt, &mut stage, &mut results, &progress).await;
    progress.clear();
    // A server that died by itself is the reason of whatever failed because of it.
    let ended = ended.map_err(|stop| stage.explained(stop));
    let taken_down = stage.take_down().await;
    results.outcome = outcome(&results, ended.and(taken_down));
    results
}

async fn stages(
    config: &Config,
    interrupt: &Interrupt,
    stage: &mut Stage,
    results: &mut Results,
    progress: &Progress,
) -> Result<(), Stop> {
    let jobs = tokio::select! {
        jobs = rows::prepare(config, stage, results, progress) => jobs?,
        () = interrupt.wait() => return Err(Stop::interrupted()),
    };
    rounds(&config.load, &jobs, &mut results.variants, progress, interrupt).await?;
    results.verify = verify::content(config, stage, &jobs, progress, interrupt).await?;
    Ok(())
}

/// Measures every row once a round. The order is reversed in every other round, so that a drift of
/// the machine within rounds hits all rows alike.
async fn rounds(
    load: &Load,
    jobs: &[Arc<Job>],
    variants: &mut [Variant],
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<(), Stop> {
    progress.expect(load.repeats * jobs.len());
    for round in 0..load.repeats {
        for (order, index) in order_of(round, jobs.len()).into_iter().enumerate() {
            let (job, variant) = (&jobs[index], &mut variants[index]);
            let live: Vec<Arc<Live>> = (0..load.threads).map(|_| Arc::default()).collect();
            let name = variant.id();
            let measuring = load::repeat(job, &live, interrupt);
            let (repeat, ended) = progress.watch(&name, &live, measuring).await;
            let measured = Measured { round, order, repeat, complete: ended.is_ok() };
            progress.repeat_done(&name, round, measured.megabytes_per_s());
            variant.measured.push(measured);
            ended?;
        }
    }
    Ok(())
}

fn order_of(round: usize, rows: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..rows).collect() } else { (0..rows).rev().collect() }
}

fn outcome(results: &Results, ended: Result<(), Stop>) -> Outcome {
    let errors = results.errors();
    match ended {
        Err(stop) => Outcome { exit: stop.exit, error: Some(stop.to_string()), complete: false },
        Ok(()) if results.verify.as_ref().is_some_and(|verify| !verify.equal) => Outcome {
            exit: Exit::Failed,
            error: Some("what arrived is not what was sent".to_owned()),
            complete: true,
        },
        Ok(()) if errors > 0 => Outcome {
            exit: Exit::Failed,
            error: Some(format!("{errors} calls failed; the figures are of those that did not")),
            complete: true,
        },
        Ok(()) => Outcome { exit: Exit::Done, error: None, complete: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_round_goes_backwards() {
        assert_eq!(order_of(0, 3), [0, 1, 2]);
        assert_eq!(order_of(1, 3), [2, 1, 0]);
        assert_eq!(order_of(2, 1), [0]);
    }
}
