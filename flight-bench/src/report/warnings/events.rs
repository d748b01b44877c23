//! Events that are too few to say much, or that lie where only a fault puts them.

use super::super::figures::nanos;
use super::super::results::{Results, Variant};
use super::{Finding, main_metric, percent};
use crate::record::{Metric, PERCENTILES};

/// A share of the answers that come within the time of delayed acknowledgements.
const NAGLE_SHARE: f64 = 0.1;
/// How long Linux delays an acknowledgement for data to go with it: 40 ms (tcp(7), `TCP_QUICKACK`).
const DELAYED_ACK_NS: std::ops::Range<u64> = 38_000_000..45_000_000;
/// So many times as many come within it as just before and just after: it is a peak of its own.
const NAGLE_PEAK: u64 = 2;
/// What begins before a window or ends after it is lost: shorter ones than this are told, and those
/// in which one batch more or less is a per cent.
const WINDOW_SHOWN_NS: u128 = 500_000_000;
const EVENTS_SHOWN: u64 = 100;
/// Among [`PERCENTILES`]: p99, which people ask for.
const TAIL: usize = 3;

/// Many answers that come after the time for which Linux holds an acknowledgement back.
pub(super) fn nagle(variant: &Variant) -> Option<Finding> {
    let latencies = variant.latencies();
    let metric = main_metric(variant.workload);
    let histogram = latencies.histogram(metric)?;
    let (low, high) = (DELAYED_ACK_NS.start, DELAYED_ACK_NS.end);
    let width = high - low;
    let within = histogram.count_between(low, high);
    let beside = histogram.count_between(low - width, low - 1);
    let beside = beside.max(histogram.count_between(high + 1, high + width));
    let share = within as f64 / histogram.len() as f64;
    (share > NAGLE_SHARE && within > NAGLE_PEAK * beside).then(|| Finding {
        code: "nagle",
        badness: share,
        text: format!(
            "{} of {} lie at 38 to 45 ms, as delayed acknowledgements do",
            percent(share),
            metric.id()
        ),
        why: "the server probably leaves Nagle's algorithm on".to_owned(),
        hint: "TCP_NODELAY on its side".to_owned(),
    })
}

/// Batches that another machine's server paced.
pub(super) fn other_clock(results: &Results, variant: &Variant) -> Option<Finding> {
    results.record.rate?;
    let latencies = variant.latencies();
    let late = latencies.summary(Metric::GetLag)?.count;
    latencies.summary(Metric::GetDelivery).is_none().then(|| Finding {
        code: "other-clock",
        badness: late as f64,
        text: "the server's clock is another machine's: no delivery, no response".to_owned(),
        why: "times of two clocks differ by what the clocks differ".to_owned(),
        hint: "a client on the server's machine".to_owned(),
    })
}

/// Repeats so small that their edges weigh.
pub(super) fn short(results: &Results, variant: &Variant) -> Option<Finding> {
    let complete = variant.measured.iter().filter(|one| one.complete && one.moved());
    let least = complete.min_by_key(|one| one.repeat.recording.counts.transfer.batches)?;
    let (elapsed, moved) = (least.repeat.elapsed, least.repeat.recording.counts.transfer.batches);
    if elapsed.as_nanos() >= WINDOW_SHOWN_NS && moved >= EVENTS_SHOWN {
        return None;
    }
    let unit = variant.workload.unit();
    let count = match (moved, unit) {
        (1, unit) => format!("1 {unit}"),
        (count, "batch") => format!("{count} batches"),
        (count, unit) => format!("{count} {unit}s"),
    };
    let hint = match results.record.extent.window_ns {
        Some(_) => "a longer --duration",
        None => "more --batches or --passes",
    };
    Some(Finding {
        code: "short",
        badness: 1.0 / moved as f64,
        text: format!("a repeat has {count} in {}", nanos(elapsed.as_nanos() as f64)),
        why: "what its edges cut off weighs, and a pause of the machine too".to_owned(),
        hint: hint.to_owned(),
    })
}

/// Too few events for the tail that people look for.
pub(super) fn few(variant: &Variant) -> Option<Finding> {
    let metric = main_metric(variant.workload);
    let summary = variant.latencies().summary(metric)?;
    let (name, quantile) = PERCENTILES[TAIL];
    let needed = (10.0 / (1.0 - quantile)).round();
    summary.percentiles_ns[TAIL].is_none().then(|| Finding {
        code: "few-events",
        badness: needed / summary.count as f64,
        text: format!("{} has {} events, too few for a {name}", metric.id(), summary.count),
        why: format!("a percentile needs ten events beyond it: {needed} for {name}"),
        hint: "a longer --duration".to_owned(),
    })
}
