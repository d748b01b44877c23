//! What a run's figures must not be read without: what was seen, why it matters, what to try.

use flight_stats::{fairness, saturation, steadiness};

use super::cost::bottleneck;
use super::figures::{amount, nanos};
use super::results::{Measured, Results, Variant, Workload};
use crate::record::{Metric, Slices};

/// Repeats that differ by more than this (standard deviation over mean) are told.
const VARIATION_SHOWN: f64 = 0.05;
/// A share of the answers that come within the time of delayed acknowledgements.
const NAGLE_SHARE: f64 = 0.1;
/// How long Linux delays an acknowledgement for data to go with it: 40 ms (tcp(7), `TCP_QUICKACK`).
const DELAYED_ACK_NS: std::ops::Range<u64> = 38_000_000..45_000_000;
/// A pause of a stream is told from this length on, if it is so many times the usual.
const PAUSE_SHOWN_NS: u64 = 250_000_000;
const STALL_RATIO: u64 = 20;
/// Time for which the hypervisor, or a quota, kept the processors.
const STEAL_SHOWN: f64 = 0.02;

/// All that is to be known about the figures of a run.
pub(crate) fn findings(results: &Results) -> Vec<String> {
    let of = |variant: &Variant| {
        let told = [
            unsteady(variant),
            saturated(results, variant),
            varied(variant),
            taken(variant),
            nagle(variant),
            stalled(results, variant),
            unfair(variant),
            limited_by_client(results, variant),
        ];
        let name =
            if results.variants.len() > 1 { format!("{}: ", variant.id()) } else { String::new() };
        told.into_iter().flatten().map(move |told| format!("{name}{told}")).collect::<Vec<_>>()
    };
    results.variants.iter().flat_map(of).collect()
}

/// Repeats whose rate changed while they were measured.
fn unsteady(variant: &Variant) -> Option<String> {
    let rates =
        |slices: &Slices| -> Vec<f64> { slices.iter().map(|slice| slice.batches as f64).collect() };
    let judged =
        variant.measured.iter().filter(|measured| measured.complete).filter_map(|measured| {
            let judged = steadiness(&rates(&measured.repeat.recording.slices))?;
            Some((measured.round, judged))
        });
    let unsteady: Vec<_> = judged.filter(|(_, judged)| !judged.steady).collect();
    let (round, worst) = unsteady.iter().max_by(|one, other| {
        let change = |judged: &flight_stats::Steadiness| judged.drift.abs().max(judged.step.abs());
        change(&one.1).total_cmp(&change(&other.1))
    })?;
    let change = if worst.drift.abs() > worst.step.abs() { worst.drift } else { worst.step };
    let word = if change < 0.0 { "fell" } else { "rose" };
    Some(format!(
        "not steady: in {} of {} repeats the rate changed while it was measured; in repeat {} it \
         {word} by {:.0} % of its mean. Try a longer --warmup or --duration",
        unsteady.len(),
        variant.measured.len(),
        round + 1,
        change.abs() * 100.0
    ))
}

/// An open loop that the server cannot keep up with.
fn saturated(results: &Results, variant: &Variant) -> Option<String> {
    let rate = results.record.rate?;
    let complete = variant.measured.iter().filter(|measured| measured.complete);
    let saturated: Vec<_> = complete.filter(|one| is_saturated(rate, one)).collect();
    let slowest = saturated.iter().map(|one| one.batches_per_s()).reduce(f64::min)?;
    Some(format!(
        "saturated: {}/s were offered and {}/s were taken in; the backlog grew for as long as it was \
         measured, so response times tell the length of the run and not the server. Try a lower \
         --rate, such as 70%",
        amount(rate),
        amount(slowest)
    ))
}

/// Whether the backlog of an open loop grew for as long as the repeat was measured.
pub(crate) fn is_saturated(rate: f64, measured: &Measured) -> bool {
    let slices = measured.repeat.recording.slices.iter();
    let lags: Vec<u64> = slices.filter_map(|slice| Some(slice.mean_lag_ns()? as u64)).collect();
    saturation(&lags, (1e9 / rate) as u64).is_some_and(|judged| judged.saturated)
}

