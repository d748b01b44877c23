//! Rules about cores, their frequency and their instructions.

use super::Finding;
use crate::host::{Cgroup, Cpu, Limit};
use crate::noise::Noise;

pub(super) fn cores(cpu: &Cpu) -> Finding {
    let why = "client and server on the same few cores take them from each other";
    let Some(usable) = cpu.usable else {
        return Finding::unseen("cores", "the affinity of this process", why);
    };
    let what = match cpu.online {
        Some(online) if usable < online => format!("{usable} of {online} cores may be used"),
        _ => format!("{usable} cores may be used"),
    };
    if usable <= 2 {
        let fix = "compare CPU time a batch rather than bytes a second, or use a larger host";
        return Finding::warn("cores", what, why).fixed_by(fix);
    }
    match cpu.online {
        Some(online) if usable < online => {
            Finding::note("cores", what, "results hold for the cores that are used")
                .fixed_by(format!("taskset -pc 0-{} $$", online - 1))
        }
        _ => Finding::ok("cores", what, why),
    }
}

pub(super) fn quota(cgroup: &Cgroup, noise: &Noise) -> Finding {
    let why = "a process that used up its quota stands still until the next period";
    let throttled = noise.throttling.filter(|throttling| throttling.periods > 0);
    let fix = "start the container without a CPU limit (docker run without --cpus)";
    match (cgroup.cpu_cores, throttled) {
        (_, Some(throttled)) => {
            let (periods, ms) = (throttled.periods, throttled.time_us / 1_000);
            let what = format!("the quota ran out in {periods} periods, for {ms} ms");
            Finding::warn("cgroup-quota", what, why).fixed_by(fix)
        }
        (Some(Limit::AtMost(cores)), None) => {
            let what = format!("a quota of {cores:.2} cores");
            Finding::warn("cgroup-quota", what, why).fixed_by(fix)
        }
        (Some(Limit::Unlimited), None) => Finding::ok("cgroup-quota", "no quota", why),
        (None, None) => Finding::unseen("cgroup-quota", "cpu.max of the control group", why),
    }
}

pub(super) fn smt(cpu: &Cpu) -> Finding {
    let why = "two hardware threads of a core slow each other by a share that depends on the work";
    match cpu.smt {
        Some(true) => Finding::note("smt", "hardware threads share cores", why)
            .fixed_by("echo off | sudo tee /sys/devices/system/cpu/smt/control"),
        // A hypervisor decides what its guests are told.
        Some(false) if cpu.virtualised == Some(true) => {
            Finding::ok("smt", "no shared cores that a virtual machine could see", why)
        }
        Some(false) => Finding::ok("smt", "every core has one hardware thread", why),
        None => Finding::unseen("smt", "/sys/devices/system/cpu/smt/active", why),
    }
}

pub(super) fn governor(cpu: &Cpu) -> Finding {
    let why = "a frequency that follows the load makes short and light runs look slow";
    match cpu.governor.as_deref() {
        Some("performance") => Finding::ok("governor", "performance", why),
        Some(governor) => Finding::warn("governor", governor, why)
            .fixed_by("sudo cpupower frequency-set -g performance"),
        None if cpu.virtualised == Some(true) => {
            Finding::note("governor", "hidden by the hypervisor", why)
        }
        None => Finding::unseen("governor", "scaling_governor of cpufreq", why),
    }
}

pub(super) fn boost(cpu: &Cpu) -> Finding {
    let why = "a boosted frequency depends on temperature and on what other cores do";
    match cpu.boost {
        Some(true) => Finding::note("boost", "on", why)
            .fixed_by("echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"),
        Some(false) => Finding::ok("boost", "off", why),
        None if cpu.virtualised == Some(true) => {
            Finding::note("boost", "hidden by the hypervisor", why)
        }
        None => Finding::unseen("boost", "boost of cpufreq", why),
    }
}

pub(super) fn tls(cpu: &Cpu) -> Finding {
    let why = "without these instructions TLS takes several times the CPU time";
    let Some(features) = cpu.tls else {
        return Finding::unseen("tls-instructions", "/proc/cpuinfo", why);
    };
    let named = [
        ("aes", features.aes),
        ("vaes", features.vaes),
        ("pclmulqdq", features.pclmulqdq),
        ("sha_ni", features.sha_ni),
    ];
    let names = |present| {
        let chosen = named.iter().filter(|(_, has)| *has == present).map(|(name, _)| *name);
        chosen.collect::<Vec<_>>().join(", ")
    };
    if !features.aes || !features.pclmulqdq {
        let fix = "choose ChaCha20-Poly1305, or let the hypervisor pass the CPU through";
        let what = format!("lacks {}", names(false));
        return Finding::warn("tls-instructions", what, why).fixed_by(fix);
    }
    if names(false).is_empty() {
        return Finding::ok("tls-instructions", names(true), why);
    }
    let what = format!("{}; lacks {}", names(true), names(false));
    Finding::note("tls-instructions", what, "the missing ones would make TLS faster still")
}
