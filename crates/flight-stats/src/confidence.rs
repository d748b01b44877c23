//! Levels of confidence, and the quantiles of Student's t that go with them.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::StatsError;

/// The share of intervals that hold the truth, 0.5 to 0.9999.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// What every report uses unless told otherwise.
    pub const P95: Self = Self(0.95);
    /// For series that stop once their interval is narrow: the look at the width costs coverage,
    /// and 97.5 % leaves 95 %.
    pub const P97_5: Self = Self(0.975);
    /// For what is looked at often and must rarely cry wolf.
    pub(crate) const HIGHEST: Self = Self(Self::MAX);

    pub const MIN: f64 = 0.5;
    pub const MAX: f64 = 0.9999;

    /// `level` is a share (0.95), not a percentage.
    ///
    /// # Errors
    /// `StatsError::Confidence` outside `MIN` to `MAX`.
    pub fn new(level: f64) -> Result<Self, StatsError> {
        if !(Self::MIN..=Self::MAX).contains(&level) {
            return Err(StatsError::Confidence { level, min: Self::MIN, max: Self::MAX });
        }
        Ok(Self(level))
    }

    pub fn level(self) -> f64 {
        self.0
    }

    /// The share of false alarms that this level allows, both tails together.
    pub fn alpha(self) -> f64 {
        1.0 - self.0
    }

    /// The level at which each of `count` questions is asked so that all hold at this one
    /// (Bonferroni).
    pub(crate) fn shared_by(self, count: usize) -> Self {
        Self(1.0 - self.alpha() / count.max(1) as f64)
    }

    /// How many standard errors an interval reaches to either side of a mean.
    pub(crate) fn student_t(self, degrees: usize) -> f64 {
        student_t_quantile(1.0 - self.alpha() / 2.0, degrees)
    }
}

/// The value that a Student t variable stays below with `probability`; `degrees` above zero.
pub(crate) fn student_t_quantile(probability: f64, degrees: usize) -> f64 {
    StudentsT::new(0.0, 1.0, degrees as f64)
        .expect("callers have two values or more, so a degree of freedom")
        .inverse_cdf(probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(confidence: Confidence, degrees: usize, want: f64) {
        let got = confidence.student_t(degrees);
        assert!((got - want).abs() < 1e-5, "t({degrees}) = {got}, tables say {want}");
    }

    #[test]
    fn quantiles_of_t_are_those_of_published_tables() {
        let cases = [
            (1, 12.706_205),
            (2, 4.302_653),
            (4, 2.776_445),
            (9, 2.262_157),
            (29, 2.045_230),
            (30, 2.042_272),
        ];
        for (degrees, want) in cases {
            check(Confidence::P95, degrees, want);
        }
        for (degrees, want) in
            [(31, 2.039_513), (60, 2.000_298), (120, 1.979_930), (100_000, 1.959_988)]
        {
            check(Confidence::P95, degrees, want);
        }
        check(Confidence(0.99), 4, 4.604_095);
        check(Confidence(0.99), 10, 3.169_273);
        check(Confidence(0.90), 20, 1.724_718);
        check(Confidence(0.999), 18, 3.921_646);
    }

    #[test]
    fn a_level_is_a_share_and_not_a_percentage() {
        assert_eq!(Confidence::new(0.95), Ok(Confidence::P95));
        for level in [95.0, 1.0, 0.49, -0.95, f64::NAN] {
            assert!(Confidence::new(level).is_err(), "{level}");
        }
    }

    #[test]
    fn four_questions_share_what_one_may_err() {
        assert!((Confidence::P95.shared_by(4).alpha() - 0.0125).abs() < 1e-12);
        assert_eq!(Confidence::P95.shared_by(0), Confidence::P95.shared_by(1));
    }
}
