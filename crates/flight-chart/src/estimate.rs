//! A number and how sure it is.

use crate::Unit;
use crate::scale::drawable;

/// An estimate with its interval, both in the unit of its axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Low and high end of the interval, drawn as a whisker; `None` for a number without one.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// A number whose interval is not known.
    pub fn exact(value: f64) -> Self {
        Self { value, interval: None }
    }

    /// What a chart can draw of it: nothing without a value, and no whisker without both ends.
    pub(crate) fn drawable(self) -> Option<Self> {
        let value = drawable(self.value)?;
        let interval = self.interval.and_then(|(a, b)| {
            let (a, b) = (drawable(a)?, drawable(b)?);
            Some((a.min(b), a.max(b)))
        });
        Some(Self { value, interval })
    }

    /// All the numbers that an axis must reach.
    pub(crate) fn numbers(self) -> impl Iterator<Item = f64> {
        let ends = self.interval.into_iter().flat_map(|(low, high)| [low, high]);
        ends.chain([self.value])
    }

    /// `2.31 GB/s (2.27 GB/s to 2.35 GB/s)`
    pub(crate) fn show(self, unit: Unit<'_>) -> String {
        let value = unit.show(self.value);
        match self.interval {
            Some((low, high)) => format!("{value} ({} to {})", unit.show(low), unit.show(high)),
            None => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_without_a_value_is_not_drawn() {
        let gone = Estimate { value: f64::NAN, interval: Some((1.0, 2.0)) };
        assert_eq!(gone.drawable(), None);
    }

    #[test]
    fn an_interval_without_an_end_is_no_whisker() {
        let half = Estimate { value: 1.0, interval: Some((0.5, f64::INFINITY)) };
        assert_eq!(half.drawable(), Some(Estimate::exact(1.0)));
    }

    #[test]
    fn an_interval_given_backwards_is_turned_round() {
        let turned = Estimate { value: 1.0, interval: Some((2.0, 0.5)) }.drawable();
        assert_eq!(turned.and_then(|estimate| estimate.interval), Some((0.5, 2.0)));
    }
}
