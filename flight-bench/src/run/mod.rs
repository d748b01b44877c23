//! A run from start to end: servers, rows, rounds, checks, and taking everything down again.
//!
//! Whatever goes wrong, what was measured until then is in the results, and what was started or
//! uploaded is stopped or deleted.

mod engines;
mod handshakes;
mod mixed;
mod quick;
mod record;
mod rows;
mod site;
mod stage;
mod verify;

use std::sync::Arc;

use crate::cli::Call;
use crate::config::{Config, Pace, Rate};
use crate::exit::{Exit, Stop};
use crate::load::{self, Interrupt, Job, JobWork, Repeat, Seed, SetPace};
use crate::progress::{Counted, Progress, Row};
use crate::record::ErrorTally;
use crate::record::Live;
use crate::report::{Measured, Outcome, Results, Variant, Warning, Workload};
use crate::target::{Capability, Caps, LACKS};
pub(crate) use record::{debug_build, run_record};
use stage::Stage;

/// Runs what `config` says; the results tell how it ended.
pub(crate) async fn run(config: &Config, interrupt: &Interrupt) -> Results {
    run_from(config, 0, interrupt).await
}

/// The same as a part of a series: what is drawn at random is drawn for `first_round` and on.
pub(crate) async fn run_from(config: &Config, first_round: u64, interrupt: &Interrupt) -> Results {
    let mut results = record::of(config);
    let mut stage = Stage::new(&config.link);
    let progress = Progress::new(&config.output);
    let ended = stages(config, first_round, interrupt, &mut stage, &mut results, &progress).await;
    progress.clear();
    // A server that died by itself is the reason of whatever failed because of it.
    let ended = ended.map_err(|stop| stage.explained(stop));
    let taken_down = stage.take_down().await;
    results.outcome = outcome(&results, ended, taken_down);
    results
}

async fn stages(
    config: &Config,
    first_round: u64,
    interrupt: &Interrupt,
    stage: &mut Stage,
    results: &mut Results,
    progress: &Progress,
) -> Result<(), Stop> {
    let jobs = tokio::select! {
        jobs = rows::prepare(config, stage, results, progress) => jobs?,
        () = interrupt.wait() => return Err(Stop::interrupted()),
    };
    open_loop(config, &jobs, results, progress, interrupt).await?;
    let variants = &mut results.variants;
    let measured = rounds(config, first_round, &jobs, variants, progress, interrupt).await;
    results.note_caps(shown_by(results));
    results.warnings.extend(early(&results.variants));
    measured?;
    results.verify = verify::content(config, stage, &jobs, progress, interrupt).await?;
    Ok(())
}

