//! Processor time of client and server in the course of a window.
//!
//! Five samples a second at most, and as many as fit: when there are too many, every other one goes
//! and the rest come half as often. So a window of any length has about as many.

use std::time::{Duration, Instant};

use flight_probe::process::process_cpu_ns;
use serde::{Deserialize, Serialize};

/// Time between two samples of a short window: a sample is two system calls.
pub(super) const SAMPLE_EVERY: Duration = Duration::from_millis(200);
/// Samples of a repeat; halved when they are as many.
const SAMPLES_MAX: usize = 100;

/// What both sides had used at one moment, since the window opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CpuSample {
    /// Since the window opened.
    pub(crate) t_ns: u64,
    pub(crate) client_cpu_ns: u64,
    /// Of a server on this machine whose process is known, as long as it runs.
    pub(crate) server_cpu_ns: Option<u64>,
}

/// The samples of a window that is open.
pub(super) struct Timeline {
    opened: Instant,
    server_pid: Option<u32>,
    /// What had been used when the window opened.
    before: (Option<u64>, Option<u64>),
    samples: Vec<CpuSample>,
    every: Duration,
}

impl Timeline {
    pub(super) fn begin(server_pid: Option<u32>) -> Self {
        let mut timeline = Self {
            opened: Instant::now(),
            server_pid,
            before: used(server_pid),
            samples: Vec::with_capacity(SAMPLES_MAX),
            every: SAMPLE_EVERY,
        };
        timeline.sample();
        timeline
    }

    /// How long to wait for the next one.
    pub(super) fn every(&self) -> Duration {
        self.every
    }

    /// Takes a sample, unless the kernel does not tell.
    pub(super) fn sample(&mut self) {
        let now = used(self.server_pid);
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let Some(client_cpu_ns) = since(now.0, self.before.0) else { return };
        let t_ns = u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let server_cpu_ns = since(now.1, self.before.1);
        self.add(CpuSample { t_ns, client_cpu_ns, server_cpu_ns });
    }

    fn add(&mut self, sample: CpuSample) {
        if self.samples.len() == SAMPLES_MAX {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
        }
        self.samples.push(sample);
    }

    pub(super) fn into_samples(self) -> Vec<CpuSample> {
        self.samples
    }
}

fn used(server_pid: Option<u32>) -> (Option<u64>, Option<u64>) {
    (process_cpu_ns(std::process::id()), server_pid.and_then(process_cpu_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_any_length_has_a_bounded_number_of_samples() {
        let mut timeline = Timeline::begin(None);
        let first = timeline.samples[0];
        for index in 1..=1_000 {
            timeline.add(CpuSample { t_ns: first.t_ns + index, ..first });
            assert!(timeline.samples.len() <= SAMPLES_MAX);
        }
        // 100, 150, 200, … samples: each 50 more halve them once again.
        assert!(timeline.every() >= 8 * SAMPLE_EVERY, "{:?}", timeline.every());
        let samples = timeline.into_samples();
        assert_eq!(
            (samples[0], samples.last().map(|one| one.t_ns)),
            (first, Some(first.t_ns + 1_000))
        );
        assert!(samples.is_sorted_by_key(|sample| sample.t_ns));
    }

    #[test]
    fn a_server_that_is_not_known_or_gone_has_no_samples() {
        let mut own = Timeline::begin(Some(std::process::id()));
        own.sample();
        assert!(own.samples.iter().all(|sample| sample.server_cpu_ns.is_some()));
        for gone in [None, Some(u32::MAX)] {
            let timeline = Timeline::begin(gone);
            assert_eq!(timeline.samples[0].server_cpu_ns, None);
        }
    }
}
