//! The table of Arrow's own Flight benchmark: columns a, b, c and d of 64-bit integers.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use crate::draw::Draw;
use crate::{Sample, SampleError, Size};

/// Four nullable columns without nulls, filled with random bits: 32 bytes a row that no codec
/// makes smaller.
///
/// # Errors
/// When a number of `size` is out of its bound.
pub fn perf4(size: Size) -> Result<Sample, SampleError> {
    let size = size.check()?;
    let fields = ["a", "b", "c", "d"].map(|name| Field::new(name, DataType::Int64, true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let mut draw = Draw::new(size.seed);
    let made = Arc::clone(&schema);
    let batches = size.batches().map(move |(_, rows)| {
        let columns = (0..4).map(|_| column(&mut draw, rows)).collect();
        RecordBatch::try_new(Arc::clone(&made), columns).expect("four columns of `rows` integers")
    });
    Ok(Sample { schema, rows: Some(size.rows), batches: Box::new(batches) })
}

fn column(draw: &mut Draw, rows: usize) -> ArrayRef {
    let values = (0..rows).map(|_| draw.bits().cast_signed());
    Arc::new(Int64Array::from_iter_values(values))
}
