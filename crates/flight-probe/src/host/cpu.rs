//! The processor: its model, cores, frequency policy and instructions.

use std::collections::BTreeSet;

use procfs::CpuInfo;
use rustix::thread::sched_getaffinity;
use serde::{Deserialize, Serialize};

use crate::files::Files;

const FOLDER: &str = "/sys/devices/system/cpu";

/// The processor and its cores.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    pub model: Option<String>,
    /// Cores that are switched on; hardware threads where SMT is on.
    pub online: Option<usize>,
    /// Cores that this process may run on (sched_getaffinity(2)).
    pub usable: Option<usize>,
    /// Whether two hardware threads share a core.
    pub smt: Option<bool>,
    /// What chooses the frequency; several names where cores differ. Absent in most VMs.
    pub governor: Option<String>,
    /// Whether the frequency may exceed the nominal one.
    pub boost: Option<bool>,
    /// Whether a hypervisor says that it is there.
    pub virtualised: Option<bool>,
    /// Whether the time stamp counter runs at one rate in every state (`constant_tsc` and
    /// `nonstop_tsc`) and can be read in order (`rdtscp`).
    pub tsc_stable: Option<bool>,
    pub tls: Option<TlsFeatures>,
}

/// Instructions that make TLS cheap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsFeatures {
    /// AES rounds.
    pub aes: bool,
    /// AES rounds on wide registers.
    pub vaes: bool,
    /// The multiplication of GCM; `pmull` on ARM.
    pub pclmulqdq: bool,
    /// SHA-256; `sha2` on ARM.
    pub sha_ni: bool,
}

impl Cpu {
    pub(crate) fn read(files: &Files) -> Self {
        let info: Option<CpuInfo> = files.table("/proc/cpuinfo");
        let field = |name| info.as_ref().and_then(|info| info.get_field(0, name));
        // ARM has the other name.
        let flags = field("flags").or_else(|| field("Features"));
        let flags: Option<BTreeSet<&str>> = flags.map(|flags| flags.split_whitespace().collect());
        let all = |names: &[&str]| {
            flags.as_ref().map(|flags| names.iter().all(|name| flags.contains(name)))
        };
        Self {
            model: field("model name").map(str::to_owned),
            online: files.line(format!("{FOLDER}/online")).and_then(|list| count(&list)),
            usable: None,
            smt: files.switch(format!("{FOLDER}/smt/active")),
            governor: governor(files),
            boost: boost(files),
            virtualised: all(&["hypervisor"]).filter(|_| field("flags").is_some()),
            tsc_stable: all(&["constant_tsc", "nonstop_tsc", "rdtscp"]),
            tls: flags.as_ref().map(TlsFeatures::of),
        }
    }
}

impl TlsFeatures {
    fn of(flags: &BTreeSet<&str>) -> Self {
        let any = |names: &[&str]| names.iter().any(|name| flags.contains(name));
        Self {
            aes: any(&["aes"]),
            vaes: any(&["vaes"]),
            pclmulqdq: any(&["pclmulqdq", "pmull"]),
            sha_ni: any(&["sha_ni", "sha2"]),
        }
    }
}

/// Cores that this process may run on.
pub(crate) fn usable() -> Option<usize> {
    sched_getaffinity(None).ok().map(|set| set.count() as usize)
}

/// How many numbers a list of the kernel holds: `0-3,8` is five.
pub(crate) fn count(list: &str) -> Option<usize> {
    let length = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.trim().split(',').map(length).sum()
}

fn governor(files: &Files) -> Option<String> {
    let cores = files.names(FOLDER)?;
    let cores = cores.iter().filter(|name| {
        name.strip_prefix("cpu").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    });
    let governors: BTreeSet<String> = cores
        .filter_map(|core| files.line(format!("{FOLDER}/{core}/cpufreq/scaling_governor")))
        .collect();
    let governors: Vec<String> = governors.into_iter().collect();
    Some(governors.join(", ")).filter(|names| !names.is_empty())
}

fn boost(files: &Files) -> Option<bool> {
    let off = || files.switch(format!("{FOLDER}/intel_pstate/no_turbo")).map(|off| !off);
    files.switch(format!("{FOLDER}/cpufreq/boost")).or_else(off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::write;

    const X86: &str = "processor\t: 0\nmodel name\t: A @ 2 GHz\n\
        flags\t\t: tsc rdtscp constant_tsc nonstop_tsc aes vaes pclmulqdq sha_ni hypervisor\n\n\
        processor\t: 1\nmodel name\t: A @ 2 GHz\nflags\t\t: tsc\n\n";
    const ARM: &str = "processor\t: 0\nFeatures\t: fp asimd aes pmull sha1 sha2\n\n";

    fn read(files: &[(&str, &str)]) -> Cpu {
        let root = tempfile::tempdir().unwrap();
        Cpu::read(&write(root.path(), files))
    }

    #[test]
    fn model_and_instructions_of_an_x86_processor_are_read() {
        let cpu = read(&[("proc/cpuinfo", X86), ("sys/devices/system/cpu/online", "0-1\n")]);
        assert_eq!(cpu.model.as_deref(), Some("A @ 2 GHz"));
        assert_eq!(cpu.online, Some(2));
        assert_eq!(cpu.virtualised, Some(true));
        assert_eq!(cpu.tsc_stable, Some(true));
        let all = TlsFeatures { aes: true, vaes: true, pclmulqdq: true, sha_ni: true };
        assert_eq!(cpu.tls, Some(all));
    }

    #[test]
    fn an_arm_processor_has_other_names_and_says_nothing_of_a_hypervisor() {
        let cpu = read(&[("proc/cpuinfo", ARM)]);
        assert_eq!(cpu.model, None);
        assert_eq!(cpu.virtualised, None);
        assert_eq!(cpu.tsc_stable, Some(false));
        let features = TlsFeatures { aes: true, vaes: false, pclmulqdq: true, sha_ni: true };
        assert_eq!(cpu.tls, Some(features));
    }

    #[test]
    fn governors_are_named_once_and_turbo_is_boost() {
        let cpu = read(&[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "other\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ]);
        assert_eq!(cpu.governor.as_deref(), Some("powersave"));
        assert_eq!(cpu.boost, Some(false));
    }

    #[test]
    fn a_list_is_counted_and_one_that_makes_no_sense_is_not() {
        assert_eq!(count("0-3,8\n"), Some(5));
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("3-0"), None);
        assert_eq!(count(""), None);
    }
}
