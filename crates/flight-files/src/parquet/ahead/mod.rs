//! Parquet decoded ahead of who reads it, on the threads of a [`DecodePool`].
//!
//! A scan is cut into parts: row groups, or ranges of rows within a large one. Each is read by a
//! reader of its own, a batch at a time, by whichever thread is free; the batches wait in the order
//! of their rows until they are taken ([`parts`]). The threads serve scans in turn, a batch each
//! ([`pool`]), so that a long scan cannot starve a short one, and a scan that nobody reads from
//! costs its budget of bytes and no thread.

mod parts;
mod pool;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::{Arc, Condvar};

use arrow_array::RecordBatch;

use self::parts::{Parts, Taken};
pub use self::pool::{DecodeOptions, DecodePool};
use super::projection::Projection;
use crate::error::FileError;

/// Rows of a Parquet file whose decoding goes on while they are read. Dropping it drops what is
/// decoded and what is still to be.
pub(crate) struct ParquetAhead {
    pool: Arc<DecodePool>,
    scan: u64,
    /// Told when a batch of this scan is decoded.
    ready: Arc<Condvar>,
}

impl ParquetAhead {
    /// Begins to decode `rows`, which have been checked against the row count.
    pub(crate) fn new(pool: Arc<DecodePool>, projection: Projection, rows: Range<u64>) -> Self {
        let parts = Parts::new(Arc::new(projection), rows, pool.options().clone());
        let ready = Arc::new(Condvar::new());
        let scan = pool.add(parts, Arc::clone(&ready));
        Self { pool, scan, ready }
    }

    /// The next batch, waiting for it; `None` once every asked row was given. The error that ends a
    /// scan comes after the batches of all rows before it.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, FileError> {
        match self.pool.take(self.scan, &self.ready) {
            Taken::Batch(batch) => Ok(Some(batch)),
            Taken::Failed(error) => Err(error),
            Taken::End => Ok(None),
        }
    }

    /// Gives up the memory of what is decoded and was not taken; it is decoded again when the next
    /// batch is asked for.
    pub(crate) fn park(&mut self) {
        self.pool.park(self.scan);
    }
}

impl Drop for ParquetAhead {
    fn drop(&mut self) {
        self.pool.remove(self.scan);
    }
}

impl std::fmt::Debug for ParquetAhead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetAhead").field("scan", &self.scan).finish_non_exhaustive()
    }
}
