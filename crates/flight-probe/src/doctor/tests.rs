//! Made-up hosts, each judged by the rules, and this one looked at.

use super::*;
use crate::host::{Limit, Throttling, TlsFeatures};

/// A quiet machine that leaves nothing to wish for.
fn ideal() -> Seen {
    let mut host = Host::default();
    host.cpu.online = Some(8);
    host.cpu.usable = Some(8);
    host.cpu.smt = Some(false);
    host.cpu.governor = Some("performance".to_owned());
    host.cpu.boost = Some(false);
    host.cpu.virtualised = Some(false);
    host.cpu.tls = Some(TlsFeatures { aes: true, vaes: true, pclmulqdq: true, sha_ni: true });
    host.cgroup.cpu_cores = Some(Limit::Unlimited);
    host.cgroup.memory_bytes = Some(Limit::Unlimited);
    host.memory.total_bytes = Some(16 << 30);
    host.memory.swap_bytes = Some(0);
    host.memory.swap_used_bytes = Some(0);
    host.memory.huge_pages = Some("madvise".to_owned());
    host.memory.numa_nodes = Some(1);
    host.network.loopback_mtu_bytes = Some(65_536);
    host.network.loopback_qdisc = Some("noqueue".to_owned());
    host.network.congestion_control = Some("cubic".to_owned());
    host.network.backlog_max = Some(4_096);
    host.network.ports = Some([32_768, 60_999]);
    host.clocksource = Some("tsc".to_owned());
    host.descriptors = Some(Limit::AtMost(65_536));
    host.perf_event_paranoid = Some(1);
    host.cpu_counters = Some(true);
    let noise = Noise {
        wall_ns: 1_000_000_000,
        pressure_share: Some(0.0),
        pressure_share_10_s: Some(0.01),
        steal_share: Some(0.0),
        ..Noise::default()
    };
    let cost = Cost { call_ns: 20.0, step_ns: 1 };
    let core = CoreNoise { core: 0, gaps: 0, gap_ns_max: 0, lost_share: 0.0 };
    let clock = ("Tsc".to_owned(), cost);
    Seen { host, noise, cores: vec![core], timer: cost, clock, debug_build: false }
}

/// Changes the ideal; the finding `id` must be of this level and say this.
#[track_caller]
fn check(change: impl FnOnce(&mut Seen), id: &str, level: Level, what: &str) {
    let mut seen = ideal();
    change(&mut seen);
    let findings = judge(&seen);
    let finding = findings.iter().find(|finding| finding.id == id).unwrap();
    assert_eq!((finding.level, finding.what.as_str()), (level, what));
    let others = findings.iter().filter(|finding| finding.id != id);
    let faults: Vec<_> = others.filter(|finding| finding.level != Level::Ok).collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert!(level != Level::Warn || finding.fix.is_some(), "a warning says what to do");
}

#[test]
fn an_ideal_host_has_only_good_findings_each_with_its_own_name() {
    let findings = judge(&ideal());
    assert!(findings.iter().all(|finding| finding.level == Level::Ok), "{findings:?}");
    let names: std::collections::BTreeSet<_> = findings.iter().map(|finding| finding.id).collect();
    assert_eq!(names.len(), findings.len());
}

#[test]
fn few_cores_or_some_forbidden_ones_are_told() {
    let two = |seen: &mut Seen| (seen.host.cpu.online, seen.host.cpu.usable) = (Some(2), Some(2));
    check(two, "cores", Level::Warn, "2 cores may be used");
    let some = |seen: &mut Seen| seen.host.cpu.usable = Some(4);
    check(some, "cores", Level::Note, "4 of 8 cores may be used");
}

#[test]
fn a_quota_is_a_warning_before_it_runs_out_and_after() {
    let quota = |seen: &mut Seen| seen.host.cgroup.cpu_cores = Some(Limit::AtMost(1.5));
    check(quota, "cgroup-quota", Level::Warn, "a quota of 1.50 cores");
    let throttled = |seen: &mut Seen| {
        seen.noise.throttling = Some(Throttling { periods: 3, time_us: 42_000 });
    };
    let what = "the quota ran out in 3 periods, for 42 ms";
    check(throttled, "cgroup-quota", Level::Warn, what);
}

#[test]
fn a_frequency_that_changes_is_told() {
    let governor = |seen: &mut Seen| seen.host.cpu.governor = Some("powersave".to_owned());
    check(governor, "governor", Level::Warn, "powersave");
    check(|seen| seen.host.cpu.boost = Some(true), "boost", Level::Note, "on");
    check(
        |seen| seen.host.cpu.smt = Some(true),
        "smt",
        Level::Note,
        "hardware threads share cores",
    );
}

#[test]
fn a_slow_clock_is_told() {
    let source = |seen: &mut Seen| seen.host.clocksource = Some("hpet".to_owned());
    check(source, "clocksource", Level::Warn, "hpet");
    let slow = |seen: &mut Seen| seen.clock.1.call_ns = 900.0;
    let what = "Instant 20.0 ns a call, steps of 1 ns; used: Tsc, 900.0 ns";
    check(slow, "timer", Level::Warn, what);
}

