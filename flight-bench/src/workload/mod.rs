//! The data of a run: what is sent, and how much a batch counts.
//!
//! Everything is made, read and cut before the clock starts.

mod amount;
mod mix;
mod pool;

pub(crate) use amount::value_bytes;
pub(crate) use mix::{Draw, Kind, Mix};
pub(crate) use pool::Pool;
