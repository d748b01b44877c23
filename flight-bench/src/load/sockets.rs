//! What the kernel says of the connections that are measured, over a window.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use flight_net::client::{OpenSocket, Sockets};
use flight_probe::tcp::TcpInfo;
use serde::{Deserialize, Serialize};

use crate::limits::TCP_CONNECTIONS_TOLD_MAX;

/// TCP connections that were open when a window closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TcpSpent {
    pub(crate) connections: u64,
    /// Of all together: sums, but the longest round trip and the smallest congestion window.
    #[serde(flatten)]
    pub(crate) all: TcpAmounts,
    /// One by one, where there are [`TCP_CONNECTIONS_TOLD_MAX`] of them at most.
    #[serde(default)]
    pub(crate) each: Vec<TcpConnection>,
}

/// One of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TcpConnection {
    /// Which streams it carries, as those say it. Calls without batches, and places other than the
    /// target, have sockets of their own under the same number.
    pub(crate) conn: usize,
    #[serde(flatten)]
    pub(crate) amounts: TcpAmounts,
}

/// What the kernel tells; counts are of the window alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TcpAmounts {
    /// Bytes that the peer has acknowledged, and that came from it: with all that TLS and HTTP/2 add.
    pub(crate) sent_bytes: Option<u64>,
    pub(crate) received_bytes: Option<u64>,
    /// Segments sent again.
    pub(crate) retransmitted: Option<u64>,
    /// Microseconds with something to send; and what of it was spent waiting for the peer's window,
    /// and for room in the send buffer.
    pub(crate) busy_us: Option<u64>,
    pub(crate) peer_window_limited_us: Option<u64>,
    pub(crate) send_buffer_limited_us: Option<u64>,
    /// At the window's end: the smoothed round trip, and the congestion window in segments.
    pub(crate) round_trip_us: Option<u64>,
    pub(crate) congestion_window: Option<u64>,
}

/// What connections had done when the window opened. It keeps none of them open.
pub(super) struct Before(Vec<(Weak<OwnedFd>, TcpInfo)>);

impl Before {
    pub(super) fn read(sockets: &Sockets) -> Self {
        let all = sockets.open().into_iter().filter_map(told);
        Self(all.map(|(socket, info)| (Arc::downgrade(&socket.descriptor), info)).collect())
    }

    /// Those that are open still, and those that were made meanwhile. `None` without any: over Unix
    /// sockets, or where connections are what is measured.
    pub(super) fn until_now(&self, sockets: &Sockets) -> Option<TcpSpent> {
        let now = sockets.open().into_iter().filter_map(told);
        let each = now.map(|(socket, now)| {
            let known = Arc::downgrade(&socket.descriptor);
            let before = self.0.iter().find(|(before, _)| before.ptr_eq(&known));
            let before = before.map(|(_, info)| *info).unwrap_or_default();
            TcpConnection { conn: socket.owner, amounts: TcpAmounts::between(&before, &now) }
        });
        TcpSpent::of(each.collect())
    }
}

fn told(socket: OpenSocket) -> Option<(OpenSocket, TcpInfo)> {
    let info = TcpInfo::of(&socket.descriptor).ok()?;
    Some((socket, info))
}

impl TcpAmounts {
    fn between(before: &TcpInfo, now: &TcpInfo) -> Self {
        let grown = |of: &dyn Fn(&TcpInfo) -> Option<u64>| {
            Some(of(now)?.saturating_sub(of(before).unwrap_or_default()))
        };
        Self {
            sent_bytes: grown(&|info| info.acknowledged_bytes),
            received_bytes: grown(&|info| info.received_bytes),
            retransmitted: grown(&|info| info.retransmitted_packets.map(u64::from)),
            busy_us: grown(&|info| info.busy_us),
            peer_window_limited_us: grown(&|info| info.peer_window_limited_us),
            send_buffer_limited_us: grown(&|info| info.send_buffer_limited_us),
            round_trip_us: now.round_trip_us.map(u64::from),
            congestion_window: now.congestion_window_packets.map(u64::from),
        }
    }

    fn together(each: &[TcpConnection]) -> Self {
        // What the kernel does not tell of one connection is not known of all.
        let all = |of: fn(&Self) -> Option<u64>| -> Option<Vec<u64>> {
            each.iter().map(|one| of(&one.amounts)).collect()
        };
        let sum = |of| Some(all(of)?.into_iter().sum());
        Self {
            sent_bytes: sum(|one| one.sent_bytes),
            received_bytes: sum(|one| one.received_bytes),
            retransmitted: sum(|one| one.retransmitted),
            busy_us: sum(|one| one.busy_us),
            peer_window_limited_us: sum(|one| one.peer_window_limited_us),
            send_buffer_limited_us: sum(|one| one.send_buffer_limited_us),
            round_trip_us: all(|one| one.round_trip_us).and_then(|all| all.into_iter().max()),
            congestion_window: all(|one| one.congestion_window)
                .and_then(|all| all.into_iter().min()),
        }
    }
}

