//! Two variants measured in the same rounds: their ratio, and an exact test of it.

use crate::draw::Draw;
use crate::limits::{PAIRS_EXACT_MAX, SIGN_FLIPS_SAMPLED};
use crate::summary::{logarithms, mean_of_logs};
use crate::{Confidence, Estimate, StatsError};

/// One log ratio a round; never empty. What a round did to both sides cancels out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    logs: Vec<f64>,
}

impl Pairs {
    /// Matches `values` with `base`, round by round, in any one unit. Ratios are values over base.
    ///
    /// # Errors
    /// `Lengths` when a side lacks rounds, `Empty` without any, `NotPositive` for a run that has no
    /// logarithm.
    pub fn new(values: &[f64], base: &[f64]) -> Result<Self, StatsError> {
        if values.len() != base.len() {
            return Err(StatsError::Lengths { left: values.len(), right: base.len() });
        }
        if values.is_empty() {
            return Err(StatsError::Empty);
        }
        let (values, base) = (logarithms(values)?, logarithms(base)?);
        Ok(Self { logs: values.iter().zip(base).map(|(v, b)| v - b).collect() })
    }

    /// ln(value / base) of each round, in their order.
    pub fn log_ratios(&self) -> &[f64] {
        &self.logs
    }

    /// How many pairs there are, one or more.
    pub fn count(&self) -> usize {
        self.logs.len()
    }

    /// The geometric mean of the ratios, with a t interval on their logarithms.
    pub fn ratio(&self, confidence: Confidence) -> Estimate {
        mean_of_logs(&self.logs, confidence).expect("there is a pair")
    }

    /// How often chance alone sets the sides as far apart as they were measured: the two-sided p of
    /// the sign-flip permutation test on log ratios (Fisher 1935, The Design of Experiments, §21).
    ///
    /// Exact up to `limits::PAIRS_EXACT_MAX` pairs; beyond, of samples that `seed` decides.
    pub fn permutation_p(&self, seed: u64) -> f64 {
        self.permutation_p_at(0.0, seed)
    }

    /// The same against a true log ratio of `centre`.
    pub(crate) fn permutation_p_at(&self, centre: f64, seed: u64) -> f64 {
        let shifted: Vec<f64> = self.logs.iter().map(|log| log - centre).collect();
        if shifted.len() <= PAIRS_EXACT_MAX {
            exact_p(&shifted)
        } else {
            sampled_p(&shifted, &mut Draw::new(seed))
        }
    }
}

fn exact_p(values: &[f64]) -> f64 {
    let bound = extreme_bound(values);
    // A flip of all signs gives the same distance, so the last sign may stay as it is.
    let masks = 1u32 << (values.len() - 1);
    let extreme = (0..masks).filter(|mask| flipped_sum(values, u64::from(*mask)) >= bound).count();
    extreme as f64 / f64::from(masks)
}

/// The measured assignment counts as one of the samples, so that p is never zero (Phipson and Smyth
/// 2010, "Permutation p-values should never be zero").
fn sampled_p(values: &[f64], draw: &mut Draw) -> f64 {
    let bound = extreme_bound(values);
    let mut extreme = 1u32;
    for _ in 0..SIGN_FLIPS_SAMPLED {
        let sum: f64 = values.chunks(64).map(|part| signed_sum(part, draw.bits())).sum();
        if sum.abs() >= bound {
            extreme += 1;
        }
    }
    f64::from(extreme) / f64::from(SIGN_FLIPS_SAMPLED + 1)
}

/// What a sum must reach to be as extreme as the measured one. Sums of the same numbers in another
/// order differ in their last bits; those are ties, not smaller.
fn extreme_bound(values: &[f64]) -> f64 {
    let scale: f64 = values.iter().map(|v| v.abs()).sum();
    values.iter().sum::<f64>().abs() - 1e-12 * scale
}

fn flipped_sum(values: &[f64], mask: u64) -> f64 {
    signed_sum(values, mask).abs()
}

