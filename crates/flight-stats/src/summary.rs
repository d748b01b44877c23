//! What the repeats of one configuration say: centre, spread, and an interval.

use crate::{Confidence, StatsError};

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// In the unit of the values; for a comparison, a ratio.
    pub value: f64,
    /// Lower and upper end in the same unit. Absent with fewer than two repeats: one run says
    /// nothing about its uncertainty.
    pub interval: Option<(f64, f64)>,
}

/// The geometric mean of positive `values`, with a Student t interval on their logarithms.
///
/// `None` when there is no value, or one is zero, negative or not finite: a repeat in which nothing
/// arrived has no place on the log scale, and leaving it out would flatter.
pub fn geometric_mean(values: &[f64], confidence: Confidence) -> Option<Estimate> {
    logarithms(values).ok().and_then(|logs| mean_of_logs(&logs, confidence))
}

/// How `values` compare to `base`, measured in the same rounds: the geometric mean of the ratio
/// within each round, so that what a round did to both cancels out.
///
/// `None` where lengths differ or a value is not positive; [`crate::Pairs`] says which.
pub fn paired_ratio(values: &[f64], base: &[f64], confidence: Confidence) -> Option<Estimate> {
    crate::Pairs::new(values, base).ok().map(|pairs| pairs.ratio(confidence))
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The arithmetic mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample's standard deviation (n − 1), in the unit of the values; `None` below two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Standard deviation over mean, a share; `None` with fewer than two values or a mean of zero.
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    deviation(values).filter(|_| mean != 0.0).map(|deviation| deviation / mean.abs())
}

/// The natural logarithms, or which value has none.
pub(crate) fn logarithms(values: &[f64]) -> Result<Vec<f64>, StatsError> {
    let log = |(index, &value): (usize, &f64)| {
        let positive = value.is_finite() && value > 0.0;
        positive.then(|| value.ln()).ok_or(StatsError::NotPositive { index, value })
    };
    values.iter().enumerate().map(log).collect()
}

/// Back from logarithms: their mean and its t interval, as factors.
pub(crate) fn mean_of_logs(logs: &[f64], confidence: Confidence) -> Option<Estimate> {
    let mean = mean(logs)?;
    let interval = deviation(logs).map(|deviation| {
        let error = deviation / (logs.len() as f64).sqrt();
        let half = confidence.student_t(logs.len() - 1) * error;
        ((mean - half).exp(), (mean + half).exp())
    });
    Some(Estimate { value: mean.exp(), interval })
}

pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(got: Option<Estimate>, value: f64, logs: (f64, f64)) {
        let got = got.expect("an estimate");
        let (lo, hi) = got.interval.expect("an interval");
        for (got, want) in [(got.value, value), (lo.ln(), logs.0), (hi.ln(), logs.1)] {
            assert!((got - want).abs() < 1e-5, "{got} is not {want}");
        }
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn a_geometric_mean_carries_a_t_interval_on_logarithms() {
        // ln = 0, 1, 2: mean 1, deviation 1, half-width 4.302653 / sqrt(3) = 2.484138.
        let e = std::f64::consts::E;
        let got = geometric_mean(&[1.0, e, e * e], Confidence::P95);
        check(got, e, (-1.484_138, 3.484_138));
    }

    #[test]
    fn one_repeat_has_no_interval() {
        let got = geometric_mean(&[7.0], Confidence::P95).expect("an estimate");
        assert!((got.value - 7.0).abs() < 1e-12);
        assert_eq!(got.interval, None);
    }

    #[test]
    fn a_repeat_that_moved_nothing_leaves_no_estimate() {
        for values in [&[][..], &[1.0, 0.0], &[1.0, f64::NAN], &[f64::INFINITY], &[-1.0]] {
            assert_eq!(geometric_mean(values, Confidence::P95), None, "{values:?}");
        }
    }

    #[test]
    fn drift_that_hits_both_sides_of_a_round_cancels_out() {
        let base = [100.0, 200.0, 400.0];
        let half = [50.0, 100.0, 200.0];
        check(paired_ratio(&half, &base, Confidence::P95), 0.5, (0.5f64.ln(), 0.5f64.ln()));
        assert_eq!(paired_ratio(&half, &base[..2], Confidence::P95), None);
        assert_eq!(paired_ratio(&half, &[0.0, 1.0, 1.0], Confidence::P95), None);
    }

    #[test]
    fn variation_is_relative_to_the_mean() {
        let got = coefficient_of_variation(&[9.0, 10.0, 11.0]);
        assert!((got.expect("three values") - 0.1).abs() < 1e-12);
        let below = coefficient_of_variation(&[-9.0, -10.0, -11.0]);
        assert!((below.expect("three values") - 0.1).abs() < 1e-12);
        assert_eq!(coefficient_of_variation(&[9.0]), None);
        assert_eq!(coefficient_of_variation(&[-1.0, 1.0]), None);
    }
}
