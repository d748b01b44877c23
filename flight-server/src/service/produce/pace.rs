//! Streams whose batches leave at times that are drawn beforehand, for benchmarks.

use std::time::{Duration, Instant};

use flight_net::MachineClock;
use flight_sample::arrivals::{Arrival, Schedule};
use flight_wire::protocol::{EmitStamp, PaceRequest};

/// How far from now the batch may be that a schedule goes on after.
const AFTER_MAX: Duration = Duration::from_secs(60);

/// The times of one stream.
pub(in crate::service) struct Pace {
    schedule: Schedule,
    clock: MachineClock,
}

impl Pace {
    /// The first batch is due a gap after the stream begins, or after the last of the stream before
    /// it: however short its streams are, a schedule has the rate that was asked for.
    pub(in crate::service) fn new(request: PaceRequest) -> Self {
        let (clock, now) = (MachineClock::read(), Instant::now());
        let before = request.after.filter(|(id, _)| *id == clock.id() && clock.id() != 0);
        let before = before.and_then(|(_, ns)| clock.instant(ns));
        let is_near = |time: &Instant| {
            let ahead = time.saturating_duration_since(now);
            ahead.max(now.saturating_duration_since(*time)) <= AFTER_MAX
        };
        let start = before.filter(is_near).unwrap_or(now);
        let arrival = if request.poisson { Arrival::Poisson } else { Arrival::Uniform };
        let mut schedule = Schedule::new(start, request.per_second, arrival, request.seed);
        schedule.advance(); // The start itself.
        Self { schedule, clock }
    }

    /// Waits for the next batch's time, which may be past. Blocks: timers of the runtime are a
    /// millisecond wide.
    pub(super) fn wait(&mut self) -> EmitStamp {
        let intended = self.schedule.advance();
        std::thread::sleep(intended.saturating_duration_since(Instant::now()));
        EmitStamp {
            clock: self.clock.id(),
            intended_ns: self.clock.ns(intended),
            emitted_ns: self.clock.ns(Instant::now()),
        }
    }
}
