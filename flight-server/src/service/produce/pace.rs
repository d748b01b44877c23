//! Streams whose batches leave at times that are drawn beforehand, for benchmarks.

use std::time::{Duration, Instant};

use flight_net::MachineClock;
use flight_sample::arrivals::{Arrival, Schedule};
use flight_wire::protocol::{EmitStamp, PaceRequest};

/// How long ago the batch may have been due that a schedule goes on after.
const AFTER_MAX: Duration = Duration::from_secs(60);
/// Before a batch is due its thread waits for it: timers of the runtime are a millisecond wide.
const EXACTLY: Duration = Duration::from_millis(2);

/// The times of one stream.
pub(in crate::service) struct Pace {
    schedule: Schedule,
    /// When the next batch is due.
    due: Instant,
    clock: MachineClock,
}

impl Pace {
    /// The first batch is due a gap after the stream begins, or after the last of the stream before
    /// it: however short its streams are, a schedule has the rate that was asked for.
    pub(in crate::service) fn new(request: PaceRequest) -> Self {
        let (clock, now) = (MachineClock::read(), Instant::now());
        let before = request.after.filter(|(id, _)| *id == clock.id() && clock.id() != 0);
        let before = before.and_then(|(_, ns)| clock.instant(ns));
        // What has been sent was due before now.
        let start = before.filter(|time| now.saturating_duration_since(*time) <= AFTER_MAX);
        let start = start.map_or(now, |time| time.min(now));
        let arrival = if request.poisson { Arrival::Poisson } else { Arrival::Uniform };
        let mut schedule = Schedule::new(start, request.per_second, arrival, request.seed);
        schedule.advance(); // The start itself.
        Self { due: schedule.advance(), schedule, clock }
    }

    /// When a thread that may block should be given the next batch.
    pub(super) fn nearly_due(&self) -> Instant {
        self.due.checked_sub(EXACTLY).unwrap_or(self.due)
    }

    /// Waits for the next batch's time, which may be past.
    pub(super) fn wait(&mut self) -> EmitStamp {
        let intended = std::mem::replace(&mut self.due, self.schedule.advance());
        std::thread::sleep(intended.saturating_duration_since(Instant::now()));
        EmitStamp {
            clock: self.clock.id(),
            intended_ns: self.clock.ns(intended),
            emitted_ns: self.clock.ns(Instant::now()),
        }
    }
}