/// Repeats that differ so much that small differences between runs mean nothing.
fn varied(variant: &Variant) -> Option<String> {
    let rates = variant.rates(|amount| amount.batches);
    let variation = flight_stats::coefficient_of_variation(&rates)?;
    if variation <= VARIATION_SHOWN {
        return None;
    }
    let spread = variation * std::f64::consts::SQRT_2;
    let detectable =
        flight_stats::detectable_effect(rates.len(), spread, flight_stats::Confidence::P95);
    let detectable = detectable.filter(|effect| *effect < 1.0).map_or_else(String::new, |effect| {
        format!(
            "; {} repeats of this can show differences of {:.0} % and more",
            rates.len(),
            effect * 100.0
        )
    });
    let pressure = pressure(variant).filter(|share| *share > 0.3);
    let pressure = pressure.map_or_else(String::new, |share| {
        format!(". For {:.0} % of the time something waited for a core", share * 100.0)
    });
    Some(format!(
        "noisy: repeats differ by {:.0} % (standard deviation over mean){detectable}{pressure}. Try \
         --repeats 20, or 'flight-bench ab', which measures two things side by side",
        variation * 100.0
    ))
}

fn pressure(variant: &Variant) -> Option<f64> {
    let noise = variant.measured.iter().filter_map(|one| one.repeat.resources.as_ref());
    noise.filter_map(|resources| resources.noise.pressure_share).reduce(f64::max)
}

/// Processor time that somebody else took.
fn taken(variant: &Variant) -> Option<String> {
    let noise =
        || variant.measured.iter().filter_map(|one| Some(&one.repeat.resources.as_ref()?.noise));
    let steal = noise().filter_map(|noise| noise.steal_share).reduce(f64::max);
    let periods: u64 =
        noise().filter_map(|noise| noise.throttling).map(|throttling| throttling.periods).sum();
    if let Some(steal) = steal.filter(|share| *share > STEAL_SHOWN) {
        let percent = steal * 100.0;
        return Some(format!(
            "the hypervisor took up to {percent:.0} % of the processors' time: the figures are of \
             what it left. Try another time, or a machine of one's own"
        ));
    }
    (periods > 0).then(|| {
        format!(
            "a quota of processor time ran out in {periods} periods: the figures are of the quota. \
             Raise cpu.max of the control group"
        )
    })
}

/// Many answers that come after the time for which Linux holds an acknowledgement back.
fn nagle(variant: &Variant) -> Option<String> {
    let latencies = variant.latencies();
    let metric = main_metric(variant.workload);
    let histogram = latencies.histogram(metric)?;
    let within = histogram.count_between(DELAYED_ACK_NS.start, DELAYED_ACK_NS.end);
    let share = within as f64 / histogram.len() as f64;
    (share > NAGLE_SHARE).then(|| {
        format!(
            "{:.0} % of {} lie at 38 to 45 ms, the time of delayed acknowledgements: the server \
             probably leaves Nagle's algorithm on. Set TCP_NODELAY on its side",
            share * 100.0,
            metric.id()
        )
    })
}

/// A pause that percentiles hide: a stream that waits for its turn makes no calls meanwhile.
fn stalled(results: &Results, variant: &Variant) -> Option<String> {
    let metric = main_metric(variant.workload);
    let usual = variant.latencies().summary(metric)?.percentiles_ns[0]?;
    let streams = variant
        .measured
        .iter()
        .flat_map(|one| one.repeat.recording.streams.iter().map(move |stream| (one.round, stream)));
    let (round, worst) = streams.max_by_key(|(_, stream)| stream.longest_gap_ns)?;
    let pause = worst.longest_gap_ns;
    let hidden = match results.record.rate {
        None => {
            ". In a closed loop percentiles hide this, for nothing is asked meanwhile; try --rate 70%"
        }
        Some(_) => "",
    };
    (pause >= PAUSE_SHOWN_NS && pause / STALL_RATIO >= usual).then(|| {
        format!(
            "stalled: stream {} moved nothing for {} in repeat {}, where {} is usual (p50 of {}){hidden}",
            worst.id,
            nanos(pause as f64),
            round + 1,
            nanos(usual as f64),
            metric.id()
        )
    })
}

