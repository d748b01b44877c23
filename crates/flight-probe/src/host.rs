//! The host as a report names it. What cannot be read is absent: containers and virtual machines
//! hide some of it.
//!
//! How busy the host is, is read in [`noise`](crate::noise); what it means in
//! [`doctor`](crate::doctor).

pub(crate) mod cgroup;
mod cpu;
mod memory;
mod network;
mod qdisc;

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

pub use cgroup::{Cgroup, Throttling};
pub use cpu::{Cpu, TlsFeatures};
pub use memory::Memory;
pub use network::Network;

use crate::files::Files;

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// What the host has, and what this process may use of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    pub cpu: Cpu,
    pub memory: Memory,
    pub cgroup: Cgroup,
    pub network: Network,
    /// The release of the kernel, as `uname -r` prints it.
    pub kernel: Option<String>,
    /// What the kernel reads the time from.
    pub clocksource: Option<String>,
    /// Open descriptors that this process may have (`RLIMIT_NOFILE`, getrlimit(2)).
    pub descriptors: Option<Limit<u64>>,
    /// How far the limit may be raised without root.
    pub descriptors_hard: Option<Limit<u64>>,
    /// Who may count events of the CPU; 2 and less lets a process count its own
    /// (`/proc/sys/kernel/perf_event_paranoid`, perf_event_open(2)).
    pub perf_event_paranoid: Option<i32>,
    /// Whether the kernel drives counters of the CPU; virtual machines often have none.
    pub cpu_counters: Option<bool>,
}

/// A limit that may be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit<T> {
    Unlimited,
    AtMost(T),
}

impl Host {
    /// Reads this host.
    #[must_use]
    pub fn read() -> Self {
        let mut host = Self::read_files(&Files::of_this_host());
        host.cpu.usable = cpu::usable();
        host.network.loopback_qdisc = qdisc::of_loopback();
        let limit = getrlimit(Resource::Nofile);
        host.descriptors = Some(limit.current.map_or(Limit::Unlimited, Limit::AtMost));
        host.descriptors_hard = Some(limit.maximum.map_or(Limit::Unlimited, Limit::AtMost));
        host
    }

    /// What a clock asks: whether the time stamp counter is steady, and the clocksource.
    pub(crate) fn of_clock(files: &Files) -> (Option<bool>, Option<String>) {
        (Cpu::read(files).tsc_stable, files.line(CLOCKSOURCE))
    }

    fn read_files(files: &Files) -> Self {
        let counters = |names: Vec<String>| names.iter().any(|name| is_cpu_counter(name));
        Self {
            cpu: Cpu::read(files),
            memory: Memory::read(files),
            cgroup: Cgroup::read(files),
            network: Network::read(files),
            kernel: files.line("/proc/sys/kernel/osrelease"),
            clocksource: files.line(CLOCKSOURCE),
            descriptors: None,
            descriptors_hard: None,
            perf_event_paranoid: files.value("/proc/sys/kernel/perf_event_paranoid"),
            cpu_counters: files.names("/sys/bus/event_source/devices").map(counters),
        }
    }
}

/// Drivers of a CPU's own counters: `cpu`, on hybrid ones `cpu_core` and `cpu_atom`, on ARM
/// `armv8_…`.
fn is_cpu_counter(name: &str) -> bool {
    ["cpu", "cpu_core", "cpu_atom"].contains(&name) || name.starts_with("armv8")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Writes files of a made-up kernel below `root`.
    pub(crate) fn write(root: &Path, files: &[(&str, &str)]) -> Files {
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Files::below(root)
    }

    fn read(files: &[(&str, &str)]) -> Host {
        let root = tempfile::tempdir().unwrap();
        Host::read_files(&write(root.path(), files))
    }

    #[test]
    fn a_host_that_tells_nothing_is_all_unknown() {
        assert_eq!(read(&[]), Host::default());
    }

    #[test]
    fn kernel_clocksource_and_counters_are_read() {
        let host = read(&[
            ("proc/sys/kernel/osrelease", "6.1.0-x\n"),
            ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
            ("sys/bus/event_source/devices/cpu/type", "4\n"),
        ]);
        assert_eq!(host.kernel.as_deref(), Some("6.1.0-x"));
        assert_eq!(host.perf_event_paranoid, Some(-1));
        assert_eq!(host.clocksource.as_deref(), Some("tsc"));
        assert_eq!(host.cpu_counters, Some(true));
        let software = read(&[("sys/bus/event_source/devices/software/type", "1\n")]);
        assert_eq!(software.cpu_counters, Some(false));
    }

    #[test]
    fn this_host_is_read_and_survives_json() {
        let host = Host::read();
        assert!(host.kernel.is_some());
        assert!(host.cpu.online.unwrap() >= 1);
        assert!(host.cpu.usable.unwrap() >= 1);
        assert!(host.memory.total_bytes.unwrap() > 0);
        assert!(host.descriptors.is_some());
        let json = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&json).unwrap(), host);
    }
}
