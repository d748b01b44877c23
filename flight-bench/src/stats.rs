//! The statistics of repeats: medians, geometric means with their interval, ratios of pairs.
//!
//! The repeat is the unit: batches within one are autocorrelated and share its luck. Rates are
//! compared on the log scale, where 'twice as fast' and 'half as fast' are equally far from 'the
//! same'. Percentiles of latencies come from the histograms of `record`.

/// An estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    /// Absent with fewer than two repeats: one run says nothing about its uncertainty.
    pub(crate) interval: Option<(f64, f64)>,
}

/// The geometric mean of positive `values`, with a Student t interval on their logarithms.
///
/// `None` when a value is missing, zero or not finite: a repeat in which nothing arrived has no
/// place on the log scale.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite() || *v <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    let mean = mean(&logs)?;
    let interval = deviation(&logs).map(|deviation| {
        let half = student_t_975(logs.len() - 1) * deviation / (logs.len() as f64).sqrt();
        ((mean - half).exp(), (mean + half).exp())
    });
    Some(Estimate { value: mean.exp(), interval })
}

/// How `values` compare to `base`, measured in the same rounds: the geometric mean of the ratio
/// within each round, so that what a round did to both cancels out.
pub(crate) fn paired_ratio(values: &[f64], base: &[f64]) -> Option<Estimate> {
    if values.len() != base.len() {
        return None;
    }
    let ratios: Vec<f64> = values.iter().zip(base).map(|(v, b)| v / b).collect();
    geometric_mean(&ratios)
}

/// The middle value, or the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

/// Standard deviation over mean; `None` with fewer than two values or a mean of zero.
pub(crate) fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    deviation(values).filter(|_| mean != 0.0).map(|deviation| deviation / mean)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample's standard deviation (n − 1).
fn deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The 97.5 % quantile of Student's t: half of a two-sided 95 % interval.
///
/// A published table up to 30 degrees of freedom, the expansion of Abramowitz and Stegun 26.7.5
/// beyond, where it is right to five digits.
fn student_t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
        2.262_157, 2.228_139, 2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905,
        2.109_816, 2.100_922, 2.093_024, 2.085_963, 2.079_614, 2.073_873, 2.068_658, 2.063_899,
        2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
    ];
    const Z: f64 = 1.959_963_985;
    if let Some(t) = degrees.checked_sub(1).and_then(|index| TABLE.get(index)) {
        return *t;
    }
    let n = degrees as f64;
    let g1 = (Z.powi(3) + Z) / 4.0;
    let g2 = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
    let g3 = (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0;
    Z + g1 / n + g2 / n.powi(2) + g3 / n.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn quantiles_of_t_are_those_of_published_tables() {
        let check = |degrees, want: f64| {
            let got = student_t_975(degrees);
            assert!((got - want).abs() < 5e-4, "t({degrees}) = {got}, tables say {want}");
        };
        check(1, 12.706);
        check(4, 2.776);
        check(30, 2.042);
        check(31, 2.0395);
        check(40, 2.0211);
        check(60, 2.0003);
        check(120, 1.9799);
        check(100_000, 1.960);
    }

    #[test]
    fn a_geometric_mean_carries_a_t_interval_on_logarithms() {
        // ln = 0, 1, 2: mean 1, deviation 1, half-width 4.302653 / sqrt(3) = 2.484138.
        let e = std::f64::consts::E;
        check_estimate(geometric_mean(&[1.0, e, e * e]), e, (-1.484_138, 3.484_138));
    }

    #[test]
    fn one_repeat_has_no_interval() {
        assert_eq!(geometric_mean(&[7.0]).map(|e| e.interval), Some(None));
    }

    #[test]
    fn a_repeat_that_moved_nothing_leaves_no_estimate() {
        for values in [&[][..], &[1.0, 0.0], &[1.0, f64::NAN], &[f64::INFINITY], &[-1.0]] {
            assert_eq!(geometric_mean(values), None, "{values:?}");
        }
    }

    #[test]
    fn drift_that_hits_both_sides_of_a_round_cancels_out() {
        let base = [100.0, 200.0, 400.0];
        let half = [50.0, 100.0, 200.0];
        check_estimate(paired_ratio(&half, &base), 0.5, (0.5f64.ln(), 0.5f64.ln()));
        assert_eq!(paired_ratio(&half, &base[..2]), None);
        assert_eq!(paired_ratio(&half, &[0.0, 1.0, 1.0]), None);
    }

    #[test]
    fn variation_is_relative_to_the_mean() {
        let got = coefficient_of_variation(&[9.0, 10.0, 11.0]);
        assert!((got.expect("three values") - 0.1).abs() < 1e-12);
        assert_eq!(coefficient_of_variation(&[9.0]), None);
    }

    fn check_estimate(got: Option<Estimate>, value: f64, logs: (f64, f64)) {
        let got = got.expect("an estimate");
        let (lo, hi) = got.interval.expect("an interval");
        for (got, want) in [(got.value, value), (lo.ln(), logs.0), (hi.ln(), logs.1)] {
            assert!((got - want).abs() < 1e-5, "{got} is not {want}");
        }
    }
}