/// The time of one batch, call or connection.
fn main_metric(workload: Workload) -> Metric {
    match workload {
        Workload::Get => Metric::GetWait,
        Workload::Put => Metric::PutAck,
        Workload::Unary => Metric::UnaryService,
        Workload::Tls => Metric::ConnectReady,
        Workload::Exchange => Metric::ExchangeRoundTrip,
    }
}

/// Streams that got much less than others.
fn unfair(variant: &Variant) -> Option<String> {
    let judged = variant.measured.iter().filter(|one| one.complete).filter_map(|measured| {
        let streams = &measured.repeat.recording.streams;
        let amounts: Vec<f64> =
            streams.iter().map(|stream| stream.transfer.batches as f64).collect();
        let judged = fairness(&amounts).filter(|_| amounts.len() > 1)?;
        Some((judged, streams[judged.smallest]))
    });
    let (worst, stream) = judged.min_by(|one, other| one.0.jain.total_cmp(&other.0.jain))?;
    (!worst.is_fair()).then(|| {
        format!(
            "unfair: stream {} (connection {}) moved {:.0} % of what the fastest did, Jain's index \
             {:.2}; its longest pause was {}. Try fewer streams a connection (--connections)",
            stream.id,
            stream.connection,
            worst.min_over_max * 100.0,
            worst.jain,
            nanos(stream.longest_gap_ns as f64)
        )
    })
}

fn limited_by_client(results: &Results, variant: &Variant) -> Option<String> {
    let verdict = bottleneck(results, variant).filter(|verdict| verdict.name == "client")?;
    Some(format!(
        "this client limits: {}. The server can do more; try more --threads, or a machine with more \
         cores for the client",
        verdict.evidence.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::{Latencies, SLICES, Slice};
    use crate::report::results::tests::single;

    fn check(results: &Results, want: &[&str]) {
        let told = findings(results);
        assert_eq!(told.len(), want.len(), "{told:#?}");
        for (told, want) in told.iter().zip(want) {
            assert!(told.contains(want), "{told}");
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

    #[test]
    fn a_run_without_fault_has_none() {
        check(&single(Workload::Get), &[]);
        check(&single(Workload::Put), &[]);
    }

    #[test]
    fn a_rate_that_falls_is_told() {
        let slice = |i| Slice { batches: 1000 - 10 * i, ..Slice::default() };
        check(&with_slices(slice), &["in 5 of 5 repeats the rate changed"]);
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
        check(
            &offered(&|i| i * 10_000_000),
            &["saturated: 2000/s were offered and 1000/s were taken in"],
        );
        check(&offered(&|_| 200_000_000), &[]);
    }

    #[test]
    fn repeats_that_differ_are_told_with_what_they_can_show() {
        let mut results = single(Workload::Get);
        for (round, measured) in results.variants[0].measured.iter_mut().enumerate() {
            measured.repeat.recording.counts.transfer.batches = 1000 + 200 * round as u64;
        }
        check(&results, &["noisy: repeats differ by 23 %"]);
    }

    #[test]
    fn answers_at_40_ms_are_told() {
        let mut results = single(Workload::Unary);
        for measured in &mut results.variants[0].measured {
            let mut latencies = Latencies::with_room_for(&[Metric::UnaryService]);
            for call in 0..100 {
                let took = if call % 3 == 0 { 40_500 } else { 300 };
                latencies.record(Metric::UnaryService, Duration::from_micros(took));
            }
            measured.repeat.recording.latencies = latencies;
        }
        check(&results, &["34 % of unary.service lie at 38 to 45 ms"]);
    }

    #[test]
    fn a_pause_that_percentiles_hide_is_told() {
        let mut results = single(Workload::Get);
        results.variants[0].measured[1].repeat.recording.streams[0].longest_gap_ns = 1_000_000_000;
        check(&results, &["stalled: stream 0 moved nothing for 1.00 s in repeat 2, where 500 µs"]);
    }

    #[test]
    fn a_stream_that_starves_is_named() {
        let mut results = single(Workload::Get);
        let streams = &mut results.variants[0].measured[2].repeat.recording.streams;
        let mut second = streams[0];
        (second.id, second.connection, second.transfer.batches) = (1, 1, 10);
        streams.push(second);
        check(&results, &["unfair: stream 1 (connection 1) moved 1 %"]);
    }
}