#[test]
fn cores_that_others_use_are_told() {
    let lost = |share| {
        move |seen: &mut Seen| {
            seen.cores.push(CoreNoise {
                core: 1,
                gaps: 300,
                gap_ns_max: 9_000_000,
                lost_share: share,
            });
        }
    };
    let what = "300 gaps above 100 µs on 2 cores; the worst, core 1, lost 59.0 %, 9.0 ms at once";
    check(lost(0.59), "noise", Level::Warn, what);
    let what = "300 gaps above 100 µs on 2 cores; the worst, core 1, lost 1.0 %, 9.0 ms at once";
    check(lost(0.01), "noise", Level::Note, what);
    let pressed = |seen: &mut Seen| seen.noise.pressure_share = Some(0.57);
    let what = "threads waited for a core 57.0 % of the time, 1.0 % over 10 s";
    check(pressed, "pressure", Level::Warn, what);
}

#[test]
fn stolen_time_is_told_unless_nobody_can_steal() {
    let stolen = |seen: &mut Seen| seen.noise.steal_share = Some(0.03);
    check(stolen, "steal", Level::Ok, "no virtual machine");
    let guest = |seen: &mut Seen| {
        stolen(seen);
        seen.host.cpu.virtualised = Some(true);
    };
    check(guest, "steal", Level::Warn, "3.0 % of the time stolen");
}

#[test]
fn memory_that_is_far_away_swapped_or_short_is_told() {
    let nodes = |seen: &mut Seen| seen.host.memory.numa_nodes = Some(2);
    check(nodes, "numa", Level::Note, "2 nodes");
    let pages = |seen: &mut Seen| seen.host.memory.huge_pages = Some("always".to_owned());
    check(pages, "huge-pages", Level::Note, "always");
    let swap = |seen: &mut Seen| {
        seen.host.memory.swap_bytes = Some(8 << 20);
        seen.host.memory.swap_used_bytes = Some(2 << 20);
    };
    check(swap, "swap", Level::Note, "2 of 8 MiB in use");
    let limit = |seen: &mut Seen| seen.host.cgroup.memory_bytes = Some(Limit::AtMost(1 << 30));
    check(limit, "memory", Level::Warn, "1.0 GiB, a limit of the control group");
}

#[test]
fn limits_of_sockets_are_told() {
    let few = |seen: &mut Seen| seen.host.descriptors = Some(Limit::AtMost(1_024));
    check(few, "descriptors", Level::Note, "1024");
    let ports = |seen: &mut Seen| seen.host.network.ports = Some([50_000, 50_999]);
    check(ports, "ports", Level::Warn, "1000 ports, 50000 to 50999");
    let backlog = |seen: &mut Seen| seen.host.network.backlog_max = Some(128);
    check(backlog, "backlog", Level::Warn, "somaxconn is 128");
}

#[test]
fn a_loopback_that_is_shaped_or_cut_is_told() {
    let netem = |seen: &mut Seen| seen.host.network.loopback_qdisc = Some("netem".to_owned());
    check(netem, "loopback", Level::Warn, "MTU 65536, qdisc netem");
    let small = |seen: &mut Seen| seen.host.network.loopback_mtu_bytes = Some(1_500);
    check(small, "loopback", Level::Warn, "MTU 1500, qdisc noqueue");
    let silent = |seen: &mut Seen| seen.host.network.loopback_qdisc = None;
    check(silent, "loopback", Level::Note, "MTU 65536, qdisc unknown");
    let bbr = |seen: &mut Seen| seen.host.network.congestion_control = Some("bbr".to_owned());
    check(bbr, "congestion-control", Level::Note, "bbr, which paces its packets");
}

#[test]
fn missing_instructions_for_tls_are_told() {
    let features = TlsFeatures { aes: true, vaes: false, pclmulqdq: true, sha_ni: true };
    let old = move |seen: &mut Seen| seen.host.cpu.tls = Some(features);
    check(old, "tls-instructions", Level::Note, "aes, pclmulqdq, sha_ni; lacks vaes");
    let none = |seen: &mut Seen| seen.host.cpu.tls = Some(TlsFeatures::default());
    let what = "lacks aes, vaes, pclmulqdq, sha_ni";
    check(none, "tls-instructions", Level::Warn, what);
}

#[test]
fn counters_that_may_not_be_used_and_a_debug_build_are_told() {
    let forbidden = |seen: &mut Seen| seen.host.perf_event_paranoid = Some(3);
    check(forbidden, "cpu-counters", Level::Note, "forbidden: perf_event_paranoid is 3");
    let user = |seen: &mut Seen| seen.host.perf_event_paranoid = Some(2);
    check(user, "cpu-counters", Level::Note, "user mode only: perf_event_paranoid is 2");
    let what = "the kernel drives no counters of the CPU, as in most virtual machines";
    check(|seen| seen.host.cpu_counters = Some(false), "cpu-counters", Level::Note, what);
    check(|seen| seen.debug_build = true, "build", Level::Warn, "a build with debug assertions");
}

#[test]
fn a_host_that_tells_nothing_gives_notes_and_no_warnings() {
    let (host, noise, cores) = (Host::default(), Noise::default(), Vec::new());
    let findings = judge(&Seen { host, noise, cores, ..ideal() });
    assert!(findings.iter().all(|finding| finding.level != Level::Warn), "{findings:?}");
    let unknown = findings.iter().filter(|finding| finding.what.contains("unknown")).count();
    assert_eq!(unknown, findings.len() - 2, "all but the build and the timer: {findings:?}");
}

#[test]
fn this_host_is_looked_at_and_judged() {
    let moment = Duration::from_millis(20);
    let options = Options { watch: moment, spin: moment, ..Options::default() };
    let found = findings(&options);
    assert_eq!(found.len(), judge(&ideal()).len());
    let json = serde_json::to_string(&found).unwrap();
    assert!(json.contains(r#""id":"cores""#), "{json}");
}
