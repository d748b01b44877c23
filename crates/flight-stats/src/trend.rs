//! Lines and steps fitted to the slices of a window, and whether the slices' scatter explains them.

use crate::Confidence;

/// A fitted change, in the unit of the slices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    pub(crate) amount: f64,
    /// Before and after it.
    pub(crate) levels: (f64, f64),
    pub(crate) beyond_scatter: bool,
}

/// The least-squares change from the start of the window to its end; `values` are of at least
/// three slices of equal length.
pub(crate) fn line(values: &[f64]) -> Change {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count;
    let at = |index: usize| index as f64 - middle;
    let spread: f64 = (0..values.len()).map(|index| at(index).powi(2)).sum();
    let along: f64 = values.iter().enumerate().map(|(index, v)| at(index) * v).sum();
    let slope = along / spread;
    let residual = |(index, v): (usize, &f64)| (v - mean - slope * at(index)).powi(2);
    let residuals: f64 = values.iter().enumerate().map(residual).sum();
    let degrees = values.len() - 2;
    let error = (residuals / degrees as f64 / spread).sqrt();
    let amount = slope * count;
    Change {
        amount,
        levels: (mean - amount / 2.0, mean + amount / 2.0),
        beyond_scatter: is_beyond(slope, error, degrees),
    }
}

/// The change of mean at the split that explains the most, each segment a fifth of the window or
/// more: shorter ones are stalls, which percentiles show. At least `SLICES_MIN` values.
pub(crate) fn step(values: &[f64]) -> Change {
    let shortest = values.len().div_ceil(5).max(2);
    let splits = shortest..=values.len() - shortest;
    let best = splits
        .map(|split| Split::new(&values[..split], &values[split..]))
        .min_by(|a, b| a.residuals.total_cmp(&b.residuals))
        .expect("a window of six slices can be split");
    let Split { levels, error, degrees, .. } = best;
    let amount = levels.1 - levels.0;
    Change { amount, levels, beyond_scatter: is_beyond(amount, error, degrees) }
}

struct Split {
    levels: (f64, f64),
    residuals: f64,
    error: f64,
    degrees: usize,
}

impl Split {
    fn new(before: &[f64], after: &[f64]) -> Self {
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let squares =
            |part: &[f64], mean: f64| part.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        let (first, second) = (mean(before), mean(after));
        let residuals = squares(before, first) + squares(after, second);
        let degrees = before.len() + after.len() - 2;
        let share = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
        let error = (residuals / degrees as f64 * share).sqrt();
        Self { levels: (first, second), residuals, error, degrees }
    }
}

/// Slices are autocorrelated and the split is the best of many, so the test is far stricter than
/// 5 %; with few slices, Student's t makes it stricter still.
fn is_beyond(change: f64, error: f64, degrees: usize) -> bool {
    change.abs() > SCATTER.student_t(degrees) * error
}

const SCATTER: Confidence = Confidence::HIGHEST;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(got: Change, amount: f64, beyond_scatter: bool) {
        assert!((got.amount - amount).abs() < 1e-9, "{} is not {amount}", got.amount);
        assert_eq!(got.beyond_scatter, beyond_scatter);
    }

    #[test]
    fn a_line_is_the_least_squares_one_over_the_whole_window() {
        check(line(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 6.0, true);
        // Slope (-1.5·1 - 0.5·3 + 0.5·2 + 1.5·4) / 5 = 0.8 a slice; t = 1.9.
        check(line(&[1.0, 3.0, 2.0, 4.0]), 3.2, false);
        check(line(&[5.0; 8]), 0.0, false);
    }

    #[test]
    fn a_step_is_between_the_means_of_the_best_split() {
        check(step(&[1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0]), 3.0, true);
        // Residuals of ±0.5 make an error of √(2/6 · 2/4) = 0.408. Of a step of 4 that is t = 9.8,
        // of 3 it is 7.3; with 6 degrees of freedom the bound is 9.1.
        check(step(&[1.0, 2.0, 1.0, 2.0, 5.0, 6.0, 5.0, 6.0]), 4.0, true);
        check(step(&[1.0, 2.0, 1.0, 2.0, 4.0, 5.0, 4.0, 5.0]), 3.0, false);
        // Means 2 and 3.6 of the first three and the others explain more than 2.5 and 3.5 of halves.
        check(step(&[1.0, 4.0, 1.0, 4.0, 2.0, 5.0, 2.0, 5.0]), 1.6, false);
    }

    #[test]
    fn a_stall_in_the_last_slice_is_not_a_level() {
        // The last four of twenty have a mean of 6; the slice alone would be a step of 8.
        let mut slices = [8.0; 20];
        slices[19] = 0.0;
        check(step(&slices), -2.0, false);
    }
}
