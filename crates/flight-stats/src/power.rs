//! How many pairs a question needs, and what a number of pairs can show.
//!
//! Spreads are standard deviations of log ratios between pairs: with a run-to-run coefficient of
//! variation c, about c·√2.

use crate::confidence::student_t_quantile;
use crate::limits::PAIRS_PROMISED_MAX;
use crate::summary::{deviation, mean};
use crate::{Band, Confidence, Pairs};

/// The smallest difference that the t interval of `pairs` pairs finds in 80 % of series: 0.03 for a
/// ratio of 1.03 or 1/1.03. `spread` is the deviation of log ratios.
///
/// (t of the interval + t of the power) · spread / √pairs: Chow, Shao and Wang, Sample Size
/// Calculations in Clinical Research, §3.1, with quantiles of t in place of normal ones. `None`
/// below two pairs, or for a spread that is negative or not finite.
pub fn detectable_effect(pairs: usize, spread: f64, confidence: Confidence) -> Option<f64> {
    let known = pairs >= 2 && spread.is_finite() && spread >= 0.0;
    known.then(|| detectable_log(pairs, spread, confidence).exp_m1())
}

/// The smallest difference, as a share, that [`judge`](crate::judge) calls one in 80 % of series of
/// so many pairs: beyond `band`, both by the interval and by permutation. `None` where there are too
/// few pairs for permutation to say anything, or the spread is not known.
#[must_use]
pub fn detectable_beyond(
    pairs: usize,
    spread: f64,
    band: Band,
    confidence: Confidence,
) -> Option<f64> {
    // A pair fewer than there are: permutation is coarse, as for `pairs_needed`.
    let known = pairs >= pairs_min(confidence) && spread.is_finite() && spread >= 0.0;
    known.then(|| (band.log() + detectable_log(pairs - 1, spread, confidence)).exp_m1())
}

/// Pairs with which [`crate::judge`] finds a ratio of 1 + `effect` (or its inverse) to lie beyond
/// `band` in 80 % of series. `None` when the effect does not exceed the band, or takes more than
/// `limits::PAIRS_PROMISED_MAX` pairs; also where an argument is not finite.
pub fn pairs_needed(effect: f64, spread: f64, band: Band, confidence: Confidence) -> Option<usize> {
    let distance = effect.ln_1p() - band.log();
    if !(distance > 0.0 && spread >= 0.0 && spread.is_finite()) {
        return None;
    }
    // A pair more than the interval alone needs, as permutation is coarse: simulated, both agree in
    // 83 to 85 % of series with one more and in 74 to 81 % without; at the fewest pairs with which
    // permutation can speak at all, in 72 % even with it.
    let finds = |pairs| detectable_log(pairs, spread, confidence) <= distance;
    let by_interval = smallest(2, finds)?;
    let pairs = (by_interval + 1).max(pairs_min(confidence) + 1);
    (pairs <= PAIRS_PROMISED_MAX).then_some(pairs)
}

/// Pairs beyond those measured with which the interval would clear the nearest end of `band`, if
/// mean and spread stay as they are: an estimate. `None` with one pair, or when more than
/// `limits::PAIRS_PROMISED_MAX` would be needed.
pub fn pairs_further(pairs: &Pairs, band: Band, confidence: Confidence) -> Option<usize> {
    let logs = pairs.log_ratios();
    let spread = deviation(logs)?;
    let distance = (mean(logs)?.abs() - band.log()).abs();
    let clears =
        |count: usize| confidence.student_t(count - 1) * spread / (count as f64).sqrt() < distance;
    let from = (logs.len() + 1).max(pairs_min(confidence));
    smallest(from, clears).map(|count| count - logs.len())
}

/// Pairs with which permutation can reach a verdict at all: of 2^n assignments, two are as extreme
/// as one can be.
fn pairs_min(confidence: Confidence) -> usize {
    (1.0 - confidence.alpha().log2()).ceil() as usize
}

fn detectable_log(pairs: usize, spread: f64, confidence: Confidence) -> f64 {
    let degrees = pairs - 1;
    let quantiles = confidence.student_t(degrees) + student_t_quantile(POWER, degrees);
    quantiles * spread / (pairs as f64).sqrt()
}

