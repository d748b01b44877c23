//! Whether thresholds hold for a run.

use flight_stats::{Confidence, compare_unpaired, geometric_mean, holm, p_above, p_below};

use super::{Against, Operator, Threshold, ThresholdRecord};
use crate::report::Results;

/// What becomes of each threshold. Without a `base`, changes from it are not measured.
pub(crate) fn judge(
    thresholds: &[Threshold],
    results: &Results,
    base: Option<&Results>,
) -> Vec<ThresholdRecord> {
    let mut judged: Vec<ThresholdRecord> =
        thresholds.iter().map(|threshold| threshold.judge(results, base)).collect();
    correct(&mut judged);
    judged
}

/// Up to this a one-sided p says what the whole of a two-sided 95 % interval does.
pub(crate) const P_MAX: f64 = 0.025;

/// Corrects thresholds against the base for each other (Holm): of many, one fails by chance as often
/// as one alone. What was not measured fails all the same.
fn correct(judged: &mut [ThresholdRecord]) {
    let mut family: Vec<_> = judged.iter_mut().filter(|one| one.p.is_some()).collect();
    // One alone is decided by its interval, which is what is told.
    if family.len() < 2 {
        return;
    }
    let asked: Vec<f64> = family.iter().filter_map(|one| one.p).collect();
    let Ok(corrected) = holm(&asked) else { return };
    for (one, p) in family.iter_mut().zip(corrected) {
        one.p = Some(p);
        one.pass |= p > P_MAX;
    }
}

/// An estimate with the ends of its interval; both are the estimate where it is exact.
#[derive(Debug, Clone, Copy)]
struct Found {
    value: f64,
    interval: Option<(f64, f64)>,
}

impl Threshold {
    fn judge(&self, results: &Results, base: Option<&Results>) -> ThresholdRecord {
        let values = self.figure.values(results);
        let (found, p, limit, unit) = match self.against {
            Against::Value(limit) => {
                let found = values.as_deref().and_then(|values| self.estimate(values));
                (found, None, limit, self.figure.unit().name())
            }
            Against::Base(limit) => {
                let base = base.and_then(|base| self.figure.values(base));
                let sides = values.zip(base);
                let found = sides.as_ref().and_then(|(values, base)| change(values, base));
                let p = sides.filter(|_| found.is_some());
                let p = p.and_then(|(values, base)| self.operator.p(&values, &base, limit));
                (found, p, limit, "%")
            }
        };
        let interval = found.and_then(|found| found.interval);
        ThresholdRecord {
            expr: self.expr.clone(),
            value: found.map(|found| found.value),
            lo: interval.map(|(lo, _)| lo),
            hi: interval.map(|(_, hi)| hi),
            p,
            limit,
            unit: unit.into(),
            // What was not measured cannot be called good.
            pass: found.is_some_and(|found| !self.operator.holds_for_all(found, limit)),
        }
    }

    /// Whether the expression is true of one value of its figure.
    pub(crate) fn is_true_of(&self, value: f64) -> bool {
        let (Against::Value(limit) | Against::Base(limit)) = self.against;
        self.operator.holds_for_all(Found { value, interval: None }, limit)
    }

    fn estimate(&self, values: &[f64]) -> Option<Found> {
        if self.figure.is_count() {
            return Some(Found { value: values.iter().sum(), interval: None });
        }
        let estimate = geometric_mean(values, Confidence::P95);
        estimate.map(|estimate| Found { value: estimate.value, interval: estimate.interval })
    }
}

/// By how many percent `values` lie above `base`.
fn change(values: &[f64], base: &[f64]) -> Option<Found> {
    let ratio = compare_unpaired(values, base, Confidence::P95).ok()?.ratio;
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let interval = ratio.interval.map(|(lo, hi)| (percent(lo), percent(hi)));
    Some(Found { value: percent(ratio.value), interval })
}

impl Operator {
    /// How often chance makes `values` lie so far beyond a change of `limit` percent from `base`.
    fn p(self, values: &[f64], base: &[f64], limit: f64) -> Option<f64> {
        let ratio = 1.0 + limit / 100.0;
        match self {
            Self::Less | Self::LessOrEqual => p_below(values, base, ratio),
            Self::Greater | Self::GreaterOrEqual => p_above(values, base, ratio),
        }
        .ok()
    }

