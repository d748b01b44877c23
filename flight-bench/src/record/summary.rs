//! Histograms of latencies, and the figures read from them.
//!
//! A percentile is only stated where at least ten events lie beyond it; below that it would
//! describe single events.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::Metric;
use crate::limits::{LATENCY_DIGITS, LATENCY_MAX};

/// The percentiles that reports state, with the suffix of their names.
pub(crate) const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

/// One histogram per metric that can occur.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies {
    histograms: [Option<Histogram<u64>>; Metric::ALL.len()],
}

/// Figures of one metric, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LatencySummary {
    pub(crate) count: u64,
    pub(crate) min_ns: u64,
    pub(crate) mean_ns: f64,
    /// In the order of [`PERCENTILES`]; absent where there were too few events.
    pub(crate) percentiles_ns: [Option<u64>; PERCENTILES.len()],
    pub(crate) max_ns: u64,
}

impl Latencies {
    /// Allocates the histograms of `metrics`, so that recording never does.
    pub(crate) fn with_room_for(metrics: &[Metric]) -> Self {
        let mut latencies = Self::default();
        for metric in metrics {
            latencies.histograms[*metric as usize] = Some(empty());
        }
        latencies
    }

    /// Takes a histogram that was recorded elsewhere, of the same bounds.
    pub(crate) fn insert(&mut self, metric: Metric, histogram: Histogram<u64>) {
        self.histograms[metric as usize] = Some(histogram);
    }

    /// Records an event; one longer than [`LATENCY_MAX`] counts as that.
    pub(crate) fn record(&mut self, metric: Metric, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        if let Some(histogram) = &mut self.histograms[metric as usize] {
            histogram.saturating_record(nanos.max(1));
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_with(empty).add(theirs).expect("all have the same bounds");
            }
        }
    }

    pub(crate) fn count(&self, metric: Metric) -> u64 {
        self.histogram(metric).map_or(0, Histogram::len)
    }

    /// The histogram of `metric`, if anything was recorded.
    pub(crate) fn histogram(&self, metric: Metric) -> Option<&Histogram<u64>> {
        self.histograms[metric as usize].as_ref().filter(|histogram| !histogram.is_empty())
    }

    /// The figures of `metric`, if anything was recorded.
    pub(crate) fn summary(&self, metric: Metric) -> Option<LatencySummary> {
        let histogram = self.histogram(metric)?;
        let percentile = |(_, quantile): (&str, f64)| {
            enough_for(quantile, histogram.len()).then(|| histogram.value_at_quantile(quantile))
        };
        Some(LatencySummary {
            count: histogram.len(),
            min_ns: histogram.min(),
            mean_ns: histogram.mean(),
            percentiles_ns: PERCENTILES.map(percentile),
            max_ns: histogram.max(),
        })
    }
}

/// Whether `count` events support this quantile: ten beyond it, n ≥ 10 / (1 − q).
fn enough_for(quantile: f64, count: u64) -> bool {
    // The small term keeps rounding from refusing 1000 events for p99.
    count as f64 * (1.0 - quantile) + 1e-9 >= 10.0
}

/// The fewest events that support this quantile.
pub(crate) fn events_for(quantile: f64) -> u64 {
    (10.0 / (1.0 - quantile) - 1e-6).ceil() as u64
}

fn empty() -> Histogram<u64> {
    let max = LATENCY_MAX.as_nanos() as u64;
    Histogram::new_with_bounds(1, max, LATENCY_DIGITS).expect("bounds and digits are in range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_events_beyond_it() {
        check_support(0, "");
        check_support(19, "");
        check_support(20, "p50");
        check_support(99, "p50");
        check_support(100, "p50 p90");
        check_support(200, "p50 p90 p95");
        check_support(999, "p50 p90 p95");
        check_support(1_000, "p50 p90 p95 p99");
        check_support(10_000, "p50 p90 p95 p99 p99.9");
        let fewest = PERCENTILES.map(|(_, quantile)| events_for(quantile));
        assert_eq!(fewest, [20, 100, 200, 1_000, 10_000]);
    }

    #[test]
    fn figures_of_a_known_series_are_within_a_thousandth() {
        let mut latencies = Latencies::with_room_for(&[Metric::PutAck]);
        for micros in 1..=10_000 {
            latencies.record(Metric::PutAck, Duration::from_micros(micros));
        }
        let got = latencies.summary(Metric::PutAck).expect("recorded");
        let near = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-3, "{got} {want}");
        near(got.mean_ns, 5_000_500.0);
        near(got.min_ns as f64, 1_000.0);
        near(got.max_ns as f64, 10_000_000.0);
        let wants = [5_000_000.0, 9_000_000.0, 9_500_000.0, 9_900_000.0, 9_990_000.0];
        for (got, want) in got.percentiles_ns.iter().zip(wants) {
            near(got.expect("enough events") as f64, want);
        }
    }

    #[test]
    fn what_was_not_recorded_has_no_figures() {
        let mut latencies = Latencies::with_room_for(&[Metric::GetWait]);
        assert_eq!(latencies.summary(Metric::GetWait), None);
        latencies.record(Metric::PutAck, Duration::from_secs(1));
        assert_eq!(latencies.summary(Metric::PutAck), None, "no room was made for it");
    }

    #[test]
    fn an_hour_counts_as_the_longest_latency_told_apart() {
        let mut latencies = Latencies::with_room_for(&[Metric::GetWait]);
        latencies.record(Metric::GetWait, Duration::from_secs(3600));
        let max_ns = latencies.summary(Metric::GetWait).expect("recorded").max_ns as f64;
        assert!((max_ns / LATENCY_MAX.as_nanos() as f64 - 1.0).abs() < 1e-3, "{max_ns}");
    }

    fn check_support(events: u64, want: &str) {
        let mut latencies = Latencies::with_room_for(&[Metric::GetWait]);
        for _ in 0..events {
            latencies.record(Metric::GetWait, Duration::from_micros(5));
        }
        let stated: Vec<&str> = latencies.summary(Metric::GetWait).map_or_else(Vec::new, |s| {
            let names = PERCENTILES.iter().zip(s.percentiles_ns);
            names.filter(|(_, value)| value.is_some()).map(|((name, _), _)| *name).collect()
        });
        assert_eq!(stated.join(" "), want, "{events} events");
    }
}
