//! Experiments on synthetic recorders whose truth is known: the methods are held to what they
//! promise, on the machine that uses them.

use crate::draw::Draw;
use crate::summary::geometric_mean;
use crate::{
    Band, Confidence, Direction, Estimate, Pairs, Rule, Verdict, compare_unpaired, judge,
    pairs_needed, steadiness,
};

/// What an experiment found.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub name: &'static str,
    /// One line: what was measured, the number found, and the bound it was held to.
    pub what: String,
    pub passed: bool,
}

/// Runs every experiment, in about a second. Chance is seeded: the outcome is always the same.
pub fn experiments() -> Vec<Experiment> {
    vec![
        false_alarms("A/A without a band", Band::NONE),
        false_alarms("A/A with a 2 % band", BAND),
        slow_down_found("5 % slow-down", Band::NONE),
        slow_down_found("5 % slow-down beyond a 2 % band", BAND),
        coverage("coverage of pairs", paired_interval),
        coverage("coverage of repeats", repeats_interval),
        coverage("coverage of ranks", rank_interval),
        steady_windows_kept(),
        steps_found(),
    ]
}

/// Series of each experiment. Shares of a thousand are right to 1.4 points (95 %, at most 5 %).
const SERIES: usize = 1_000;
/// Coverage is near 95 %, so four times as many tell 93 from 95.
const SERIES_OF_COVERAGE: usize = 4_000;
const PAIRS: usize = 10;
/// Run-to-run coefficient of variation.
const RUN_CV: f64 = 0.02;
/// Fall of the machine's speed over a whole series, log scale.
const DRIFT: f64 = 0.06;
const SLOW_DOWN: f64 = 0.05;
const BAND: Band = Band::P2;

/// A machine that runs two variants: one fixed speed, noise from run to run, and drift.
struct Recorder {
    draw: Draw,
    /// Over a series, log scale.
    drift: f64,
}

impl Recorder {
    fn new(seed: u64, drift: f64) -> Self {
        Self { draw: Draw::new(seed), drift }
    }

    /// `pairs` of runs in ABBA order; B is slower by `slow_down`. Throughputs of B, then of A.
    fn series(&mut self, pairs: usize, slow_down: f64) -> (Vec<f64>, Vec<f64>) {
        let (mut values, mut base) = (Vec::new(), Vec::new());
        let runs = 2 * pairs;
        for run in 0..runs {
            let level = 7.0 - self.drift * run as f64 / runs as f64 + RUN_CV * self.draw.normal();
            if matches!(run % 4, 0 | 3) {
                base.push(level.exp());
            } else {
                values.push((level - slow_down.ln_1p()).exp());
            }
        }
        (values, base)
    }

    /// The slices of one window: noise of 3 %, each slice half correlated with the one before.
    fn slices(&mut self, count: usize, course: impl Fn(usize) -> f64) -> Vec<f64> {
        const NOISE: f64 = 0.03;
        const CORRELATION: f64 = 0.5;
        let fresh = (1.0f64 - CORRELATION * CORRELATION).sqrt();
        let mut noise = self.draw.normal();
        let slice = |index| {
            noise = CORRELATION * noise + fresh * self.draw.normal();
            100.0 * course(index) * (1.0 + NOISE * noise)
        };
        (0..count).map(slice).collect()
    }
}

fn false_alarms(name: &'static str, band: Band) -> Experiment {
    let share = share_judged(1, PAIRS, 0.0, band, |verdict| {
        matches!(verdict, Verdict::Improved | Verdict::Regressed)
    });
    let what = format!(
        "{SERIES} series of {PAIRS} equal ABBA pairs that drift by 6 %: {:.1} % called different, \
         at most 6 % may be",
        share * 100.0
    );
    Experiment { name, what, passed: share <= 0.06 }
}

fn slow_down_found(name: &'static str, band: Band) -> Experiment {
    let spread = RUN_CV * std::f64::consts::SQRT_2;
    let Some(pairs) = pairs_needed(SLOW_DOWN, spread, band, Confidence::P95) else {
        return Experiment { name, what: "no number of pairs is promised".into(), passed: false };
    };
    let share = share_judged(2, pairs, SLOW_DOWN, band, |v| v == Verdict::Regressed);
    let what = format!(
        "{SERIES} series of the promised {pairs} ABBA pairs with a slow-down of 5 %: {:.1} % found, \
         at least 80 % must be",
        share * 100.0
    );
    Experiment { name, what, passed: share >= 0.8 }
}

/// The share of series whose verdict `counts`.
fn share_judged(
    seed: u64,
    pairs: usize,
    slow_down: f64,
    band: Band,
    counts: impl Fn(Verdict) -> bool,
) -> f64 {
    let rule = Rule { confidence: Confidence::P95, band, direction: Direction::HigherIsBetter };
    let mut recorder = Recorder::new(seed, DRIFT);
    share(SERIES, || {
        let (values, base) = recorder.series(pairs, slow_down);
        let pairs = Pairs::new(&values, &base).expect("speeds are positive and matched");
        counts(judge(&pairs, rule, seed).verdict)
    })
}

