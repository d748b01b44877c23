//! How many bytes a batch stands for once dictionaries, runs and views are written out.
//!
//! A few kilobytes can stand for terabytes: 2 000 keys of one 8 MiB value are 16 GiB to whoever
//! writes them as Parquet. The decoder bounds this figure, so that nothing behind it has to.

use arrow_array::{Array, RecordBatch};
use arrow_data::ArrayData;
use arrow_schema::{DataType, UnionMode};

/// Rows of a shared child whose sizes are listed one by one; a child with more counts as endless.
const LISTED_ROWS_MAX: usize = 16 << 20;

/// Bytes of values that `batch` stands for: what a plain encoding of every row would take.
///
/// Exact up to padding for columns whose rows repeat shared values (dictionary, run-end, view and
/// list-view columns, at any depth); other columns are as large as their own buffers. Stops early
/// once the sum passes `enough`; `u64::MAX` means that the figure is beyond counting.
pub fn logical_bytes(batch: &RecordBatch, enough: u64) -> u64 {
    // A row costs at least a byte, so that rows without columns count as well.
    let mut sum = batch.num_rows() as u64;
    for column in batch.columns() {
        if sum > enough {
            break;
        }
        sum = sum.saturating_add(total(&column.to_data()));
    }
    sum
}

/// Bytes of all rows, without listing them where no ancestor shares them.
fn total(data: &ArrayData) -> u64 {
    if !repeats(data.data_type()) {
        return own_bytes(data);
    }
    let own = data.len() as u64;
    let children = data.child_data();
    own.saturating_add(match data.data_type() {
        DataType::Struct(_) => sum(children.iter().map(total)),
        DataType::Union(_, UnionMode::Sparse) => {
            sum(children.iter().map(|c| total(&c.slice(data.offset(), data.len()))))
        }
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            total(&children[0].slice(data.offset() * size, data.len() * size))
        }
        DataType::List(_) | DataType::Map(..) | DataType::LargeList(_) => total(&children[0]),
        DataType::RunEndEncoded(ends, _) => weighted_runs(ends.data_type(), data),
        _ if children.iter().any(|child| child.len() > LISTED_ROWS_MAX) => u64::MAX,
        _ => sum(rows_bytes(data).into_iter()),
    })
}

fn sum(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}

fn weighted_runs(ends: &DataType, data: &ArrayData) -> u64 {
    let [run_ends, values] = data.child_data() else { return 0 };
    if values.len() > LISTED_ROWS_MAX {
        return u64::MAX;
    }
    let mut before = 0;
    let runs = integers(ends, run_ends).zip(rows_bytes(values));
    sum(runs.map(|(end, bytes)| {
        let end = u64::try_from(end).unwrap_or(0).saturating_sub(data.offset() as u64);
        let end = end.min(data.len() as u64).max(before);
        let rows = end - before;
        before = end;
        rows.saturating_mul(bytes)
    }))
}

/// Whether two rows of this type may share the bytes of one value.
fn repeats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(..)
        | DataType::RunEndEncoded(..)
        | DataType::Utf8View
        | DataType::BinaryView
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Union(_, UnionMode::Dense) => true,
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::FixedSizeList(f, _)
        | DataType::Map(f, _) => repeats(f.data_type()),
        DataType::Struct(fields) => fields.iter().any(|f| repeats(f.data_type())),
        DataType::Union(fields, UnionMode::Sparse) => {
            fields.iter().any(|(_, f)| repeats(f.data_type()))
        }
        _ => false,
    }
}

/// Bytes of a column that repeats nothing; a row of no width counts as one byte.
fn own_bytes(data: &ArrayData) -> u64 {
    let held = data.get_slice_memory_size().unwrap_or_else(|_| data.get_buffer_memory_size());
    (held as u64).max(data.len() as u64)
}

