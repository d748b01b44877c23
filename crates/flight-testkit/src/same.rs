//! Whether two lists of batches hold the same rows.

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_select::concat::concat_batches;

/// The rows of both are equal, however they are cut into batches and dictionaries.
///
/// # Panics
/// At the first difference, which it names.
pub fn assert_same_rows(expected: &[RecordBatch], found: &[RecordBatch], what: &str) {
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(rows(expected), rows(found), "{what}: number of rows");
    let (Some(first), Some(other)) = (expected.first(), found.first()) else { return };
    let types = |batch: &RecordBatch| {
        batch.schema().fields().iter().map(|f| f.data_type().clone()).collect::<Vec<_>>()
    };
    assert_eq!(types(first), types(other), "{what}: types");
    let whole = |batches: &[RecordBatch]| concat_batches(batches[0].schema_ref(), batches);
    let (whole_expected, whole_found) = (whole(expected), whole(found));
    for column in 0..first.num_columns() {
        if let (Ok(expected), Ok(found)) = (&whole_expected, &whole_found)
            && expected.column(column) == found.column(column)
        {
            continue;
        }
        // The same values may lie in other dictionaries, or be no numbers.
        let (expected, found) = (texts(expected, column), texts(found, column));
        for (row, (expected, found)) in expected.iter().zip(&found).enumerate() {
            assert_eq!(expected, found, "{what}: column {column}, row {row}");
        }
    }
}

/// Each value as a text; nulls as one that no value has.
fn texts(batches: &[RecordBatch], column: usize) -> Vec<String> {
    let options = FormatOptions::default().with_null("\u{2205}");
    let texts = batches.iter().flat_map(|batch| {
        let array = batch.column(column);
        let formatter =
            ArrayFormatter::try_new(array.as_ref(), &options).expect("every type has a text");
        (0..array.len())
            .map(|row| match formatter.value(row).try_to_string() {
                Ok(text) => text,
                // Legal values without a calendar form, such as years beyond 262 000.
                Err(_) => format!("{:?}", array.slice(row, 1).to_data().buffers()),
            })
            .collect::<Vec<_>>()
    });
    texts.collect()
}
