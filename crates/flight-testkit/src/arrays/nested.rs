//! Random arrays of types that hold other arrays: lists, structs, maps, unions, dictionaries and
//! runs.

use std::sync::Arc;

use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, RunEndIndexType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, DictionaryArray, FixedSizeListArray, GenericListArray,
    GenericListViewArray, MapArray, OffsetSizeTrait, PrimitiveArray, RunArray, StructArray,
    UnionArray,
};
use arrow_buffer::{ArrowNativeType, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef, Fields, UnionFields, UnionMode};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{array as any_array, nulls};

/// Longest list of a list column.
const ITEMS_MAX: usize = 4;
/// Most values of a dictionary; fits a signed byte as key.
const DICTIONARY_VALUES_MAX: usize = 100;
/// Longest run of a run-end column.
const RUN_ROWS_MAX: usize = 9;

pub(super) fn array(
    rng: &mut ChaCha8Rng,
    data_type: &DataType,
    nullable: bool,
    rows: usize,
) -> ArrayRef {
    match data_type {
        DataType::List(item) => list::<i32>(rng, item, nullable, rows),
        DataType::LargeList(item) => list::<i64>(rng, item, nullable, rows),
        DataType::ListView(item) => list_view::<i32>(rng, item, nullable, rows),
        DataType::LargeListView(item) => list_view::<i64>(rng, item, nullable, rows),
        DataType::FixedSizeList(item, size) => fixed_size_list(rng, item, *size, nullable, rows),
        DataType::Struct(fields) => {
            let nulls = nulls(rng, nullable, rows);
            Arc::new(
                StructArray::try_new_with_length(
                    fields.clone(),
                    children(rng, fields, rows),
                    nulls,
                    rows,
                )
                .expect("the children were made for these fields"),
            )
        }
        DataType::Map(entries, ordered) => map(rng, entries, *ordered, nullable, rows),
        DataType::Union(fields, mode) => union(rng, fields, *mode, rows),
        DataType::Dictionary(key, value) => match key.as_ref() {
            DataType::Int8 => dictionary::<Int8Type>(rng, value, nullable, rows),
            DataType::Int16 => dictionary::<Int16Type>(rng, value, nullable, rows),
            DataType::Int32 => dictionary::<Int32Type>(rng, value, nullable, rows),
            DataType::Int64 => dictionary::<Int64Type>(rng, value, nullable, rows),
            DataType::UInt8 => dictionary::<UInt8Type>(rng, value, nullable, rows),
            DataType::UInt16 => dictionary::<UInt16Type>(rng, value, nullable, rows),
            DataType::UInt32 => dictionary::<UInt32Type>(rng, value, nullable, rows),
            DataType::UInt64 => dictionary::<UInt64Type>(rng, value, nullable, rows),
            other => panic!("{other} is not a key type of dictionaries"),
        },
        DataType::RunEndEncoded(ends, values) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(rng, values, rows),
            DataType::Int32 => runs::<Int32Type>(rng, values, rows),
            DataType::Int64 => runs::<Int64Type>(rng, values, rows),
            other => panic!("{other} is not a type of run ends"),
        },
        other => panic!("no random values for {other}; extend flight_testkit::arrays"),
    }
}

fn list<O: OffsetSizeTrait>(
    rng: &mut ChaCha8Rng,
    item: &FieldRef,
    nullable: bool,
    rows: usize,
) -> ArrayRef {
    let offsets = OffsetBuffer::<O>::from_lengths(lengths(rng, rows));
    let items = offsets.last().as_usize();
    let values = any_array(rng, item.data_type(), item.is_nullable(), items);
    let nulls = nulls(rng, nullable, rows);
    Arc::new(GenericListArray::<O>::new(Arc::clone(item), offsets, values, nulls))
}

/// Views in no order and over each other's items, as the format allows.
fn list_view<O: OffsetSizeTrait>(
    rng: &mut ChaCha8Rng,
    item: &FieldRef,
    nullable: bool,
    rows: usize,
) -> ArrayRef {
    let items = rows + ITEMS_MAX;
    let sizes = lengths(rng, rows);
    let offsets: Vec<O> =
        sizes.iter().map(|size| O::usize_as(rng.random_range(0..=items - size))).collect();
    let sizes: Vec<O> = sizes.into_iter().map(O::usize_as).collect();
    let values = any_array(rng, item.data_type(), item.is_nullable(), items);
    let nulls = nulls(rng, nullable, rows);
    let item = Arc::clone(item);
    Arc::new(GenericListViewArray::<O>::new(item, offsets.into(), sizes.into(), values, nulls))
}

