//! Whether a window measured one state, or a server on its way to another.

use crate::limits::{DRIFT_MAX, SLICES_MIN, STEP_MAX};
use crate::summary::mean;
use crate::trend::{line, step};

/// The course of a window. An unsteady one is kept and flagged, never discarded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// Neither drift nor step passes its limit. A change that the slices' own scatter explains does
    /// not count: noise is for repeats to average out.
    pub steady: bool,
    /// The least-squares change from start to end, as a share of the mean; negative for a fall.
    pub drift: f64,
    /// The largest change between two levels, as a share of the mean; negative for a fall.
    pub step: f64,
    /// The means before and after that change, in the unit of the slices. A line may leave what is
    /// possible, as a fall by more than the mean does; these never do.
    pub levels: (f64, f64),
}

/// Judges the amounts moved in the equal `slices` of a window, in any one unit.
///
/// `None` where too little is known: fewer than `limits::SLICES_MIN` slices, an amount that is
/// negative or not finite, or nothing moved at all.
pub fn steadiness(slices: &[f64]) -> Option<Steadiness> {
    let known = slices.iter().all(|v| v.is_finite() && *v >= 0.0);
    if slices.len() < SLICES_MIN || !known {
        return None;
    }
    let mean = mean(slices).filter(|mean| *mean > 0.0)?;
    let (line, step) = (line(slices), step(slices));
    let drifts = line.beyond_scatter && line.amount.abs() >= DRIFT_MAX * mean;
    let steps = step.beyond_scatter && step.amount.abs() >= STEP_MAX * mean;
    Some(Steadiness {
        steady: !drifts && !steps,
        drift: line.amount / mean,
        step: step.amount / mean,
        levels: step.levels,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(course: impl Fn(f64) -> f64, steady: bool) -> Steadiness {
        // A scatter of ±0.2 % that has neither slope nor step.
        let scatter = [0.2, -0.2, -0.2, 0.2];
        let slices: Vec<f64> =
            (0..20).map(|i| course(f64::from(i)) + scatter[i as usize % 4]).collect();
        let got = steadiness(&slices).expect("twenty slices");
        assert_eq!(got.steady, steady, "{got:?}");
        got
    }

    #[test]
    fn a_flat_window_is_steady() {
        let got = check(|_| 100.0, true);
        assert!(got.drift.abs() < 0.001 && got.step.abs() < 0.002, "{got:?}");
    }

    #[test]
    fn drift_counts_from_two_per_cent_of_the_mean() {
        check(|i| 100.0 + 1.8 * i / 20.0, true);
        let rise = check(|i| 100.0 + 2.4 * i / 20.0, false);
        assert!((rise.drift - 0.024).abs() < 0.001, "{rise:?}");
        let fall = check(|i| 100.0 - 2.4 * i / 20.0, false);
        assert!((fall.drift + 0.024).abs() < 0.001, "{fall:?}");
    }

    #[test]
    fn a_step_counts_from_three_per_cent_even_where_no_line_fits() {
        // A step of h after a fifth of the window is a drift of 0.96 h, and scatters about its
        // line: t = 4.1 at 4 %, which the scatter of slices explains.
        check(|i| if i < 4.0 { 104.0 } else { 100.0 }, false);
        check(|i| if i < 4.0 { 102.8 } else { 100.0 }, true);
        let got = check(|i| if i < 10.0 { 100.0 } else { 95.0 }, false);
        assert!((got.step + 5.0 / 97.5).abs() < 0.001, "{got:?}");
        assert!((got.levels.0 - 100.0).abs() < 0.1 && (got.levels.1 - 95.0).abs() < 0.1, "{got:?}");
    }

    #[test]
    fn noise_is_not_drift() {
        // 10 % up and down by turns: the fitted line falls by 1.5 %, far within the scatter.
        let noisy: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 110.0 } else { 90.0 }).collect();
        assert!(steadiness(&noisy).expect("twenty slices").steady);
        let six = [103.0, 97.0, 104.0, 98.0, 101.0, 97.0];
        assert!(steadiness(&six).expect("six slices").steady);
    }

    #[test]
    fn few_slices_show_what_is_plain() {
        let halved = steadiness(&[100.0, 101.0, 100.0, 50.0, 51.0, 50.0]).expect("six slices");
        assert!(!halved.steady, "{halved:?}");
        // By the line, more than the mean is lost; what was measured fell to nothing, and no further.
        let mut collapsed = [1.0; 20];
        collapsed[..5].fill(1000.0);
        let collapsed = steadiness(&collapsed).expect("twenty slices");
        assert!(!collapsed.steady && collapsed.step < -3.0, "{collapsed:?}");
        assert_eq!(collapsed.levels, (1000.0, 1.0));
    }

    #[test]
    fn what_cannot_be_judged_is_not_called_steady() {
        for slices in [&[100.0; 5][..], &[0.0; 20], &[f64::NAN; 20], &[-1.0; 20]] {
            assert_eq!(steadiness(slices), None, "{slices:?}");
        }
    }
}