/// The smallest number of pairs, `from` or more, that `suffices`; more pairs never suffice less.
fn smallest(from: usize, suffices: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (from, PAIRS_PROMISED_MAX);
    if from > high || !suffices(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if suffices(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

/// The share of true effects that a promised number of pairs finds.
const POWER: f64 = 0.8;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: usize, run_cv: f64, want: f64) {
        let spread = run_cv * std::f64::consts::SQRT_2;
        let got = detectable_effect(pairs, spread, Confidence::P95).unwrap().ln_1p();
        assert!((got - want).abs() < 0.000_6, "{pairs} pairs at {run_cv}: {got}, not {want}");
    }

    #[test]
    fn what_pairs_can_show_follows_from_tables_of_t() {
        // (t 0.975 + t 0.8) √2 CV / √n: with 5 pairs (2.776 + 0.941) √2 / √5 = 2.351 times the CV.
        for (pairs, factor) in [(5, 2.351), (10, 1.407), (20, 0.934), (30, 0.749)] {
            for run_cv in [0.01, 0.02, 0.05] {
                check(pairs, run_cv, factor * run_cv);
            }
        }
    }

    #[test]
    fn a_number_of_pairs_needs_a_spread_that_is_known() {
        for (pairs, spread) in [(1, 0.02), (0, 0.02), (5, -0.02), (5, f64::NAN)] {
            assert_eq!(detectable_effect(pairs, spread, Confidence::P95), None);
        }
    }

    #[test]
    fn what_is_found_beyond_a_band_lies_as_far_beyond_it() {
        let found = |pairs, band| {
            detectable_beyond(pairs, 0.0283, Band::new(band).unwrap(), Confidence::P95)
        };
        // 7 pairs count as 6: (2.571 + 0.920) / √6 = 1.425 spreads.
        let got = found(7, 0.0).unwrap().ln_1p();
        assert!((got - 1.425 * 0.0283).abs() < 0.000_1, "{got}");
        let beyond = found(7, 0.03).unwrap();
        assert!((beyond.ln_1p() - got - 1.03_f64.ln()).abs() < 1e-12, "{beyond}");
        assert!(found(6, 0.03).is_some());
        assert_eq!(found(5, 0.03), None, "five pairs settle nothing");
        assert_eq!(detectable_beyond(9, f64::NAN, Band::NONE, Confidence::P95), None);
    }

    #[test]
    fn a_wider_band_takes_more_pairs() {
        let needed =
            |effect, band| pairs_needed(effect, 0.0283, Band::new(band).unwrap(), Confidence::P95);
        // ln 1.05 = 0.0488 is 1.724 spreads; 5 pairs reach (2.776 + 0.941) / √5 = 1.662, but
        // permutation has room for one contrary pair only from 7.
        assert_eq!(needed(0.05, 0.0), Some(7));
        // 0.0190 beyond the band is 0.6723 spreads; (2.093 + 0.861) / √20 = 0.6605 is within it,
        // and (2.101 + 0.862) / √19 = 0.6798 is not.
        assert_eq!(needed(0.05, 0.0302), Some(21));
        assert_eq!(needed(0.05, 0.05), None);
        assert_eq!(needed(0.000_1, 0.0), None);
        assert_eq!(needed(f64::NAN, 0.0), None);
    }

    #[test]
    fn permutation_needs_six_pairs_for_95_per_cent() {
        assert_eq!(pairs_min(Confidence::P95), 6);
        assert_eq!(pairs_min(Confidence::P97_5), 7);
        assert_eq!(pairs_min(Confidence::new(0.99).unwrap()), 8);
    }

    fn check_further(logs: &[f64], end_log: f64, want: Option<usize>) {
        let values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        let pairs = Pairs::new(&values, &vec![1.0; logs.len()]).unwrap();
        let band = Band::new(end_log.exp_m1()).unwrap();
        assert_eq!(pairs_further(&pairs, band, Confidence::P95), want, "{logs:?}");
    }

    #[test]
    fn further_pairs_narrow_the_interval_until_it_clears_the_band() {
        // Mean 0.01, deviation 0.02: 0.01 is cleared when t / √n < 0.5, first with 18 pairs
        // (2.110 / √18 = 0.497; 2.120 / √17 = 0.514).
        let logs = [-0.01, -0.01, 0.01, 0.03, 0.03];
        check_further(&logs, 0.0, Some(13));
        // The same distance from the other side: an end at 0.02 on the log scale.
        check_further(&logs, 0.02, Some(13));
        // The mean lies on the end of the band: nothing would settle it.
        check_further(&logs, 0.01, None);
    }

    #[test]
    fn pairs_without_spread_need_only_what_permutation_asks() {
        check_further(&[0.1; 2], 0.0, Some(4));
        check_further(&[0.1; 1], 0.0, None);
    }
}
