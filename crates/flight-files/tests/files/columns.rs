//! An error in the middle of a scan says which column it comes from.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use flight_files::{Codec, FileError, Format, Scan, WriteOptions};

use crate::handmade::{Leaf, data_page, file, text_column};
use crate::support::{bytes_of, open, scan, stream_of, write};

const LONG: usize = 1234;

/// A number, a text, a dictionary and a text in a struct, each with bytes that nothing else has.
fn batch() -> RecordBatch {
    let mut keyed = StringDictionaryBuilder::<Int32Type>::new();
    keyed.extend(["mauve", "ochre", "ochre"].map(Some));
    let inner = StringArray::from(vec!["in".to_owned(), "side".to_owned(), "x".repeat(LONG)]);
    let field = Arc::new(Field::new("inner", DataType::Utf8, true));
    let columns: [(&str, ArrayRef); 4] = [
        ("number", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("text", Arc::new(StringArray::from(vec!["one", "seven", "eleven"]))),
        ("keyed", Arc::new(keyed.finish())),
        ("nested", Arc::new(StructArray::from(vec![(field, Arc::new(inner) as ArrayRef)]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Damages a file of [`batch`] and reads columns of it.
fn read_damaged(
    format: Format,
    old: &[u8],
    new: &[u8],
    columns: Option<Vec<usize>>,
) -> Result<Vec<RecordBatch>, FileError> {
    let batch = batch();
    let mut bytes = match format {
        Format::Stream => stream_of(batch.schema_ref(), std::slice::from_ref(&batch)),
        format => {
            let options = WriteOptions { format, codec: Codec::None };
            bytes_of(
                &write(batch.schema_ref(), std::slice::from_ref(&batch), options).unwrap().file,
            )
        }
    };
    // The first place: headers come before bodies.
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    bytes[at..at + old.len()].copy_from_slice(new);
    scan(&open(&bytes, format)?, Scan { columns, ..Scan::all() })
}

fn check(old: &[u8], new: &[u8], column: usize) {
    for format in [Format::Feather, Format::Stream] {
        let name = batch().schema().field(column).name().clone();
        for columns in [None, Some(vec![column]), Some(vec![3, 2, 1, 0])] {
            let error = read_damaged(format, old, new, columns).unwrap_err().to_string();
            let expected = format!("the file is damaged: column {name:?}: ");
            assert!(error.starts_with(&expected), "{format:?}: {error:?} lacks {expected:?}");
            assert!(error.len() < 1024, "{error}");
        }
    }
}

fn numbers(values: [i32; 3]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn a_batch_that_cannot_be_decoded_names_the_column() {
    check(&numbers([3, 8, 14]), &numbers([9, 8, 14]), 1); // offsets that fall
    check(b"seven", b"\xFFeven", 1); // no UTF-8
    check(&numbers([0, 1, 1]), &numbers([0, 1, 7]), 2); // a key without a value
    check(b"inside", b"in\xFFide", 3);
}

#[test]
fn a_dictionary_that_cannot_be_decoded_names_the_column() {
    check(b"ochre", b"\xFFchre", 2);
}

#[test]
fn a_buffer_that_lies_outside_names_the_column() {
    let length = |bytes: usize| (bytes as u64).to_le_bytes();
    check(&length(LONG + 6), &length(1 << 40), 3);
}

#[test]
fn only_the_columns_that_are_read_are_blamed() {
    let (old, new) = (numbers([3, 8, 14]), numbers([9, 8, 14]));
    for format in [Format::Feather, Format::Stream] {
        let others = read_damaged(format, &old, &new, Some(vec![0, 2, 3])).unwrap();
        assert_eq!(others[0], batch().project(&[0, 2, 3]).unwrap(), "{format:?}");
    }
}

/// A required column of texts, plainly encoded, each in a page of its own.
fn texts(name: &'static str, values: &[&[u8]]) -> Leaf {
    let page = |value: &&[u8]| {
        let body = [&(value.len() as u32).to_le_bytes(), *value].concat();
        data_page(1, 0, body.len(), &body)
    };
    Leaf {
        schema: text_column(name),
        path: vec![name],
        physical: 6,
        codec: 0,
        values: values.len() as i64,
        dictionary: false,
        pages: values.iter().flat_map(page).collect(),
    }
}

fn check_parquet(leaves: Vec<Leaf>, part: Scan, expected: &str) {
    let dataset = open(&file(leaves, 3), Format::Parquet).unwrap();
    let error = scan(&dataset, part).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error:?} lacks {expected:?}");
    assert!(error.len() < 1024, "{error}");
}

#[test]
fn a_page_that_cannot_be_decoded_names_the_column() {
    let good = || texts("good", &[b"a", b"b", b"c"]);
    let bad = || texts("bad", &[b"a", b"\xFF", b"c"]);
    let late = || texts("late", &[b"a", b"b", b"\xFF"]);
    let part = |columns: &[usize]| Scan { columns: Some(columns.to_vec()), ..Scan::all() };
    let named = "the file is damaged: column \"bad\": ";
    check_parquet(vec![bad()], Scan::all(), named);
    check_parquet(vec![good(), bad()], Scan::all(), named);
    check_parquet(vec![good(), bad(), good()], part(&[2, 1]), named);
    // What comes first in the rows is told, not what comes first in the columns.
    let by_row = Scan { batch_rows: Some(1), ..Scan::all() };
    check_parquet(vec![late(), bad()], by_row, named);
    let dataset = open(&file(vec![good(), bad()], 3), Format::Parquet).unwrap();
    assert_eq!(scan(&dataset, part(&[0])).unwrap()[0].num_rows(), 3);
}

#[test]
fn a_column_that_is_short_of_rows_is_named() {
    let short = || Leaf { values: 3, ..texts("short", &[b"a", b"b"]) };
    let good = || texts("good", &[b"a", b"b", b"c"]);
    for leaves in [vec![short()], vec![good(), short()], vec![short(), good()]] {
        check_parquet(leaves, Scan::all(), "the file is damaged: column \"short\": ");
    }
}