/// Bytes of each row; of more rows than can be listed, one that is beyond counting.
fn rows_bytes(data: &ArrayData) -> Vec<u64> {
    let rows = data.len();
    if rows > LISTED_ROWS_MAX {
        return vec![u64::MAX];
    }
    match data.data_type() {
        DataType::Utf8 | DataType::Binary => lengths(data.buffers()[0].typed_data::<i32>(), data),
        DataType::LargeUtf8 | DataType::LargeBinary => {
            lengths(data.buffers()[0].typed_data::<i64>(), data)
        }
        DataType::Utf8View | DataType::BinaryView => {
            let views = &data.buffers()[0].typed_data::<u128>()[data.offset()..][..rows];
            // The low 32 bits of a view are the length of its value.
            views.iter().map(|view| 16 + u64::from(*view as u32)).collect()
        }
        DataType::Dictionary(keys, _) => {
            let values = rows_bytes(&data.child_data()[0]);
            let one = |key: i64| usize::try_from(key).ok().and_then(|k| values.get(k));
            integers(keys, data).map(|key| 1 + one(key).copied().unwrap_or(0)).collect()
        }
        DataType::RunEndEncoded(ends, _) => runs(ends.data_type(), data),
        DataType::List(_) | DataType::Map(..) => list(data.buffers()[0].typed_data::<i32>(), data),
        DataType::LargeList(_) => list(data.buffers()[0].typed_data::<i64>(), data),
        DataType::ListView(_) => list_view::<i32>(data),
        DataType::LargeListView(_) => list_view::<i64>(data),
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            let before = prefix_sums(&rows_bytes(&data.child_data()[0]));
            let start = |row: usize| (data.offset() + row) * size;
            (0..rows).map(|row| between(&before, start(row), start(row) + size)).collect()
        }
        DataType::Struct(_) => sum_of(data.child_data().iter().map(rows_bytes), rows),
        DataType::Union(_, UnionMode::Sparse) => {
            let children = data.child_data().iter();
            sum_of(children.map(|c| rows_bytes(&c.slice(data.offset(), rows))), rows)
        }
        DataType::Union(_, UnionMode::Dense) => dense_union(data),
        other => vec![other.primitive_width().unwrap_or(1) as u64; rows],
    }
}

fn lengths<O: Copy + Into<i64>>(offsets: &[O], data: &ArrayData) -> Vec<u64> {
    let Some(offsets) = offsets.get(data.offset()..=data.offset() + data.len()) else {
        return vec![0; data.len()];
    };
    offsets.windows(2).map(|w| 1 + (w[1].into() - w[0].into()).unsigned_abs()).collect()
}

fn list<O: Copy + Into<i64>>(offsets: &[O], data: &ArrayData) -> Vec<u64> {
    let Some(offsets) = offsets.get(data.offset()..=data.offset() + data.len()) else {
        return vec![0; data.len()];
    };
    let before = prefix_sums(&rows_bytes(&data.child_data()[0]));
    let at = |offset: O| usize::try_from(offset.into()).unwrap_or(0);
    offsets.windows(2).map(|w| between(&before, at(w[0]), at(w[1]))).collect()
}

fn list_view<O: arrow_buffer::ArrowNativeType>(data: &ArrayData) -> Vec<u64> {
    let before = prefix_sums(&rows_bytes(&data.child_data()[0]));
    let offsets = &data.buffers()[0].typed_data::<O>()[data.offset()..][..data.len()];
    let sizes = &data.buffers()[1].typed_data::<O>()[data.offset()..][..data.len()];
    let views = offsets.iter().zip(sizes);
    views
        .map(|(offset, size)| {
            between(&before, offset.as_usize(), offset.as_usize() + size.as_usize())
        })
        .collect()
}

fn runs(ends: &DataType, data: &ArrayData) -> Vec<u64> {
    let [run_ends, values] = data.child_data() else { return vec![0; data.len()] };
    let values = rows_bytes(values);
    let mut out = Vec::with_capacity(data.len());
    let first = data.offset();
    for (end, bytes) in integers(ends, run_ends).zip(values) {
        let end = usize::try_from(end).unwrap_or(0).saturating_sub(first).min(data.len());
        out.resize(end.max(out.len()), bytes);
    }
    out.resize(data.len(), 0);
    out
}

fn dense_union(data: &ArrayData) -> Vec<u64> {
    let DataType::Union(fields, _) = data.data_type() else { return Vec::new() };
    let children: Vec<Vec<u64>> = data.child_data().iter().map(rows_bytes).collect();
    let mut index_of = [usize::MAX; 256];
    for (index, (id, _)) in fields.iter().enumerate() {
        index_of[usize::from(id as u8)] = index;
    }
    let ids = &data.buffers()[0].typed_data::<i8>()[data.offset()..][..data.len()];
    let offsets = &data.buffers()[1].typed_data::<i32>()[data.offset()..][..data.len()];
    let bytes = |(id, offset): (&i8, &i32)| {
        let child = children.get(index_of[usize::from(*id as u8)])?;
        child.get(usize::try_from(*offset).ok()?).copied()
    };
    ids.iter().zip(offsets).map(|row| bytes(row).unwrap_or(0)).collect()
}

