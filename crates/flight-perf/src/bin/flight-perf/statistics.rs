//! The median of a few rounds and its interval, from order statistics alone.

use serde::{Deserialize, Serialize};

/// A median with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Median {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// How often such an interval holds the true median: 0.95 or more from six rounds on; with
    /// fewer, what the smallest and largest of them give.
    pub(crate) coverage: f64,
}

/// The median of `values`. Nothing is assumed of how they are spread: whether a value lies above
/// the true median is a coin's toss, so that order statistics bound it.
pub(crate) fn median(values: &[f64]) -> Option<Median> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let value =
        if n % 2 == 1 { sorted[n / 2] } else { f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]) };
    let mut best = Median { value, low: first, high: last, coverage: coverage(n, 1) };
    for k in 2..=n / 2 {
        let coverage = coverage(n, k);
        if coverage < 0.95 {
            break;
        }
        best = Median { low: sorted[k - 1], high: sorted[n - k], coverage, ..best };
    }
    Some(best)
}

/// The chance that the median lies between the `k`th smallest and the `k`th largest of `n`: not
/// fewer than `k` of `n` tosses fall on either side.
fn coverage(n: usize, k: usize) -> f64 {
    let tosses = 2f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut choose = 1.0;
    let mut tail = 0.0;
    for i in 0..k {
        tail += choose / tosses;
        choose = choose * (n - i) as f64 / (i + 1) as f64;
    }
    (1.0 - 2.0 * tail).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_rounds_give_their_range_and_say_what_it_covers() {
        check(&[3.0, 1.0, 2.0, 5.0, 4.0], 3.0, (1.0, 5.0), 0.9375);
    }

    #[test]
    fn nine_rounds_leave_out_one_at_each_end() {
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        check(&values, 5.0, (2.0, 8.0), 0.9609375);
    }

    #[test]
    fn an_even_number_has_its_median_between_the_middle_two() {
        check(&[4.0, 1.0, 2.0, 9.0], 3.0, (1.0, 9.0), 0.875);
    }

    #[test]
    fn one_round_covers_nothing_and_none_has_no_median() {
        check(&[7.0], 7.0, (7.0, 7.0), 0.0);
        assert_eq!(median(&[]), None);
    }

    fn check(values: &[f64], value: f64, (low, high): (f64, f64), coverage: f64) {
        assert_eq!(median(values), Some(Median { value, low, high, coverage }));
    }
}
