//! The control groups that this process is in: what they grant, and when they withhold it.
//!
//! Both versions are read (cgroups(7)): a limit may be of any group above, so the least counts.

use std::path::{Path, PathBuf};

use procfs::ProcessCGroups;
use procfs::process::{MountInfo, MountInfos};
use serde::{Deserialize, Serialize};

use super::Limit;
use crate::files::Files;

/// Version 1 writes a number near 2^63 where memory has no limit.
const MEMORY_BYTES_UNLIMITED: u64 = 1 << 62;

/// What the control groups grant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroup {
    /// Cores' worth of time (`cpu.max`, or quota and period of version 1).
    pub cpu_cores: Option<Limit<f64>>,
    /// Bytes of memory (`memory.max`, or `memory.limit_in_bytes`).
    pub memory_bytes: Option<Limit<u64>>,
}

/// How often the groups ran out of their quota, since they were made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// Periods in which threads had to wait for the next.
    pub periods: u64,
    /// For how long, in microseconds over all cores.
    pub time_us: u64,
}

impl Cgroup {
    pub(crate) fn read(files: &Files) -> Self {
        let cpu = folders(files, "cpu").unwrap_or_default();
        let memory = folders(files, "memory").unwrap_or_default();
        let cores = cpu.iter().filter_map(|folder| cores_of(files, folder));
        let bytes = memory.iter().filter_map(|folder| bytes_of(files, folder));
        Self { cpu_cores: cores.reduce(least), memory_bytes: bytes.reduce(least) }
    }
}

impl Throttling {
    /// Sums over the groups of this process.
    pub(crate) fn read(files: &Files) -> Option<Self> {
        let folders = folders(files, "cpu")?;
        let texts = folders.iter().filter_map(|folder| files.text(folder.join("cpu.stat")));
        let each = texts.filter_map(|text| Self::parse(&text));
        each.reduce(|a, b| Self { periods: a.periods + b.periods, time_us: a.time_us + b.time_us })
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.strip_prefix(' ')?.parse::<u64>().ok()
        };
        // Version 1 counts nanoseconds.
        let time_us = field("throttled_usec").or(field("throttled_time").map(|ns| ns / 1000))?;
        Some(Self { periods: field("nr_throttled")?, time_us })
    }
}

fn least<T: PartialOrd>(a: Limit<T>, b: Limit<T>) -> Limit<T> {
    match (a, b) {
        (Limit::Unlimited, other) | (other, Limit::Unlimited) => other,
        (Limit::AtMost(a), Limit::AtMost(b)) => Limit::AtMost(if b < a { b } else { a }),
    }
}

/// The folder of this process's group for `controller`, and those above it.
fn folders(files: &Files, controller: &str) -> Option<Vec<PathBuf>> {
    let groups: ProcessCGroups = files.table("/proc/self/cgroup")?;
    let mounts: MountInfos = files.table("/proc/self/mountinfo")?;
    // A controller is in one version at a time; where both are mounted the first has what it names.
    let old = groups.0.iter().find(|group| group.controllers.iter().any(|name| name == controller));
    let (group, mount) = if let Some(group) = old {
        let holds = |mount: &&MountInfo| {
            mount.fs_type == "cgroup" && mount.super_options.contains_key(controller)
        };
        (group, mounts.0.iter().find(holds)?)
    } else {
        let group = groups.0.iter().find(|group| group.controllers.is_empty())?;
        (group, mounts.0.iter().find(|mount| mount.fs_type == "cgroup2")?)
    };
    // In a container the mount may show only a part of the tree.
    let below = Path::new(&group.pathname).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    Some(below.ancestors().map(|path| mount.mount_point.join(path)).collect())
}

/// Absent for the topmost group of version 2, which has no such file.
fn cores_of(files: &Files, folder: &Path) -> Option<Limit<f64>> {
    let cores = |quota: u64, period: u64| Limit::AtMost(quota as f64 / period.max(1) as f64);
    if let Some(line) = files.line(folder.join("cpu.max")) {
        let (quota, period) = line.split_once(' ')?;
        return match quota {
            "max" => Some(Limit::Unlimited),
            quota => Some(cores(quota.parse().ok()?, period.parse().ok()?)),
        };
    }
    let quota: i64 = files.value(folder.join("cpu.cfs_quota_us"))?;
    let Ok(quota) = u64::try_from(quota) else { return Some(Limit::Unlimited) };
    Some(cores(quota, files.value(folder.join("cpu.cfs_period_us"))?))
}

fn bytes_of(files: &Files, folder: &Path) -> Option<Limit<u64>> {
    let line = files
        .line(folder.join("memory.max"))
        .or_else(|| files.line(folder.join("memory.limit_in_bytes")))?;
    if line == "max" {
        return Some(Limit::Unlimited);
    }
    let bytes: u64 = line.parse().ok()?;
    Some(if bytes < MEMORY_BYTES_UNLIMITED { Limit::AtMost(bytes) } else { Limit::Unlimited })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::write;

    const MOUNTS_2: &str = "30 25 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
    const MOUNTS_1: &str = "\
        30 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
        31 25 0:28 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        32 25 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[track_caller]
    fn check(
        files: &[(&str, &str)],
        cpu_cores: Option<Limit<f64>>,
        memory_bytes: Option<Limit<u64>>,
        throttling: Option<(u64, u64)>,
    ) {
        let root = tempfile::tempdir().unwrap();
        let files = write(root.path(), files);
        assert_eq!(Cgroup::read(&files), Cgroup { cpu_cores, memory_bytes });
        let seen = Throttling::read(&files).map(|seen| (seen.periods, seen.time_us));
        assert_eq!(seen, throttling);
    }

    #[test]
    fn the_least_limit_of_the_groups_above_counts() {
        let files = [
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", MOUNTS_2),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.max", "4096\n"),
            ("sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 40\n"),
            ("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 9\nnr_throttled 1\nthrottled_usec 2\n"),
        ];
        let (cores, bytes) = (Limit::AtMost(1.5), Limit::AtMost(4_096));
        check(&files, Some(cores), Some(bytes), Some((4, 42)));
    }

    #[test]
    fn version_1_is_read_where_it_holds_the_controller() {
        let files = [
            ("proc/self/cgroup", "4:memory:/docker/a/b\n1:cpu:/\n0::/\n"),
            ("proc/self/mountinfo", MOUNTS_1),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 2\nthrottled_time 5000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "8192\n"),
        ];
        check(&files, Some(Limit::Unlimited), Some(Limit::AtMost(8_192)), Some((2, 5)));
    }

    #[test]
    fn a_host_without_groups_has_unknown_limits() {
        check(&[], None, None, None);
        check(&[("proc/self/cgroup", "0::/\n"), ("proc/self/mountinfo", "")], None, None, None);
        let silent = [("proc/self/cgroup", "0::/\n"), ("proc/self/mountinfo", MOUNTS_2)];
        check(&silent, None, None, None);
    }
}