fn integers<'a>(kind: &DataType, data: &'a ArrayData) -> Box<dyn Iterator<Item = i64> + 'a> {
    let (start, len) = (data.offset(), data.len());
    macro_rules! of {
        ($t:ty) => {{
            let all = data.buffers()[0].typed_data::<$t>();
            Box::new(all[start..][..len].iter().map(|v| i64::try_from(*v).unwrap_or(-1)))
        }};
    }
    match kind {
        DataType::Int8 => of!(i8),
        DataType::Int16 => of!(i16),
        DataType::Int32 => of!(i32),
        DataType::Int64 => of!(i64),
        DataType::UInt8 => of!(u8),
        DataType::UInt16 => of!(u16),
        DataType::UInt32 => of!(u32),
        DataType::UInt64 => of!(u64),
        _ => Box::new(std::iter::empty()),
    }
}

fn sum_of(columns: impl Iterator<Item = Vec<u64>>, rows: usize) -> Vec<u64> {
    let mut sum = vec![1; rows];
    for column in columns {
        for (total, bytes) in sum.iter_mut().zip(column) {
            *total = u64::saturating_add(*total, bytes);
        }
    }
    sum
}

/// `sums[i]` = bytes of the rows before row `i`.
fn prefix_sums(rows: &[u64]) -> Vec<u64> {
    let mut sums = Vec::with_capacity(rows.len() + 1);
    let mut sum = 0u64;
    sums.push(sum);
    for bytes in rows {
        sum = sum.saturating_add(*bytes);
        sums.push(sum);
    }
    sums
}

fn between(sums: &[u64], start: usize, end: usize) -> u64 {
    let at = |row: usize| sums.get(row).or(sums.last()).copied().unwrap_or(0);
    1 + at(end).saturating_sub(at(start))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, DictionaryArray, Int32Array, Int64Array, NullArray, RunArray, StringArray,
        StringViewArray,
    };

    use super::*;

    fn check(column: ArrayRef, at_least: u64, at_most: u64) {
        let batch = RecordBatch::try_from_iter([("c", column)]).unwrap();
        let bytes = logical_bytes(&batch, u64::MAX);
        assert!((at_least..=at_most).contains(&bytes), "{bytes} not in {at_least}..={at_most}");
    }

    #[test]
    fn plain_columns_count_their_own_buffers() {
        check(Arc::new(Int64Array::from(vec![1; 1000])), 8000, 9100);
    }

    #[test]
    fn rows_without_width_still_count() {
        check(Arc::new(NullArray::new(5000)), 5000, 10_000);
    }

    #[test]
    fn a_dictionary_counts_its_value_once_per_key() {
        let values = Arc::new(StringArray::from(vec!["x".repeat(1 << 20)]));
        let keys = Int32Array::from(vec![0; 100]);
        check(Arc::new(DictionaryArray::new(keys, values)), 100 << 20, 101 << 20);
    }

    #[test]
    fn a_run_counts_its_value_once_per_row() {
        let values = Int64Array::from(vec![7]);
        let array = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![i32::MAX]), &values);
        check(Arc::new(array.unwrap()), 8 * ((1 << 31) - 1), 12 * (1 << 31));
    }

    #[test]
    fn a_slice_of_runs_counts_only_its_rows() {
        let values = Int64Array::from(vec![7, 8]);
        let array = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![10, 1000]), &values);
        check(Arc::new(array.unwrap().slice(5, 10)), 80, 120);
    }

    #[test]
    fn views_count_every_view_of_the_same_bytes() {
        let text = "y".repeat(1000);
        let mut builder = arrow_array::builder::StringViewBuilder::new();
        let block = builder.append_block(text.as_bytes().into());
        for _ in 0..50 {
            builder.try_append_view(block, 0, 1000).unwrap();
        }
        let array: StringViewArray = builder.finish();
        check(Arc::new(array), 50_000, 52_000);
    }
}
