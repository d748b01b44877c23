//! What is measured: named metrics, windows, and one recorder per worker thread.
//!
//! Recording an event is all that a hot loop does besides its work: no lock, no allocation, no
//! formatting. Percentiles are read once, after the run.

mod error;
mod live;
mod metric;
mod recorder;
mod slices;
mod summary;
mod window;

pub(crate) use error::{ErrorTally, Errors, Failure, one_line};
pub(crate) use live::Live;
pub(crate) use metric::Metric;
pub(crate) use recorder::{
    Connections, Counts, Operation, Recorder, Recording, StreamCounts, Transfer,
};
pub(crate) use slices::{SLICES, Slice, Slices};
pub(crate) use summary::{Latencies, LatencySummary, PERCENTILES, events_for};
pub(crate) use window::Window;
