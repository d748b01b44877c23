//! What every test here does: write batches to a file, open bytes as a dataset, compare rows.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use flight_files::{
    BatchWriter, DatasetFile, FileError, Format, ReadLimits, Scan, WriteOptions, Written,
};

/// A file without a name that holds `bytes`.
pub(crate) fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

pub(crate) fn bytes_of(mut file: &File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

pub(crate) fn open(bytes: &[u8], format: Format) -> Result<Arc<DatasetFile>, FileError> {
    open_file(file_of(bytes), format)
}

pub(crate) fn open_file(file: File, format: Format) -> Result<Arc<DatasetFile>, FileError> {
    DatasetFile::open(file, format, &ReadLimits::default()).map(Arc::new)
}

pub(crate) fn scan(dataset: &Arc<DatasetFile>, scan: Scan) -> Result<Vec<RecordBatch>, FileError> {
    dataset.scan(scan)?.collect()
}

/// All of it, after making sure that what the dataset says of itself is true.
pub(crate) fn read(dataset: &Arc<DatasetFile>) -> Result<Vec<RecordBatch>, FileError> {
    let batches = scan(dataset, Scan::all())?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(dataset.rows(), Some(rows as u64));
    for batch in &batches {
        assert_eq!(batch.schema_ref(), dataset.schema());
    }
    Ok(batches)
}

pub(crate) fn write(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    options: WriteOptions,
) -> Result<Written, FileError> {
    let file = tempfile::tempfile().unwrap();
    let mut writer = BatchWriter::create(file, Arc::clone(schema), &options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    let written = writer.finish()?;
    assert_eq!(written.rows, batches.iter().map(|b| b.num_rows() as u64).sum::<u64>());
    assert_eq!(written.bytes, written.file.metadata().unwrap().len());
    Ok(written)
}

/// An Arrow IPC stream of these batches, as other programs write it.
pub(crate) fn stream_of(schema: &SchemaRef, batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), schema).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

/// The rows of both are equal, however they are cut into batches and dictionaries.
pub(crate) fn assert_same_rows(expected: &[RecordBatch], found: &[RecordBatch], what: &str) {
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(rows(expected), rows(found), "{what}: number of rows");
    let (Some(first), Some(other)) = (expected.first(), found.first()) else { return };
    let types = |batch: &RecordBatch| {
        batch.schema().fields().iter().map(|f| f.data_type().clone()).collect::<Vec<_>>()
    };
    assert_eq!(types(first), types(other), "{what}: types");
    let whole = |batches: &[RecordBatch]| concat_batches(batches[0].schema_ref(), batches);
    if let (Ok(expected), Ok(found)) = (whole(expected), whole(found))
        && expected.columns() == found.columns()
    {
        return;
    }
    for column in 0..first.num_columns() {
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
        let formatter = ArrayFormatter::try_new(array.as_ref(), &options).unwrap();
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
