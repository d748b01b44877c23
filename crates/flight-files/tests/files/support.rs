//! What every test here does: write batches to a file, open bytes as a dataset, compare rows.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use flight_files::{
    BatchWriter, DatasetFile, FileError, Format, ReadLimits, Scan, WriteOptions, Written,
};

pub(crate) use flight_testkit::assert_same_rows;

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
