//! What it costs to read the time, and the cheapest clock that can be trusted.
//!
//! The kernel reads the time stamp counter too, but scales it anew at each call. Read directly it
//! costs less, and is as good where the kernel itself trusts it.

mod ticker;

use std::hint::black_box;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::files::Files;
use crate::host::Host;
use crate::process::monotonic_ns;

pub use ticker::Ticker;

/// Calls that are timed at once, and how often: the best of the rounds is that of the calls alone.
const CALLS: u32 = 2_000;
const ROUNDS: usize = 7;

/// A clock for the calling of which a measurement pays little. Copies tell the same time.
#[derive(Debug, Clone)]
pub struct Clock {
    source: Source,
    origin_ns: u64,
    cost: Cost,
    why: &'static str,
}

/// Where a clock has the time from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The time stamp counter, scaled to nanoseconds.
    Tsc,
    /// `std::time::Instant`: the kernel's `CLOCK_MONOTONIC`.
    Instant,
}

/// What a clock costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Nanoseconds a call, in a tight loop.
    pub call_ns: f64,
    /// The smallest step between two readings, in nanoseconds; with a clock finer than its calls
    /// that is the cost of a call.
    pub step_ns: u64,
}

#[derive(Debug, Clone)]
enum Source {
    Tsc { counter: quanta::Clock, start: u64 },
    Instant { start: Instant },
}

impl Clock {
    /// The time stamp counter where CPU and kernel agree that it is steady and where it costs less,
    /// else `Instant`. Takes up to 200 ms, in which quanta compares the counter with the kernel's
    /// clock; the two may drift apart by some parts in a million later on.
    #[must_use]
    pub fn best() -> Self {
        let instant = Self::instant("");
        let why = match tsc_refusal(&Files::of_this_host()) {
            Some(why) => why,
            None => {
                let tsc = Self::tsc();
                if tsc.cost.call_ns < instant.cost.call_ns {
                    return tsc;
                }
                "the time stamp counter costs no less"
            }
        };
        Self { why, ..instant }
    }

    /// The clock of the standard library, whatever the host has.
    #[must_use]
    pub fn standard() -> Self {
        Self::instant("asked for")
    }

    /// Nanoseconds of `CLOCK_MONOTONIC`: they count on from what it said when this clock was made.
    /// Never runs backwards on one thread.
    #[must_use]
    #[inline]
    pub fn now(&self) -> u64 {
        self.origin_ns + self.source.since_start_ns()
    }

    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.source {
            Source::Tsc { .. } => Kind::Tsc,
            Source::Instant { .. } => Kind::Instant,
        }
    }

    /// Why it is of this kind, in words.
    #[must_use]
    pub fn why(&self) -> &'static str {
        self.why
    }

    /// What it cost when it was made.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.cost
    }

    fn tsc() -> Self {
        let counter = quanta::Clock::new();
        let start = counter.raw();
        let source = Source::Tsc { counter, start };
        Self::of(source, "CPU and kernel call the time stamp counter steady")
    }

    fn instant(why: &'static str) -> Self {
        Self::of(Source::Instant { start: Instant::now() }, why)
    }

    fn of(source: Source, why: &'static str) -> Self {
        let origin_ns = monotonic_ns().saturating_sub(source.since_start_ns());
        let cost = measure(|| source.since_start_ns());
        Self { source, origin_ns, cost, why }
    }
}

/// What `Instant::now()` costs here.
#[must_use]
pub fn instant_cost() -> Cost {
    Clock::standard().cost()
}

impl Source {
    #[inline]
    fn since_start_ns(&self) -> u64 {
        match self {
            Self::Tsc { counter, start } => counter.delta_as_nanos(*start, counter.raw()),
            Self::Instant { start } => {
                // 584 years fit.
                start.elapsed().as_nanos() as u64
            }
        }
    }
}

/// Why the time stamp counter is not to be used, if so. Both must agree: the CPU knows whether it
/// stops, only the kernel whether all cores have the same.
fn tsc_refusal(files: &Files) -> Option<&'static str> {
    let (stable, clocksource) = Host::of_clock(files);
    match (stable, clocksource.as_deref()) {
        _ if !cfg!(target_arch = "x86_64") => Some("the CPU has no time stamp counter"),
        (None, _) => Some("the CPU does not tell whether its time stamp counter is steady"),
        (Some(false), _) => Some("the CPU lacks constant_tsc, nonstop_tsc or rdtscp"),
        (Some(true), Some("tsc")) => None,
        (Some(true), _) => Some("the kernel does not use the time stamp counter itself"),
    }
}

fn measure(now_ns: impl Fn() -> u64) -> Cost {
    let mut call_ns = f64::INFINITY;
    let mut step_ns = u64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(now_ns());
        }
        call_ns = call_ns.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
        let mut last = now_ns();
        for _ in 0..CALLS {
            let now = now_ns();
            if now > last {
                step_ns = step_ns.min(now - last);
            }
            last = now;
        }
    }
    Cost { call_ns, step_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::write;

    const CLOCKSOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    const STEADY: &str = "processor: 0\nflags: constant_tsc nonstop_tsc rdtscp\n\n";

    #[track_caller]
    #[cfg(target_arch = "x86_64")]
    fn check(cpuinfo: &str, clocksource: &str, refusal: Option<&str>) {
        let root = tempfile::tempdir().unwrap();
        let files = write(root.path(), &[("proc/cpuinfo", cpuinfo), (CLOCKSOURCE, clocksource)]);
        assert_eq!(tsc_refusal(&files), refusal);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_counter_is_used_only_where_cpu_and_kernel_agree() {
        check(STEADY, "tsc\n", None);
        let kernel = "the kernel does not use the time stamp counter itself";
        check(STEADY, "kvm-clock\n", Some(kernel));
        check(STEADY, "", Some(kernel));
        let cpu = "the CPU lacks constant_tsc, nonstop_tsc or rdtscp";
        check("processor: 0\nflags: constant_tsc rdtscp\n\n", "tsc\n", Some(cpu));
        let silent = "the CPU does not tell whether its time stamp counter is steady";
        check("processor: 0\n\n", "tsc\n", Some(silent));
    }

    #[test]
    fn the_best_clock_counts_on_from_the_monotonic_one() {
        for clock in [Clock::best(), Clock::standard()] {
            let before = monotonic_ns();
            let now = clock.now();
            let after = monotonic_ns();
            // The two clocks are read one after the other, and drift: on a busy host a millisecond.
            let slack_ns = 10_000_000;
            assert!(before < now + slack_ns, "{before} {now} {clock:?}");
            assert!(now < after + slack_ns, "{now} {after} {clock:?}");
        }
    }

    #[test]
    fn the_best_clock_never_runs_backwards() {
        let clock = Clock::best();
        let mut last = clock.now();
        for _ in 0..100_000 {
            let now = clock.now();
            assert!(last <= now);
            last = now;
        }
    }

    #[test]
    fn costs_are_measured_and_the_choice_is_explained() {
        let clock = Clock::best();
        assert!(clock.cost().call_ns > 0.0 && clock.cost().call_ns < 100_000.0);
        assert!(clock.cost().step_ns < u64::MAX);
        assert!(!clock.why().is_empty());
        assert_eq!(Clock::standard().kind(), Kind::Instant);
    }
}
