//! Dictionaries that grow, change and overflow from batch to batch, wherever they are nested.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int8Array, ListArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::{DictionaryHandling, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use flight_files::{Codec, FileError, Format, Scan, WriteOptions};

use crate::support::{assert_same_rows, bytes_of, open, read, scan, stream_of, write};

const FEATHER: WriteOptions = WriteOptions { format: Format::Feather, codec: Codec::None };

fn texts(keys: &[Option<i8>], values: &[&str]) -> ArrayRef {
    let values = Arc::new(StringArray::from(values.to_vec()));
    Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(keys.to_vec()), values))
}

fn batch(column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("d", column, true)]).unwrap()
}

/// Three batches, the third of which replaces the dictionary.
fn replaced() -> Vec<RecordBatch> {
    let first = ["foo", "baz", "quux"];
    vec![
        batch(texts(&[Some(1), Some(0), None], &first)),
        batch(texts(&[Some(2), Some(1)], &first)),
        batch(texts(&[Some(0), Some(1)], &["bar", "foo"])),
    ]
}

/// Writes Feather, reads it here and with `arrow-ipc`, and gives the last batch's dictionary.
fn check(sent: &[RecordBatch]) -> ArrayRef {
    let written = write(&sent[0].schema(), sent, FEATHER).unwrap();
    let bytes = bytes_of(&written.file);
    let found = read(&open(&bytes, Format::Feather).unwrap()).unwrap();
    assert_same_rows(sent, &found, "read here");
    let other = FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    assert_same_rows(sent, &other.collect::<Result<Vec<_>, _>>().unwrap(), "arrow-ipc");
    let column = found.last().unwrap().column(0);
    column.as_any_dictionary_opt().map_or(Arc::clone(column), |d| Arc::clone(d.values()))
}

#[test]
fn a_replaced_dictionary_is_merged_and_shared_values_are_kept_once() {
    let values = check(&replaced());
    let values: Vec<_> = values.as_string::<i32>().iter().flatten().collect();
    assert_eq!(values, ["foo", "baz", "quux", "bar"]);
}

#[test]
fn the_same_dictionary_is_written_once() {
    let shared = texts(&[Some(0), Some(1)], &["a", "b"]);
    let sent: Vec<_> = (0..50).map(|_| batch(Arc::clone(&shared))).collect();
    check(&sent);
    let copies: Vec<_> = (0..50).map(|_| batch(texts(&[Some(0), Some(1)], &["a", "b"]))).collect();
    let bytes = |sent: &[RecordBatch]| write(&sent[0].schema(), sent, FEATHER).unwrap().bytes;
    assert_eq!(bytes(&sent), bytes(&copies));
}

#[test]
fn an_extension_keeps_its_keys_and_a_part_needs_no_new_values() {
    let values = check(&[
        batch(texts(&[Some(0)], &["a", "b"])),
        batch(texts(&[Some(3)], &["a", "b", "c", "d"])),
        batch(texts(&[Some(0)], &["a"])),
        batch(texts(&[Some(1)], &["d", "c"])),
    ]);
    assert_eq!(values.len(), 4);
}

#[test]
fn values_that_no_row_uses_are_not_added() {
    let values = check(&[
        batch(texts(&[Some(0)], &["a"])),
        batch(texts(&[Some(1)], &["x", "y", "z"])),
        batch(texts(&[None], &["q"])),
    ]);
    assert_eq!(values.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["a", "y"]);
}

#[test]
fn more_values_than_keys_can_name_is_an_error_that_names_the_column() {
    let batch = |from: usize| {
        let mut builder = StringDictionaryBuilder::<Int8Type>::new();
        (from..from + 100).for_each(|n| builder.append_value(n.to_string()));
        batch(Arc::new(builder.finish()))
    };
    let sent = [batch(0), batch(20), batch(100)];
    assert_eq!(check(&sent[..2]).len(), 120);
    match write(&sent[0].schema(), &sent, FEATHER) {
        Err(FileError::NotSupported { column: Some(column), what }) => {
            assert_eq!(column, "d");
            assert!(what.contains("Int8 keys can name"), "{what}");
        }
        other => panic!("{other:?}"),
    }
}

