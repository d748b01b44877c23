//! Figures over repeats, and the made-up results that the tests of all forms share.

use super::*;
use crate::record::{Counts, Metric, SLICES, Slice, Slices, StreamCounts};

#[test]
fn rates_are_medians_and_intervals_over_complete_repeats() {
    let mut results = single(Workload::Get);
    results.variants[0].measured[4].complete = false;
    let summary = results.summary();
    let got = &summary["get.bytes_per_s"];
    assert_eq!((got.n, got.unit, got.better), (4, "B/s", "higher"));
    assert_eq!(got.median, Some(131_072_000.0));
    assert!((got.est.expect("an estimate") - 131_072_000.0).abs() < 1.0);
    assert_eq!(summary["get.rows_per_s"].median, Some(4_096_000.0));
}

#[test]
fn the_cost_of_tls_is_a_ratio_within_each_round() {
    let summary = six_rows().summary();
    let ratio = &summary["get.bytes_per_s@tls-ec/plain"];
    assert_eq!((ratio.n, ratio.unit), (5, "ratio"));
    assert!((ratio.est.expect("an estimate") - 0.5).abs() < 1e-9, "{ratio:?}");
    assert!(!summary.contains_key("get.bytes_per_s@plain/plain"));
}

#[test]
fn a_round_that_one_side_did_not_finish_is_no_pair() {
    let mut results = six_rows();
    results.variants[0].measured[2].complete = false;
    assert_eq!(results.summary()["get.bytes_per_s@tls-ec/plain"].n, 4);
}

#[test]
fn a_run_that_measured_nothing_has_no_numbers() {
    let mut results = single(Workload::Put);
    results.variants[0].measured.clear();
    let got = &results.summary()["put.bytes_per_s"];
    assert_eq!((got.n, got.est, got.median, got.min, got.cv), (0, None, None, None, None));
}

/// One variant with five repeats of one second: 1000 batches each, waits of 1 µs to 1 ms.
pub(crate) fn single(workload: Workload) -> Results {
    results(&[(workload, "plain", 1000)])
}

/// What quick measures; TLS moves half of what plaintext does.
pub(crate) fn six_rows() -> Results {
    let mut rows = Vec::new();
    for workload in [Workload::Get, Workload::Put] {
        for (transport, batches) in [("plain", 1000), ("tls-ec", 500), ("tls-rsa", 500)] {
            rows.push((workload, transport, batches));
        }
    }
    let mut results = results(&rows);
    results.record.command = "quick".into();
    results
}

/// 1000 operations of a mix, of which two kinds are calls; the last of them is missing in a window.
pub(crate) fn mix() -> Results {
    let kinds = [
        (Kind::Get, 70, 700, 7000),
        (Kind::Put, 20, 190, 6080),
        (Kind::Info, 10, 110, 110),
        (Kind::List, 1, 0, 0),
    ];
    let batches = kinds.iter().map(|(.., batches)| batches).sum();
    let mut rows = vec![(Workload::Mixed, "plain", batches)];
    rows.extend(kinds.map(|(kind, .., batches)| (Workload::of(kind), "plain", batches)));
    let mut results = results(&rows);
    results.record.mix = Some("get=70,put=20,info=10,list=1".to_owned());
    let operations = kinds.iter().map(|(_, _, operations, _)| operations).sum();
    let all = std::iter::once((None, operations));
    let of_kinds = kinds.iter().map(|(kind, weight, operations, _)| {
        (Some(Part { kind: *kind, weight: *weight }), *operations)
    });
    for (variant, (part, operations)) in results.variants.iter_mut().zip(all.chain(of_kinds)) {
        variant.part = part;
        let own = |metric: &&Metric| metric.of() == variant.workload.name();
        let shared = [if part.is_some() { Metric::MixedService } else { Metric::Connect }];
        let metrics: Vec<Metric> = usual().iter().filter(own).chain(&shared).copied().collect();
        let closed =
            |metric: &Metric| !metric.id().ends_with(".lag") && !metric.id().ends_with("response");
        let metrics: Vec<Metric> = metrics.into_iter().filter(closed).collect();
        for measured in &mut variant.measured {
            let recording = &mut measured.repeat.recording;
            recording.counts.transfer.operations = operations;
            recording.latencies = latencies(if operations > 0 { &metrics } else { &[] });
            if part.is_some() {
                recording.streams.clear();
            }
            if variant.workload == Workload::Unary {
                recording.counts.transfer.logical_bytes = 0;
            }
        }
    }
    results
}

