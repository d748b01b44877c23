//! How much the host did besides: pressure, idle and stolen time, throttling, load.
//!
//! Two [`Snapshot`]s around a measurement cost nothing in between; [`spin()`] looks harder, and
//! uses every core while it does.

mod spin;

use procfs::{CpuTime, FromBufReadSI, KernelStats, LoadAverage};
use serde::{Deserialize, Serialize};

pub use spin::{CoreNoise, GAP_NS_MIN, spin, usable_cores};

use crate::files::Files;
use crate::host::cgroup::Throttling;
use crate::process::monotonic_ns;

/// The counters of the host at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When it was read, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    pub pressure: Option<Pressure>,
    pub cpu: Option<CpuTicks>,
    pub throttling: Option<Throttling>,
    /// Threads that ran or waited to, averaged over a minute (proc_loadavg(5)).
    pub load: Option<f64>,
}

/// Time in which some thread waited for a core (`/proc/pressure/cpu`; absent where the kernel was
/// built or started without it).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Share of the last ten seconds.
    pub share_10_s: f64,
    /// Since the host started, in microseconds.
    pub total_us: u64,
}

/// Clock ticks since the host started, over all cores (proc_stat(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// All ticks, guests counted once.
    pub all: u64,
    /// Nothing to do, or nothing but to wait for a disk.
    pub idle: u64,
    /// The hypervisor ran something else.
    pub steal: u64,
    /// The kernel worked off packets and timers.
    pub softirq: u64,
}

/// What the host did between two moments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Noise {
    /// Time between the two, in nanoseconds.
    pub wall_ns: u64,
    /// Share of it in which some thread waited for a core.
    pub pressure_share: Option<f64>,
    /// The same over the ten seconds before the later moment.
    pub pressure_share_10_s: Option<f64>,
    /// Shares of the time of all cores; absent when less than a tick went by.
    pub idle_share: Option<f64>,
    pub steal_share: Option<f64>,
    pub softirq_share: Option<f64>,
    /// How often, and for how long, the control groups ran out of their quota.
    pub throttling: Option<Throttling>,
    /// Threads that ran or waited to, averaged over a minute.
    pub load: Option<f64>,
}

impl Snapshot {
    /// Reads the counters.
    #[must_use]
    pub fn read() -> Self {
        Self::read_files(&Files::of_this_host())
    }

    fn read_files(files: &Files) -> Self {
        let load: Option<LoadAverage> = files.table("/proc/loadavg");
        let stat = files.text("/proc/stat").and_then(|text| {
            KernelStats::from_buf_read(text.as_bytes(), procfs::current_system_info()).ok()
        });
        Self {
            at_ns: monotonic_ns(),
            pressure: files.text("/proc/pressure/cpu").and_then(|text| Pressure::parse(&text)),
            cpu: stat.map(|stat| CpuTicks::of(&stat.total)),
            throttling: Throttling::read(files),
            load: load.map(|load| f64::from(load.one)),
        }
    }

    /// What the host did since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Noise {
        let wall_ns = self.at_ns.saturating_sub(earlier.at_ns);
        let pressed = self.pressure.zip(earlier.pressure);
        let pressed_us = pressed.map(|(now, before)| now.total_us.saturating_sub(before.total_us));
        let wall_us = wall_ns as f64 / 1e3;
        let ticks = self.cpu.zip(earlier.cpu);
        let share = |part: fn(&CpuTicks) -> u64| {
            let (now, before) = ticks?;
            let all = now.all.checked_sub(before.all).filter(|ticks| *ticks > 0)?;
            Some(part(&now).saturating_sub(part(&before)) as f64 / all as f64)
        };
        let throttled = self.throttling.zip(earlier.throttling);
        Noise {
            wall_ns,
            pressure_share: pressed_us
                .filter(|_| wall_ns > 0)
                .map(|us| (us as f64 / wall_us).min(1.0)),
            pressure_share_10_s: self.pressure.map(|pressure| pressure.share_10_s),
            idle_share: share(|ticks| ticks.idle),
            steal_share: share(|ticks| ticks.steal),
            softirq_share: share(|ticks| ticks.softirq),
            throttling: throttled.map(|(now, before)| Throttling {
                periods: now.periods.saturating_sub(before.periods),
                time_us: now.time_us.saturating_sub(before.time_us),
            }),
            load: self.load,
        }
    }
}

