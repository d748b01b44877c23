//! Schemas that between them hold every Arrow type.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{
    DataType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit, UnionFields,
    UnionMode,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// One nullable field for every Arrow type, nested types over simple and over dictionary children.
///
/// Callers filter it where a format lacks a type. Names are those of the types, unique and ASCII.
pub fn every_field() -> Vec<Field> {
    let mut fields = flat_fields();
    fields.extend(nested_fields());
    fields.extend(dictionary_fields());
    fields.extend(run_end_fields());
    fields
}

/// [`every_field`] as one schema, with metadata on the schema and on its fields.
pub fn every_type() -> SchemaRef {
    with_metadata(every_field())
}

/// Up to eight fields picked at random, one schema in ten with none; names may be odd or repeated.
pub fn any_schema(rng: &mut ChaCha8Rng) -> SchemaRef {
    let all = every_field();
    let count = if rng.random_bool(0.1) { 0 } else { rng.random_range(1..=8) };
    let fields = (0..count).map(|_| {
        let field = all[rng.random_range(0..all.len())].clone();
        if rng.random_bool(0.1) {
            let odd = ["", "a.b", "名前", "sp ace", "q\"uo'te", "a/b", "\u{1f680}"];
            field.with_name(odd[rng.random_range(0..odd.len())])
        } else {
            field
        }
    });
    with_metadata(fields.collect())
}

/// Types without children: null, numbers, dates and times, decimals, binary and text.
pub fn flat_fields() -> Vec<Field> {
    use DataType as T;
    let units =
        [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let mut types = vec![
        T::Null,
        T::Boolean,
        T::Int8,
        T::Int16,
        T::Int32,
        T::Int64,
        T::UInt8,
        T::UInt16,
        T::UInt32,
        T::UInt64,
        T::Float16,
        T::Float32,
        T::Float64,
        T::Date32,
        T::Date64,
        T::Time32(TimeUnit::Second),
        T::Time32(TimeUnit::Millisecond),
        T::Time64(TimeUnit::Microsecond),
        T::Time64(TimeUnit::Nanosecond),
        T::Interval(IntervalUnit::YearMonth),
        T::Interval(IntervalUnit::DayTime),
        T::Interval(IntervalUnit::MonthDayNano),
        T::Binary,
        T::LargeBinary,
        T::BinaryView,
        T::FixedSizeBinary(7),
        T::Utf8,
        T::LargeUtf8,
        T::Utf8View,
        T::Decimal32(9, 2),
        T::Decimal64(18, 4),
        T::Decimal128(38, 10),
        T::Decimal256(76, -3),
    ];
    types.extend(units.map(|unit| T::Timestamp(unit, None)));
    types.extend(units.map(|unit| T::Timestamp(unit, Some("Europe/Berlin".into()))));
    types.extend(units.map(T::Duration));
    types.into_iter().map(|data_type| Field::new(data_type.to_string(), data_type, true)).collect()
}

/// Lists of every kind, struct, map and both unions.
pub fn nested_fields() -> Vec<Field> {
    let text = item(DataType::Utf8);
    let entry = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Int32, true),
    ]);
    let entries: FieldRef = Arc::new(Field::new("entries", DataType::Struct(entry.clone()), false));
    let member = UnionFields::try_new(
        [5, 2],
        [Field::new("whole", DataType::Int64, true), Field::new("text", DataType::Utf8, true)],
    )
    .expect("two distinct type ids");
    [
        ("list", DataType::List(text.clone())),
        ("list_of_list", DataType::List(item(DataType::List(item(DataType::Int16))))),
        ("large_list", DataType::LargeList(text.clone())),
        ("list_view", DataType::ListView(item(DataType::Int32))),
        ("large_list_view", DataType::LargeListView(text)),
        ("fixed_size_list", DataType::FixedSizeList(item(DataType::Float32), 3)),
        ("struct", DataType::Struct(entry)),
        ("map", DataType::Map(entries, false)),
        ("sparse_union", DataType::Union(member.clone(), UnionMode::Sparse)),
        ("dense_union", DataType::Union(member, UnionMode::Dense)),
    ]
    .into_iter()
    .map(|(name, data_type)| Field::new(name, data_type, true))
    .collect()
}

/// Dictionaries with several key types, of nested values, and inside nested types.
pub fn dictionary_fields() -> Vec<Field> {
    let text = dictionary(DataType::Int8, DataType::Utf8);
    let pair = DataType::Struct(Fields::from(vec![
        Field::new("code", dictionary(DataType::Int32, DataType::Utf8), true),
        Field::new("count", DataType::Int64, false),
    ]));
    [
        ("dictionary", text.clone()),
        ("dictionary_unsigned", dictionary(DataType::UInt16, DataType::LargeUtf8)),
        ("dictionary_view", dictionary(DataType::Int32, DataType::Utf8View)),
        ("dictionary_of_numbers", dictionary(DataType::Int64, DataType::Int64)),
        ("dictionary_of_struct", dictionary(DataType::Int16, pair.clone())),
        ("list_of_dictionary", DataType::List(item(text.clone()))),
        ("list_view_of_dictionary", DataType::ListView(item(text.clone()))),
        ("fixed_size_list_of_dictionary", DataType::FixedSizeList(item(text), 2)),
        ("struct_of_dictionary", pair),
    ]
    .into_iter()
    .map(|(name, data_type)| Field::new(name, data_type, true))
    .collect()
}

/// Run-end encoded columns, their run ends of every width.
pub fn run_end_fields() -> Vec<Field> {
    let values = [
        (DataType::Int16, DataType::Utf8),
        (DataType::Int32, DataType::Float64),
        (DataType::Int64, dictionary(DataType::Int8, DataType::Utf8)),
    ];
    values
        .into_iter()
        .map(|(ends, values)| {
            let name = format!("run_ends_{ends}");
            let ends = Arc::new(Field::new("run_ends", ends, false));
            let values = Arc::new(Field::new("values", values, true));
            Field::new(name, DataType::RunEndEncoded(ends, values), true)
        })
        .collect()
}

fn item(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("item", data_type, true))
}

fn dictionary(key: DataType, value: DataType) -> DataType {
    DataType::Dictionary(Box::new(key), Box::new(value))
}

fn with_metadata(fields: Vec<Field>) -> SchemaRef {
    let fields: Vec<Field> = fields
        .into_iter()
        .enumerate()
        .map(|(index, field)| {
            let metadata = HashMap::from([("position".to_owned(), index.to_string())]);
            field.with_metadata(metadata)
        })
        .collect();
    let metadata = HashMap::from([("origin".to_owned(), "seeded".to_owned())]);
    Arc::new(Schema::new_with_metadata(fields, metadata))
}
