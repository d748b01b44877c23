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
mod link;
mod mixed;
mod pace;
mod paced;
mod put;
mod resources;
mod sockets;
mod stream;
mod timeline;
mod timer;
mod unary;
mod worker;

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use flight_net::client::{Connector, Sockets};
use tokio::sync::oneshot;

use crate::config::{Extent, Load, Pace, Resume};
use crate::exit::Stop;
use crate::limits;
use crate::record::{Failure, Live, Metric, Recording};
use crate::target::{Capability, Plan};
use crate::workload::Pool;
use gate::Gate;
use link::Link;

pub(crate) use clock::{ClockInUse, in_use as clock_in_use, ticker};
pub(crate) use gate::Interrupt;
pub(crate) use resources::Resources;
use resources::{Watch, sampled};
pub(crate) use sockets::TcpSpent;
pub(crate) use timeline::CpuSample;
pub(crate) use unary::Request;
pub(crate) use worker::WORKER;

/// Everything that a repeat needs; made before the clock starts, shared by all threads.
pub(crate) struct Job {
    pub(crate) connector: Connector,
    pub(crate) load: Load,
    pub(crate) work: JobWork,
    /// The server's process, where it runs on this machine and is known.
    pub(crate) server_pid: Option<u32>,
    /// Of an open loop, once it is known; until then, and without one, the loop is closed.
    pub(crate) pace: OnceLock<Pace>,
}

pub(crate) enum JobWork {
    Get(GetJob),
    Put(PutJob),
    Unary(UnaryJob),
    Connect(ConnectJob),
    Exchange(ExchangeJob),
    Mixed(MixedJob),
}

/// What streams draw from.
pub(crate) struct MixedJob {
    /// Each with its weight.
    pub(crate) parts: Vec<(u64, OperationJob)>,
    pub(crate) seed: u64,
}

/// What one operation of a mix does.
pub(crate) enum OperationJob {
    /// Reads the whole source once.
    Get(GetJob),
    /// Makes one upload.
    Put(PutJob),
    /// Makes one call that exchanges so many batches.
    Exchange { job: ExchangeJob, batches: u64 },
    /// Makes one call.
    Unary(UnaryJob),
}

/// What streams send to be sent back.
pub(crate) struct ExchangeJob {
    pub(crate) pool: Arc<Pool>,
    /// The encoded descriptor of the first message.
    pub(crate) descriptor: Vec<u8>,
    pub(crate) message_bytes: usize,
    pub(crate) inflight: usize,
}

/// How streams connect.
pub(crate) struct ConnectJob {
    pub(crate) resume: Resume,
}

/// What streams call.
pub(crate) struct UnaryJob {
    pub(crate) request: Request,
    /// What the call takes of a server.
    pub(crate) capability: Capability,
}

impl UnaryJob {
    fn explained(&self, failure: Failure) -> Failure {
        self.capability.explained(failure)
    }
}

/// What streams read.
pub(crate) struct GetJob {
    /// One for each source; stream `i` takes plan `i` modulo their number.
    pub(crate) plans: Vec<Plan>,
    /// What connects to places other than the target.
    pub(crate) places: Vec<Connector>,
    pub(crate) max_message_bytes: usize,
    pub(crate) check: GetCheck,
}

/// What is compared when a source was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GetCheck {
    Nothing,
    /// Rows and schema with what the server announced.
    Count,
    /// Also every batch with the checksum that the server sent; not for measured repeats.
    Checksum,
}

/// What streams write.
pub(crate) struct PutJob {
    pub(crate) pool: Arc<Pool>,
    /// The encoded descriptor of each stream's uploads.
    pub(crate) descriptors: Vec<Vec<u8>>,
    pub(crate) message_bytes: usize,
    pub(crate) inflight: usize,
    pub(crate) upload_bytes: u64,
    pub(crate) acks: Acks,
    /// Compare the rows that the server reports with those sent.
    pub(crate) check_count: bool,
    /// What to write where the server refuses to create what exists.
    pub(crate) if_exists: Option<String>,
}

/// What a server acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acks {
    /// Each batch, by echoing its `app_metadata`.
    PerBatch,
    /// Whole uploads alone: they are credited when they are committed.
    Final,
}

/// What one repeat measured.
pub(crate) struct Repeat {
    pub(crate) recording: Recording,
    /// What rates are divided by.
    pub(crate) elapsed: Duration,
    /// From the first stream's end to the last one's, in a run that ends by itself.
    pub(crate) tail: Option<Duration>,
    /// Unknown where the kernel does not tell, or no window was opened.
    pub(crate) resources: Option<Resources>,
    /// In the course of the window; empty where the resources are unknown.
    pub(crate) timeline: Vec<CpuSample>,
}

