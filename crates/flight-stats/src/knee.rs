//! The setting of a sweep that is worth choosing.

use crate::limits::KNEE_RATIO;
use crate::summary::{logarithms, mean};
use crate::verdict::Verdict;
use crate::{Band, Confidence, Direction, Pairs, StatsError};

/// One setting of a sweep, and what each round measured there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting<'a> {
    /// Bytes, streams, threads: what costs more the larger it is.
    pub size: f64,
    /// One value a round, in the order of rounds; in any one unit.
    pub values: &'a [f64],
}

/// What a sweep recommends. Indices are those of the settings given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knee {
    /// The setting with the best geometric mean.
    pub best: usize,
    /// The smallest setting within `limits::KNEE_RATIO` of the best.
    pub knee: usize,
    /// Settings that the rounds cannot tell from the best, in their order; with one round, all.
    pub rivals: Vec<usize>,
}

impl Knee {
    /// Whether the best setting can be told from every other one.
    pub fn is_best_certain(&self) -> bool {
        self.rivals.is_empty()
    }
}

/// Finds the knee of a sweep whose rounds ran every setting once, so that settings are compared
/// within rounds. Each setting is held against the best at a level that all comparisons share
/// (Bonferroni).
///
/// # Errors
/// `Empty` without settings or rounds, `Lengths` when a setting lacks a round, `NotPositive` for a
/// run that has no logarithm.
pub fn knee(
    settings: &[Setting<'_>],
    direction: Direction,
    confidence: Confidence,
) -> Result<Knee, StatsError> {
    let centres: Vec<f64> = settings.iter().map(centre).collect::<Result<_, _>>()?;
    // Ties go to the smaller setting, so that the best is never larger than need be.
    let better = |a: &usize, b: &usize| {
        let by_size = settings[*a].size.total_cmp(&settings[*b].size);
        loss(centres[*a], direction).total_cmp(&loss(centres[*b], direction)).then(by_size)
    };
    let best = (0..settings.len()).min_by(better).ok_or(StatsError::Empty)?;
    let reach = KNEE_RATIO.ln_1p();
    let is_near = |index: &usize| (centres[*index] - centres[best]).abs() <= reach;
    let by_size = |a: &usize, b: &usize| settings[*a].size.total_cmp(&settings[*b].size);
    let knee = (0..settings.len()).filter(is_near).min_by(by_size).unwrap_or(best);

    let level = confidence.shared_by(settings.len() - 1);
    let mut rivals = Vec::new();
    for other in (0..settings.len()).filter(|other| *other != best) {
        let pairs = Pairs::new(settings[best].values, settings[other].values)?;
        let interval = pairs.ratio(level).interval;
        if Verdict::of_interval(interval, Band::NONE, direction) != Verdict::Improved {
            rivals.push(other);
        }
    }
    Ok(Knee { best, knee, rivals })
}

/// The mean logarithm of a setting's values.
fn centre(setting: &Setting<'_>) -> Result<f64, StatsError> {
    mean(&logarithms(setting.values)?).ok_or(StatsError::Empty)
}

/// Smaller is better, whatever the direction.
fn loss(centre: f64, direction: Direction) -> f64 {
    match direction {
        Direction::HigherIsBetter => -centre,
        Direction::LowerIsBetter => centre,
    }
}

#[cfg(test)]
mod tests {
    use Direction::{HigherIsBetter, LowerIsBetter};

    use super::*;

    /// Rounds that are common to all settings, as a machine's drift is.
    const ROUNDS: [f64; 4] = [1.0, 1.1, 0.9, 1.05];

    fn check(levels: &[f64], noise: f64, direction: Direction, want: (usize, usize, &[usize])) {
        let rounds: Vec<Vec<f64>> = levels
            .iter()
            .enumerate()
            .map(|(i, level)| {
                let noisy = |(j, round): (usize, &f64)| {
                    let sign = if (i + j) % 2 == 0 { 1.0 } else { -1.0 };
                    level * round * (1.0 + sign * noise)
                };
                ROUNDS.iter().enumerate().map(noisy).collect()
            })
            .collect();
        let sizes = (0..rounds.len()).map(|i| f64::from(1u32 << i));
        let settings: Vec<Setting<'_>> =
            sizes.zip(&rounds).map(|(size, values)| Setting { size, values }).collect();
        let got = knee(&settings, direction, Confidence::P95).unwrap();
        assert_eq!((got.best, got.knee, got.rivals.as_slice()), want);
        assert_eq!(got.is_best_certain(), want.2.is_empty());
    }

    #[test]
    fn the_knee_is_the_smallest_setting_within_three_per_cent_of_the_best() {
        check(&[50.0, 90.0, 98.0, 100.0, 97.5], 1e-6, HigherIsBetter, (3, 2, &[]));
        check(&[200.0, 102.0, 100.0, 101.0], 1e-6, LowerIsBetter, (2, 1, &[]));
        check(&[100.0, 96.0], 1e-6, HigherIsBetter, (0, 0, &[]));
    }

    #[test]
    fn settings_within_the_noise_of_the_best_are_its_rivals() {
        check(&[50.0, 99.0, 100.0, 98.5], 0.02, HigherIsBetter, (2, 1, &[1, 3]));
        check(&[100.0, 100.0], 1e-6, HigherIsBetter, (0, 0, &[1]));
    }

    #[test]
    fn many_settings_share_one_chance_of_error() {
        // Log differences of mean 0.03 and error 0.0082: t = 3.67 is beyond 3.18 for one question,
        // and within 4.86 for three.
        let best = [0.01f64, 0.03, 0.03, 0.05].map(f64::exp);
        let other = Setting { size: 1.0, values: &[1.0; 4] };
        let best = Setting { size: 2.0, values: &best };
        let rivals = |settings: &[Setting<'_>]| {
            knee(settings, HigherIsBetter, Confidence::P95).unwrap().rivals
        };
        assert_eq!(rivals(&[best, other]), []);
        assert_eq!(rivals(&[best, other, other, other]), [1, 2, 3]);
    }

    #[test]
    fn of_equal_settings_the_smaller_is_best() {
        let settings = [8.0, 1.0].map(|size| Setting { size, values: &[5.0, 5.0] });
        let got = knee(&settings, LowerIsBetter, Confidence::P95).unwrap();
        assert_eq!((got.best, got.knee), (1, 1));
    }

    #[test]
    fn one_round_tells_nothing_apart() {
        let settings =
            [Setting { size: 1.0, values: &[50.0] }, Setting { size: 2.0, values: &[100.0] }];
        let got = knee(&settings, HigherIsBetter, Confidence::P95).unwrap();
        assert_eq!((got.best, got.knee, got.rivals), (1, 1, vec![0]));
    }

    #[test]
    fn a_sweep_with_holes_is_refused() {
        let refused =
            |settings: &[Setting<'_>]| knee(settings, HigherIsBetter, Confidence::P95).unwrap_err();
        let whole = Setting { size: 1.0, values: &[2.0, 2.0] };
        let hole = Setting { size: 2.0, values: &[1.0] };
        assert_eq!(refused(&[]), StatsError::Empty);
        assert_eq!(refused(&[Setting { size: 1.0, values: &[] }]), StatsError::Empty);
        assert_eq!(refused(&[whole, hole]), StatsError::Lengths { left: 2, right: 1 });
        let stalled = Setting { size: 2.0, values: &[1.0, 0.0] };
        let zero = StatsError::NotPositive { index: 1, value: 0.0 };
        assert_eq!(refused(&[whole, stalled]), zero);
    }
}
