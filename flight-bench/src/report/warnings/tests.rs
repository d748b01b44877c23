//! Made-up runs with one fault each, and runs that come close to it without having it.

use std::time::Duration;

use flight_probe::noise::Noise;

use super::*;
use crate::load::Resources;
use crate::record::{Latencies, SLICES, Slice, Slices};
use crate::report::cost::tests::spent;
use crate::report::results::tests::{results, single, six_rows};

/// What reading the time costs on a usual machine.
const CLOCK_NS: f64 = 60.0;

fn check(results: &Results, want: &[&str]) {
    let told = findings(results, CLOCK_NS);
    assert_eq!(told.len(), want.len(), "{told:#?}");
    for (told, want) in told.iter().zip(want) {
        assert!(told.to_string().contains(want), "{told}");
        assert!(!told.why.is_empty() && !told.hint.is_empty(), "{told:?}");
        assert!(weight::is_weighed(&told.code), "{told:?}");
        // A line each in the text, with a row before the first.
        assert!(told.text.chars().count() <= 85, "{}", told.text);
        assert!(told.advice().is_some_and(|advice| advice.chars().count() <= 96), "{told:?}");
    }
}

fn with_slices(of: impl Fn(u64) -> Slice) -> Results {
    let mut results = single(Workload::Unary);
    for measured in &mut results.variants[0].measured {
        let slices = Slices::of((0..SLICES as u64).map(&of));
        measured.repeat.recording.slices = slices.expect("as many as there are");
    }
    results
}

/// A run whose latencies of each repeat, in microseconds, are these.
fn with_latencies(workload: Workload, micros: &[u64]) -> Results {
    let mut results = single(workload);
    let metric = main_metric(workload);
    for measured in &mut results.variants[0].measured {
        let mut latencies = Latencies::with_room_for(&[metric]);
        micros.iter().for_each(|took| latencies.record(metric, Duration::from_micros(*took)));
        measured.repeat.recording.latencies = latencies;
    }
    results
}

fn with_noise(noise: &Noise) -> Results {
    let mut results = single(Workload::Get);
    for measured in &mut results.variants[0].measured {
        let (client, noise) = (spent("worker-0", 0.3), noise.clone());
        measured.repeat.resources = Some(Resources { client, server: None, noise, tcp: None });
    }
    results
}

#[test]
fn a_run_without_fault_has_none() {
    check(&single(Workload::Get), &[]);
    check(&single(Workload::Put), &[]);
    check(&results(&[]), &[]);
    check(&with_noise(&Noise { steal_share: Some(0.01), ..Noise::default() }), &[]);
}

#[test]
fn a_rate_that_falls_is_told_from_where_to_where() {
    let slice = |i| Slice { batches: 1000 - 10 * i, ..Slice::default() };
    check(&with_slices(slice), &["in 5 of 5 repeats, in repeat 1 from 19100/s to 17100/s"]);
    // By the line that fits best it fell by more than there was.
    let slice = |i| Slice { batches: if i < 4 { 1000 } else { 10 }, ..Slice::default() };
    check(&with_slices(slice), &["in repeat 1 from 20000/s to 200/s"]);
    check(&with_slices(|i| Slice { batches: 1000 + i % 2, ..Slice::default() }), &[]);
}

#[test]
fn a_backlog_that_grows_is_told_and_a_queue_is_not() {
    let offered = |lag: &dyn Fn(u64) -> u64| {
        let mut results = with_slices(|i| Slice {
            batches: 50,
            logical_bytes: 0,
            lag_ns: 100 * lag(i),
            sent: 100,
        });
        results.record.rate = Some(2_000.0);
        results
    };
    let want = "saturated: 2000/s were offered and 1000/s taken in";
    check(&offered(&|i| i * 10_000_000), &[want]);
    check(&offered(&|_| 200_000_000), &[]);
}

#[test]
fn repeats_that_differ_are_told_with_what_they_can_show() {
    let varied = |step: u64| {
        let mut results = single(Workload::Get);
        for (round, measured) in results.variants[0].measured.iter_mut().enumerate() {
            measured.repeat.recording.counts.transfer.batches = 1000 + step * round as u64;
        }
        results
    };
    check(&varied(200), &["repeats differ by 23 %"]);
    check(&varied(20), &[]);
}

#[test]
fn answers_that_peak_at_40_ms_are_told() {
    let calls = |took: fn(u64) -> u64| {
        with_latencies(Workload::Unary, &(0..1000).map(took).collect::<Vec<_>>())
    };
    let want = "34 % of unary.service lie at 38 to 45 ms";
    // 334 of 1000 are a third.
    let third = calls(|call| if call % 3 == 0 { 40_500 } else { 300 });
    check(&third, &[&want.replace("34", "33")]);
    check(&calls(|call| if call % 20 == 0 { 40_500 } else { 300 }), &[]);
    // A slow server whose answers take 30 to 60 ms has no peak there, though many lie in it.
    check(&calls(|call| 30_000 + 30 * call), &[]);
}

#[test]
fn a_pause_that_percentiles_hide_is_told() {
    let paused = |pause| {
        let mut results = single(Workload::Get);
        let streams = &mut results.variants[0].measured[1].repeat.recording.streams;
        streams[0].longest_gap_ns = pause;
        results
    };
    let mut run = paused(1_000_000_000);
    check(&run, &["stream 0 stood still for 1.00 s in repeat 2 (usual: 500 µs)"]);
    run.record.rate = Some(1000.0);
    check(&run, &["all that was to be sent meanwhile is late"]);
    check(&paused(200_000_000), &[]);
}