/// What Parquet takes has to come back: its row groups have one dictionary for many batches.
#[test]
fn keys_that_parquet_cannot_give_back_are_refused() {
    let batch = |from: usize| {
        let mut builder = StringDictionaryBuilder::<Int8Type>::new();
        (from..from + 100).for_each(|n| builder.append_value(n.to_string()));
        batch(Arc::new(builder.finish()))
    };
    let sent: Vec<_> = (0..10).map(|n| batch(n * 100)).collect();
    let options = WriteOptions { format: Format::Parquet, codec: Codec::None };
    let error = write(&sent[0].schema(), &sent, options).unwrap_err().to_string();
    assert!(error.contains("column \"d\"") && error.contains("keys can name"), "{error}");
    let written = write(&sent[0].schema(), &sent[..1], options).unwrap();
    let found = read(&open(&bytes_of(&written.file), Format::Parquet).unwrap()).unwrap();
    assert_same_rows(&sent[..1], &found, "parquet");
}

#[test]
fn nulls_and_nan_in_a_dictionary_are_values_like_others() {
    let dictionary = |values: Vec<Option<f64>>, keys: Vec<i8>| {
        let values = Arc::new(Float64Array::from(values));
        batch(Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(keys), values)))
    };
    let values = check(&[
        dictionary(vec![Some(f64::NAN), None, Some(0.0)], vec![0, 1, 2]),
        dictionary(vec![Some(-0.0), None, Some(f64::NAN)], vec![2, 1, 0, 2]),
        dictionary(vec![Some(1.0), Some(f64::NAN)], vec![0, 1]),
    ]);
    assert_eq!(values.len(), 5, "0.0 and -0.0 are two values");
}

/// A dictionary in a list, in a struct that itself is a dictionary's value.
#[test]
fn dictionaries_within_each_other_grow_together() {
    let nested = |names: &[&str], keys: &[i32]| {
        let inner = texts(&(0..names.len()).map(|i| Some(i as i8)).collect::<Vec<_>>(), names);
        let list = ListArray::new(
            Arc::new(Field::new("item", inner.data_type().clone(), true)),
            OffsetBuffer::from_lengths(vec![1; names.len()]),
            inner,
            None,
        );
        let field = Arc::new(Field::new("list", list.data_type().clone(), false));
        let values = StructArray::from(vec![(field, Arc::new(list) as ArrayRef)]);
        let keys = arrow_array::Int32Array::from(keys.to_vec());
        batch(Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(values))))
    };
    let sent = [
        nested(&["a", "b"], &[0, 1, 0]),
        nested(&["b", "c"], &[1, 0]),
        nested(&["a", "b", "c"], &[2, 1, 0]),
        nested(&["z"], &[0]),
    ];
    check(&sent);
}

#[test]
fn a_stream_that_replaces_its_dictionary_is_read_from_the_middle() {
    let sent = replaced();
    let dataset = open(&stream_of(&sent[0].schema(), &sent), Format::Stream).unwrap();
    let strings = |batches: &[RecordBatch]| {
        let strings = batches.iter().flat_map(|batch| {
            let column = batch.column(0).as_dictionary::<Int8Type>();
            let typed = column.downcast_dict::<StringArray>().unwrap();
            typed.into_iter().map(|v| v.map(str::to_owned)).collect::<Vec<_>>()
        });
        strings.map(Option::unwrap_or_default).collect::<Vec<_>>()
    };
    let expected = ["baz", "foo", "", "quux", "baz", "bar", "foo"];
    assert_eq!(strings(&read(&dataset).unwrap()), expected);
    for start in 0..7 {
        let part = Scan { rows: start..7, batch_rows: Some(2), ..Scan::all() };
        assert_eq!(strings(&scan(&dataset, part).unwrap()), expected[start as usize..]);
    }
}

#[test]
fn delta_dictionaries_of_streams_add_up() {
    let sent = [
        batch(texts(&[Some(0), Some(1)], &["a", "b"])),
        batch(texts(&[Some(2), Some(0), Some(1)], &["a", "b", "c"])),
        batch(texts(&[Some(3), Some(3)], &["a", "b", "c", "d"])),
    ];
    let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let schema = sent[0].schema();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    sent.iter().for_each(|batch| writer.write(batch).unwrap());
    let dataset = open(&writer.into_inner().unwrap(), Format::Stream).unwrap();
    assert_same_rows(&sent, &read(&dataset).unwrap(), "deltas");
}

#[test]
fn a_dictionary_of_a_dictionary_is_refused_before_a_byte_is_written() {
    let inner = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let outer = DataType::Dictionary(Box::new(DataType::Int8), Box::new(inner));
    let schema = Arc::new(arrow_schema::Schema::new(vec![Field::new("twice", outer, true)]));
    let file = tempfile::tempfile().unwrap();
    let error =
        flight_files::BatchWriter::create(file.try_clone().unwrap(), schema, &FEATHER).unwrap_err();
    assert!(error.to_string().contains("column \"twice\""), "{error}");
    assert_eq!(file.metadata().unwrap().len(), 0);
}
