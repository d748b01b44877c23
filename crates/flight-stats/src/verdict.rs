//! From an interval and what counts as the same, to one of four verdicts.

use crate::power::pairs_further;
use crate::summary::mean;
use crate::{Confidence, Estimate, Pairs, StatsError};

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval lies beyond the band, on the good side.
    Improved,
    /// The whole interval lies beyond the band, on the bad side.
    Regressed,
    /// The whole interval lies inside the band.
    Same,
    /// Anything else: the values do not say.
    Inconclusive,
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Throughput.
    HigherIsBetter,
    /// Latency, CPU time, memory.
    LowerIsBetter,
}

/// The differences that count as none.
///
/// Symmetrical on the log scale: a band of 0.03 reaches from 1/1.03 to 1.03. So a verdict does not
/// depend on which side is called the base.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Band(f64);

impl Band {
    /// Ratios within 2 % of each other.
    pub(crate) const P2: Self = Self(0.02);
    /// Every difference counts. Nothing can be the same within it.
    pub const NONE: Self = Self(0.0);
    pub const RATIO_MAX: f64 = 1.0;

    /// `ratio` is a share: 0.03 for 3 %.
    ///
    /// # Errors
    /// `StatsError::Band` outside 0 to `RATIO_MAX`.
    pub fn new(ratio: f64) -> Result<Self, StatsError> {
        if !(0.0..=Self::RATIO_MAX).contains(&ratio) {
            return Err(StatsError::Band { ratio, max: Self::RATIO_MAX });
        }
        Ok(Self(ratio))
    }

    /// The ratios at its two ends.
    pub fn bounds(self) -> (f64, f64) {
        (1.0 / (1.0 + self.0), 1.0 + self.0)
    }

    /// How far it reaches to either side of 0 on the log scale.
    pub(crate) fn log(self) -> f64 {
        self.0.ln_1p()
    }
}

/// What decides a verdict besides the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    pub confidence: Confidence,
    pub band: Band,
    pub direction: Direction,
}

/// A verdict on pairs, with all that led to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The geometric mean ratio of values to base.
    pub ratio: Estimate,
    /// Two-sided p of no difference, by sign-flip permutation.
    pub p: f64,
    /// What both methods say; `Inconclusive` where they disagree.
    pub verdict: Verdict,
    /// What the t interval says.
    pub by_interval: Verdict,
    /// What permutation says of the two ends of the band.
    pub by_permutation: Verdict,
    /// Pairs beyond those measured that would settle an inconclusive verdict, if the ratio and its
    /// spread stay as they are: an estimate. `None` when settled, or when no affordable number is.
    pub pairs_further: Option<usize>,
}

/// Judges `pairs` by their t interval and by permutation; `seed` decides the samples of the latter
/// where pairs are too many for all of them.
pub fn judge(pairs: &Pairs, rule: Rule, seed: u64) -> Judgement {
    let ratio = pairs.ratio(rule.confidence);
    let by_interval = Verdict::of_interval(ratio.interval, rule.band, rule.direction);
    let by_permutation = by_permutation(pairs, rule, seed);
    let agree = by_interval == by_permutation;
    let verdict = if agree { by_interval } else { Verdict::Inconclusive };
    let open = verdict == Verdict::Inconclusive;
    let pairs_further = if open { pairs_further(pairs, rule.band, rule.confidence) } else { None };
    let p = pairs.permutation_p(seed);
    Judgement { ratio, p, verdict, by_interval, by_permutation, pairs_further }
}

impl Verdict {
    /// What an interval of ratios (values over base) says; nothing without one.
    pub fn of_interval(interval: Option<(f64, f64)>, band: Band, direction: Direction) -> Self {
        let Some((lo, hi)) = interval else {
            return Self::Inconclusive;
        };
        let (low, high) = band.bounds();
        if lo > high {
            Self::of_rise(direction)
        } else if hi < low {
            Self::of_fall(direction)
        } else if low < lo && hi < high {
            Self::Same
        } else {
            Self::Inconclusive
        }
    }

    fn of_rise(direction: Direction) -> Self {
        match direction {
            Direction::HigherIsBetter => Self::Improved,
            Direction::LowerIsBetter => Self::Regressed,
        }
    }

    fn of_fall(direction: Direction) -> Self {
        match direction {
            Direction::HigherIsBetter => Self::Regressed,
            Direction::LowerIsBetter => Self::Improved,
        }
    }
}

