//! Which repeats stand apart from the others.

use crate::limits::OUTLIER_DEVIATIONS;
use crate::summary::median;

/// Turns the median absolute deviation of normal values into their standard deviation.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// The indices of values that lie further than `limits::OUTLIER_DEVIATIONS` robust standard deviations from the
/// median, in order. They are for a reader to look into, never to be removed.
///
/// The modified z score with hyperfine's threshold (Iglewicz and Hoaglin 1993, How to Detect and
/// Handle Outliers). Where more than half of the values are equal, any other one is flagged; a
/// value that is not a number always is.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let Some(median_value) = median(&finite) else {
        return (0..values.len()).collect();
    };
    let distances: Vec<f64> = finite.iter().map(|v| (v - median_value).abs()).collect();
    let distance = median(&distances).unwrap_or_default();
    let bound = OUTLIER_DEVIATIONS * MAD_TO_DEVIATION * distance;
    let stands_apart = |value: f64| !value.is_finite() || (value - median_value).abs() > bound;
    (0..values.len()).filter(|index| stands_apart(values[*index])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], want: &[usize]) {
        assert_eq!(outliers(values), want, "{values:?}");
    }

    #[test]
    fn a_value_is_flagged_beyond_ten_robust_deviations() {
        // Median 100, median distance 1: the bound is 14.826.
        check(&[98.0, 99.0, 100.0, 101.0, 114.8], &[]);
        check(&[98.0, 99.0, 100.0, 101.0, 114.9], &[4]);
        check(&[85.1, 99.0, 100.0, 101.0, 102.0], &[0]);
    }

    #[test]
    fn equal_values_make_any_other_stand_apart() {
        check(&[5.0, 5.0, 5.0, 6.0], &[3]);
        check(&[5.0; 4], &[]);
    }

    #[test]
    fn what_is_no_number_always_stands_apart() {
        check(&[1.0, f64::NAN, 1.1, f64::INFINITY, 0.9], &[1, 3]);
        check(&[f64::NAN], &[0]);
        check(&[], &[]);
    }
}