fn fixed_size_list(
    rng: &mut ChaCha8Rng,
    item: &FieldRef,
    size: i32,
    nullable: bool,
    rows: usize,
) -> ArrayRef {
    let items = rows * usize::try_from(size).expect("a list size is not negative");
    let values = any_array(rng, item.data_type(), item.is_nullable(), items);
    let nulls = nulls(rng, nullable, rows);
    let array =
        FixedSizeListArray::try_new_with_length(Arc::clone(item), size, values, nulls, rows);
    Arc::new(array.expect("there are `size` items for each row"))
}

fn map(
    rng: &mut ChaCha8Rng,
    entries: &FieldRef,
    ordered: bool,
    nullable: bool,
    rows: usize,
) -> ArrayRef {
    let DataType::Struct(fields) = entries.data_type() else {
        panic!("the entries of a map are structs, not {}", entries.data_type());
    };
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths(rng, rows));
    let items = offsets.last().as_usize();
    let values = StructArray::new(fields.clone(), children(rng, fields, items), None);
    let nulls = nulls(rng, nullable, rows);
    Arc::new(MapArray::new(Arc::clone(entries), offsets, values, nulls, ordered))
}

fn union(rng: &mut ChaCha8Rng, fields: &UnionFields, mode: UnionMode, rows: usize) -> ArrayRef {
    let ids: Vec<i8> = fields.iter().map(|(id, _)| id).collect();
    let picks: Vec<usize> = (0..rows).map(|_| rng.random_range(0..ids.len())).collect();
    let type_ids: ScalarBuffer<i8> = picks.iter().map(|&pick| ids[pick]).collect();
    let mut used = vec![0; ids.len()];
    let dense_offsets: ScalarBuffer<i32> = picks
        .iter()
        .map(|&pick| {
            used[pick] += 1;
            used[pick] - 1
        })
        .collect();
    let members = fields.iter().enumerate().map(|(index, (_, field))| {
        let rows = match mode {
            UnionMode::Sparse => rows,
            UnionMode::Dense => used[index] as usize,
        };
        any_array(rng, field.data_type(), field.is_nullable(), rows)
    });
    let members = members.collect();
    let offsets = (mode == UnionMode::Dense).then_some(dense_offsets);
    let array = UnionArray::try_new(fields.clone(), type_ids, offsets, members);
    Arc::new(array.expect("ids, offsets and members were counted together"))
}

fn dictionary<K: ArrowDictionaryKeyType>(
    rng: &mut ChaCha8Rng,
    value: &DataType,
    nullable: bool,
    rows: usize,
) -> ArrayRef {
    let count = rng.random_range(1..=DICTIONARY_VALUES_MAX);
    let values = any_array(rng, value, false, count);
    let keys = (0..rows).map(|_| native::<K>(rng.random_range(0..count))).collect::<Vec<_>>();
    let keys = PrimitiveArray::<K>::new(keys.into(), nulls(rng, nullable, rows));
    Arc::new(DictionaryArray::new(keys, values))
}

fn runs<R: RunEndIndexType>(rng: &mut ChaCha8Rng, values: &FieldRef, rows: usize) -> ArrayRef {
    let mut ends = vec![];
    let mut end = 0;
    while end < rows {
        end = (end + rng.random_range(1..=RUN_ROWS_MAX)).min(rows);
        ends.push(native::<R>(end));
    }
    let values = any_array(rng, values.data_type(), values.is_nullable(), ends.len());
    let ends = PrimitiveArray::<R>::new(ends.into(), None);
    Arc::new(RunArray::try_new(&ends, &values).expect("run ends rise and match the values"))
}

fn children(rng: &mut ChaCha8Rng, fields: &Fields, rows: usize) -> Vec<ArrayRef> {
    fields
        .iter()
        .map(|field| any_array(rng, field.data_type(), field.is_nullable(), rows))
        .collect()
}

fn lengths(rng: &mut ChaCha8Rng, rows: usize) -> Vec<usize> {
    (0..rows).map(|_| rng.random_range(0..=ITEMS_MAX)).collect()
}

fn native<T: ArrowPrimitiveType>(index: usize) -> T::Native {
    T::Native::from_usize(index)
        .unwrap_or_else(|| panic!("{index} is beyond {}, choose fewer rows", T::DATA_TYPE))
}
