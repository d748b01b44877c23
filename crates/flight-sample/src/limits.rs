//! The bounds of what may be asked for.

/// Rows of one table; about 10 TB of taxi trips.
pub const ROWS_MAX: u64 = 100_000_000_000;
/// Rows of one batch, which is held in memory twice while it is made.
pub const BATCH_ROWS_MAX: usize = 1 << 20;
/// Smallest TPC-H scale factor: ten suppliers. Far below, a table that others refer to is empty.
pub const SCALE_MIN: f64 = 0.001;
/// Largest TPC-H scale factor; about 1 TB of text.
pub const SCALE_MAX: f64 = 1_000.0;
