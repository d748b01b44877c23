//! Whether an open loop offered more than was accepted.

use crate::limits::{LAG_INTERVALS_MAX, SLICES_MIN};
use crate::trend::line;

/// How far behind its schedule an open loop fell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saturation {
    /// Lag grew and ends beyond `limits::LAG_INTERVALS_MAX`: percentiles then describe the length of the
    /// run, not the server.
    pub saturated: bool,
    /// The least-squares growth of lag over the window, in nanoseconds; negative when it shrank.
    pub growth_ns: f64,
    /// Lag in the last slice, in intervals between operations.
    pub final_lag_intervals: f64,
}

/// Judges the lag behind schedule of each slice of a window, where operations are due every
/// `interval_ns`. A lag that is large but does not grow is a queue, not saturation.
///
/// `None` with fewer than `limits::SLICES_MIN` slices or an interval of zero.
pub fn saturation(lags_ns: &[u64], interval_ns: u64) -> Option<Saturation> {
    if lags_ns.len() < SLICES_MIN || interval_ns == 0 {
        return None;
    }
    let lags: Vec<f64> = lags_ns.iter().map(|lag| *lag as f64).collect();
    let final_lag_intervals = lags.last()? / interval_ns as f64;
    let growth = line(&lags);
    let grew = growth.amount > 0.0 && growth.beyond_scatter;
    Some(Saturation {
        saturated: grew && final_lag_intervals > LAG_INTERVALS_MAX,
        growth_ns: growth.amount,
        final_lag_intervals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lags_ns: &[u64], saturated: bool) -> Saturation {
        let got = saturation(lags_ns, 50_000).expect("slices enough");
        assert_eq!(got.saturated, saturated, "{got:?}");
        got
    }

    #[test]
    fn a_backlog_that_grows_for_the_whole_window_is_saturation() {
        let lags: Vec<u64> = (1..=20).map(|slice| slice * 1_000_000).collect();
        let got = check(&lags, true);
        assert!((got.growth_ns - 20_000_000.0).abs() < 1.0);
        assert!((got.final_lag_intervals - 400.0).abs() < 1e-9);
    }

    #[test]
    fn ten_intervals_are_not_yet_saturation() {
        check(&[10_000, 110_000, 210_000, 310_000, 410_000, 500_000], false);
        check(&[10_000, 110_000, 210_000, 310_000, 410_000, 510_000], true);
    }

    #[test]
    fn a_stall_that_is_caught_up_is_not_saturation() {
        check(&[0, 0, 0, 9_000_000, 6_000_000, 3_000_000, 10_000, 0], false);
    }

    #[test]
    fn a_queue_that_stands_is_not_saturation() {
        check(&[900_000, 950_000, 890_000, 940_000, 910_000, 930_000, 900_000, 940_000], false);
    }

    #[test]
    fn what_cannot_be_judged_is_left_open() {
        assert_eq!(saturation(&[1, 2, 3, 4, 5], 1), None);
        assert_eq!(saturation(&[1; 20], 0), None);
    }
}
