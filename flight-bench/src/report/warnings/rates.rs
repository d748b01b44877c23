//! Rates that are not what their mean says: they change, differ, stop, or are shared unfairly.

use std::collections::BTreeSet;

use flight_stats::{Confidence, Steadiness, fairness, saturation, steadiness};

use super::super::figures::{amount, nanos};
use super::super::results::{Measured, Results, Variant};
use super::super::workload::Workload;
use super::{Finding, main_metric, percent};

/// Repeats that differ by more than this (standard deviation over mean) are told.
const VARIATION_SHOWN: f64 = 0.05;
/// A pause of a stream is told from this length on, if it is so many times the usual.
const PAUSE_SHOWN_NS: u64 = 250_000_000;
const STALL_RATIO: u64 = 20;
/// Share of the time in which something waited for a core, from which that explains what varies.
const PRESSURE_SHOWN: f64 = 0.3;

/// Repeats whose rate changed while they were measured. What a mix moves changes with what is drawn.
pub(super) fn unsteady(variant: &Variant) -> Option<Finding> {
    if variant.workload == Workload::Mixed {
        return None;
    }
    let complete = variant.measured.iter().filter(|measured| measured.complete);
    let unsteady: Vec<_> = complete
        .filter_map(|measured| {
            let slices = &measured.repeat.recording.slices;
            let rates: Vec<f64> = slices.iter().map(|slice| slice.batches as f64).collect();
            let judged = steadiness(&rates).filter(|judged| !judged.steady)?;
            // From batches a slice to batches a second.
            let slice_s = measured.repeat.elapsed.as_secs_f64() / rates.len() as f64;
            Some((measured.round, judged, slice_s))
        })
        .collect();
    let change = |judged: &Steadiness| judged.drift.abs().max(judged.step.abs());
    let worst =
        unsteady.iter().rev().max_by(|one, other| change(&one.1).total_cmp(&change(&other.1)))?;
    let (round, judged, slice_s) = worst;
    let rate = |level: f64| amount(level / slice_s.max(f64::MIN_POSITIVE));
    let (from, to) = judged.levels;
    Some(Finding {
        code: "unsteady",
        badness: change(judged),
        text: format!(
            "the rate changed within {} of {} repeats, in repeat {} from {}/s to {}/s",
            unsteady.len(),
            variant.measured.len(),
            round + 1,
            rate(from),
            rate(to)
        ),
        why: "their mean is of neither state".to_owned(),
        hint: "a longer --warmup or --duration".to_owned(),
    })
}

/// An open loop that the server cannot keep up with.
pub(super) fn saturated(results: &Results, variant: &Variant) -> Option<Finding> {
    let rate = results.record.rate?;
    let complete = variant.measured.iter().filter(|measured| measured.complete);
    let saturated = complete.filter(|one| is_saturated(rate, one));
    let slowest = saturated.map(|one| variant.count_per_s(one)).reduce(f64::min)?;
    Some(Finding {
        code: "saturated",
        badness: rate / slowest.max(f64::MIN_POSITIVE),
        text: format!(
            "saturated: {}/s were offered and {}/s taken in; the backlog grew to the end",
            amount(rate),
            amount(slowest)
        ),
        why: "response times tell the run's length, not the server's speed".to_owned(),
        hint: "a lower --rate, such as 70%".to_owned(),
    })
}

/// Whether the backlog of an open loop grew for as long as the repeat was measured.
pub(crate) fn is_saturated(rate: f64, measured: &Measured) -> bool {
    let slices = measured.repeat.recording.slices.iter();
    let lags: Vec<u64> = slices.filter_map(|slice| Some(slice.mean_lag_ns()? as u64)).collect();
    saturation(&lags, (1e9 / rate) as u64).is_some_and(|judged| judged.saturated)
}

