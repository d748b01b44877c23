//! Random record batches, by seed.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::{arrays, schemas};

/// A batch of `rows` rows with a random schema (see [`schemas::any_schema`]): one in ten has no
/// columns, one in three is a slice out of a longer batch.
pub fn any_batch(rng: &mut ChaCha8Rng, rows: usize) -> RecordBatch {
    let schema = schemas::any_schema(rng);
    if rng.random_bool(1.0 / 3.0) {
        sliced_batch(rng, &schema, rows)
    } else {
        batch_of(rng, &schema, rows)
    }
}

/// A batch of `rows` rows of this schema. Its dictionaries are its own, so that two such batches
/// in a row replace each other's dictionaries.
///
/// # Panics
/// For more than 32 767 rows of a column with 16-bit run ends, which Arrow cannot express.
pub fn batch_of(rng: &mut ChaCha8Rng, schema: &SchemaRef, rows: usize) -> RecordBatch {
    let columns = schema
        .fields()
        .iter()
        .map(|field| arrays::array(rng, field.data_type(), field.is_nullable(), rows))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .expect("every array was made for its field and for this many rows")
}

/// A batch of `rows` rows whose arrays begin and end in the middle of longer ones.
pub fn sliced_batch(rng: &mut ChaCha8Rng, schema: &SchemaRef, rows: usize) -> RecordBatch {
    let before = rng.random_range(1..=17);
    let after = rng.random_range(0..=9);
    batch_of(rng, schema, before + rows + after).slice(before, rows)
}

/// Batches of the given lengths that share their dictionaries, as a file needs it.
pub fn stream_of(rng: &mut ChaCha8Rng, schema: &SchemaRef, lengths: &[usize]) -> Vec<RecordBatch> {
    let whole = batch_of(rng, schema, lengths.iter().sum());
    let mut offset = 0;
    lengths
        .iter()
        .map(|&rows| {
            let batch = whole.slice(offset, rows);
            offset += rows;
            batch
        })
        .collect()
}

/// A batch with rows and no columns.
pub fn without_columns(rows: usize) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
        .expect("a batch without columns only needs its row count")
}