impl Pressure {
    /// Reads the line `some avg10=2.55 avg60=4.10 avg300=20.39 total=1928507558`. Not by procfs:
    /// it refuses the file of a kernel before 5.13, which has no second line.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
        let field = |name| line.split(' ').find_map(|word| word.strip_prefix(name));
        let percent: f64 = field("avg10=")?.parse().ok()?;
        Some(Self { share_10_s: percent / 100.0, total_us: field("total=")?.parse().ok()? })
    }
}

impl CpuTicks {
    fn of(time: &CpuTime) -> Self {
        let iowait = time.iowait.unwrap_or_default();
        let irq = time.irq.unwrap_or_default();
        let softirq = time.softirq.unwrap_or_default();
        let steal = time.steal.unwrap_or_default();
        let idle = time.idle + iowait;
        // Guests are in user and nice already.
        let all = time.user + time.nice + time.system + idle + irq + softirq + steal;
        Self { all, idle, steal, softirq }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::write;

    const STAT: &str = "cpu  10 1 20 60 5 1 2 1 4 0\ncpu0 10 1 20 60 5 1 2 1 4 0\n\
        ctxt 5\nbtime 1\nprocesses 3\nprocs_running 1\nprocs_blocked 0\n";

    fn read(files: &[(&str, &str)]) -> Snapshot {
        let root = tempfile::tempdir().unwrap();
        let snapshot = Snapshot::read_files(&write(root.path(), files));
        Snapshot { at_ns: 0, ..snapshot }
    }

    #[test]
    fn the_counters_are_read() {
        let snapshot = read(&[
            ("proc/stat", STAT),
            ("proc/loadavg", "1.50 1.70 1.89 2/91 22605\n"),
            ("proc/pressure/cpu", "some avg10=2.50 avg60=4.10 avg300=20.39 total=77\n"),
        ]);
        assert_eq!(snapshot.cpu, Some(CpuTicks { all: 100, idle: 65, steal: 1, softirq: 2 }));
        assert_eq!(snapshot.pressure, Some(Pressure { share_10_s: 0.025, total_us: 77 }));
        assert_eq!(snapshot.load, Some(1.5));
    }

    #[test]
    fn counters_that_are_not_there_are_unknown() {
        assert_eq!(read(&[]), Snapshot::default());
        assert_eq!(read(&[("proc/pressure/cpu", "full avg10=0.00 total=0\n")]).pressure, None);
    }

    #[test]
    fn shares_are_of_what_went_by() {
        let at = |at_ns, all, idle, steal, total_us| Snapshot {
            at_ns,
            pressure: Some(Pressure { share_10_s: 0.5, total_us }),
            cpu: Some(CpuTicks { all, idle, steal, softirq: 0 }),
            throttling: Some(Throttling { periods: all / 10, time_us: all }),
            load: Some(2.0),
        };
        let noise = at(3_000_000, 300, 180, 5, 1_500).since(&at(1_000_000, 100, 100, 1, 500));
        assert_eq!(noise.wall_ns, 2_000_000);
        assert_eq!(noise.pressure_share, Some(0.5));
        assert_eq!(noise.idle_share, Some(0.4));
        assert_eq!(noise.steal_share, Some(0.02));
        assert_eq!(noise.softirq_share, Some(0.0));
        assert_eq!(noise.throttling, Some(Throttling { periods: 20, time_us: 200 }));
    }

    #[test]
    fn no_time_gives_no_shares() {
        let snapshot = read(&[("proc/stat", STAT)]);
        let noise = snapshot.since(&snapshot);
        assert_eq!((noise.idle_share, noise.pressure_share), (None, None));
    }

    #[test]
    fn this_host_has_counters() {
        let earlier = Snapshot::read();
        assert!(earlier.cpu.unwrap().all > 0);
        assert!(Snapshot::read().since(&earlier).wall_ns > 0);
    }
}
