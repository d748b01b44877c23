//! Two sets of repeats that share no rounds, such as saved runs.
//!
//! Nothing here controls drift between the two: the caller says so, and widens its band.

use crate::limits::{RANKS_MIN, REPEATS_MAX};
use crate::rank_sum::{Method, interval_rank, lower_p, lower_p_min, two_sided_p};
use crate::summary::{logarithms, median_of_sorted};
use crate::{Confidence, Estimate, StatsError};

/// How two sets of repeats differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unpaired {
    /// The Hodges-Lehmann shift of logarithms, as a ratio of values to base; there always is an
    /// interval.
    pub ratio: Estimate,
    /// What the interval covers: ranks are whole, so at least what was asked for.
    pub coverage: f64,
    /// Two-sided p of the Mann-Whitney test.
    pub p: f64,
    /// How `p` came about.
    pub method: Method,
}

/// Compares `values` to `base`, in any one unit.
///
/// The ratio is the median of all ratios of a value to a base value (Hodges and Lehmann 1963), its
/// interval the one that inverts the Mann-Whitney test.
///
/// # Errors
/// `TooFew` when no result could reach `confidence`; four a side suffice for 95 %. `TooMany` above
/// `limits::REPEATS_MAX` a side; `NotPositive` for a run that has no logarithm.
pub fn compare_unpaired(
    values: &[f64],
    base: &[f64],
    confidence: Confidence,
) -> Result<Unpaired, StatsError> {
    check_count(values, base)?;
    let too_few = || StatsError::TooFew {
        values: values.len(),
        base: base.len(),
        percent: percent(confidence),
        needed: repeats_needed(confidence),
    };
    if values.len().min(base.len()) < RANKS_MIN {
        return Err(too_few());
    }
    let (rank, coverage) =
        interval_rank(values.len(), base.len(), confidence.alpha()).ok_or_else(too_few)?;
    let shifts = shifts(&logarithms(values)?, &logarithms(base)?);
    let (p, method) = two_sided_p(values, base);
    let shift = median_of_sorted(&shifts).expect("both sides have values");
    let interval = (shifts[rank - 1].exp(), shifts[shifts.len() - rank].exp());
    let ratio = Estimate { value: shift.exp(), interval: Some(interval) };
    Ok(Unpaired { ratio, coverage, p, method })
}

/// The one-sided p of the Mann-Whitney test that `values` are not below `ratio` times `base`: small
/// where they are.
///
/// # Errors
/// `TooMany` above `limits::REPEATS_MAX` a side; `NotPositive` for a run that has no logarithm.
pub fn p_below(values: &[f64], base: &[f64], ratio: f64) -> Result<f64, StatsError> {
    Ok(lower_p(values, &scaled(values, base, ratio)?))
}

/// The same of not being above.
///
/// # Errors
/// As for [`p_below`].
pub fn p_above(values: &[f64], base: &[f64], ratio: f64) -> Result<f64, StatsError> {
    Ok(lower_p(&scaled(values, base, ratio)?, values))
}

/// The smallest p that [`p_below`] and [`p_above`] can give with so many repeats a side.
#[must_use]
pub fn p_one_sided_min(values: usize, base: usize) -> f64 {
    lower_p_min(values, base)
}

fn scaled(values: &[f64], base: &[f64], ratio: f64) -> Result<Vec<f64>, StatsError> {
    check_count(values, base)?;
    logarithms(values)?;
    logarithms(base)?;
    Ok(base.iter().map(|value| value * ratio).collect())
}

fn check_count(values: &[f64], base: &[f64]) -> Result<(), StatsError> {
    let count = values.len().max(base.len());
    if count > REPEATS_MAX {
        return Err(StatsError::TooMany { count, max: REPEATS_MAX });
    }
    Ok(())
}

/// Every value less every base value, in order.
fn shifts(values: &[f64], base: &[f64]) -> Vec<f64> {
    let mut shifts: Vec<f64> =
        values.iter().flat_map(|v| base.iter().map(move |b| v - b)).collect();
    shifts.sort_by(f64::total_cmp);
    shifts
}

/// Repeats a side with which sides that do not overlap are told apart: 2 of C(2n, n) assignments
/// are that extreme.
fn repeats_needed(confidence: Confidence) -> usize {
    let mut assignments = 1.0;
    let mut repeats = 0;
    while repeats < RANKS_MIN || 2.0 / assignments > confidence.alpha() {
        repeats += 1;
        // C(2n, n) = C(2n - 2, n - 1) (2n)(2n - 1) / n².
        assignments *= 2.0 * (2 * repeats - 1) as f64 / repeats as f64;
    }
    repeats
}