#[test]
fn a_stream_that_starves_is_named() {
    let beside = |batches| {
        let mut results = single(Workload::Get);
        let streams = &mut results.variants[0].measured[2].repeat.recording.streams;
        let mut second = streams[0];
        (second.id, second.connection, second.transfer.batches) = (1, 1, batches);
        streams.push(second);
        results
    };
    check(&beside(10), &["stream 1 (connection 1) moved 1 % of what the fastest did"]);
    check(&beside(900), &[]);
}

#[test]
fn what_others_took_of_the_machine_is_told() {
    check(
        &with_noise(&Noise { steal_share: Some(0.2), ..Noise::default() }),
        &["the hypervisor took up to 20 % of the processors' time"],
    );
    let throttling = flight_probe::host::Throttling { periods: 2, time_us: 100 };
    check(
        &with_noise(&Noise { throttling: Some(throttling), ..Noise::default() }),
        &["a quota of processor time ran out in 10 periods"],
    );
}

#[test]
fn a_client_that_is_busy_beside_an_idle_server_is_told() {
    let busy = |share, is_seen: bool| {
        // Nobody else uses the four cores.
        let idle_share = Some(1.0 - (share + 0.1) / 4.0);
        let mut results = with_noise(&Noise { idle_share, ..Noise::default() });
        results.host.cpu.usable = Some(4);
        for measured in &mut results.variants[0].measured {
            let resources = measured.repeat.resources.as_mut().expect("it was watched");
            resources.client = spent("worker-0", share);
            resources.server = is_seen.then(|| spent("worker-0", 0.1));
        }
        results
    };
    check(&busy(0.98, true), &["this client limits: a thread of the client was 98 % busy"]);
    check(&busy(0.98, false), &[]);
    check(&busy(0.3, true), &[]);
}

#[test]
fn processes_beside_client_and_server_are_told() {
    let beside = |idle, cores| {
        let mut results = with_noise(&Noise { idle_share: Some(idle), ..Noise::default() });
        results.host.cpu.usable = Some(cores);
        for measured in &mut results.variants[0].measured {
            let resources = measured.repeat.resources.as_mut().expect("it was watched");
            resources.client = spent("worker-0", 0.5);
            resources.server = Some(spent("worker-0", 0.5));
        }
        results
    };
    check(&beside(0.3, 2), &["other processes used up to 20 % of the processors' time"]);
    check(&beside(0.45, 2), &[]);
}

#[test]
fn a_window_in_which_little_happens_is_told() {
    let lasting = |millis, batches| {
        let mut results = single(Workload::Get);
        let repeat = &mut results.variants[0].measured[0].repeat;
        repeat.elapsed = Duration::from_millis(millis);
        repeat.recording.counts.transfer.batches = batches;
        results.variants[0].measured.truncate(2);
        results.variants[0].measured[1].repeat.recording.counts.transfer.batches =
            batches * 1000 / millis;
        results
    };
    check(&lasting(500, 500), &[]);
    check(&lasting(400, 400), &["a repeat has 400 batches in 400 ms"]);
    let mut few = lasting(1000, 99);
    check(&few, &["99 batches in 1.00 s"]);
    few.record.extent.window_ns = None;
    check(&few, &["Try more --batches or --passes"]);
}

#[test]
fn a_percentile_that_cannot_be_told_is_missed() {
    let calls = |count| with_latencies(Workload::Put, &vec![500; count]);
    // Five repeats: 995 and 1000 events.
    check(&calls(199), &["put.ack has 995 events, too few for a p99"]);
    check(&calls(200), &[]);
}

#[test]
fn a_clock_that_is_dear_is_told_with_its_price() {
    let run = with_latencies(Workload::Unary, &vec![10; 100_000]);
    // 500 000 events in five seconds: a microsecond each is a tenth of the time.
    let told = findings(&run, 1_000.0);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0].text, "reading the time took 10.0 % of the workers' time");
    check(&run, &[]);
}

#[test]
fn what_several_rows_share_is_one_warning_by_the_worst() {
    let mut quick = six_rows();
    for (variant, step) in quick.variants.iter_mut().zip([100, 200, 0, 0, 0, 150]) {
        for (round, measured) in variant.measured.iter_mut().enumerate() {
            measured.repeat.recording.counts.transfer.batches = 1000 + step * round as u64;
        }
    }
    let streams = &mut quick.variants[3].measured[0].repeat.recording.streams;
    streams[0].longest_gap_ns = 1_000_000_000;
    let told = findings(&quick, CLOCK_NS);
    let codes: Vec<_> = told.iter().map(|one| (one.code.as_ref(), one.rows.join(" "))).collect();
    let rows = "get.tls-ec put.tls-rsa get.plain".to_owned();
    assert_eq!(codes, [("stalled", "put.plain".to_owned()), ("noisy", rows)]);
    assert!(told[1].text.starts_with("repeats differ by 23 %"), "{told:#?}");
}

#[test]
fn deliveries_by_another_machines_clock_are_told_to_be_missing() {
    let with = |metrics: &[Metric]| {
        let mut results = single(Workload::Get);
        results.record.rate = Some(100.0);
        let mut latencies = Latencies::with_room_for(metrics);
        metrics.iter().for_each(|metric| latencies.record(*metric, Duration::from_micros(50)));
        for measured in &mut results.variants[0].measured {
            measured.repeat.recording.latencies = latencies.clone();
        }
        findings(&results, CLOCK_NS).iter().any(|told| told.text.contains("another machine's"))
    };
    assert!(with(&[Metric::GetLag]));
    assert!(!with(&[Metric::GetLag, Metric::GetDelivery]));
    assert!(!with(&[Metric::GetWait]), "it was not asked for");
}
