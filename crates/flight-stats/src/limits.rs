//! The limits of what is computed, and the limits that windows, streams and sweeps are judged by.

/// Repeats a side that are compared without pairs. Every value is held against every other.
pub const REPEATS_MAX: usize = 1_000;
/// Repeats of both sides up to which rank tests are exact; the normal approximation takes over.
pub const RANKS_EXACT_MAX: usize = 100;
/// Pairs up to which all assignments of signs are tried.
pub const PAIRS_EXACT_MAX: usize = 16;
/// Assignments of signs that are drawn where they are too many to try.
pub const SIGN_FLIPS_SAMPLED: u32 = 100_000;
/// More pairs than this are never promised to settle a question.
pub const PAIRS_PROMISED_MAX: usize = 10_000;
/// Slices that a window needs before its course can be judged.
pub const SLICES_MIN: usize = 6;
/// Repeats a side below which a rank test is refused, whatever its confidence.
pub const RANKS_MIN: usize = 4;

/// Drift over a window from which it is not steady, as a share of the mean.
pub const DRIFT_MAX: f64 = 0.02;
/// Step within a window from which it is not steady, as a share of the mean.
pub const STEP_MAX: f64 = 0.03;
/// Lag in the last slice beyond which, if it grew, an open loop is saturated; in intervals.
pub const LAG_INTERVALS_MAX: f64 = 10.0;
/// Distance from the median beyond which a value is an outlier, in robust standard deviations.
pub const OUTLIER_DEVIATIONS: f64 = 10.0;
/// Jain's index below which streams are served unfairly.
pub const JAIN_MIN: f64 = 0.9;
/// Smallest share over largest below which streams are served unfairly.
pub const SHARE_RATIO_MIN: f64 = 0.5;
/// How far from the best a setting may be and still be chosen for being smaller: 3 %, symmetrical
/// on the log scale.
pub const KNEE_RATIO: f64 = 0.03;

const _: () = assert!(2 * RANKS_MIN <= RANKS_EXACT_MAX, "the smallest rank test is exact");
const _: () = assert!(RANKS_EXACT_MAX <= REPEATS_MAX, "exact tests are within what is compared");
const _: () = assert!(PAIRS_EXACT_MAX < u32::BITS as usize, "a mask of signs fits 32 bits");
