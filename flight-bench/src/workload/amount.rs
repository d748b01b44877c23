//! How many bytes a record batch counts for.
//!
//! Bytes of its Arrow arrays: values, offsets and validity bitmaps, uncompressed and without
//! padding. So a batch counts the same however it travels. Values of dictionaries do not count,
//! since they are sent once for many batches; the keys do.

use arrow_array::{Array, RecordBatch};
use arrow_data::ArrayData;
use arrow_schema::{DataType, UnionMode};

/// Bytes of the arrays of `batch`.
///
/// Exact for batches that were decoded from Flight messages, whose arrays span their buffers; a
/// slice of a nested array counts the children of the whole.
pub(crate) fn value_bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|column| array_bytes(&column.to_data())).sum()
}

fn array_bytes(data: &ArrayData) -> u64 {
    let rows = data.len() as u64;
    let own = match data.data_type() {
        DataType::Dictionary(keys, _) => rows * key_bytes(keys),
        DataType::Struct(_) | DataType::FixedSizeList(..) | DataType::RunEndEncoded(..) => 0,
        DataType::List(_) | DataType::Map(..) => 4 * (rows + 1),
        DataType::LargeList(_) => 8 * (rows + 1),
        DataType::ListView(_) => 8 * rows,
        DataType::LargeListView(_) => 16 * rows,
        DataType::Union(_, UnionMode::Dense) => 5 * rows,
        DataType::Union(_, UnionMode::Sparse) => rows,
        // A fault of arrow's would make a batch count less, never more.
        _ => return data.get_slice_memory_size().unwrap_or(0) as u64,
    };
    let validity = data.nulls().map_or(0, |_| rows.div_ceil(8));
    let children = match data.data_type() {
        DataType::Dictionary(..) => 0,
        _ => data.child_data().iter().map(array_bytes).sum(),
    };
    own + validity + children
}

fn key_bytes(keys: &DataType) -> u64 {
    keys.primitive_width().unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, Int64Array, ListArray, StringArray, StructArray};

    use super::*;

    #[test]
    fn numbers_count_their_width_and_bitmaps_a_bit_a_row() {
        check(Arc::new(Int64Array::from(vec![1; 1000])), 8000);
        check(Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])), 24 + 1);
    }

    #[test]
    fn strings_count_their_offsets_and_text() {
        check(Arc::new(StringArray::from(vec!["ab", "", "cde"])), 4 * 4 + 5);
    }

    #[test]
    fn dictionaries_count_their_keys_alone() {
        let keys = DictionaryArray::<Int32Type>::from_iter(["long text", "long text", "other"]);
        check(Arc::new(keys), 12);
    }

    #[test]
    fn nested_arrays_count_what_they_hold() {
        let lists = vec![Some(vec![Some(1), Some(2)]), Some(vec![Some(3)])];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        // Three offsets and three values; the builder gives both levels a bitmap or none.
        let bitmaps = u64::from(lists.nulls().is_some())
            + u64::from(lists.to_data().child_data()[0].nulls().is_some());
        check(Arc::clone(&lists), 12 + 12 + bitmaps);
        let fields = StructArray::try_from(vec![("list", lists)]).expect("one column");
        check(Arc::new(fields), 12 + 12 + bitmaps);
    }

    #[test]
    fn a_slice_counts_its_own_rows() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; 1000]));
        check(numbers.slice(100, 10), 80);
    }

    fn check(column: ArrayRef, want: u64) {
        let batch = RecordBatch::try_from_iter([("column", column)]).expect("one column");
        assert_eq!(value_bytes(&batch), want, "{}", batch.column(0).data_type());
    }
}
