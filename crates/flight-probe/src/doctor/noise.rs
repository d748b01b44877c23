//! Rules about what else runs here.

use super::{Finding, percent};
use crate::host::Cpu;
use crate::noise::{CoreNoise, Noise};

/// Time lost in gaps that shows in a result, and that spoils it.
const LOST_SHARE_NOTE: f64 = 0.005;
const LOST_SHARE_WARN: f64 = 0.03;
const PRESSURE_SHARE_WARN: f64 = 0.05;
const STEAL_SHARE_NOTE: f64 = 0.001;
const STEAL_SHARE_WARN: f64 = 0.02;

const QUIET: &str = "stop what else runs, or wait until it is done";

pub(super) fn gaps(cores: &[CoreNoise]) -> Finding {
    let why = "time that others take from the cores is in every latency and every rate";
    let Some(worst) = cores.iter().max_by(|a, b| a.lost_share.total_cmp(&b.lost_share)) else {
        return Finding::unseen("noise", "no core: its clock", why);
    };
    let gaps: u64 = cores.iter().map(|core| core.gaps).sum();
    let what = format!(
        "{gaps} gaps above 100 µs on {} cores; the worst, core {}, lost {}, {:.1} ms at once",
        cores.len(),
        worst.core,
        percent(worst.lost_share),
        worst.gap_ns_max as f64 / 1e6
    );
    if worst.lost_share >= LOST_SHARE_WARN {
        Finding::warn("noise", what, why).fixed_by(QUIET)
    } else if worst.lost_share >= LOST_SHARE_NOTE {
        Finding::note("noise", what, why)
    } else {
        Finding::ok("noise", what, why)
    }
}

pub(super) fn pressure(noise: &Noise) -> Finding {
    let why = "threads that wait for a core are late, and their results are of the wait";
    let shares = noise.pressure_share.zip(noise.pressure_share_10_s);
    let Some((now, before)) = shares else {
        return Finding::unseen("pressure", "/proc/pressure/cpu", why);
    };
    let load = noise.load.map_or_else(String::new, |load| format!("; load {load:.2}"));
    let (now_text, before_text) = (percent(now), percent(before));
    let what =
        format!("threads waited for a core {now_text} of the time, {before_text} over 10 s{load}");
    if now.max(before) >= PRESSURE_SHARE_WARN {
        Finding::warn("pressure", what, why).fixed_by(QUIET)
    } else {
        Finding::ok("pressure", what, why)
    }
}

pub(super) fn steal(cpu: &Cpu, noise: &Noise) -> Finding {
    let why = "time that the hypervisor gives to others is in no counter of this host's programs";
    if cpu.virtualised == Some(false) {
        return Finding::ok("steal", "no virtual machine", why);
    }
    let Some(share) = noise.steal_share else {
        return Finding::unseen("steal", "/proc/stat", why);
    };
    let what = format!("{} of the time stolen", percent(share));
    if share > STEAL_SHARE_WARN {
        let fix = "use a host with cores of its own, or measure at another time";
        Finding::warn("steal", what, why).fixed_by(fix)
    } else if share > STEAL_SHARE_NOTE {
        Finding::note("steal", what, why)
    } else {
        Finding::ok("steal", what, why)
    }
}
