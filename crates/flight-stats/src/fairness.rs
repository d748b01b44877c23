//! Whether the streams of a run got equal shares.

use crate::limits::{JAIN_MIN, SHARE_RATIO_MIN};

/// How equally an amount was shared out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fairness {
    /// Jain's index: 1 when all shares are equal, 1/n when one stream got everything.
    pub jain: f64,
    /// The smallest share over the largest, 0 to 1.
    pub min_over_max: f64,
    /// The index of the stream that got the least; the first of several.
    pub smallest: usize,
}

impl Fairness {
    /// Both measures reach `limits::JAIN_MIN` and `limits::SHARE_RATIO_MIN`.
    pub fn is_fair(&self) -> bool {
        self.jain >= JAIN_MIN && self.min_over_max >= SHARE_RATIO_MIN
    }
}

/// Judges the amounts that each stream moved in one window, in any one unit
/// (Jain, Chiu and Hawe 1984, "A Quantitative Measure of Fairness", DEC TR-301).
///
/// `None` without streams, for an amount that is negative or not finite, or when nothing moved.
pub fn fairness(amounts: &[f64]) -> Option<Fairness> {
    if amounts.iter().any(|v| !v.is_finite() || *v < 0.0) {
        return None;
    }
    let max = amounts.iter().copied().fold(0.0, f64::max);
    if max == 0.0 {
        return None;
    }
    // Shares of the largest, so that squares of byte counts stay exact enough.
    let shares: Vec<f64> = amounts.iter().map(|v| v / max).collect();
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|v| v * v).sum();
    let jain = sum * sum / (shares.len() as f64 * squares);
    let by_share = |a: &usize, b: &usize| shares[*a].total_cmp(&shares[*b]);
    let smallest = (0..shares.len()).min_by(by_share)?;
    Some(Fairness { jain, min_over_max: shares[smallest], smallest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(amounts: &[f64], jain: f64, min_over_max: f64, smallest: usize, fair: bool) {
        let got = fairness(amounts).expect("something moved");
        assert!((got.jain - jain).abs() < 1e-12, "{got:?}");
        assert!((got.min_over_max - min_over_max).abs() < 1e-12, "{got:?}");
        assert_eq!((got.smallest, got.is_fair()), (smallest, fair), "{got:?}");
    }

    #[test]
    fn equal_shares_are_fair() {
        check(&[7.0; 4], 1.0, 1.0, 0, true);
        check(&[9.0], 1.0, 1.0, 0, true);
    }

    #[test]
    fn streams_that_starve_lower_the_index_to_the_share_of_those_that_run() {
        check(&[5.0, 5.0, 0.0, 0.0], 0.5, 0.0, 2, false);
        check(&[8.0, 0.0, 0.0, 0.0], 0.25, 0.0, 1, false);
    }

    #[test]
    fn one_slow_stream_among_many_is_unfair_though_the_index_is_high() {
        // (9 + 0.4)² / (10 · 9.16) = 0.96463.
        let mut amounts = [10.0; 10];
        amounts[6] = 4.0;
        check(&amounts, 88.36 / 91.6, 0.4, 6, false);
        amounts[6] = 6.0;
        check(&amounts, 92.16 / 93.6, 0.6, 6, true);
    }

    #[test]
    fn nothing_has_no_shares() {
        for amounts in [&[][..], &[0.0, 0.0], &[1.0, f64::NAN], &[1.0, -1.0]] {
            assert_eq!(fairness(amounts), None, "{amounts:?}");
        }
    }
}
