//! Slices of a batch made to hold no more than their own rows.
//!
//! `arrow-ipc` writes a slice's offsets and values for its rows alone, except in three layouts: the
//! data buffers of views, the child of list-views and the children of dense unions go out whole
//! with every slice. Here those are cut to the range that the rows use; values are shared, only
//! views and offsets are written anew.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, UnionMode};

/// `batch` with every column narrowed; the same object's clone where no layout needs it.
pub(crate) fn narrow(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    if !batch.schema_ref().fields().iter().any(|f| holds_more(f.data_type())) {
        return Ok(batch.clone());
    }
    let columns = batch.columns().iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

/// Whether a slice of this type keeps bytes of other rows.
fn holds_more(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8View
        | DataType::BinaryView
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Union(_, UnionMode::Dense) => true,
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::FixedSizeList(f, _)
        | DataType::Map(f, _)
        | DataType::RunEndEncoded(_, f) => holds_more(f.data_type()),
        DataType::Struct(fields) => fields.iter().any(|f| holds_more(f.data_type())),
        DataType::Union(fields, UnionMode::Sparse) => {
            fields.iter().any(|(_, f)| holds_more(f.data_type()))
        }
        _ => false,
    }
}

fn column(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if !holds_more(array.data_type()) {
        return Ok(Arc::clone(array));
    }
    Ok(make_array(data(&array.to_data())?))
}

fn data(array: &ArrayData) -> Result<ArrayData, ArrowError> {
    if !holds_more(array.data_type()) {
        return Ok(array.clone());
    }
    let child = |index: usize| &array.child_data()[index];
    match array.data_type() {
        DataType::Utf8View | DataType::BinaryView => views(array),
        DataType::ListView(_) => list_view::<i32>(array),
        DataType::LargeListView(_) => list_view::<i64>(array),
        DataType::Union(_, UnionMode::Dense) => dense_union(array),
        DataType::List(_) | DataType::Map(..) => list::<i32>(array),
        DataType::LargeList(_) => list::<i64>(array),
        DataType::FixedSizeList(_, size) => {
            let size = size.as_usize();
            let values = child(0).slice(array.offset() * size, array.len() * size);
            rebuild(array, vec![], vec![data(&values)?])
        }
        // Runs are few; their values are narrowed whole.
        DataType::RunEndEncoded(..) => {
            let children = vec![child(0).clone(), data(child(1))?];
            array.clone().into_builder().child_data(children).build()
        }
        DataType::Struct(_) => {
            // A struct's children carry the slice themselves.
            let children = array.child_data().iter().map(data).collect::<Result<_, _>>()?;
            rebuild(array, vec![], children)
        }
        DataType::Union(_, UnionMode::Sparse) => {
            let ids = array.buffers()[0].slice_with_length(array.offset(), array.len());
            let slice = |c: &ArrayData| data(&c.slice(array.offset(), array.len()));
            let children = array.child_data().iter().map(slice).collect::<Result<_, _>>()?;
            rebuild(array, vec![ids], children)
        }
        _ => Ok(array.clone()),
    }
}

/// An array of the same type, rows and nulls over other buffers and children, from row 0.
fn rebuild(
    array: &ArrayData,
    buffers: Vec<Buffer>,
    children: Vec<ArrayData>,
) -> Result<ArrayData, ArrowError> {
    ArrayData::builder(array.data_type().clone())
        .len(array.len())
        .nulls(array.nulls().cloned())
        .buffers(buffers)
        .child_data(children)
        .build()
}

/// A view is `length | prefix | buffer | offset`, 32 bits each, when it is longer than 12 bytes.
/// <https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout>
const INLINE_BYTES_MAX: u32 = 12;

