//! Why a statistic cannot be given.

/// Why a statistic cannot be given. All are the caller's: the values do not support the question.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatsError {
    #[error("there are no values; measure at least one repeat")]
    Empty,
    /// Pairs, or the rounds of a sweep, where a run is missing.
    #[error("{left} values cannot be matched with {right}; give both from the same rounds")]
    Lengths { left: usize, right: usize },
    #[error(
        "{values} and {base} repeats are too few for a rank test at {percent} %; \
         measure {needed} a side"
    )]
    TooFew { values: usize, base: usize, percent: f64, needed: usize },
    #[error("{count} repeats are more than the {max} a side that are compared")]
    TooMany { count: usize, max: usize },
    /// A repeat in which nothing arrived has no place on the log scale.
    #[error("value {index} is {value}; ratios need values above zero")]
    NotPositive { index: usize, value: f64 },
    #[error("confidence {level} is outside {min} to {max}")]
    Confidence { level: f64, min: f64, max: f64 },
    #[error("equivalence band {ratio} is outside 0 to {max}; 0.03 means 3 %")]
    Band { ratio: f64, max: f64 },
    #[error("p value {index} is {value}, outside 0 to 1")]
    Probability { index: usize, value: f64 },
}
