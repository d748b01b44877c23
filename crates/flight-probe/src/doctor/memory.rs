//! Rules about memory.

use super::Finding;
use crate::host::{Host, Limit, Memory};

/// Batches, windows and the page cache of the usual data sets fit.
const MEMORY_BYTES_MIN: u64 = 2 << 30;

pub(super) fn huge_pages(memory: &Memory) -> Finding {
    let why = "huge pages that come unasked speed up some runs, and make others wait for them";
    match memory.huge_pages.as_deref() {
        Some("always") => Finding::note("huge-pages", "always", why)
            .fixed_by("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        Some(choice) => Finding::ok("huge-pages", choice, why),
        None => Finding::unseen("huge-pages", "/sys/kernel/mm/transparent_hugepage/enabled", why),
    }
}

pub(super) fn numa(memory: &Memory) -> Finding {
    let why = "memory of another node is slower, and where it comes from differs from run to run";
    match memory.numa_nodes {
        Some(nodes) if nodes > 1 => Finding::note("numa", format!("{nodes} nodes"), why)
            .fixed_by("start under numactl --cpunodebind=0 --membind=0"),
        Some(_) => Finding::ok("numa", "one node", why),
        None => Finding::unseen("numa", "/sys/devices/system/node/online", why),
    }
}

pub(super) fn swap(memory: &Memory) -> Finding {
    let why = "a process that waits for its own memory is slower by orders of magnitude";
    let Some((all, used)) = memory.swap_bytes.zip(memory.swap_used_bytes) else {
        return Finding::unseen("swap", "/proc/meminfo", why);
    };
    let mib = |bytes: u64| bytes >> 20;
    if used > 0 {
        let what = format!("{} of {} MiB in use", mib(used), mib(all));
        Finding::note("swap", what, why).fixed_by("sudo swapoff -a")
    } else {
        let what = if all > 0 { "none in use" } else { "none" };
        Finding::ok("swap", what, why)
    }
}

pub(super) fn limit(host: &Host) -> Finding {
    let why = "batches, windows and the page cache must fit";
    let Some(total) = host.memory.total_bytes else {
        return Finding::unseen("memory", "/proc/meminfo", why);
    };
    let usable = match host.cgroup.memory_bytes {
        Some(Limit::AtMost(bytes)) => bytes.min(total),
        Some(Limit::Unlimited) | None => total,
    };
    let gib = usable as f64 / f64::from(1 << 30);
    let limited = if usable < total { ", a limit of the control group" } else { "" };
    let what = format!("{gib:.1} GiB{limited}");
    if usable < MEMORY_BYTES_MIN {
        Finding::warn("memory", what, why).fixed_by("use smaller data, or raise the limit")
    } else {
        Finding::ok("memory", what, why)
    }
}
