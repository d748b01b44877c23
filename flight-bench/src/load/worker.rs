//! One worker thread: a runtime of its own, its connections, its streams, its recorder.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flight_sample::arrivals::Schedule;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};

use super::gate::Gate;
use super::link::Link;
use super::pace::Pacer;
use super::paced::Paced;
use super::stream::Stream;
use super::{Job, JobWork, clock, connect, exchange, get, mixed, put, unary};
use crate::limits;
use crate::record::{Failure, Live, Recorder, Recording};

/// What the names of worker threads begin with.
pub(crate) const WORKER: &str = "worker-";

/// Starts worker `thread`; what it recorded comes when the repeat is over.
pub(super) fn spawn(
    job: Arc<Job>,
    gate: Arc<Gate>,
    thread: usize,
    live: Arc<Live>,
) -> oneshot::Receiver<Recording> {
    let (sender, receiver) = oneshot::channel();
    // Its name tells it from the others of this process, where its time is looked at.
    let named = std::thread::Builder::new().name(format!("{WORKER}{thread}"));
    let started = named.spawn(move || {
        let recording = work(&job, &gate, thread, live);
        // The conductor waits for every worker; if it died, nobody wants the recording.
        let _ = sender.send(recording);
    });
    // Without a thread, the sender is gone and the conductor hears of it.
    drop(started);
    receiver
}

fn work(job: &Arc<Job>, gate: &Arc<Gate>, thread: usize, live: Arc<Live>) -> Recording {
    clock::begin_on_this_thread();
    let streams = streams_of(job, thread);
    let recorder = Recorder::new(gate.window(), live, &job.metrics(), streams.iter().copied());
    let recorder = recorder.with_parts(job.metrics_of_parts());
    let recorder = Rc::new(RefCell::new(recorder));
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            // Out of file descriptors, as a rule.
            for _ in &streams {
                gate.report(false);
                gate.stream_done();
            }
            let sentence = format!("a worker thread cannot start its runtime: {error}");
            recorder.borrow_mut().failed(Failure::new("CONNECT", sentence), clock::now());
            return take(recorder);
        }
    };
    {
        let tasks = LocalSet::new();
        tasks.block_on(&runtime, run(job, gate, thread, &streams, &recorder));
        // Dropped here with all that still runs: streams are reset and connections closed.
    }
    drop(runtime);
    take(recorder)
}

async fn run(
    job: &Arc<Job>,
    gate: &Arc<Gate>,
    thread: usize,
    streams: &[(usize, usize)],
    recorder: &Rc<RefCell<Recorder>>,
) {
    let mut links: Vec<(usize, Rc<Link>)> = Vec::new();
    let pacer = pacer(job, thread, streams.len());
    let mut tasks = JoinSet::new();
    let connections = (thread..job.load.connections).step_by(job.load.threads).len();
    for (slot, (id, connection)) in streams.iter().copied().enumerate() {
        let place = if job.is_pooled() { thread } else { connection };
        let known = links.iter().find(|(index, _)| *index == place);
        let link = match known {
            Some((_, link)) => Rc::clone(link),
            None => {
                let sockets = gate.sockets().owned_by(place);
                let link = Rc::new(job.link(&sockets, connections));
                links.push((place, Rc::clone(&link)));
                link
            }
        };
        let (recorder, gate) = (Rc::clone(recorder), Arc::clone(gate));
        let paced = Paced::of(job, id);
        let stream = Stream::new(id, slot, link, recorder, gate, pacer.clone(), paced);
        let job = Arc::clone(job);
        tasks.spawn_local(async move {
            tokio::select! {
                biased;
                () = stream.cut_off() => {}
                () = work_on(&stream, &job) => {
                    if !stream.gate.is_over() {
                        stream.finished();
                    }
                }
            }
        });
    }
    let all = async {
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                // A fault of this program: let it end the thread, which the conductor sees.
                std::panic::resume_unwind(error.into_panic());
            }
        }
        // This thread and its connections stay until what they used has been looked at.
        gate.over().await;
    };
    let over = async {
        gate.over().await;
        tokio::time::sleep(limits::COMMIT_TIMEOUT).await;
    };
    let paced = async {
        let ended = match &pacer {
            Some(pacer) => pacer.run().await,
            None => std::future::pending().await,
        };
        let Err(error) = ended else { return };
        let sentence = format!("there is no timer for --rate: {error}");
        recorder.borrow_mut().failed(Failure::new("TIMER", sentence), clock::now());
    };
    tokio::select! {
        () = all => {}
        () = over => {}
        () = paced => {}
    }
}

/// What a stream does, until it has done all that it had to.
async fn work_on(stream: &Stream, job: &Job) {
    let extent = job.load.extent;
    match &job.work {
        JobWork::Get(get) => get::run(stream, get, extent).await,
        JobWork::Put(put) => put::run(stream, put, extent).await,
        JobWork::Exchange(work) => exchange::run(stream, work, extent).await,
        JobWork::Connect(how) => connect::run(stream, how, extent).await,
        JobWork::Unary(unary) => unary::run(stream, unary, extent).await,
        JobWork::Mixed(mix) => mixed::run(stream, mix, extent).await,
    }
}

/// What lets this thread's streams go, in an open loop; its share of the rate is that of its streams.
fn pacer(job: &Job, thread: usize, streams: usize) -> Option<Rc<Pacer>> {
    let set = job.pace.get()?;
    let pace = set.pace;
    if matches!(job.work, JobWork::Get(_)) {
        return None; // The server paces what it sends.
    }
    let share = streams as f64 / job.load.streams as f64;
    let (per_second, seed) = (pace.per_second * share, set.seed.get().wrapping_add(thread as u64));
    // Threads that tick alike would tick at once.
    let ahead = thread as f64 / job.load.threads as f64 / per_second;
    let begin = move || {
        let start = Instant::now() + Duration::from_secs_f64(ahead);
        Schedule::new(start, per_second, pace.arrival.into(), seed)
    };
    Some(Rc::new(Pacer::new(Box::new(begin))))
}

/// The streams of a thread as (id, connection): a connection belongs to one thread.
fn streams_of(job: &Job, thread: usize) -> Vec<(usize, usize)> {
    let load = &job.load;
    let with_connection = |id| (id, id % load.connections);
    let mine = |(_, connection): &(usize, usize)| connection % load.threads == thread;
    (0..load.streams).map(with_connection).filter(mine).collect()
}

fn take(recorder: Rc<RefCell<Recorder>>) -> Recording {
    let recorder = Rc::into_inner(recorder).expect("the streams are gone, and their shares too");
    recorder.into_inner().into_recording()
}
