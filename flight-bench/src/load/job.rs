//! What a repeat is told to do: made before the clock starts, shared by all threads.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use flight_net::client::{Connector, Sockets};
use flight_tls::Negotiated;

use super::Request;
use super::lender::Lender;
use super::link::Link;
use super::seed::Seed;
use crate::config::{Connect, Extent, Load, Pace, Resume};
use crate::record::{Failure, Metric};
use crate::target::{Capability, Plan};
use crate::workload::Pool;

/// Everything that a repeat needs; made before the clock starts, shared by all threads.
pub(crate) struct Job {
    pub(crate) connector: Connector,
    pub(crate) load: Load,
    pub(crate) work: JobWork,
    /// The server's process, where it runs on this machine and is known.
    pub(crate) server_pid: Option<u32>,
    /// Of an open loop, once it is known; until then, and without one, the loop is closed.
    pub(crate) pace: OnceLock<SetPace>,
}

/// The pace of an open loop, and what its arrivals are drawn by.
pub(crate) struct SetPace {
    pub(crate) pace: Pace,
    pub(crate) seed: Seed,
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
    pub(crate) seed: Seed,
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
    /// What the first connection agreed on, and every other has to; absent in plaintext.
    pub(crate) agreed: Option<Negotiated>,
}

/// What streams call.
pub(crate) struct UnaryJob {
    pub(crate) request: Request,
    /// What the call takes of a server.
    pub(crate) capability: Capability,
    pub(crate) connect: Connect,
    /// How long a connection of a call stays open after it.
    pub(crate) linger: Option<Duration>,
}

impl UnaryJob {
    pub(super) fn explained(&self, failure: Failure) -> Failure {
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

impl PutJob {
    /// Adds the way out to a refusal to create what exists.
    pub(super) fn explained(&self, failure: Failure) -> Failure {
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
    ///
    /// `connections` is how many they have, where they have a pool of them.
    pub(super) fn link(&self, sockets: &Sockets, connections: usize) -> Link {
        let watched = |connector: &Connector| connector.watched(sockets.clone());
        match &self.work {
            JobWork::Connect(_) => Link::new(self.connector.clone(), &[], None),
            JobWork::Unary(UnaryJob { connect, linger, .. }) if *connect != Connect::Shared => {
                let connector = match connect.is_own() {
                    true => self.connector.clone(),
                    false => watched(&self.connector),
                };
                let lenders = self.load.connections;
                let lender =
                    Lender::new(connector.clone(), *connect, connections, *linger, lenders);
                Link::new(connector, &[], Some(lender))
            }
            _ => {
                let places: Vec<_> = self.places().iter().map(watched).collect();
                Link::new(watched(&self.connector), &places, None)
            }
        }
    }

    /// Whether the streams of a thread share all of its connections.
    pub(super) fn is_pooled(&self) -> bool {
        matches!(&self.work, JobWork::Unary(UnaryJob { connect: Connect::Pooled(_), .. }))
    }

    /// What connects to places other than the target.
    fn places(&self) -> &[Connector] {
        match &self.work {
            JobWork::Get(get) => &get.places,
            _ => &[],
        }
    }

    /// Whatever is drawn at random is another draw in another round.
    pub(crate) fn turn_to(&self, round: u64) {
        if let Some(set) = self.pace.get() {
            set.seed.turn_to(round);
        }
        if let JobWork::Mixed(mix) = &self.work {
            mix.seed.turn_to(round);
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
    pub(super) fn metrics_of_parts(&self) -> Vec<Vec<Metric>> {
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
    pub(super) fn window(&self) -> Option<(Duration, Duration)> {
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
const CONNECT: [Metric; 5] = [
    Metric::ConnectSocket,
    Metric::ConnectTls,
    Metric::ConnectHttp2,
    Metric::ConnectFirstCall,
    Metric::ConnectReady,
];
const UNARY: [Metric; 1] = [Metric::UnaryService];
const MIXED: [Metric; 1] = [Metric::MixedService];
const MIXED_OPEN: [Metric; 2] = [Metric::MixedResponse, Metric::MixedLag];