    /// Whether every value of the interval is on the failing side, so its nearest end.
    fn holds_for_all(self, found: Found, limit: f64) -> bool {
        let (lo, hi) = found.interval.unwrap_or((found.value, found.value));
        match self {
            Self::Less => hi < limit,
            Self::LessOrEqual => hi <= limit,
            Self::Greater => lo > limit,
            Self::GreaterOrEqual => lo >= limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::Workload;
    use crate::report::tests::single;

    /// Five repeats of 131 072 bytes a batch, with so many batches a second.
    fn run(batches: [u64; 5]) -> Results {
        let mut results = single(Workload::Get);
        for (measured, batches) in results.variants[0].measured.iter_mut().zip(batches) {
            measured.repeat.elapsed = Duration::from_secs(1);
            measured.repeat.recording.counts.transfer.logical_bytes = batches * 131_072;
            measured.repeat.recording.counts.transfer.batches = batches;
        }
        results
    }

    #[test]
    fn a_value_fails_only_when_its_whole_interval_is_beyond_the_limit() {
        // ln of 900, 950, 1000, 1050, 1100: mean 6.9052, deviation 0.0793, t 2.7764, so 904 to 1101.
        let spread = run([900, 950, 1000, 1050, 1100]);
        check("get.batches_per_s < 1050", &spread, true);
        check("get.batches_per_s < 1095", &spread, true);
        check("get.batches_per_s < 1105", &spread, false);
        check("get.batches_per_s > 905", &spread, true);
        check("get.batches_per_s > 900", &spread, false);
        check("get.bytes_per_s < 145MB/s", &spread, false);
        check("get.bytes_per_s < 140MB/s", &spread, true);
    }

    #[test]
    fn equal_repeats_stand_on_their_limit() {
        let equal = run([1024; 5]);
        check("get.bytes_per_s < 127MiB/s", &equal, true);
        check("errors >= 0", &equal, false);
        check("errors > 0", &equal, true);
    }

    #[test]
    fn a_percentile_is_summarised_over_repeats() {
        check("get.wait.p99 > 1ms", &run([1000; 5]), true);
        check("get.wait.p99 > 980us", &run([1000; 5]), false);
    }

    #[test]
    fn what_was_not_measured_fails() {
        check("get.wait.p99.9 > 1s", &run([1000; 5]), false);
        check("put.bytes_per_s < 1B/s", &run([1000; 5]), false);
        check("get.bytes_per_s vs base < -3%", &run([1000; 5]), false);
    }

    #[test]
    fn a_change_from_the_base_is_judged_by_its_interval() {
        let (slow, base) = (run([900, 901, 902, 903, 904]), run([1000, 1001, 1002, 1003, 1004]));
        let judged = |expr: &str| {
            let threshold: Threshold = expr.parse().expect("an expression");
            judge(&[threshold], &slow, Some(&base)).remove(0)
        };
        let got = judged("get.bytes_per_s vs base < -3%");
        assert!(!got.pass && got.unit == "%", "{got:?}");
        // 902 of 1002 is the middle of all ratios.
        assert!((got.value.expect("a change") + 9.98).abs() < 0.01, "{got:?}");
        assert!(judged("get.bytes_per_s vs base < -10%").pass);
        assert!(judged("get.wait.p50 vs base > 0%").pass);
    }

    #[test]
    fn what_was_not_measured_fails_among_others_too() {
        let (slow, base) = (run([900, 901, 902, 903, 904]), run([1000, 1001, 1002, 1003, 1004]));
        let exprs = [
            "get.bytes_per_s vs base < -3%",
            "put.bytes_per_s vs base < -3%",
            "get.bytes_per_s vs base > 3%",
            "get.bytes_per_s vs base > -200%",
        ];
        let thresholds = exprs.map(|expr| expr.parse().expect("an expression"));
        let got = judge(&thresholds, &slow, Some(&base));
        let told: Vec<_> = got.iter().map(|one| (one.pass, one.p.is_some())).collect();
        // Every change is above -200 %.
        assert_eq!(told, [(false, true), (false, false), (true, true), (false, true)], "{got:?}");
        let close = |got: Option<f64>, want: f64| (got.unwrap_or(-1.0) - want).abs() < 1e-12;
        assert!(close(got[0].p, 3.0 / 252.0) && close(got[2].p, 1.0), "{got:?}");
    }

    fn check(expr: &str, results: &Results, pass: bool) {
        let threshold: Threshold = expr.parse().expect("an expression");
        let got = judge(&[threshold], results, None).remove(0);
        assert_eq!(got.pass, pass, "{got:?}");
    }
}