/// Sets the pace of an open loop: as it was asked for, or after what a closed loop reaches.
async fn open_loop(
    config: &Config,
    jobs: &[Arc<Job>],
    results: &mut Results,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<(), Stop> {
    let Some(asked) = config.pace else { return Ok(()) };
    for job in jobs {
        let per_second = match asked.rate {
            Rate::PerSecond(rate) => rate,
            Rate::Share(share) => {
                progress.step("calibrating: what a closed loop reaches");
                share * closed_rate(job, interrupt).await?
            }
        };
        results.record.rate = Some(per_second);
        let pace = Pace { per_second, arrival: asked.arrival };
        let seed = Seed::new(results.record.seed.unwrap_or_default());
        // Set once: nobody else sets it.
        let _ = job.pace.set(SetPace { pace, seed });
    }
    Ok(())
}

/// Batches, calls or operations a second that a job reaches without a pace.
async fn closed_rate(job: &Arc<Job>, interrupt: &Interrupt) -> Result<f64, Stop> {
    let live: Vec<Arc<Live>> = (0..job.load.threads).map(|_| Arc::default()).collect();
    let (repeat, ended) = load::repeat(job, &live, interrupt).await;
    ended?;
    let done = repeat.recording.counts.transfer;
    let done = match &job.work {
        JobWork::Mixed(_) => done.operations as f64,
        _ => done.batches as f64,
    };
    let rate = done / repeat.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    if done == 0.0 {
        let why = repeat.recording.errors.sentence();
        return Err(Stop::failed(anyhow::anyhow!("a closed loop moved nothing: {why}")));
    }
    Ok(rate)
}

/// Measures every row once a round. The order is reversed in every other round, so that a drift of
/// the machine within rounds hits all rows alike.
async fn rounds(
    config: &Config,
    first_round: u64,
    jobs: &[Arc<Job>],
    variants: &mut [Variant],
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<(), Stop> {
    let load = &config.load;
    progress.expect(load.repeats * jobs.len());
    for round in 0..load.repeats {
        for (order, index) in order_of(round, jobs.len()).into_iter().enumerate() {
            let job = &jobs[index];
            job.turn_to(first_round.saturating_add(round as u64));
            // A mix is one job; the variants of its parts follow its own.
            let [variant, parts @ ..] = &mut variants[index..] else { continue };
            let live: Vec<Arc<Live>> = (0..load.threads).map(|_| Arc::default()).collect();
            let row = row_of(variant, parts);
            let measuring = load::repeat(job, &live, interrupt);
            let (mut repeat, ended) = progress.watch(&row, &live, measuring).await;
            let of_parts = std::mem::take(&mut repeat.recording.parts);
            for (variant, recording) in parts.iter_mut().zip(of_parts) {
                let repeat = Repeat::of(recording, repeat.elapsed, None);
                variant.measured.push(Measured::new(round, order, repeat, ended.is_ok()));
            }
            let measured = Measured::new(round, order, repeat, ended.is_ok());
            let rate = measured.moved().then(|| match row.counted {
                Counted::Bytes => measured.rate(|amount| amount.logical_bytes),
                Counted::Calls | Counted::Connections => measured.rate(|amount| amount.batches),
            });
            progress.repeat_done(&row, round, rate);
            variant.measured.push(measured);
            ended?;
        }
    }
    Ok(())
}

/// What failed before the clock started, and went well afterwards.
fn early(variants: &[Variant]) -> Option<Warning> {
    let mut all = ErrorTally::default();
    let whole = variants.iter().filter(|variant| variant.part.is_none());
    for measured in whole.flat_map(|variant| &variant.measured) {
        all.merge(&measured.repeat.recording.early_errors);
    }
    let codes: Vec<&str> = all.iter().map(|(code, _)| code).collect();
    let count = match all.total() {
        0 => return None,
        1 => "1 call".to_owned(),
        count => format!("{count} calls"),
    };
    Some(Warning::of_run(
        "warm-up",
        format!("{count} failed before the clock started: {}", codes.join(", ")),
        "they are not among the errors of the figures",
        "the server's log of that time",
    ))
}

/// What the measured calls have shown of the server.
fn shown_by(results: &Results) -> Caps {
    let mut caps = Caps::default();
    for variant in &results.variants {
        let capability = match variant.workload {
            Workload::Get => Capability::Get,
            Workload::Put => Capability::Put,
            Workload::Exchange => Capability::Exchange,
            Workload::Unary if results.record.call.as_deref() == Some(Call::Action.name()) => {
                Capability::Action
            }
            Workload::Unary | Workload::Tls | Workload::Mixed => continue,
        };
        if variant.measured.iter().any(Measured::moved) {
            caps.note(capability, true);
        } else if variant.errors().iter().any(|(code, _)| code == LACKS) {
            caps.note(capability, false);
        }
    }
    caps
}

/// A variant as the progress display shows it, with those of the parts that it has.
fn row_of(variant: &Variant, parts: &[Variant]) -> Row {
    let moves_batches = match variant.workload {
        Workload::Mixed => parts.iter().any(|part| part.workload.moves_batches()),
        workload => workload.moves_batches(),
    };
    let counted = match variant.workload {
        _ if moves_batches => Counted::Bytes,
        Workload::Tls => Counted::Connections,
        _ => Counted::Calls,
    };
    Row { name: variant.id(), counted }
}

pub(crate) fn order_of(round: usize, rows: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..rows).collect() } else { (0..rows).rev().collect() }
}

/// How the run ended: by what stopped it or, once it came to its end, by what it found.
fn outcome(results: &Results, ended: Result<(), Stop>, taken_down: Result<(), Stop>) -> Outcome {
    let measured = |variant: &Variant| variant.measured.iter().all(|one| one.complete);
    let complete = ended.is_ok() && results.variants.iter().all(measured);
    let stopped = ended.err().or_else(|| finding(results));
    let stops: Vec<Stop> = stopped.into_iter().chain(taken_down.err()).collect();
    let exit = match stops.first().map_or(Exit::Done, |stop| stop.exit) {
        // A server that was there and is gone has failed; code 5 is for one that never was.
        Exit::Unreachable if !results.variants.is_empty() => Exit::Failed,
        exit => exit,
    };
    let reasons: Vec<String> = stops.iter().map(ToString::to_string).collect();
    let error = (!reasons.is_empty()).then(|| reasons.join("; "));
    Outcome { exit, error, complete }
}

