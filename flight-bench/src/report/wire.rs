//! What TCP says of a variant's connections, in words.

use super::figures::nanos;
use super::results::{Measured, Variant};
use crate::load::TcpSpent;

/// Bytes of a repeat on its connections, both ways; `None` over Unix sockets, where connections are
/// what is measured, and where the kernel does not tell.
pub(super) fn bytes(measured: &Measured) -> Option<u64> {
    let tcp = spent(measured)?;
    Some(tcp.all.sent_bytes?.saturating_add(tcp.all.received_bytes?))
}

pub(super) fn spent(measured: &Measured) -> Option<&TcpSpent> {
    measured.repeat.resources.as_ref()?.tcp.as_ref()
}

/// `1.004× the arrays' bytes · round trip 38 µs at most · …` over complete repeats.
pub(super) fn told(variant: &Variant) -> Option<String> {
    let complete: Vec<&Measured> = variant.measured.iter().filter(|one| one.complete).collect();
    let all: Vec<&TcpSpent> = complete.iter().filter_map(|one| spent(one)).collect();
    let last = all.last()?;
    let mut told = Vec::new();
    let wire: Option<u64> = complete.iter().map(|one| bytes(one)).sum();
    let logical: u64 =
        complete.iter().map(|one| one.repeat.recording.counts.transfer.logical_bytes).sum();
    if let Some(wire) = wire {
        let times = wire as f64 / logical as f64;
        told.push(match variant.workload.moves_batches() && logical > 0 {
            true => format!("{times:.3}× the arrays' bytes"),
            false => format!("{wire} bytes"),
        });
    }
    let longest = all.iter().filter_map(|tcp| tcp.all.round_trip_us).max();
    told.extend(longest.map(|time| format!("round trip {} at most", nanos(time as f64 * 1e3))));
    let again: Option<u64> = all.iter().map(|tcp| tcp.all.retransmitted).sum();
    told.extend(again.map(|segments| match segments {
        1 => "1 segment sent again".to_owned(),
        count => format!("{count} segments sent again"),
    }));
    told.extend(last.all.congestion_window.map(|segments| format!("congestion window {segments}")));
    (!told.is_empty()).then(|| told.join(" · "))
}

#[cfg(test)]
mod tests {
    use flight_probe::noise::Noise;

    use super::*;
    use crate::load::{Resources, TcpAmounts};
    use crate::report::Workload;
    use crate::report::cost::tests::spent as used;
    use crate::report::results::tests::single;

    fn check(workload: Workload, tcp: Option<&TcpSpent>, want: Option<&str>) {
        let mut results = single(workload);
        for measured in &mut results.variants[0].measured {
            let (client, noise) = (used("worker-0", 0.5), Noise::default());
            let tcp = tcp.cloned();
            measured.repeat.resources = Some(Resources { client, server: None, noise, tcp });
        }
        assert_eq!(told(&results.variants[0]).as_deref(), want);
    }

    fn tcp(received: Option<u64>) -> TcpSpent {
        let all = TcpAmounts {
            sent_bytes: Some(1_000),
            received_bytes: received,
            round_trip_us: Some(38),
            retransmitted: Some(0),
            congestion_window: Some(10),
            ..TcpAmounts::default()
        };
        TcpSpent { connections: 1, all, each: Vec::new() }
    }

    #[test]
    fn bytes_on_the_wire_are_told_beside_those_of_arrays() {
        let rest = "round trip 38.0 µs at most · 0 segments sent again · congestion window 10";
        // A repeat has 131 072 000 bytes.
        let want = format!("1.500× the arrays' bytes · {rest}");
        let received = 131_072_000 * 3 / 2 - 1_000;
        check(Workload::Get, Some(&tcp(Some(received))), Some(&want));
        let want = format!("25000 bytes · {rest}");
        check(Workload::Unary, Some(&tcp(Some(4_000))), Some(&want));
        check(Workload::Get, Some(&tcp(None)), Some(rest));
        check(Workload::Get, None, None);
    }
}
