//! From values to pixels, with ticks at 1, 2 or 5 times a power of ten.

use crate::limits::VALUE_MAX;

/// Values this many times apart are drawn on a logarithmic axis.
const LOG_SPAN: f64 = 20.0;
/// Smaller than this is nothing; below it a tick's spacing would vanish.
const VALUE_MIN: f64 = 1e-30;
/// Ticks of any axis at most.
const TICKS_MAX: usize = 24;

/// `value` if a chart can show it; what is not finite is a gap.
pub(crate) fn drawable(value: f64) -> Option<f64> {
    let fits = value.is_finite() && value.abs() <= VALUE_MAX;
    fits.then_some(if value.abs() < VALUE_MIN { 0.0 } else { value })
}

/// Least and greatest of the values that can be drawn.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter_map(drawable).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// How values are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spacing {
    Linear,
    Log,
}

/// Where each value of an axis lies, in pixels.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    pub(crate) spacing: Spacing,
    /// Values of the grid lines, ascending.
    pub(crate) ticks: Vec<f64>,
    low: f64,
    high: f64,
    /// Pixels of `low` and of `high`.
    pixels: (f64, f64),
}

impl Scale {
    /// Even spacing; both ends are ticks.
    pub(crate) fn linear(values: (f64, f64), pixels: (f64, f64), ticks: usize) -> Self {
        let (low, high) = widened(values);
        let step = nice_step((high - low) / ticks as f64);
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let ticks = multiples(first, last, step);
        Self { spacing: Spacing::Linear, ticks, low: first * step, high: last * step, pixels }
    }

    /// Even spacing from zero, or from below it where values are.
    pub(crate) fn from_zero(values: (f64, f64), pixels: (f64, f64), ticks: usize) -> Self {
        Self::linear((values.0.min(0.0), values.1.max(0.0)), pixels, ticks)
    }

    /// Even spacing that ends where the values end; ticks lie within.
    pub(crate) fn within(values: (f64, f64), pixels: (f64, f64), ticks: usize) -> Self {
        let (low, high) = widened(values);
        let step = nice_step((high - low) / ticks as f64);
        let ticks = multiples((low / step - 1e-9).ceil(), (high / step + 1e-9).floor(), step);
        Self { spacing: Spacing::Linear, ticks, low, high, pixels }
    }

    /// Logarithmic spacing of values above zero; both ends are ticks.
    pub(crate) fn log(values: (f64, f64), pixels: (f64, f64)) -> Self {
        let decades = (values.1 / values.0).log10();
        let steps: &[f64] = if decades < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let first = values.0.log10().floor() as i32;
        let last = values.1.log10().ceil() as i32;
        let stride = usize::try_from((last - first) / 8).unwrap_or(0) + 1;
        let powers = (first..=last + 1).step_by(stride).map(|power| 10_f64.powi(power));
        let all: Vec<f64> =
            powers.flat_map(|power| steps.iter().map(move |step| step * power)).collect();
        // The small factors forgive a value that is a tick but for its last bit.
        let from = all.iter().rposition(|tick| *tick <= values.0 * (1.0 + 1e-9)).unwrap_or(0);
        let to = all.iter().position(|tick| *tick >= values.1 * (1.0 - 1e-9));
        let to = to.unwrap_or(all.len() - 1).max(from + 1).min(all.len() - 1);
        let ticks = all[from..=to].to_vec();
        Self { spacing: Spacing::Log, ticks, low: all[from], high: all[to], pixels }
    }

    /// Logarithmic spacing that ends where the values end; ticks lie within.
    pub(crate) fn log_within((low, high): (f64, f64), pixels: (f64, f64)) -> Self {
        // One value alone stands in the middle.
        let (low, high) =
            if high > low * (1.0 + 1e-6) { (low, high) } else { (low / 2.0, high * 2.0) };
        let mut scale = Self { low, high, ..Self::log((low, high), pixels) };
        scale.ticks.retain(|tick| (low..=high).contains(tick));
        scale
    }

    /// Logarithmic where the values span more than an even axis can show, else from zero.
    pub(crate) fn by_span(values: (f64, f64), pixels: (f64, f64), ticks: usize) -> Self {
        if values.0 > 0.0 && values.1 / values.0 >= LOG_SPAN {
            Self::log(values, pixels)
        } else {
            Self::from_zero(values, pixels, ticks)
        }
    }

