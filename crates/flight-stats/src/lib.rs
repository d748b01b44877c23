//! The statistics of a benchmark: what repeats say, and how sure one may be of it.
//!
//! The repeat is the unit: batches within one are autocorrelated and share its luck. Rates are
//! compared on the log scale, where 'twice as fast' and 'half as fast' are equally far from 'the
//! same'. No value is ever discarded. Measuring, and percentiles within a repeat, are the caller's;
//! nothing here reads a clock or draws chance that a seed does not decide.
//!
//! ```
//! use flight_stats::{Band, Confidence, Direction, Pairs, Rule, Verdict, judge};
//!
//! let base = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];
//! let candidate = [90.0, 92.0, 89.0, 91.0, 91.0, 88.0];
//! let rule = Rule {
//!     confidence: Confidence::P95,
//!     band: Band::new(0.03)?,
//!     direction: Direction::HigherIsBetter,
//! };
//! let judgement = judge(&Pairs::new(&candidate, &base)?, rule, 1);
//! assert_eq!(judgement.verdict, Verdict::Regressed);
//! # Ok::<(), flight_stats::StatsError>(())
//! ```

mod confidence;
mod draw;
mod error;
mod fairness;
mod holm;
mod knee;
pub mod limits;
mod outliers;
mod paired;
mod poisson;
mod power;
pub mod proof;
mod rank_sum;
mod saturation;
mod steadiness;
mod summary;
mod trend;
mod unpaired;
mod verdict;

pub use confidence::Confidence;
pub use error::StatsError;
pub use fairness::{Fairness, fairness};
pub use holm::holm;
pub use knee::{Knee, Setting, knee};
pub use outliers::outliers;
pub use paired::Pairs;
pub use poisson::poisson_at_most;
pub use power::{detectable_beyond, detectable_effect, pairs_further, pairs_needed};
pub use rank_sum::Method;
pub use saturation::{Saturation, saturation};
pub use steadiness::{Steadiness, steadiness};
pub use summary::{
    Estimate, coefficient_of_variation, deviation, geometric_mean, mean, median, paired_ratio,
};
pub use unpaired::{Unpaired, compare_unpaired, p_above, p_below, p_one_sided_min};
pub use verdict::{Band, Direction, Judgement, Rule, Verdict, judge};