/// An end of the band is ruled out when permutation rejects it as the true ratio; the verdict is
/// then the one that the same facts give for an interval, since that is what an interval rules out.
fn by_permutation(pairs: &Pairs, rule: Rule, seed: u64) -> Verdict {
    let reach = rule.band.log();
    let mean = mean(pairs.log_ratios()).expect("there is a pair");
    let ruled_out = |end: f64| pairs.permutation_p_at(end, seed) <= rule.confidence.alpha();
    if mean > reach && ruled_out(reach) {
        Verdict::of_rise(rule.direction)
    } else if mean < -reach && ruled_out(-reach) {
        Verdict::of_fall(rule.direction)
    } else if mean.abs() < reach && ruled_out(reach) && ruled_out(-reach) {
        Verdict::Same
    } else {
        Verdict::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use Direction::{HigherIsBetter, LowerIsBetter};
    use Verdict::{Improved, Inconclusive, Regressed, Same};

    use super::*;

    fn check(interval: (f64, f64), higher: Verdict, lower: Verdict) {
        let band = Band::new(0.03).unwrap();
        assert_eq!(Verdict::of_interval(Some(interval), band, HigherIsBetter), higher);
        assert_eq!(Verdict::of_interval(Some(interval), band, LowerIsBetter), lower);
    }

    #[test]
    fn an_interval_decides_only_when_all_of_it_does() {
        check((1.04, 1.09), Improved, Regressed);
        check((0.90, 0.96), Regressed, Improved);
        check((0.98, 1.02), Same, Same);
        check((1.01, 1.05), Inconclusive, Inconclusive);
        check((0.95, 0.99), Inconclusive, Inconclusive);
        check((0.90, 1.10), Inconclusive, Inconclusive);
    }

    #[test]
    fn the_band_is_symmetrical_on_the_log_scale() {
        // 0.9709 is 1/1.03; 0.97 lies below it.
        check((0.9710, 1.0299), Same, Same);
        check((0.9705, 1.0299), Inconclusive, Inconclusive);
        check((0.9600, 0.9706), Regressed, Improved);
        let (low, high) = Band::new(0.03).unwrap().bounds();
        assert!((low * high - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_band_is_a_share_and_not_a_percentage() {
        for ratio in [3.0, -0.01, f64::NAN] {
            assert!(Band::new(ratio).is_err(), "{ratio}");
        }
        assert_eq!(Band::new(0.0), Ok(Band::NONE));
    }

    fn judged(logs: &[f64], band: f64) -> Judgement {
        let values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        let pairs = Pairs::new(&values, &vec![1.0; values.len()]).unwrap();
        let band = Band::new(band).unwrap();
        judge(&pairs, Rule { confidence: Confidence::P95, band, direction: HigherIsBetter }, 1)
    }

    #[test]
    fn pairs_that_agree_settle_a_verdict() {
        let slow = judged(&[-0.09, -0.10, -0.11, -0.10, -0.09, -0.11], 0.03);
        assert_eq!((slow.verdict, slow.pairs_further), (Regressed, None));
        assert!((slow.p - 0.031_25).abs() < 1e-12);
        let fast = judged(&[0.09, 0.10, 0.11, 0.10, 0.09, 0.11], 0.03);
        assert_eq!(fast.verdict, Improved);
        let same = judged(&[0.002, -0.003, 0.001, -0.001, 0.003, -0.002], 0.03);
        assert_eq!((same.verdict, same.by_permutation), (Same, Same));
    }

    #[test]
    fn methods_that_disagree_leave_it_open() {
        // Five pairs satisfy the t interval; permutation cannot pass 0.0625 before the sixth.
        let five = judged(&[-0.09, -0.10, -0.11, -0.10, -0.09], 0.03);
        assert_eq!((five.by_interval, five.by_permutation), (Regressed, Inconclusive));
        assert_eq!((five.verdict, five.pairs_further), (Inconclusive, Some(1)));
    }

    #[test]
    fn permutation_calls_the_same_only_what_lies_off_both_ends_of_the_band() {
        let near = [0.005, 0.045, 0.01, 0.04, 0.02, 0.03, 0.0, 0.05];
        for logs in [near, near.map(|log| -log)] {
            assert_eq!(judged(&logs, 0.03).by_permutation, Inconclusive);
            assert_eq!(judged(&logs, 0.2).by_permutation, Same);
        }
    }

    #[test]
    fn one_pair_says_nothing() {
        let one = judged(&[-0.5], 0.03);
        assert_eq!((one.verdict, one.pairs_further), (Inconclusive, None));
        assert_eq!(one.ratio.interval, None);
    }

    #[test]
    fn without_a_band_nothing_is_the_same() {
        assert_eq!(judged(&[0.0; 8], 0.0).verdict, Inconclusive);
        assert_eq!(judged(&[0.0; 8], 0.03).verdict, Same);
    }
}