/// What is wrong with a run that came to its end.
fn finding(results: &Results) -> Option<Stop> {
    let failed = |sentence: String| Some(Stop::failed(anyhow::Error::msg(sentence)));
    if results.verify.as_ref().is_some_and(|verify| !verify.equal) {
        return failed("what arrived is not what was sent".to_owned());
    }
    let errors = results.errors();
    match errors.total() {
        0 => None,
        _ if !results.have_figures() => failed(format!("nothing was moved: {}", errors.sentence())),
        1 => failed("1 call failed; the figures are of those that did not".to_owned()),
        count => failed(format!("{count} calls failed; the figures are of those that did not")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{results, single};

    #[test]
    fn failures_from_before_the_clock_are_told_together() {
        let mut run = single(Workload::Get);
        assert_eq!(early(&run.variants), None);
        for (measured, code) in run.variants[0].measured.iter_mut().zip([
            "RESOURCE_EXHAUSTED",
            "UNAVAILABLE",
            "UNAVAILABLE",
        ]) {
            let failure = crate::record::Failure::new(code, "it starts");
            measured.repeat.recording.early_errors.add(failure);
        }
        let told = early(&run.variants).expect("three failed").to_string();
        let want = "3 calls failed before the clock started: RESOURCE_EXHAUSTED, UNAVAILABLE";
        assert!(told.contains(want), "{told}");
        assert_eq!(run.errors().total(), 0);
    }

    #[test]
    fn nothing_answers_only_where_nothing_ever_answered() {
        let gone = || Stop::unreachable(anyhow::anyhow!("cannot reach grpc://h:1"));
        let check = |results: Results, ended, taken_down, code: u8, error: Option<&str>| {
            let got = outcome(&results, ended, taken_down);
            assert_eq!((got.exit.code(), got.error.as_deref()), (code, error));
            assert_eq!(got.complete, error.is_none());
        };
        let reached = || single(Workload::Put);
        let gone_says = Some("cannot reach grpc://h:1");
        check(results(&[]), Err(gone()), Ok(()), 5, gone_says);
        check(reached(), Err(gone()), Ok(()), 1, gone_says);
        let both = "interrupted; what was measured so far is reported; cannot reach grpc://h:1";
        check(reached(), Err(Stop::interrupted()), Err(gone()), 130, Some(both));
        check(reached(), Ok(()), Ok(()), 0, None);
    }

    #[test]
    fn uploads_that_are_left_behind_fail_a_run_whose_figures_are_complete() {
        let left = Stop::unreachable(anyhow::anyhow!("cannot reach grpc://h:1"));
        let got = outcome(&single(Workload::Put), Ok(()), Err(left));
        assert_eq!((got.exit.code(), got.complete), (1, true));
    }

    #[test]
    fn failures_fail_the_run_and_are_named_where_there_is_no_figure_to_stand_beside() {
        let mut some = single(Workload::Get);
        let failure = || crate::record::Failure::new("NOT_FOUND", "no such ticket");
        some.variants[0].measured[0].repeat.recording.errors.add(failure());
        let check = |results: &Results, complete, want: &str| {
            let got = outcome(results, Ok(()), Ok(()));
            assert_eq!((got.exit.code(), got.complete), (1, complete));
            assert_eq!(got.error.as_deref(), Some(want));
        };
        check(&some, true, "1 call failed; the figures are of those that did not");
        let mut none = some;
        none.variants[0].measured.truncate(1);
        none.variants[0].measured[0].repeat.recording.counts = crate::record::Counts::default();
        none.variants[0].measured[0].complete = false;
        check(&none, false, "nothing was moved: NOT_FOUND: no such ticket");
    }

    #[test]
    fn every_other_round_goes_backwards() {
        assert_eq!(order_of(0, 3), [0, 1, 2]);
        assert_eq!(order_of(1, 3), [2, 1, 0]);
        assert_eq!(order_of(2, 1), [0]);
    }
}