impl Repeat {
    /// What was recorded, without what was used for it.
    pub(crate) fn of(recording: Recording, elapsed: Duration, tail: Option<Duration>) -> Self {
        Self { recording, elapsed, tail, resources: None, timeline: Vec::new() }
    }

    /// Whether all that happened is failures.
    pub(crate) fn has_failures_alone(&self) -> bool {
        self.recording.counts.transfer.batches == 0 && self.recording.errors.total() > 0
    }
}

impl PutJob {
    /// Adds the way out to a refusal to create what exists.
    fn explained(&self, failure: Failure) -> Failure {
        match &self.if_exists {
            Some(way_out) if failure.code == "ALREADY_EXISTS" => {
                Failure::new(failure.code, format!("{}; {way_out}", failure.sentence))
            }
            _ => failure,
        }
    }
}

impl Job {
    /// The connections of some streams, whose sockets are looked at. Those that are made all the time
    /// are not: a second descriptor of each would be part of what is measured.
    fn link(&self, sockets: &Sockets) -> Link {
        let watched = |connector: &Connector| connector.watched(sockets.clone());
        match &self.work {
            JobWork::Connect(_) => Link::new(self.connector.clone(), &[]),
            _ => {
                let places: Vec<_> = self.places().iter().map(watched).collect();
                Link::new(watched(&self.connector), &places)
            }
        }
    }

    /// What connects to places other than the target.
    fn places(&self) -> &[Connector] {
        match &self.work {
            JobWork::Get(get) => &get.places,
            _ => &[],
        }
    }

    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let (first, closed, open): (_, &[Metric], &[Metric]) = match &self.work {
            JobWork::Get(_) => (Some(Metric::Connect), &GET, &GET_OPEN),
            JobWork::Put(_) => {
                (Some(Metric::Connect), &PUT, &[Metric::PutResponse, Metric::PutLag])
            }
            JobWork::Exchange(_) => {
                (Some(Metric::Connect), &EXCHANGE, &[Metric::ExchangeResponse, Metric::ExchangeLag])
            }
            JobWork::Connect(_) => (None, &CONNECT, &[Metric::ConnectResponse, Metric::ConnectLag]),
            JobWork::Unary(_) => {
                (Some(Metric::Connect), &UNARY, &[Metric::UnaryResponse, Metric::UnaryLag])
            }
            JobWork::Mixed(_) => (Some(Metric::Connect), &MIXED, &MIXED_OPEN),
        };
        let open = if self.pace.get().is_some() { open } else { &[] };
        first.into_iter().chain(closed.iter().copied()).chain(open.iter().copied()).collect()
    }

    /// The metrics of each part of a mix; none without a mix.
    fn metrics_of_parts(&self) -> Vec<Vec<Metric>> {
        let JobWork::Mixed(mix) = &self.work else { return Vec::new() };
        let open: &[Metric] = if self.pace.get().is_some() { &MIXED_OPEN } else { &[] };
        let of = |(_, operation): &(u64, OperationJob)| {
            let own: &[Metric] = match operation {
                OperationJob::Get(_) => &GET,
                OperationJob::Put(_) => &PUT,
                OperationJob::Exchange { .. } => &EXCHANGE,
                OperationJob::Unary(_) => &UNARY,
            };
            [own, &MIXED, open].concat()
        };
        mix.parts.iter().map(of).collect()
    }

    /// The window that the job has; absent where a repeat ends by itself. Uploads that are only
    /// acknowledged as a whole end by themselves too, after the window's time.
    fn window(&self) -> Option<(Duration, Duration)> {
        let whole_uploads = matches!(&self.work, JobWork::Put(PutJob { acks: Acks::Final, .. }));
        match self.load.extent {
            Extent::Window { warmup, duration } if !whole_uploads => Some((warmup, duration)),
            _ => None,
        }
    }
}

const GET: [Metric; 4] =
    [Metric::GetInfo, Metric::GetFirstBatch, Metric::GetWait, Metric::GetStream];
const GET_OPEN: [Metric; 3] = [Metric::GetDelivery, Metric::GetResponse, Metric::GetLag];
const PUT: [Metric; 4] =
    [Metric::PutFirstAck, Metric::PutAck, Metric::PutWriteWait, Metric::PutCommit];
const EXCHANGE: [Metric; 1] = [Metric::ExchangeRoundTrip];
const CONNECT: [Metric; 3] = [Metric::ConnectSocket, Metric::ConnectTls, Metric::ConnectReady];
const UNARY: [Metric; 1] = [Metric::UnaryService];
const MIXED: [Metric; 1] = [Metric::MixedService];
const MIXED_OPEN: [Metric; 2] = [Metric::MixedResponse, Metric::MixedLag];

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
    let repeat = Repeat { resources, timeline, ..summed(job, &gate, recording, ended) };
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
