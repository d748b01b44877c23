//! A nested array with other children: what changing the dictionaries inside it takes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray,
    OffsetSizeTrait, StructArray, UnionArray, make_array,
};
use arrow_schema::{ArrowError, DataType, FieldRef};

/// The types of the children that [`children`] gives; none for types without.
pub(super) fn child_types(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::List(child)
        | DataType::LargeList(child)
        | DataType::ListView(child)
        | DataType::LargeListView(child)
        | DataType::FixedSizeList(child, _)
        | DataType::Map(child, _)
        | DataType::RunEndEncoded(_, child) => vec![child.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        _ => Vec::new(),
    }
}

/// The children of a nested array, as long as they are stored. Run ends are not among them.
pub(super) fn children(array: &ArrayRef) -> Vec<ArrayRef> {
    match array.data_type() {
        DataType::List(_) => vec![Arc::clone(array.as_list::<i32>().values())],
        DataType::LargeList(_) => vec![Arc::clone(array.as_list::<i64>().values())],
        DataType::ListView(_) => vec![Arc::clone(array.as_list_view::<i32>().values())],
        DataType::LargeListView(_) => vec![Arc::clone(array.as_list_view::<i64>().values())],
        DataType::FixedSizeList(..) => vec![Arc::clone(array.as_fixed_size_list().values())],
        DataType::Map(..) => vec![Arc::new(array.as_map().entries().clone())],
        DataType::RunEndEncoded(..) => vec![make_array(array.to_data().child_data()[1].clone())],
        DataType::Struct(_) => array.as_struct().columns().to_vec(),
        DataType::Union(fields, _) => {
            let union = array.as_union();
            fields.iter().map(|(id, _)| Arc::clone(union.child(id))).collect()
        }
        _ => Vec::new(),
    }
}

/// `array` with `children`, which are of the same types and lengths as its own.
pub(super) fn with_children(
    array: &ArrayRef,
    mut children: Vec<ArrayRef>,
) -> Result<ArrayRef, ArrowError> {
    let nulls = array.nulls().cloned();
    match array.data_type() {
        DataType::Struct(fields) => {
            StructArray::try_new_with_length(fields.clone(), children, nulls, array.len())
                .map(|array| Arc::new(array) as ArrayRef)
        }
        DataType::Union(fields, _) => {
            let union = array.as_union();
            let offsets = union.offsets().cloned();
            UnionArray::try_new(fields.clone(), union.type_ids().clone(), offsets, children)
                .map(|array| Arc::new(array) as ArrayRef)
        }
        _ => {
            let child = children.pop().expect("every other nested type has one child");
            with_child(array, child)
        }
    }
}

fn with_child(array: &ArrayRef, child: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let nulls = array.nulls().cloned();
    match array.data_type() {
        DataType::List(field) => list::<i32>(array, field, child),
        DataType::LargeList(field) => list::<i64>(array, field, child),
        DataType::ListView(field) => list_view::<i32>(array, field, child),
        DataType::LargeListView(field) => list_view::<i64>(array, field, child),
        DataType::FixedSizeList(field, size) => {
            let (field, len) = (Arc::clone(field), array.len());
            FixedSizeListArray::try_new_with_length(field, *size, child, nulls, len)
                .map(|array| Arc::new(array) as ArrayRef)
        }
        DataType::Map(field, ordered) => {
            let offsets = array.as_map().offsets().clone();
            let entries = child.as_struct().clone();
            MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *ordered)
                .map(|array| Arc::new(array) as ArrayRef)
        }
        // Through its parts, since `RunArray::with_values` loses the metadata of the values' field.
        DataType::RunEndEncoded(..) => {
            let data = array.to_data();
            let run_ends = data.child_data()[0].clone();
            let data = data.into_builder().child_data(vec![run_ends, child.into_data()]).build()?;
            Ok(make_array(data))
        }
        other => Err(ArrowError::NotYetImplemented(format!("{other} has no children"))),
    }
}

fn list<O: OffsetSizeTrait>(
    array: &ArrayRef,
    field: &FieldRef,
    values: ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let list = array.as_list::<O>();
    let (field, nulls) = (Arc::clone(field), list.nulls().cloned());
    Ok(Arc::new(GenericListArray::try_new(field, list.offsets().clone(), values, nulls)?))
}

fn list_view<O: OffsetSizeTrait>(
    array: &ArrayRef,
    field: &FieldRef,
    values: ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let list = array.as_list_view::<O>();
    let (offsets, sizes) = (list.offsets().clone(), list.sizes().clone());
    let (field, nulls) = (Arc::clone(field), list.nulls().cloned());
    Ok(Arc::new(GenericListViewArray::try_new(field, offsets, sizes, values, nulls)?))
}