/// The sum of at most 64 `values`, where a set bit of `mask` turns the sign.
fn signed_sum(values: &[f64], mask: u64) -> f64 {
    let signed = values.iter().enumerate();
    signed.map(|(index, value)| if mask >> index & 1 == 1 { -value } else { *value }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Height differences of 15 pairs of maize plants, in eighths of an inch (Darwin 1876).
    const DARWIN: [f64; 15] =
        [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];

    fn check(logs: &[f64], want: f64) {
        let pairs = Pairs { logs: logs.to_vec() };
        let got = pairs.permutation_p(1);
        assert!((got - want).abs() < 1e-9, "{} pairs: p = {got}, not {want}", logs.len());
    }

    #[test]
    fn the_smallest_p_halves_with_each_pair() {
        check(&[0.1; 1], 1.0);
        check(&[0.1; 5], 0.0625);
        check(&[0.1; 6], 0.03125);
        check(&[-0.3, -0.1, -0.2, -0.5, -0.4, -0.6], 0.03125);
        check(&[0.1; 16], 2.0 / 65_536.0);
    }

    #[test]
    fn p_counts_the_assignments_that_are_as_extreme() {
        // |±1 ±2 ±3| reaches |1 + 2 - 3| = 0 always, and |3 + 2 - 1| = 4 in 4 of 8.
        check(&[1.0, 2.0, -3.0], 1.0);
        check(&[-1.0, 2.0, 3.0], 0.5);
        check(&[0.0; 6], 1.0);
        // Sums of ±0.2 and ±0.4 tie or win in 5 of 8, though floats round 0.2 two ways.
        check(&[0.1, 0.1, 0.1, -0.1], 0.625);
    }

    #[test]
    fn darwins_maize_has_the_p_that_fisher_published() {
        // The Design of Experiments, §21: 863 of 32 768 assignments in one tail.
        check(&DARWIN, 2.0 * 863.0 / 32_768.0);
    }

    #[test]
    fn sampled_p_agrees_with_exact_p() {
        let (exact, sampled) = (exact_p(&DARWIN), sampled_p(&DARWIN, &mut Draw::new(3)));
        assert!((exact - sampled).abs() < 0.004, "exact {exact}, sampled {sampled}");
    }

    #[test]
    fn many_pairs_are_sampled_from_the_seed_and_p_is_never_zero() {
        check(&[0.1; 70], 1.0 / 100_001.0);
        let logs: Vec<f64> = (0..70).map(|i| f64::from(i * 37 % 70) - 28.0).collect();
        let pairs = Pairs { logs };
        let p = pairs.permutation_p(1);
        // Mean 6.5 and root mean square 21.3 over 70 pairs: z = 2.56, so a normal p of 0.0104.
        assert!((p - 0.0104).abs() < 0.002, "p = {p}");
        assert_eq!(p.to_bits(), pairs.permutation_p(1).to_bits());
        assert_ne!(p.to_bits(), pairs.permutation_p(2).to_bits());
    }

    #[test]
    fn a_test_against_the_measured_ratio_sees_no_difference() {
        let pairs = Pairs::new(&[2.0; 8], &[1.0; 8]).unwrap();
        assert!((pairs.permutation_p_at(2f64.ln(), 1) - 1.0).abs() < 1e-12);
        assert!(pairs.permutation_p_at(0.0, 1) < 0.01);
    }

    #[test]
    fn sides_that_do_not_match_are_refused() {
        let refused = |values: &[f64], base: &[f64]| Pairs::new(values, base).unwrap_err();
        assert_eq!(refused(&[1.0, 2.0], &[1.0]), StatsError::Lengths { left: 2, right: 1 });
        assert_eq!(refused(&[], &[]), StatsError::Empty);
        assert_eq!(refused(&[1.0], &[0.0]), StatsError::NotPositive { index: 0, value: 0.0 });
    }
}
