//! What the kernel knows of a TCP connection (`TCP_INFO`, tcp(7) and `linux/tcp.h`).

mod option;

use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};

use crate::error::ProbeError;

/// The state of a connection since it was opened. What the kernel's record is too short for is
/// absent: it grew with 3.15, 4.1, 4.9 and 4.10.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpInfo {
    /// Round trip, smoothed, in microseconds.
    pub round_trip_us: Option<u32>,
    /// Its mean deviation, in microseconds.
    pub round_trip_deviation_us: Option<u32>,
    /// Packets that may be under way.
    pub congestion_window_packets: Option<u32>,
    /// The largest packet that is sent, without headers.
    pub send_packet_bytes: Option<u32>,
    /// Packets sent again.
    pub retransmitted_packets: Option<u32>,
    /// Bytes that the peer has acknowledged, and that came from it.
    pub acknowledged_bytes: Option<u64>,
    pub received_bytes: Option<u64>,
    /// The latest rate at which data arrived at the peer, in bytes a second.
    pub delivery_bytes_per_s: Option<u64>,
    /// Microseconds in which there was something to send.
    pub busy_us: Option<u64>,
    /// The part of it in which the peer's window was full.
    pub peer_window_limited_us: Option<u64>,
    /// The part of it in which the send buffer was too small.
    pub send_buffer_limited_us: Option<u64>,
}

impl TcpInfo {
    /// Asks the kernel about a connection.
    ///
    /// # Errors
    ///
    /// The descriptor is no TCP socket.
    pub fn of(socket: &impl AsFd) -> Result<Self, ProbeError> {
        let mut record = [0; option::RECORD_BYTES_MAX];
        let length = option::read(socket, &mut record).map_err(ProbeError::Socket)?;
        Ok(Self::parse(record.get(..length).unwrap_or(&record)))
    }

    /// Takes the fields from where `struct tcp_info` has them, on every architecture.
    fn parse(record: &[u8]) -> Self {
        Self {
            send_packet_bytes: number(record, 16).map(u32::from_ne_bytes),
            round_trip_us: number(record, 68).map(u32::from_ne_bytes),
            round_trip_deviation_us: number(record, 72).map(u32::from_ne_bytes),
            congestion_window_packets: number(record, 80).map(u32::from_ne_bytes),
            retransmitted_packets: number(record, 100).map(u32::from_ne_bytes),
            acknowledged_bytes: number(record, 120).map(u64::from_ne_bytes),
            received_bytes: number(record, 128).map(u64::from_ne_bytes),
            delivery_bytes_per_s: number(record, 160).map(u64::from_ne_bytes),
            busy_us: number(record, 168).map(u64::from_ne_bytes),
            peer_window_limited_us: number(record, 176).map(u64::from_ne_bytes),
            send_buffer_limited_us: number(record, 184).map(u64::from_ne_bytes),
        }
    }
}

/// The `N` bytes at `at`; absent where the record ends before.
fn number<const N: usize>(record: &[u8], at: usize) -> Option<[u8; N]> {
    record.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_over_loopback_is_described() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[7; 10_000]).unwrap();
        server.read_exact(&mut [0; 10_000]).unwrap();
        server.write_all(&[1]).unwrap();
        client.read_exact(&mut [0]).unwrap();
        let info = TcpInfo::of(&client).unwrap();
        assert!(info.round_trip_us.unwrap() > 0);
        assert!(info.congestion_window_packets.unwrap() > 0);
        assert!(info.send_packet_bytes.unwrap() > 500);
        assert!(info.acknowledged_bytes.unwrap() >= 10_000, "{info:?}");
        assert_eq!(info.received_bytes, Some(1));
        assert!(info.busy_us.is_some() && info.delivery_bytes_per_s.is_some());
        assert_eq!(TcpInfo::of(&server).unwrap().received_bytes, Some(10_000));
    }

    #[test]
    fn what_is_no_tcp_socket_is_an_error() {
        let error = TcpInfo::of(&tempfile::tempfile().unwrap()).unwrap_err();
        assert!(error.to_string().contains("only a TCP socket has it"), "{error}");
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(TcpInfo::of(&datagrams).is_err());
    }

    #[test]
    fn a_shorter_record_has_fewer_fields() {
        let mut record = [0; 192];
        record[68..72].copy_from_slice(&250_u32.to_ne_bytes());
        record[120..128].copy_from_slice(&9_u64.to_ne_bytes());
        let whole = TcpInfo::parse(&record);
        assert_eq!((whole.round_trip_us, whole.acknowledged_bytes), (Some(250), Some(9)));
        assert_eq!(whole.send_buffer_limited_us, Some(0));
        let old = TcpInfo::parse(&record[..104]);
        assert_eq!((old.round_trip_us, old.retransmitted_packets), (Some(250), Some(0)));
        assert_eq!((old.acknowledged_bytes, old.busy_us), (None, None));
        assert_eq!(TcpInfo::parse(&[]), TcpInfo::default());
    }
}