pub(crate) fn results(rows: &[(Workload, &'static str, u64)]) -> Results {
    let extent =
        Extent::Window { warmup: Duration::from_millis(300), duration: Duration::from_secs(1) };
    Results {
        id: "20260922t103107z-7".to_owned(),
        started: SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_073_067),
        record: RunRecord {
            command: rows.first().map_or("get", |(workload, ..)| workload.name()).into(),
            streams: 4,
            connections: 4,
            threads: 1,
            model: "closed".into(),
            transport: "own".into(),
            sources: vec!["path:taxi".to_owned()],
            extent: extent.into(),
            repeats: 5,
            batch_rows: None,
            message_bytes: None,
            max_message_bytes: 256 << 20,
            records_per_stream: None,
            pool: None,
            seed: None,
            inflight: None,
            upload_bytes: None,
            verify: "count".into(),
            call: None,
            mix: None,
            rate: None,
            rate_share: None,
            arrival: None,
            resume: None,
            key: None,
            h2_stream_window: None,
            h2_connection_window: None,
            sample_rows: None,
            follow_locations: None,
            connect: None,
            linger_ns: None,
            metadata: Vec::new(),
            missing: Vec::new(),
        },
        server: Some(ServerRecord {
            kind: "child".into(),
            name: Some("flight-server".to_owned()),
            version: Some("0.1.0".to_owned()),
            pid: Some(4312),
            ..ServerRecord::default()
        }),
        host: Host::default(),
        clock: Some(ClockInUse {
            kind: flight_probe::clock::Kind::Tsc,
            why: "CPU and kernel call the time stamp counter steady".into(),
            call_ns: 8.5,
        }),
        floor: None,
        variants: rows.iter().map(|row| filled(*row)).collect(),
        verify: None,
        warnings: Vec::new(),
        thresholds: Vec::new(),
        outcome: Outcome { exit: Exit::Done, error: None, complete: true },
    }
}

fn filled((workload, transport, batches): (Workload, &'static str, u64)) -> Variant {
    let tls = (transport != "plain").then(|| TlsSide {
        engine: Some("aws-lc".to_owned()),
        certificate: Some("EC P-256".to_owned()),
        trust: "ca".into(),
        verified: true,
        client_certificate: false,
        version: Some("1.3".to_owned()),
        suite: Some("TLS13_AES_128_GCM_SHA256".to_owned()),
        group: Some("X25519MLKEM768".to_owned()),
        resume: None,
    });
    Variant {
        workload,
        transport: transport.into(),
        label: if transport == "plain" { "plaintext" } else { "TLS RSA-4096" }.to_owned(),
        url: "grpc://127.0.0.1:40213".to_owned(),
        tls,
        acks: (workload == Workload::Put).then_some(Acks::PerBatch),
        part: None,
        measured: (0..5).map(|round| measured(round, batches)).collect(),
    }
}

/// All but those of queries and of streams that the server paces.
fn usual() -> Vec<Metric> {
    let special = [Metric::GetInfo, Metric::GetDelivery, Metric::GetResponse, Metric::GetLag];
    Metric::ALL.into_iter().filter(|metric| !special.contains(metric)).collect()
}

/// A thousand events of each.
fn latencies(metrics: &[Metric]) -> Latencies {
    let mut latencies = Latencies::with_room_for(metrics);
    for metric in metrics {
        for micros in 1..=1000 {
            latencies.record(*metric, Duration::from_micros(micros));
        }
    }
    latencies
}

fn measured(round: usize, batches: u64) -> Measured {
    let transfer = Transfer {
        batches,
        rows: batches * 4096,
        logical_bytes: batches * 131_072,
        encoded_bytes: batches * 131_400,
        operations: 0,
    };
    let stream = StreamCounts {
        id: 0,
        connection: 0,
        transfer,
        first_ns: Some(412_000),
        longest_gap_ns: 2_000_000,
        last: None,
        done: None,
    };
    let recording = Recording {
        counts: Counts { transfer, ..Counts::default() },
        latencies: latencies(&usual()),
        streams: vec![stream],
        slices: Slices::of((0..SLICES as u64).map(|_| Slice {
            batches: batches / SLICES as u64,
            logical_bytes: batches * 131_072 / SLICES as u64,
            lag_ns: 0,
            sent: 0,
        }))
        .expect("as many as there are"),
        ..Recording::default()
    };
    let repeat = Repeat {
        recording,
        elapsed: Duration::from_secs(1),
        tail: None,
        set_up: None,
        resources: None,
        timeline: Vec::new(),
    };
    Measured { round, order: 0, repeat, complete: true }
}
