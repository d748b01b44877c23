//! Rules about the program that measures: its build, its clock, the counters it may use.

use super::Finding;
use crate::clock::Cost;
use crate::host::Host;

/// Two readings a batch at 100 000 batches a second then take 2 % of a core.
const CALL_NS_NOTE: f64 = 100.0;
/// A clock that needs a call of the kernel or an exit to the hypervisor.
const CALL_NS_WARN: f64 = 500.0;
/// The level from which a process may not even count its own events in user mode.
const PARANOID_FORBIDDEN: i32 = 3;
/// The level from which the kernel's share of them is hidden.
const PARANOID_USER_ONLY: i32 = 2;

pub(super) fn build(debug: bool) -> Finding {
    let why = "assertions, and optimisation that is missing, are measured too";
    if debug {
        Finding::warn("build", "a build with debug assertions", why)
            .fixed_by("cargo build --release")
    } else {
        Finding::ok("build", "optimised", why)
    }
}

pub(super) fn clocksource(host: &Host) -> Finding {
    let why = "with another source each reading of the time is a call of the kernel, or worse";
    match host.clocksource.as_deref() {
        // All are read without entering the kernel (vDSO).
        Some(
            source @ ("tsc" | "arch_sys_counter" | "kvm-clock" | "hyperv_clocksource_tsc_page"),
        ) => Finding::ok("clocksource", source, why),
        Some(source) => Finding::warn("clocksource", source, why)
            .fixed_by("start the kernel with clocksource=tsc, if the CPU has constant_tsc"),
        None => Finding::unseen("clocksource", "/sys/devices/system/clocksource", why),
    }
}

pub(super) fn timer(instant: &Cost, (clock, cost): &(String, Cost)) -> Finding {
    let why = "each batch is stamped, so a slow clock is part of what is measured";
    let what = format!(
        "Instant {:.1} ns a call, steps of {} ns; used: {clock}, {:.1} ns",
        instant.call_ns, instant.step_ns, cost.call_ns
    );
    if cost.call_ns > CALL_NS_WARN {
        Finding::warn("timer", what, why).fixed_by("see clocksource; or send larger batches")
    } else if cost.call_ns > CALL_NS_NOTE {
        Finding::note("timer", what, why)
    } else {
        Finding::ok("timer", what, why)
    }
}

pub(super) fn counters(host: &Host) -> Finding {
    let why = "instructions and cycles a byte are steady where times are not";
    if host.cpu_counters == Some(false) {
        let what = "the kernel drives no counters of the CPU, as in most virtual machines";
        let fix = "count under valgrind --tool=callgrind, or use a host without a hypervisor";
        return Finding::note("cpu-counters", what, why).fixed_by(fix);
    }
    let fix = "sudo sysctl kernel.perf_event_paranoid=1";
    match host.perf_event_paranoid {
        None => Finding::unseen("cpu-counters", "/proc/sys/kernel/perf_event_paranoid", why),
        Some(level) if level >= PARANOID_FORBIDDEN => {
            let what = format!("forbidden: perf_event_paranoid is {level}");
            Finding::note("cpu-counters", what, why).fixed_by(fix)
        }
        Some(level) if level >= PARANOID_USER_ONLY => {
            let what = format!("user mode only: perf_event_paranoid is {level}");
            Finding::note("cpu-counters", what, why).fixed_by(fix)
        }
        Some(level) => {
            let what = format!("usable: perf_event_paranoid is {level}");
            Finding::ok("cpu-counters", what, why)
        }
    }
}