/// Repeats that differ so much that small differences between runs mean nothing.
pub(super) fn varied(variant: &Variant) -> Option<Finding> {
    let rates = variant.rates(|amount| variant.workload.count(amount));
    let variation = flight_stats::coefficient_of_variation(&rates)?;
    if variation <= VARIATION_SHOWN {
        return None;
    }
    let spread = variation * std::f64::consts::SQRT_2;
    let detectable = flight_stats::detectable_effect(rates.len(), spread, Confidence::P95);
    let waited = pressure(variant).is_some_and(|share| share > PRESSURE_SHOWN);
    let waited = if waited { "; work waited for a core" } else { "" };
    Some(Finding {
        code: "noisy",
        badness: variation,
        text: format!("repeats differ by {} (deviation over mean){waited}", percent(variation)),
        why: match detectable.filter(|effect| *effect < 1.0) {
            Some(effect) => format!("differences below {} cannot be shown", percent(effect)),
            None => "hardly any difference can be shown".to_owned(),
        },
        hint: "--repeats 20, or 'flight-bench ab' (sides in turn)".to_owned(),
    })
}

fn pressure(variant: &Variant) -> Option<f64> {
    let noise = variant.measured.iter().filter_map(|one| one.repeat.resources.as_ref());
    noise.filter_map(|resources| resources.noise.pressure_share).reduce(f64::max)
}

/// A pause that percentiles hide: a stream that waits for its turn makes no calls meanwhile.
pub(super) fn stalled(results: &Results, variant: &Variant) -> Option<Finding> {
    let metric = main_metric(variant.workload);
    let p50 = |of: &Variant| of.latencies().summary(metric)?.percentiles_ns[0];
    // What is usual for the fast kinds of a mix says nothing of its slow ones.
    let usual = match variant.workload {
        Workload::Mixed => results.parts().filter_map(|(part, _)| p50(part)).max()?,
        _ => p50(variant)?,
    };
    let streams = variant
        .measured
        .iter()
        .flat_map(|one| one.repeat.recording.streams.iter().map(move |stream| (one.round, stream)));
    let (round, worst) = streams.max_by_key(|(_, stream)| stream.longest_gap_ns)?;
    let pause = worst.longest_gap_ns;
    let (why, hint) = match results.record.rate {
        None => ("percentiles hide it: a closed loop asks for nothing meanwhile", "--rate 70%"),
        Some(_) => ("all that was to be sent meanwhile is late", "the server's log of that time"),
    };
    (pause >= PAUSE_SHOWN_NS && pause / STALL_RATIO >= usual).then(|| Finding {
        code: "stalled",
        badness: pause as f64,
        text: format!(
            "stream {} stood still for {} in repeat {} (usual: {})",
            worst.id,
            nanos(pause as f64),
            round + 1,
            nanos(usual as f64),
        ),
        why: why.to_owned(),
        hint: hint.to_owned(),
    })
}

/// Streams that got much less than others. What streams of a mix move depends on what they draw.
pub(super) fn unfair(variant: &Variant) -> Option<Finding> {
    if variant.workload == Workload::Mixed {
        return None;
    }
    let judged = variant.measured.iter().filter(|one| one.complete).filter_map(|measured| {
        let streams = &measured.repeat.recording.streams;
        let amounts: Vec<f64> =
            streams.iter().map(|stream| stream.transfer.batches as f64).collect();
        let judged = fairness(&amounts).filter(|_| amounts.len() > 1)?;
        let stream = streams[judged.smallest];
        // One that moved nothing has no gap between batches: it paused all the time.
        let pause = match stream.transfer.batches {
            0 => measured.repeat.elapsed.as_nanos() as f64,
            _ => stream.longest_gap_ns as f64,
        };
        let connections: BTreeSet<_> = streams.iter().map(|stream| stream.connection).collect();
        Some((judged, stream, pause, connections.len() < streams.len()))
    });
    let (worst, stream, pause, shared) =
        judged.min_by(|one, other| one.0.jain.total_cmp(&other.0.jain))?;
    (!worst.is_fair()).then(|| Finding {
        code: "unfair",
        badness: 1.0 - worst.jain,
        text: format!(
            "stream {} (connection {}) moved {} of what the fastest did",
            stream.id,
            stream.connection,
            percent(worst.min_over_max),
        ),
        why: format!(
            "a sum hides who starves (Jain {:.2}, longest pause {})",
            worst.jain,
            nanos(pause)
        ),
        hint: if shared { "more --connections" } else { "the server's log of that time" }
            .to_owned(),
    })
}
