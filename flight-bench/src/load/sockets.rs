//! What the kernel says of the connections that are measured, over a window.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use flight_net::client::Sockets;
use flight_probe::tcp::TcpInfo;
use serde::{Deserialize, Serialize};

/// TCP connections that were open when a window closed; counts are of the window alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TcpSpent {
    pub(crate) connections: u64,
    /// Bytes that the peer has acknowledged, and that came from it: with all that TLS and HTTP/2 add.
    pub(crate) sent_bytes: Option<u64>,
    pub(crate) received_bytes: Option<u64>,
    /// Segments sent again.
    pub(crate) retransmitted: Option<u64>,
    /// Microseconds with something to send, of all connections together; and what of it was spent
    /// waiting for the peer's window, and for room in the send buffer.
    pub(crate) busy_us: Option<u64>,
    pub(crate) peer_window_limited_us: Option<u64>,
    pub(crate) send_buffer_limited_us: Option<u64>,
    /// At its end: the longest smoothed round trip, and the smallest congestion window, in segments.
    pub(crate) round_trip_us: Option<u64>,
    pub(crate) congestion_window: Option<u64>,
}

/// What connections had done when the window opened. It keeps none of them open.
pub(super) struct Before(Vec<(Weak<OwnedFd>, TcpInfo)>);

impl Before {
    pub(super) fn read(sockets: &Sockets) -> Self {
        let read = |socket: Arc<OwnedFd>| {
            TcpInfo::of(&socket).ok().map(|info| (Arc::downgrade(&socket), info))
        };
        Self(sockets.open().into_iter().filter_map(read).collect())
    }

    /// Those that are open still, and those that were made meanwhile. `None` without any: over Unix
    /// sockets, or where connections are what is measured.
    pub(super) fn until_now(&self, sockets: &Sockets) -> Option<TcpSpent> {
        let open = sockets.open();
        let now = open.iter().filter_map(|socket| Some((socket, TcpInfo::of(socket).ok()?)));
        let both: Vec<(TcpInfo, TcpInfo)> = now
            .map(|(socket, info)| {
                let socket = Arc::downgrade(socket);
                let known = self.0.iter().find(|(before, _)| before.ptr_eq(&socket));
                (known.map(|(_, info)| *info).unwrap_or_default(), info)
            })
            .collect();
        spent(&both)
    }
}

fn spent(both: &[(TcpInfo, TcpInfo)]) -> Option<TcpSpent> {
    // What the kernel does not tell of one connection is not known of all.
    let sum = |of: &dyn Fn(&TcpInfo) -> Option<u64>| -> Option<u64> {
        let grown = |(before, now): &(TcpInfo, TcpInfo)| {
            Some(of(now)?.saturating_sub(of(before).unwrap_or_default()))
        };
        both.iter().map(grown).sum()
    };
    let last = |of: &dyn Fn(&TcpInfo) -> Option<u32>| -> Option<Vec<u64>> {
        both.iter().map(|(_, now)| of(now).map(u64::from)).collect()
    };
    (!both.is_empty()).then(|| TcpSpent {
        connections: both.len() as u64,
        sent_bytes: sum(&|info| info.acknowledged_bytes),
        received_bytes: sum(&|info| info.received_bytes),
        retransmitted: sum(&|info| info.retransmitted_packets.map(u64::from)),
        busy_us: sum(&|info| info.busy_us),
        peer_window_limited_us: sum(&|info| info.peer_window_limited_us),
        send_buffer_limited_us: sum(&|info| info.send_buffer_limited_us),
        round_trip_us: last(&|info| info.round_trip_us).and_then(|all| all.into_iter().max()),
        congestion_window: last(&|info| info.congestion_window_packets)
            .and_then(|all| all.into_iter().min()),
    })
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

    #[test]
    fn counts_are_of_the_window_and_states_of_its_end() {
        let both = [(info(100, 10, 1), info(150, 1010, 40)), (TcpInfo::default(), info(7, 5, 90))];
        let got = spent(&both).expect("two connections");
        assert_eq!(
            (got.connections, got.sent_bytes, got.received_bytes),
            (2, Some(57), Some(1005))
        );
        assert_eq!((got.round_trip_us, got.congestion_window), (Some(90), Some(20)));
        assert_eq!(got.retransmitted, None, "an older kernel does not tell");
    }

    #[test]
    fn what_one_connection_does_not_tell_is_not_known_of_all() {
        let silent = TcpInfo { acknowledged_bytes: None, ..info(0, 4, 1) };
        let got = spent(&[(info(1, 1, 1), info(2, 2, 1)), (TcpInfo::default(), silent)]);
        let got = got.expect("two connections");
        assert_eq!((got.sent_bytes, got.received_bytes), (None, Some(5)));
        assert_eq!(spent(&[]), None);
    }
}
