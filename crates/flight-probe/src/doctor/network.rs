//! Rules about sockets and the loopback interface.

use super::Finding;
use crate::host::{Host, Limit, Network};

/// A connection takes a descriptor at each end; thousands of them are usual in tests of handshakes.
const DESCRIPTORS_MIN: u64 = 4_096;
/// A port rests for a minute after its connection: these allow some 270 new ones a second.
const PORTS_MIN: u64 = 16_000;
const BACKLOG_MIN: u64 = 1_024;
const LOOPBACK_MTU_BYTES: u64 = 65_536;

pub(super) fn descriptors(host: &Host) -> Finding {
    let why = "connections beyond the limit fail, and the run with them";
    match host.descriptors {
        None => Finding::unseen("descriptors", "RLIMIT_NOFILE", why),
        Some(Limit::Unlimited) => Finding::ok("descriptors", "no limit", why),
        Some(Limit::AtMost(limit)) if limit >= DESCRIPTORS_MIN => {
            Finding::ok("descriptors", format!("{limit}"), why)
        }
        Some(Limit::AtMost(limit)) => {
            let reach = match host.descriptors_hard {
                Some(Limit::AtMost(hard)) => hard.min(65_536),
                Some(Limit::Unlimited) | None => 65_536,
            };
            let finding = Finding::note("descriptors", format!("{limit}"), why);
            finding.fixed_by(format!("ulimit -n {reach}"))
        }
    }
}

pub(super) fn ports(network: &Network) -> Finding {
    let why = "each new connection takes a port for a minute; without any left, connecting fails";
    let Some([first, last]) = network.ports else {
        return Finding::unseen("ports", "/proc/sys/net/ipv4/ip_local_port_range", why);
    };
    let count = (last + 1).saturating_sub(first);
    let what = format!("{count} ports, {first} to {last}");
    if count < PORTS_MIN {
        let fix = "sudo sysctl net.ipv4.ip_local_port_range='10240 65535'";
        Finding::warn("ports", what, why).fixed_by(fix)
    } else {
        Finding::ok("ports", what, why)
    }
}

pub(super) fn backlog(network: &Network) -> Finding {
    let why = "connections that come at once beyond it wait a second for another try";
    match network.backlog_max {
        Some(length) if length < BACKLOG_MIN => {
            Finding::warn("backlog", format!("somaxconn is {length}"), why)
                .fixed_by("sudo sysctl net.core.somaxconn=4096")
        }
        Some(length) => Finding::ok("backlog", format!("somaxconn is {length}"), why),
        None => Finding::unseen("backlog", "/proc/sys/net/core/somaxconn", why),
    }
}

pub(super) fn loopback(network: &Network) -> Finding {
    let why = "rates over loopback depend on its packet size, and on whether someone shapes it";
    let mtu = network.loopback_mtu_bytes;
    let qdisc = network.loopback_qdisc.as_deref();
    let mtu_text = mtu.map_or_else(|| "unknown".to_owned(), |mtu| mtu.to_string());
    let what = format!("MTU {mtu_text}, qdisc {}", qdisc.unwrap_or("unknown"));
    if qdisc.is_some_and(|qdisc| qdisc != "noqueue") {
        return Finding::warn("loopback", what, why).fixed_by("sudo tc qdisc del dev lo root");
    }
    match mtu {
        Some(mtu) if mtu != LOOPBACK_MTU_BYTES => {
            Finding::warn("loopback", what, why).fixed_by("sudo ip link set lo mtu 65536")
        }
        Some(_) if qdisc.is_some() => Finding::ok("loopback", what, why),
        _ => Finding::note("loopback", what, why),
    }
}

pub(super) fn congestion(network: &Network) -> Finding {
    let why = "how fast a connection grows, and whether it paces its packets, is up to it";
    match network.congestion_control.as_deref() {
        // It paces, over loopback too, which costs timers there.
        Some("bbr") => Finding::note("congestion-control", "bbr, which paces its packets", why)
            .fixed_by("sudo sysctl net.ipv4.tcp_congestion_control=cubic"),
        Some(name) => Finding::ok("congestion-control", name, why),
        None => {
            Finding::unseen("congestion-control", "/proc/sys/net/ipv4/tcp_congestion_control", why)
        }
    }
}