impl TcpSpent {
    fn of(mut each: Vec<TcpConnection>) -> Option<Self> {
        let (connections, all) = (each.len() as u64, TcpAmounts::together(&each));
        // A document with thousands of connections is nobody's to read.
        if each.len() > TCP_CONNECTIONS_TOLD_MAX {
            each.clear();
        }
        each.sort_by_key(|one| one.conn);
        (connections > 0).then_some(Self { connections, all, each })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use flight_net::client::{ConnectOptions, Connector};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_connection_that_ends_within_the_window_is_neither_kept_open_nor_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let endpoint = format!("grpc://{address}").parse().expect("an endpoint");
        let sockets = Sockets::default();
        let connector = Connector::new(endpoint, None, ConnectOptions::default());
        let connector = connector.watched(sockets.clone());
        let stays = connector.connect_streams().await.expect("somebody listens");
        let ends = connector.connect_streams().await.expect("somebody listens");
        let before = Before::read(&sockets);
        let counted = || before.until_now(&sockets).map(|spent| spent.connections);
        assert_eq!(counted(), Some(2));
        drop(ends);
        let closed = async {
            while sockets.open().len() > 1 {
                tokio::task::yield_now().await;
            }
        };
        let closed = tokio::time::timeout(Duration::from_secs(20), closed).await;
        assert!(closed.is_ok(), "what was read before the window keeps its socket open");
        assert_eq!(counted(), Some(1));
        drop(stays);
    }

    fn info(sent: u64, received: u64, round_trip_us: u32) -> TcpInfo {
        TcpInfo {
            acknowledged_bytes: Some(sent),
            received_bytes: Some(received),
            round_trip_us: Some(round_trip_us),
            congestion_window_packets: Some(round_trip_us / 2),
            ..TcpInfo::default()
        }
    }

    fn spent(both: &[(TcpInfo, TcpInfo)]) -> Option<TcpSpent> {
        // The last that was made is listed first: threads connect when they come to it.
        let each = both.iter().enumerate().rev().map(|(conn, (before, now))| TcpConnection {
            conn,
            amounts: TcpAmounts::between(before, now),
        });
        TcpSpent::of(each.collect())
    }

    #[test]
    fn counts_are_of_the_window_and_states_of_its_end() {
        let both = [(info(100, 10, 1), info(150, 1010, 40)), (TcpInfo::default(), info(7, 5, 90))];
        let got = spent(&both).expect("two connections");
        assert_eq!((got.connections, got.all.sent_bytes), (2, Some(57)));
        assert_eq!(got.all.received_bytes, Some(1005));
        assert_eq!((got.all.round_trip_us, got.all.congestion_window), (Some(90), Some(20)));
        assert_eq!(got.all.retransmitted, None, "an older kernel does not tell");
    }

    #[test]
    fn what_one_connection_does_not_tell_is_not_known_of_all() {
        let silent = TcpInfo { acknowledged_bytes: None, ..info(0, 4, 1) };
        let got = spent(&[(info(1, 1, 1), info(2, 2, 1)), (TcpInfo::default(), silent)]);
        let got = got.expect("two connections");
        assert_eq!((got.all.sent_bytes, got.all.received_bytes), (None, Some(5)));
        assert_eq!(spent(&[]), None);
    }

    #[test]
    fn connections_are_told_one_by_one_unless_there_are_too_many() {
        let both = [(info(100, 10, 1), info(150, 1010, 40)), (TcpInfo::default(), info(7, 5, 90))];
        let each = spent(&both).expect("two connections").each;
        let told =
            |one: &TcpConnection| (one.conn, one.amounts.sent_bytes, one.amounts.round_trip_us);
        let told: Vec<_> = each.iter().map(told).collect();
        assert_eq!(told, [(0, Some(50), Some(40)), (1, Some(7), Some(90))]);
        let many = |count| spent(&vec![both[0]; count]).expect("connections");
        assert_eq!(many(TCP_CONNECTIONS_TOLD_MAX).each.len(), TCP_CONNECTIONS_TOLD_MAX);
        let more = many(TCP_CONNECTIONS_TOLD_MAX + 1);
        assert_eq!((more.each.len(), more.connections), (0, TCP_CONNECTIONS_TOLD_MAX as u64 + 1));
        assert_eq!(more.all.sent_bytes, Some(50 * (TCP_CONNECTIONS_TOLD_MAX as u64 + 1)));
    }

    #[test]
    fn documents_without_single_connections_are_read() {
        let text = r#"{"connections":2,"sent_bytes":7,"received_bytes":null}"#;
        let got: TcpSpent = serde_json::from_str(text).expect("an earlier version's");
        assert_eq!((got.connections, got.all.sent_bytes, got.each.len()), (2, Some(7), 0));
    }
}
