//! What one client run moved and what it cost: a line of JSON on stdout.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The report of one client run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Calls that came to their end.
    pub calls: u64,
    pub batches: u64,
    pub rows: u64,
    /// Bytes of IPC bodies; 0 where none are seen.
    pub bytes: u64,
    /// From the first call, on a connection that stands, to the end of the last.
    pub seconds: f64,
    /// User and system time of the client within `seconds`.
    pub cpu_seconds: f64,
}

/// A clock for wall time and the processor time of this process.
#[derive(Debug)]
pub struct Stopwatch {
    started: Instant,
    cpu_before: Duration,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { cpu_before: cpu_time(), started: Instant::now() }
    }

    /// `tally` with the times since the start.
    #[must_use]
    pub fn stop(&self, tally: Tally) -> Tally {
        let seconds = self.started.elapsed().as_secs_f64();
        let cpu_seconds = cpu_time().saturating_sub(self.cpu_before).as_secs_f64();
        Tally { seconds, cpu_seconds, ..tally }
    }
}

impl Tally {
    /// Adds what another stream of the same run moved; times are the stopwatch's.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.batches += other.batches;
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(now.tv_sec).expect("processor time is not negative");
    let nanos = u32::try_from(now.tv_nsec).expect("nanoseconds are below a second");
    Duration::new(seconds, nanos)
}