/// An interval of each kind, from one series of equal variants, and the value it should hold.
type Interval = fn(&[f64], &[f64]) -> (Option<Estimate>, f64);

fn coverage(name: &'static str, interval: Interval) -> Experiment {
    let mut recorder = Recorder::new(3, 0.0);
    let share = share(SERIES_OF_COVERAGE, || {
        let (values, base) = recorder.series(PAIRS, 0.0);
        let (estimate, truth) = interval(&values, &base);
        let (lo, hi) = estimate.and_then(|e| e.interval).unwrap_or((f64::NAN, f64::NAN));
        (lo..=hi).contains(&truth)
    });
    let what = format!(
        "{SERIES_OF_COVERAGE} series of {PAIRS} runs a side: {:.1} % of 95 % intervals hold the \
         truth, 93 to 97 % must",
        share * 100.0
    );
    Experiment { name, what, passed: (0.93..=0.97).contains(&share) }
}

fn paired_interval(values: &[f64], base: &[f64]) -> (Option<Estimate>, f64) {
    let pairs = Pairs::new(values, base).expect("speeds are positive and matched");
    (Some(pairs.ratio(Confidence::P95)), 1.0)
}

fn repeats_interval(values: &[f64], _base: &[f64]) -> (Option<Estimate>, f64) {
    (geometric_mean(values, Confidence::P95), 7f64.exp())
}

fn rank_interval(values: &[f64], base: &[f64]) -> (Option<Estimate>, f64) {
    (compare_unpaired(values, base, Confidence::P95).ok().map(|found| found.ratio), 1.0)
}

fn steady_windows_kept() -> Experiment {
    let share = share_unsteady(4, |_| 1.0);
    let what = format!(
        "{SERIES} steady windows of 20 noisy slices: {:.1} % called unsteady, at most 10 % may be",
        share * 100.0
    );
    Experiment { name: "steady windows", what, passed: share <= 0.1 }
}

fn steps_found() -> Experiment {
    let share = share_unsteady(5, |index| if index < 8 { 1.0 } else { 0.9 });
    let what = format!(
        "{SERIES} windows of 20 noisy slices that fall by 10 %: {:.1} % called unsteady, at least \
         80 % must be",
        share * 100.0
    );
    Experiment { name: "windows with a step", what, passed: share >= 0.8 }
}

fn share_unsteady(seed: u64, course: impl Fn(usize) -> f64) -> f64 {
    let mut recorder = Recorder::new(seed, 0.0);
    share(SERIES, || steadiness(&recorder.slices(20, &course)).is_some_and(|window| !window.steady))
}

fn share(trials: usize, mut counts: impl FnMut() -> bool) -> f64 {
    let counted = (0..trials).filter(|_| counts()).count();
    counted as f64 / trials as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detectable_beyond, detectable_effect};

    #[test]
    fn every_experiment_bears_out_what_is_promised() {
        let experiments = experiments();
        let failed: Vec<&Experiment> = experiments.iter().filter(|e| !e.passed).collect();
        assert!(failed.is_empty(), "{failed:#?}");
        assert_eq!(experiments.len(), 9);
    }

    #[test]
    fn pairs_are_promised_with_little_to_spare() {
        let spread = RUN_CV * std::f64::consts::SQRT_2;
        let found =
            |pairs, effect| share_judged(6, pairs, effect, Band::NONE, |v| v == Verdict::Regressed);
        for pairs in [7, 8, 10, 12] {
            let effect = detectable_effect(pairs - 1, spread, Confidence::P95).unwrap();
            assert_eq!(pairs_needed(effect, spread, Band::NONE, Confidence::P95), Some(pairs));
            let (enough, fewer) = (found(pairs, effect), found(pairs - 2, effect));
            assert!((0.8..0.88).contains(&enough), "{pairs} pairs found {enough}");
            assert!(fewer < 0.8, "two pairs fewer than {pairs} found {fewer}");
        }
    }

    #[test]
    fn what_is_said_to_be_detectable_beyond_a_band_is_found() {
        let spread = RUN_CV * std::f64::consts::SQRT_2;
        let band = Band::new(0.03).unwrap();
        for pairs in [7, 8, 10, 12] {
            let effect = detectable_beyond(pairs, spread, band, Confidence::P95).unwrap();
            let found = share_judged(6, pairs, effect, band, |v| v == Verdict::Regressed);
            assert!((0.78..0.9).contains(&found), "{pairs} pairs found {found}");
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let found =
            |slow_down, band| share_judged(2, 7, slow_down, band, |v| v == Verdict::Regressed);
        assert!(found(0.0, Band::NONE) < 0.06);
        assert!(found(-SLOW_DOWN, Band::NONE) < 0.001);
        assert!(found(SLOW_DOWN, Band::new(SLOW_DOWN).unwrap()) < 0.06);
    }
}