    /// The pixel of `value`, which never lies outside the axis.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let part = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        // The logarithm of a number below zero is NaN, which `max` takes to the low end.
        let part = part.max(0.0).clamp(0.0, 1.0);
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }
}

/// A range that is too narrow to divide, made wide enough.
fn widened((low, high): (f64, f64)) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    if size == 0.0 {
        return (0.0, 1.0);
    }
    if high - low > size * 1e-6 {
        return (low, high);
    }
    (low - size * 0.05, high + size * 0.05)
}

/// The least of 1, 2 and 5 times a power of ten that is not below `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0].into_iter().map(|step| step * power);
    steps.into_iter().find(|step| rough <= step * (1.0 + 1e-9)).unwrap_or(10.0 * power)
}

fn multiples(first: f64, last: f64, step: f64) -> Vec<f64> {
    let count = (last - first + 1.0).clamp(0.0, TICKS_MAX as f64) as usize;
    (0..count).map(|index| (first + index as f64) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scale: &Scale, ticks: &[f64]) {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1e-9);
        let same = scale.ticks.len() == ticks.len() && scale.ticks.iter().zip(ticks).all(close);
        assert!(same, "{:?} are not {ticks:?}", scale.ticks);
    }

    #[test]
    fn linear_ticks_are_one_two_or_five_times_a_power_of_ten() {
        check(&Scale::linear((0.0, 10.0), (0.0, 1.0), 5), &[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        check(&Scale::linear((0.0, 2.1e9), (0.0, 1.0), 5), &[0.0, 5e8, 1e9, 1.5e9, 2e9, 2.5e9]);
        check(&Scale::linear((-3.0, 7.0), (0.0, 1.0), 2), &[-5.0, 0.0, 5.0, 10.0]);
    }

    #[test]
    fn an_axis_that_ends_with_its_values_has_ticks_inside() {
        check(&Scale::within((0.3, 2.2), (0.0, 1.0), 4), &[0.5, 1.0, 1.5, 2.0]);
    }

    #[test]
    fn equal_values_still_make_an_axis() {
        check(&Scale::linear((0.0, 0.0), (0.0, 1.0), 2), &[0.0, 0.5, 1.0]);
        let scale = Scale::linear((7.0, 7.0), (0.0, 100.0), 4);
        assert!((20.0..80.0).contains(&scale.at(7.0)), "{scale:?}");
    }

    #[test]
    fn a_log_axis_has_decades_or_their_halves() {
        check(&Scale::log((30.0, 400.0), (0.0, 1.0)), &[20.0, 50.0, 100.0, 200.0, 500.0]);
        check(&Scale::log((1.0, 1e5), (0.0, 1.0)), &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
    }

    #[test]
    fn the_span_of_the_values_chooses_the_spacing() {
        assert_eq!(Scale::by_span((1.0, 19.0), (0.0, 1.0), 5).spacing, Spacing::Linear);
        assert_eq!(Scale::by_span((1.0, 20.0), (0.0, 1.0), 5).spacing, Spacing::Log);
        assert_eq!(Scale::by_span((0.0, 20.0), (0.0, 1.0), 5).spacing, Spacing::Linear);
    }

    #[test]
    fn no_value_lies_outside_the_axis() {
        let linear = Scale::linear((0.0, 10.0), (50.0, 150.0), 5);
        assert_eq!(
            [-5.0, 0.0, 5.0, 10.0, 99.0].map(|v| linear.at(v)),
            [50.0, 50.0, 100.0, 150.0, 150.0]
        );
        let log = Scale::log((1.0, 1e4), (0.0, 100.0));
        assert_eq!([-1.0, 0.0, 1.0, 100.0, 1e9].map(|v| log.at(v)), [0.0, 0.0, 0.0, 50.0, 100.0]);
    }

    #[test]
    fn extreme_values_give_finite_ticks() {
        let ends = [-VALUE_MAX, -1.0, 0.0, VALUE_MIN, 1.0, VALUE_MAX];
        for low in ends {
            for high in ends.into_iter().filter(|high| low <= *high) {
                let scale = Scale::by_span((low, high), (0.0, 100.0), 5);
                assert!((2..=TICKS_MAX).contains(&scale.ticks.len()), "{low} {high} {scale:?}");
                assert!(scale.ticks.iter().all(|tick| tick.is_finite()), "{low} {high} {scale:?}");
            }
        }
    }
}
