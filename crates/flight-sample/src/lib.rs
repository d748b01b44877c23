//! Seeded generators of sample tables: taxi trips, TPC-H, and the four columns of Arrow's own
//! Flight benchmark.
//!
//! Tables come as iterators of record batches, so that memory is bounded by one batch whatever the
//! number of rows. The same seed gives the same bytes on every machine and in every release: the
//! only source of chance is ChaCha8, and no floating-point function of the system takes part.
//! Where the batches go is left to the caller.
//!
//! [`arrivals`] are the times of open loops, drawn from the same source.

pub mod arrivals;
mod draw;
pub mod limits;
mod perf4;
mod taxi;
mod tpch;

use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

pub use perf4::perf4;
pub use taxi::taxi;
pub use tpch::{TpchTable, tpch};

/// Why a sample cannot be made. All are the caller's: a number out of bounds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SampleError {
    #[error("{rows} rows are more than the {max} that a sample may have")]
    Rows { rows: u64, max: u64 },
    #[error("{batch_rows} rows a batch are outside 1 to {max}")]
    BatchRows { batch_rows: usize, max: usize },
    #[error("scale factor {scale} is outside {min} to {max}")]
    Scale { scale: f64, min: f64, max: f64 },
    #[error("there is no TPC-H table {name:?}; choose one of {known}", known = TpchTable::NAMES.join(", "))]
    Table { name: String },
}

/// How much to generate, from which seed, in batches of which length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Rows in all.
    pub rows: u64,
    /// Rows of each batch but the last.
    pub batch_rows: usize,
    /// Picks the values: the same seed gives the same table.
    pub seed: u64,
}

impl Size {
    fn check(self) -> Result<Self, SampleError> {
        if self.rows > limits::ROWS_MAX {
            return Err(SampleError::Rows { rows: self.rows, max: limits::ROWS_MAX });
        }
        check_batch_rows(self.batch_rows)?;
        Ok(self)
    }

    /// The row ranges of the batches, as (first row, number of rows).
    fn batches(self) -> impl Iterator<Item = (u64, usize)> + Send {
        (0..self.rows).step_by(self.batch_rows).map(move |first| {
            let left = self.rows - first;
            (first, usize::try_from(left).map_or(self.batch_rows, |left| left.min(self.batch_rows)))
        })
    }
}

/// A table that is made batch by batch while it is iterated.
pub struct Sample {
    schema: SchemaRef,
    rows: Option<u64>,
    batches: Box<dyn Iterator<Item = RecordBatch> + Send>,
}

impl Sample {
    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows in all batches together, where that is known before they are made.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }
}

impl Iterator for Sample {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        self.batches.next()
    }
}

impl fmt::Debug for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sample")
            .field("schema", &self.schema)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

fn check_batch_rows(batch_rows: usize) -> Result<(), SampleError> {
    if !(1..=limits::BATCH_ROWS_MAX).contains(&batch_rows) {
        return Err(SampleError::BatchRows { batch_rows, max: limits::BATCH_ROWS_MAX });
    }
    Ok(())
}
