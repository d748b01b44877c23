//! Runs the arms of a group in interleaved rounds.
//!
//! Rounds go forwards and backwards in turn, so that a drift of the machine hits all arms alike;
//! ratios are taken within each round.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result, bail};
use flight_perf::tally::Tally;
use serde::Deserialize;

use crate::arms::{Arm, ClientKind, Unit};
use crate::machine;
use crate::process;
use crate::stage::Stage;

/// What one run of an arm measured.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// Bytes of IPC bodies, or calls, a second.
    pub(crate) rate: f64,
    /// Of the server, a gigabyte; absent where there is no server or no bytes.
    pub(crate) server_cpu_per_gb: Option<f64>,
    /// Of flight-bench as the client, a gigabyte.
    pub(crate) client_cpu_per_gb: Option<f64>,
    /// Which of its HTTP/2 connections flight-bench used, where it says so.
    pub(crate) transport: Option<String>,
}

/// The samples of the arms, a round each, or why an arm has none.
pub(crate) type Samples = BTreeMap<&'static str, Result<Vec<Sample>, Absent>>;

/// Why an arm has no samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Absent {
    /// A program lacks what it needs.
    Missing(String),
    /// It ran, and this went wrong.
    Failed(String),
}

/// The passes of one run stay below this, however fast an arm is.
const PASSES_MAX: f64 = 1e6;
/// Calls of the first run of an arm.
const CALLS_FIRST: u64 = 100;
/// The run that tells how many passes fill the time lasts so long at most.
const CALIBRATION_SECONDS: f64 = 0.2;

/// How long and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
}

/// Measures `arms`, which belong to one group; an arm that fails leaves its reason.
pub(crate) async fn group(
    stage: &mut Stage,
    arms: &[&'static Arm],
    extent: Extent,
    samples: &mut Samples,
) {
    let mut passes = BTreeMap::new();
    for arm in arms {
        let calibrated = calibrate(stage, arm, extent.seconds).await;
        samples.insert(
            arm.id,
            calibrated
                .map(|calibrated| {
                    passes.insert(arm.id, calibrated);
                    Vec::new()
                })
                .map_err(|error| Absent::Failed(format!("{error:#}"))),
        );
    }
    for round in 0..extent.rounds {
        let forwards = arms.iter();
        let order: Vec<_> =
            if round % 2 == 0 { forwards.collect() } else { forwards.rev().collect() };
        for arm in order {
            let Some(Ok(taken)) = samples.get_mut(arm.id) else { continue };
            match run(stage, arm, passes[arm.id]).await {
                Ok((sample, _)) => taken.push(sample),
                Err(error) => {
                    let failed = Absent::Failed(format!("{error:#}"));
                    let _ = samples.insert(arm.id, Err(failed));
                }
            }
        }
        say(&format!("{}: round {} of {}", arms[0].group, round + 1, extent.rounds));
    }
}

/// So many passes take about `seconds`. The runs also warm caches and connections' windows.
async fn calibrate(stage: &mut Stage, arm: &'static Arm, seconds: f64) -> Result<u64> {
    // The first connection of those that resume a session is not one of theirs.
    let mut passes = if arm.unit == Unit::Calls { CALLS_FIRST } else { 1 };
    for wanted in [seconds.min(CALIBRATION_SECONDS), seconds] {
        let (_, took) = run(stage, arm, passes).await?;
        passes = (passes as f64 * wanted / took.max(1e-6)).round().clamp(1.0, PASSES_MAX) as u64;
    }
    Ok(passes)
}

/// One run: what it measured, and how many seconds it took.
async fn run(stage: &mut Stage, arm: &'static Arm, passes: u64) -> Result<(Sample, f64)> {
    let (url, pid) = match arm.server {
        None => (String::new(), None),
        Some((kind, scheme)) => {
            let server = stage.server(kind).await?;
            (server.endpoint(scheme)?.to_owned(), Some(server.pid))
        }
    };
    let words = stage.client_words(arm, &url, passes);
    let program = stage.programs.client(arm.client);
    let before = pid.and_then(machine::cpu_seconds);
    let printed = process::run(&stage.scheduling, arm.side, &program, &words).await?;
    let after = pid.and_then(machine::cpu_seconds);
    let moved = Moved::read(arm.client, &printed).with_context(|| arm.id)?;
    let amount = match arm.unit {
        Unit::Rows(set) => moved.rows as f64 * stage.body_bytes_per_row(set),
        Unit::Bytes => moved.bytes as f64,
        Unit::Calls => moved.calls as f64,
    };
    if amount <= 0.0 || moved.seconds <= 0.0 {
        bail!("{}: nothing was moved", arm.id);
    }
    let cpu = after.zip(before).map(|(after, before)| after - before);
    let server_cpu_per_gb = cpu.filter(|_| arm.unit != Unit::Calls).map(|cpu| cpu / amount * 1e9);
    let client_cpu = moved.client_cpu_seconds.filter(|_| arm.unit != Unit::Calls);
    let client_cpu_per_gb = client_cpu.map(|cpu| cpu / amount * 1e9);
    let (rate, seconds) = (amount / moved.seconds, moved.seconds);
    let transport = moved.transport;
    Ok((Sample { rate, server_cpu_per_gb, client_cpu_per_gb, transport }, seconds))
}

/// What a client says it moved.
struct Moved {
    calls: u64,
    rows: u64,
    bytes: u64,
    seconds: f64,
    /// Within the window alone.
    client_cpu_seconds: Option<f64>,
    transport: Option<String>,
}

/// The part of flight-bench's JSON that is used.
#[derive(Deserialize)]
struct BenchRun {
    complete: bool,
    config: BenchConfig,
    repeats: Vec<BenchRepeat>,
}

#[derive(Deserialize)]
struct BenchConfig {
    transport: Option<String>,
}

#[derive(Deserialize)]
struct BenchRepeat {
    window_ns: f64,
    counts: BenchCounts,
    resources: Option<BenchResources>,
}

#[derive(Deserialize)]
struct BenchResources {
    client: BenchUsage,
}

#[derive(Deserialize)]
struct BenchUsage {
    cpu_ns: f64,
}

#[derive(Deserialize)]
struct BenchCounts {
    /// Calls and connections too.
    batches: u64,
    rows: u64,
}

impl Moved {
    fn read(client: ClientKind, printed: &[u8]) -> Result<Self> {
        if client != ClientKind::Bench {
            let tally: Tally = serde_json::from_slice(printed).context("no tally was printed")?;
            let Tally { calls, rows, bytes, seconds, .. } = tally;
            let (client_cpu_seconds, transport) = (None, None);
            return Ok(Self { calls, rows, bytes, seconds, client_cpu_seconds, transport });
        }
        let run: BenchRun = serde_json::from_slice(printed).context("no report was printed")?;
        let repeat = run.repeats.first().filter(|_| run.complete);
        let repeat = repeat.context("flight-bench did not complete its run")?;
        let (rows, seconds) = (repeat.counts.rows, repeat.window_ns / 1e9);
        let usage = repeat.resources.as_ref().map(|resources| &resources.client);
        let client_cpu_seconds = usage.map(|usage| usage.cpu_ns / 1e9);
        let (calls, transport) = (repeat.counts.batches, run.config.transport);
        Ok(Self { calls, rows, bytes: 0, seconds, client_cpu_seconds, transport })
    }
}

/// A line of progress on stderr. Where stderr is gone, there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "flight-perf: {text}");
}
