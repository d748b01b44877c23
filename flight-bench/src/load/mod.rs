//! Runs one repeat: worker threads, the barrier, the window, and what they add up to.
//!
//! Each worker thread has a runtime of its own and owns its connections and streams; nothing moves
//! between threads. Streams report once when they run. Then the window is set, and when it closes
//! what still runs is cancelled, but for uploads that were sent whole: nothing in flight is credited.

mod clock;
mod connect;
mod exchange;
mod gate;
mod get;
mod job;
mod lender;
mod link;
mod mixed;
mod pace;
mod paced;
mod put;
mod resources;
mod seed;
mod sockets;
mod stream;
mod timeline;
mod timer;
mod unary;
mod worker;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::config::Extent;
use crate::exit::Stop;
use crate::limits;
use crate::record::{Live, Recording};
use gate::Gate;

pub(crate) use clock::{ClockInUse, in_use as clock_in_use, ticker};
pub(crate) use gate::Interrupt;
pub(crate) use job::{
    Acks, ConnectJob, ExchangeJob, GetCheck, GetJob, Job, JobWork, MixedJob, OperationJob, PutJob,
    SetPace, UnaryJob,
};
pub(crate) use resources::Resources;
use resources::{Watch, sampled};
pub(crate) use seed::Seed;
pub(crate) use sockets::{TcpAmounts, TcpSpent};
pub(crate) use timeline::CpuSample;
pub(crate) use unary::Request;
pub(crate) use worker::WORKER;

/// What one repeat measured.
pub(crate) struct Repeat {
    pub(crate) recording: Recording,
    /// What rates are divided by.
    pub(crate) elapsed: Duration,
    /// From the first stream's end to the last one's, in a run that ends by itself.
    pub(crate) tail: Option<Duration>,
    /// From the repeat's start to the moment when its clock began, in a run that ends by itself:
    /// what its streams took to connect.
    pub(crate) set_up: Option<Duration>,
    /// Unknown where the kernel does not tell, or no window was opened.
    pub(crate) resources: Option<Resources>,
    /// In the course of the window; empty where the resources are unknown.
    pub(crate) timeline: Vec<CpuSample>,
}

impl Repeat {
    /// What was recorded, without what was used for it.
    pub(crate) fn of(recording: Recording, elapsed: Duration, tail: Option<Duration>) -> Self {
        Self { recording, elapsed, tail, set_up: None, resources: None, timeline: Vec::new() }
    }

    /// Whether all that happened is failures.
    pub(crate) fn has_failures_alone(&self) -> bool {
        self.recording.counts.transfer.batches == 0 && self.recording.errors.total() > 0
    }
}

/// Runs the job once, with new connections. `live` has a counter for each thread.
///
/// # Errors
///
/// No stream could move a batch, or some neither moved one nor failed in time. What was recorded
/// until then comes with the error.
pub(crate) async fn repeat(
    job: &Arc<Job>,
    live: &[Arc<Live>],
    interrupt: &Interrupt,
) -> (Repeat, Result<(), Stop>) {
    let began = Instant::now();
    let gate = Arc::new(Gate::new(job.load.streams));
    let mut workers = Vec::with_capacity(job.load.threads);
    for (thread, live) in live.iter().enumerate().take(job.load.threads) {
        workers.push(worker::spawn(Arc::clone(job), Arc::clone(&gate), thread, Arc::clone(live)));
    }
    let watch = RefCell::new(None);
    let outcome = tokio::select! {
        outcome = conduct(job, &gate, live, &watch) => outcome,
        () = interrupt.wait() => Err(Stop::interrupted()),
        // Without a window, the run is over when all workers are.
        () = gate.all_done() => Ok(()),
    };
    let ended = Instant::now();
    let watched = watch.take().and_then(Watch::end);
    gate.close(ended);
    let mut recording = Recording::default();
    let mut outcome = outcome;
    for worker in workers {
        match joined(worker).await {
            Ok(part) => recording.merge(part),
            Err(stop) => outcome = Err(stop),
        }
    }
    // A stream that moved nothing did not get going: why is part of what was measured.
    let idle = recording.streams.iter().any(|stream| stream.transfer.batches == 0);
    if outcome.is_err() || gate.opened().is_none() || idle {
        recording.count_early_errors();
    }
    let (resources, timeline) = watched.unzip();
    let timeline = timeline.unwrap_or_default();
    let opened = gate.opened().filter(|_| job.window().is_none());
    let set_up = opened.map(|opened| opened.saturating_duration_since(began));
    let repeat = Repeat { resources, timeline, set_up, ..summed(job, &gate, recording, ended) };
    if outcome.is_ok() && gate.started_streams() == 0 {
        let why = repeat.recording.errors.sentence();
        outcome = Err(Stop::failed(anyhow::anyhow!("no stream could run: {why}")));
    }
    (repeat, outcome)
}

