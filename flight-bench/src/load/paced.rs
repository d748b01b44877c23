//! DoGet in an open loop: the server sends at times that it draws, and says when each batch was due.

use std::cell::Cell;
use std::time::{Duration, Instant};

use flight_net::MachineClock;
use flight_wire::FlightMessage;
use flight_wire::protocol::{EmitStamp, PACE_HEADER, PaceRequest};
use tonic::metadata::MetadataMap;

use super::{Job, JobWork};
use crate::config::Arrival;
use crate::record::{Failure, Metric, Recorder};

/// Between the seeds of a stream's schedules, so that no two streams share one.
const STREAMS_APART: u64 = 1 << 32;

/// One stream of such batches, however often it is opened.
pub(super) struct Paced {
    request: PaceRequest,
    clock: MachineClock,
    opened: Cell<u64>,
    last: Cell<Option<EmitStamp>>,
}

impl Paced {
    /// What stream `id` asks the server for, in an open loop: its share of the rate.
    pub(super) fn of(job: &Job, id: usize) -> Option<Self> {
        let JobWork::Get(_) = job.work else { return None };
        let set = job.pace.get()?;
        let request = PaceRequest {
            per_second: set.pace.per_second / job.load.streams as f64,
            poisson: set.pace.arrival == Arrival::Poisson,
            seed: set.seed.get().wrapping_add(id as u64),
            after: None,
        };
        let (opened, last) = (Cell::new(0), Cell::new(None));
        Some(Self { request, clock: MachineClock::read(), opened, last })
    }

    /// What asks the server for it. A stream that is opened again goes on with the schedule, with
    /// other gaps: a short one would have the same few over and over, and their rate.
    pub(super) fn metadata(&self) -> MetadataMap {
        let opened = self.opened.replace(self.opened.get() + 1);
        let seed = self.request.seed.wrapping_add(opened.wrapping_mul(STREAMS_APART));
        let after = self.last.get().map(|stamp| (stamp.clock, stamp.intended_ns));
        let mut metadata = MetadataMap::new();
        if let Ok(value) = (PaceRequest { seed, after, ..self.request }).to_string().parse() {
            metadata.insert(PACE_HEADER, value);
        }
        metadata
    }

    /// What the server says of a batch.
    ///
    /// # Errors
    ///
    /// It says nothing: it paces no streams.
    pub(super) fn stamp(&self, message: &FlightMessage) -> Result<EmitStamp, Failure> {
        EmitStamp::parse(&message.app_metadata).ok_or_else(|| {
            let sentence =
                "the server paces no streams; --rate of get needs a flight-server with --perf";
            Failure::new("UNPACED", sentence)
        })
    }

    /// Records a batch that was decoded at `now`. What another machine's clock shows cannot be
    /// compared with ours: then only the server's own lateness is known.
    pub(super) fn record(&self, recorder: &mut Recorder, stamp: EmitStamp, now: Instant) {
        self.last.set(Some(stamp));
        let since = |ns: u64, later: u64| Duration::from_nanos(later.saturating_sub(ns));
        recorder.lag(Metric::GetLag, since(stamp.intended_ns, stamp.emitted_ns), now);
        if stamp.clock == self.clock.id() && stamp.clock != 0 {
            let now_ns = self.clock.ns(now);
            recorder.latency(Metric::GetDelivery, since(stamp.emitted_ns, now_ns), now);
            recorder.latency(Metric::GetResponse, since(stamp.intended_ns, now_ns), now);
        }
    }
}
