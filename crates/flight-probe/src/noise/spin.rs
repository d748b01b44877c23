//! Looks for what takes cores away, by spinning on them and watching the clock.

use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::limits::SPIN_CORES_MAX;

/// A pause of a spinning thread that counts as a gap. An interrupt takes less, another thread more.
pub const GAP_NS_MIN: u64 = 100_000;

/// What a thread that only reads the clock noticed on one core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CoreNoise {
    pub core: usize,
    /// Pauses longer than [`GAP_NS_MIN`].
    pub gaps: u64,
    /// The longest of them in nanoseconds; 0 where there was none.
    pub gap_ns_max: u64,
    /// Share of the time that went by in them.
    pub lost_share: f64,
}

/// Cores that this process may run on, at most [`SPIN_CORES_MAX`].
#[must_use]
pub fn usable_cores() -> Vec<usize> {
    let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).take(SPIN_CORES_MAX).collect()
}

/// Spins for `time` on all `cores` at once. A core on which no thread could be started is left out.
#[must_use]
pub fn spin(cores: &[usize], time: Duration) -> Vec<CoreNoise> {
    thread::scope(|scope| {
        let start = |core: &usize| {
            let core = *core;
            let thread = thread::Builder::new().name(format!("spin-{core}"));
            thread.spawn_scoped(scope, move || spin_on(core, time)).ok()
        };
        let threads: Vec<_> = cores.iter().take(SPIN_CORES_MAX).filter_map(start).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    })
}

/// Absent where the thread may not run on the core.
fn spin_on(core: usize, time: Duration) -> Option<CoreNoise> {
    if core >= CpuSet::MAX_CPU {
        return None;
    }
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).ok()?;
    let start = Instant::now();
    let mut gaps = Gaps::default();
    let mut last = start;
    loop {
        let now = Instant::now();
        gaps.see(now.duration_since(last));
        last = now;
        if now.duration_since(start) >= time {
            return Some(gaps.over(core, now.duration_since(start)));
        }
    }
}

#[derive(Debug, Default)]
struct Gaps {
    count: u64,
    longest_ns: u64,
    sum_ns: u64,
}

impl Gaps {
    fn see(&mut self, pause: Duration) {
        let pause_ns = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        if pause_ns > GAP_NS_MIN {
            self.count += 1;
            self.longest_ns = self.longest_ns.max(pause_ns);
            self.sum_ns = self.sum_ns.saturating_add(pause_ns);
        }
    }

    fn over(&self, core: usize, time: Duration) -> CoreNoise {
        let time_ns = time.as_nanos().max(1) as f64;
        CoreNoise {
            core,
            gaps: self.count,
            gap_ns_max: self.longest_ns,
            lost_share: self.sum_ns as f64 / time_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pauses_above_the_bound_are_gaps() {
        let mut gaps = Gaps::default();
        for pause_us in [1, 100, 101, 399] {
            gaps.see(Duration::from_micros(pause_us));
        }
        let noise = gaps.over(3, Duration::from_millis(1));
        assert_eq!((noise.core, noise.gaps, noise.gap_ns_max), (3, 2, 399_000));
        assert_eq!(noise.lost_share, 0.5);
    }

    #[test]
    fn every_core_of_this_process_is_looked_at() {
        let cores = usable_cores();
        let noise = spin(&cores, Duration::from_millis(5));
        assert_eq!(noise.iter().map(|noise| noise.core).collect::<Vec<_>>(), cores);
        assert!(noise.iter().all(|noise| (0.0..=1.0).contains(&noise.lost_share)));
    }

    #[test]
    fn a_core_that_is_not_there_is_left_out() {
        assert_eq!(spin(&[CpuSet::MAX_CPU], Duration::ZERO), []);
        assert_eq!(spin(&[CpuSet::MAX_CPU - 1], Duration::ZERO), []);
    }
}