/// A level as people write it: 95, not 95.000 000 000 000 01.
fn percent(confidence: Confidence) -> f64 {
    (confidence.level() * 1e4).round() / 1e2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exp(logs: &[f64]) -> Vec<f64> {
        logs.iter().map(|log| log.exp()).collect()
    }

    fn check(values: &[f64], base: &[f64], shift: f64, interval: (f64, f64)) -> Unpaired {
        let got = compare_unpaired(&exp(values), &exp(base), Confidence::P95).unwrap();
        let (lo, hi) = got.ratio.interval.unwrap();
        let pairs = [(got.ratio.value, shift), (lo, interval.0), (hi, interval.1)];
        for (got, want) in pairs {
            assert!((got.ln() - want).abs() < 1e-9, "{} is not {want}", got.ln());
        }
        got
    }

    #[test]
    fn four_a_side_span_all_shifts() {
        // 16 shifts: 7 8 9 9 10 10 10 11 | 11 12 12 12 13 13 14 15.
        let got = check(&[10.0, 12.0, 13.0, 15.0], &[0.0, 1.0, 2.0, 3.0], 11.0, (7.0, 15.0));
        assert!((got.coverage - 68.0 / 70.0).abs() < 1e-12);
        assert!((got.p - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(got.method, Method::Exact);
    }

    #[test]
    fn five_a_side_leave_two_shifts_at_either_end() {
        // Of 25 shifts of 0..=4 against itself, -4 comes once, -3 twice, and so on; the third is -3.
        let side = [0.0, 1.0, 2.0, 3.0, 4.0];
        let got = check(&side, &side, 0.0, (-3.0, 3.0));
        assert!((got.coverage - (1.0 - 8.0 / 252.0)).abs() < 1e-12);
        assert_eq!(got.method, Method::ExactMidranks);
    }

    #[test]
    fn a_limit_is_tested_by_scaling_the_base_to_it() {
        let base = [100.0, 101.0, 102.0, 103.0, 104.0];
        let slow = base.map(|value| value * 0.9);
        let close = |got: Result<f64, StatsError>, want: f64| {
            let got = got.unwrap();
            assert!((got - want).abs() < 1e-12, "{got}, not {want}");
        };
        close(p_below(&slow, &base, 1.0), 1.0 / 252.0);
        close(p_above(&slow, &base, 1.0), 1.0);
        // Nothing lies between 0.9 times the base and itself but the bits of a product.
        assert!(p_below(&slow, &base, 0.9).unwrap() > 0.4);
        close(p_above(&slow, &base, 0.8), 1.0 / 252.0);
        close(p_above(&slow, &base, -0.5), 1.0 / 252.0);
        close(p_below(&slow, &base, 0.0), 1.0);
        assert!((p_one_sided_min(5, 5) - 1.0 / 252.0).abs() < 1e-15);
        assert!(p_below(&[1.0; 5], &[0.0; 5], 1.0).is_err());
    }

    #[test]
    fn too_few_repeats_are_refused_with_the_number_that_suffices() {
        let three = compare_unpaired(&[1.0; 3], &[1.0; 9], Confidence::P95).unwrap_err();
        assert_eq!(
            three.to_string(),
            "3 and 9 repeats are too few for a rank test at 95 %; measure 4 a side"
        );
        let level = Confidence::new(0.99).unwrap();
        let four = compare_unpaired(&[1.0; 4], &[1.0; 4], level).unwrap_err();
        assert_eq!(
            four.to_string(),
            "4 and 4 repeats are too few for a rank test at 99 %; measure 5 a side"
        );
        assert!(compare_unpaired(&[1.0; 5], &[1.0; 5], level).is_ok());
    }

    #[test]
    fn what_has_no_logarithm_or_no_bound_is_refused() {
        let refused = |values: &[f64], base: &[f64]| {
            compare_unpaired(values, base, Confidence::P95).unwrap_err()
        };
        let zero = refused(&[1.0; 4], &[1.0, 1.0, 0.0, 1.0]);
        assert_eq!(zero, StatsError::NotPositive { index: 2, value: 0.0 });
        let many = refused(&[1.0; 4], &vec![1.0; REPEATS_MAX + 1]);
        assert_eq!(many, StatsError::TooMany { count: 1_001, max: 1_000 });
    }
}
