//! Thresholds that fail a run: `put.ack.p99 > 5ms`, `get.bytes_per_s vs base < -3%`.
//!
//! An expression says what must not be. It holds only where the whole 95 % interval says so: a
//! figure that may as well lie on the good side does not fail. Several against the base are one
//! family, corrected for each other. What is measured is `figure`'s.

mod judge;
mod parse;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::report::Name;

pub(crate) use judge::{P_MAX, judge};

/// An expression that was understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Threshold {
    /// As it was written.
    pub(crate) expr: String,
    pub(crate) figure: Figure,
    against: Against,
    operator: Operator,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Against {
    /// In the unit of the figure.
    Value(f64),
    /// A change from the base, in percent.
    Base(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What became of a threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ThresholdRecord {
    pub(crate) expr: String,
    /// The estimate; null where it was not measured, which fails.
    pub(crate) value: Option<f64>,
    pub(crate) lo: Option<f64>,
    pub(crate) hi: Option<f64>,
    pub(crate) limit: f64,
    /// Of a change from the base: one-sided, corrected for all thresholds against it.
    #[serde(default)]
    pub(crate) p: Option<f64>,
    /// Of all of them but p: `B/s`, `1/s`, `ns`, `1`, or `%` of a change.
    pub(crate) unit: Name,
    pub(crate) pass: bool,
}

impl Threshold {
    pub(crate) fn needs_base(&self) -> bool {
        matches!(self.against, Against::Base(_))
    }

    /// Whether it says that the figure stays below a value, as a promise about a latency does.
    pub(crate) fn is_upper_bound(&self) -> bool {
        matches!(self.operator, Operator::Less | Operator::LessOrEqual)
    }
}
