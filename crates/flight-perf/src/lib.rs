//! What the two development programs share: working sets, and the line in which a client reports.
//!
//! `flight-stock` is arrow-flight over tonic with nothing changed, the reference of every figure;
//! `flight-perf` runs it beside flight-server and flight-bench and writes docs/performance.md.
//! Neither is shipped.

pub mod sets;
pub mod tally;
