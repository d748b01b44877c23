//! The settings of TCP, and the loopback interface.

use serde::{Deserialize, Serialize};

use crate::files::Files;

/// Network settings of the namespace that this process is in (tcp(7), socket(7), ip(7)).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Network {
    pub loopback_mtu_bytes: Option<u64>,
    /// How the loopback interface queues: `noqueue` unless someone shapes it, say with `netem`.
    pub loopback_qdisc: Option<String>,
    pub congestion_control: Option<String>,
    /// Least, first and largest receive buffer of a TCP socket.
    pub tcp_receive_bytes: Option<[u64; 3]>,
    /// Least, first and largest send buffer of a TCP socket.
    pub tcp_send_bytes: Option<[u64; 3]>,
    /// The largest receive buffer that a program may ask for.
    pub receive_bytes_max: Option<u64>,
    /// The largest send buffer that a program may ask for.
    pub send_bytes_max: Option<u64>,
    /// Connections that may wait to be accepted.
    pub backlog_max: Option<u64>,
    /// First and last port of outgoing connections.
    pub ports: Option<[u64; 2]>,
}

impl Network {
    pub(crate) fn read(files: &Files) -> Self {
        Self {
            loopback_mtu_bytes: files.value("/sys/class/net/lo/mtu"),
            loopback_qdisc: None,
            congestion_control: files.line("/proc/sys/net/ipv4/tcp_congestion_control"),
            tcp_receive_bytes: files.numbers("/proc/sys/net/ipv4/tcp_rmem"),
            tcp_send_bytes: files.numbers("/proc/sys/net/ipv4/tcp_wmem"),
            receive_bytes_max: files.value("/proc/sys/net/core/rmem_max"),
            send_bytes_max: files.value("/proc/sys/net/core/wmem_max"),
            backlog_max: files.value("/proc/sys/net/core/somaxconn"),
            ports: files.numbers("/proc/sys/net/ipv4/ip_local_port_range"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::write;

    #[test]
    fn settings_are_read_and_those_that_make_no_sense_are_unknown() {
        let root = tempfile::tempdir().unwrap();
        let files = write(
            root.path(),
            &[
                ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
                ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\n"),
                ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
                ("proc/sys/net/core/somaxconn", "many\n"),
                ("sys/class/net/lo/mtu", "65536\n"),
            ],
        );
        let network = Network::read(&files);
        assert_eq!(network.tcp_receive_bytes, Some([4_096, 131_072, 6_291_456]));
        assert_eq!(network.tcp_send_bytes, None);
        assert_eq!(network.ports, Some([32_768, 60_999]));
        assert_eq!(network.backlog_max, None);
        assert_eq!(network.loopback_mtu_bytes, Some(65_536));
    }
}