fn views(array: &ArrayData) -> Result<ArrayData, ArrowError> {
    let (views, blocks) = (&array.buffers()[0], &array.buffers()[1..]);
    let views = &views.typed_data::<u128>()[array.offset()..][..array.len()];
    let mut used: Vec<Option<Range<u32>>> = vec![None; blocks.len()];
    for view in views.iter().filter_map(long_view) {
        let end = view.offset.saturating_add(view.length);
        let range = used[view.block as usize].get_or_insert(view.offset..end);
        *range = range.start.min(view.offset)..range.end.max(end);
    }
    let (mut kept, mut moved) = (Vec::new(), vec![0u32; blocks.len()]);
    for (index, range) in used.iter().enumerate() {
        if let Some(range) = range {
            moved[index] = kept.len() as u32;
            let length = (range.end - range.start) as usize;
            kept.push(blocks[index].slice_with_length(range.start as usize, length));
        }
    }
    let start = |block: u32| used[block as usize].as_ref().map_or(0, |range| range.start);
    let anew: Vec<u128> = views
        .iter()
        .map(|&view| match long_view(&view) {
            None => view,
            Some(long) => {
                let block = u128::from(moved[long.block as usize]);
                let offset = u128::from(long.offset - start(long.block));
                (view & u128::from(u64::MAX)) | (block << 64) | (offset << 96)
            }
        })
        .collect();
    let mut buffers = vec![Buffer::from_vec(anew)];
    buffers.append(&mut kept);
    rebuild(array, buffers, vec![])
}

struct LongView {
    length: u32,
    block: u32,
    offset: u32,
}

fn long_view(view: &u128) -> Option<LongView> {
    let length = *view as u32;
    (length > INLINE_BYTES_MAX).then_some(LongView {
        length,
        block: (view >> 64) as u32,
        offset: (view >> 96) as u32,
    })
}

fn list<O: ArrowNativeType>(array: &ArrayData) -> Result<ArrayData, ArrowError> {
    let offsets = &array.buffers()[0].typed_data::<O>()[array.offset()..][..=array.len()];
    let (first, last) = (offsets[0].as_usize(), offsets[array.len()].as_usize());
    let anew: Vec<O> = offsets.iter().map(|o| O::usize_as(o.as_usize() - first)).collect();
    let values = data(&array.child_data()[0].slice(first, last - first))?;
    rebuild(array, vec![Buffer::from_vec(anew)], vec![values])
}

fn list_view<O: ArrowNativeType>(array: &ArrayData) -> Result<ArrayData, ArrowError> {
    let rows = array.offset()..array.offset() + array.len();
    let offsets = &array.buffers()[0].typed_data::<O>()[rows.clone()];
    let sizes = &array.buffers()[1].typed_data::<O>()[rows];
    let used = offsets.iter().zip(sizes).map(|(o, s)| (o.as_usize(), s.as_usize()));
    // A row without values may point anywhere.
    let used = used.filter(|(_, size)| *size > 0);
    let (first, last) = used.fold((usize::MAX, 0), |(first, last), (offset, size)| {
        (first.min(offset), last.max(offset + size))
    });
    let first = first.min(last);
    let anew: Vec<O> = offsets
        .iter()
        .zip(sizes)
        .map(|(o, s)| O::usize_as(if s.as_usize() == 0 { 0 } else { o.as_usize() - first }))
        .collect();
    let values = data(&array.child_data()[0].slice(first, last - first))?;
    let sizes = Buffer::from_slice_ref(sizes);
    rebuild(array, vec![Buffer::from_vec(anew), sizes], vec![values])
}

fn dense_union(array: &ArrayData) -> Result<ArrayData, ArrowError> {
    let DataType::Union(fields, _) = array.data_type() else { return Ok(array.clone()) };
    let rows = array.offset()..array.offset() + array.len();
    let ids = &array.buffers()[0].typed_data::<i8>()[rows.clone()];
    let offsets = &array.buffers()[1].typed_data::<i32>()[rows];
    let mut used: [Option<Range<i32>>; 256] = std::array::from_fn(|_| None);
    for (id, offset) in ids.iter().zip(offsets) {
        let range = used[usize::from(*id as u8)].get_or_insert(*offset..*offset);
        *range = range.start.min(*offset)..range.end.max(*offset);
    }
    let range_of = |id: i8| used[usize::from(id as u8)].clone();
    let anew: Vec<i32> = ids
        .iter()
        .zip(offsets)
        .map(|(id, offset)| offset - range_of(*id).map_or(0, |range| range.start))
        .collect();
    let children = fields.iter().zip(array.child_data()).map(|((id, _), child)| {
        let (start, end) = range_of(id).map_or((0, 0), |range| (range.start, range.end + 1));
        data(&child.slice(start.as_usize(), (end - start).as_usize()))
    });
    let buffers = vec![Buffer::from_slice_ref(ids), Buffer::from_vec(anew)];
    rebuild(array, buffers, children.collect::<Result<_, _>>()?)
}