/// Waits until all streams run, sets the window and waits until it is over.
async fn conduct(
    job: &Job,
    gate: &Gate,
    live: &[Arc<Live>],
    watch: &RefCell<Option<Watch>>,
) -> Result<(), Stop> {
    match tokio::time::timeout(limits::START_TIMEOUT, gate.all_reported()).await {
        Ok(()) if gate.started_streams() == 0 => return Ok(()),
        Ok(()) => {}
        Err(_) => {
            let missing = gate.unreported_streams();
            return Err(Stop::failed(anyhow::anyhow!(
                "{missing} of {} streams moved no batch within {:?}: the server sends nothing, or \
                 takes fewer streams on a connection (--connections)",
                job.load.streams,
                limits::START_TIMEOUT
            )));
        }
    }
    let now = Instant::now();
    let Some((warmup, duration)) = job.window() else {
        // The time at which senders of whole uploads stop; readers never look at it.
        let stop = match job.load.extent {
            Extent::Window { duration, .. } => Some(now + duration),
            _ => None,
        };
        gate.open(now, None, stop);
        watch.replace(Watch::begin(job.server_pid, gate.sockets()));
        return Err(tokio::select! {
            stop = stalled(live) => stop,
            never = sampled(watch) => match never {},
        });
    };
    let (opens, closes) = (now + warmup, now + warmup + duration);
    gate.open(opens, Some(closes), None);
    tokio::time::sleep_until(opens.into()).await;
    watch.replace(Watch::begin(job.server_pid, gate.sockets()));
    tokio::select! {
        // First, so that no sample stands between the end of the window and its last one.
        biased;
        () = tokio::time::sleep_until(closes.into()) => Ok(()),
        never = sampled(watch) => match never {},
    }
}

/// Ends when nothing has moved for [`limits::STALL_TIMEOUT`].
async fn stalled(live: &[Arc<Live>]) -> Stop {
    let batches = || live.iter().map(|live| live.batches()).sum::<u64>();
    let mut before = None;
    while before != Some(batches()) {
        before = Some(batches());
        tokio::time::sleep(limits::STALL_TIMEOUT).await;
    }
    Stop::failed(anyhow::anyhow!(
        "no batch was moved for {:?}; the server stalls",
        limits::STALL_TIMEOUT
    ))
}

fn summed(job: &Job, gate: &Gate, recording: Recording, ended: Instant) -> Repeat {
    let Some(opened) = gate.opened() else {
        return Repeat::of(recording, Duration::ZERO, None);
    };
    if job.window().is_some() {
        let closed = gate.closes().map_or(ended, |closes| closes.min(ended));
        let elapsed = closed.saturating_duration_since(opened);
        let mut recording = recording;
        recording.streams.iter_mut().for_each(|stream| stream.ended(opened, closed));
        return Repeat::of(recording, elapsed, None);
    }
    let done: Vec<Instant> = recording.streams.iter().filter_map(|s| s.done).collect();
    let all = done.len() == recording.streams.len();
    let (first, last) = (done.iter().min().copied(), done.iter().max().copied());
    let last = if all { last.unwrap_or(ended) } else { ended };
    let tail = if all { first.map(|first| last - first) } else { None };
    let elapsed = last.saturating_duration_since(opened);
    Repeat::of(recording, elapsed, tail)
}

async fn joined(worker: oneshot::Receiver<Recording>) -> Result<Recording, Stop> {
    worker.await.map_err(|_| {
        Stop::failed(anyhow::anyhow!("a worker thread of this program died; please report it"))
    })
}
