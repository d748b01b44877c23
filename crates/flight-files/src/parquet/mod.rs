//! Parquet files: the footer checked and read once, rows read by [`ParquetScan`].
//!
//! Decoding values and building arrays is the parquet crate's. What it is given is checked here:
//! the footer's structure ([`footer`]), where column chunks lie ([`ParquetFile::open`]), and every
//! page ([`pages`]), each against a limit before anything is sized by it.

mod ahead;
mod budget;
mod codec;
mod delta;
mod dictionaries;
mod footer;
mod header;
mod hybrid;
mod int96;
mod levels;
mod measure;
mod pages;
mod projection;
mod scan;
mod thrift;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{Compression, Encoding, Type};
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};

use self::measure::Column;
use crate::access::FileAccess;
use crate::error::{FileError, parquet_damage, unwinding, within};
use crate::limits::ReadLimits;

pub(crate) use ahead::ParquetAhead;
pub use ahead::{DecodeOptions, DecodePool};
pub(crate) use projection::Projection;
pub(crate) use scan::ParquetScan;

/// A Parquet file's metadata, checked.
#[derive(Debug)]
pub(crate) struct ParquetFile {
    metadata: Arc<ParquetMetaData>,
    schema: SchemaRef,
    groups: Vec<Group>,
    rows: u64,
    limits: ReadLimits,
}

#[derive(Debug)]
struct Group {
    first_row: u64,
    rows: u64,
    /// By leaf column.
    chunks: Vec<Chunk>,
}

/// Where a column chunk lies and how it is packed.
#[derive(Debug)]
struct Chunk {
    column: Arc<Column>,
    codec: Compression,
    range: Range<u64>,
    /// An estimate of its values' bytes once decoded. For speed only: nothing relies on it.
    decoded_bytes: u64,
}

impl ParquetFile {
    /// Also gives the bytes that the dataset's version goes by.
    pub(crate) fn open(
        access: &FileAccess,
        limits: &ReadLimits,
    ) -> Result<(Self, Vec<u8>), FileError> {
        let (footer, data_end) = footer::read(access, limits)?;
        let metadata = guarded(|| ParquetMetaDataReader::decode_metadata(&footer))?;
        let metadata = Arc::new(metadata);
        let reader = guarded(|| {
            ArrowReaderMetadata::try_new(Arc::clone(&metadata), ArrowReaderOptions::new())
        })?;
        let schema = Arc::clone(reader.schema());
        check_schema(&schema, limits)?;

        let columns = metadata.file_metadata().schema_descr().columns().iter();
        let columns: Vec<_> = columns.map(|column| Column::of(column)).collect::<Result<_, _>>()?;
        let mut groups = Vec::with_capacity(metadata.num_row_groups());
        let mut rows = 0u64;
        // Only the row groups' counts are looked at: some writers leave the file's own at 0.
        for group in metadata.row_groups() {
            let group = check_group(group, &columns, rows, data_end)?;
            let sum = rows.checked_add(group.rows);
            rows = sum.ok_or_else(|| FileError::damaged("it claims over 2^64 rows"))?;
            groups.push(group);
        }
        let limits = limits.clone();
        Ok((Self { metadata, schema, groups, rows, limits }, footer))
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The index of the row group that holds `row`, of which the file has one.
    fn group_of(&self, row: u64) -> usize {
        let after = self.groups.partition_point(|group| group.first_row <= row);
        after.checked_sub(1).expect("the first group begins at row 0")
    }
}

/// Runs a part of the parquet crate that sees only bytes of the file.
fn guarded<T>(
    work: impl FnOnce() -> Result<T, parquet::errors::ParquetError>,
) -> Result<T, FileError> {
    match unwinding(work) {
        Ok(result) => result.map_err(|error| parquet_damage(&error)),
        Err(_) => Err(FileError::damaged("its metadata cannot be decoded")),
    }
}

fn check_schema(schema: &Schema, limits: &ReadLimits) -> Result<(), FileError> {
    let mut fields = 0;
    for field in schema.fields() {
        check_field(field, 1, &mut fields, limits)?;
    }
    Ok(())
}

fn check_field(
    field: &Field,
    depth: usize,
    fields: &mut u64,
    limits: &ReadLimits,
) -> Result<(), FileError> {
    *fields += 1;
    within("columns", *fields, limits.columns as u64)?;
    within("depth", depth as u64, limits.depth as u64)?;
    match field.data_type() {
        DataType::List(child)
        | DataType::LargeList(child)
        | DataType::ListView(child)
        | DataType::LargeListView(child)
        | DataType::FixedSizeList(child, _)
        | DataType::Map(child, _)
        | DataType::RunEndEncoded(_, child) => check_field(child, depth + 1, fields, limits),
        DataType::Struct(children) => {
            children.iter().try_for_each(|child| check_field(child, depth + 1, fields, limits))
        }
        _ => Ok(()),
    }
}

fn check_group(
    group: &RowGroupMetaData,
    columns: &[Arc<Column>],
    first_row: u64,
    data_end: u64,
) -> Result<Group, FileError> {
    let rows = u64::try_from(group.num_rows());
    let rows = rows.map_err(|_| FileError::damaged("a row group claims less than no rows"))?;
    if group.columns().len() != columns.len() {
        return Err(FileError::damaged("a row group has other columns than the schema"));
    }
    let chunks = group.columns().iter().zip(columns);
    let chunks = chunks.map(|(chunk, column)| check_chunk(chunk, column, rows, data_end));
    Ok(Group { first_row, rows, chunks: chunks.collect::<Result<_, _>>()? })
}

fn check_chunk(
    chunk: &ColumnChunkMetaData,
    column: &Arc<Column>,
    group_rows: u64,
    data_end: u64,
) -> Result<Chunk, FileError> {
    if chunk.file_path().is_some() {
        let what = "its data is in another file";
        return Err(FileError::column_not_supported(&column.name, what));
    }
    let data = chunk.data_page_offset();
    // Some writers put 0 where there is no dictionary; no page can be there.
    let dictionary = chunk.dictionary_page_offset().filter(|at| *at != 0 && *at < data);
    let (start, length) = (dictionary.unwrap_or(data), chunk.compressed_size());
    let range = || {
        if group_rows == 0 {
            return Some(0..0); // Nothing is there and nothing will be read.
        }
        let start = u64::try_from(start).ok().filter(|start| *start >= 4)?;
        let end = start.checked_add(u64::try_from(length).ok()?)?;
        (end <= data_end).then_some(start..end)
    };
    let range = range().ok_or_else(|| {
        let place = format!("its {length} bytes from offset {start}");
        column.damaged(&format!("{place} lie outside the file's data"))
    })?;
    let values = u64::try_from(chunk.num_values());
    let values = values.map_err(|_| column.damaged("it claims less than no values"))?;
    if column.repetition_max == 0 && values != group_rows {
        return Err(column.damaged(&format!("it claims {values} values in {group_rows} rows")));
    }
    let decoded_bytes = decoded_bytes(chunk, values, column.type_length);
    Ok(Chunk { column: Arc::clone(column), codec: chunk.compression(), range, decoded_bytes })
}

fn decoded_bytes(chunk: &ColumnChunkMetaData, values: u64, type_length: u64) -> u64 {
    let width = match chunk.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::INT96 | Type::DOUBLE => 8,
        Type::FIXED_LEN_BYTE_ARRAY => type_length,
        Type::BYTE_ARRAY => {
            let told = chunk.unencoded_byte_array_data_bytes();
            if let Some(bytes) = told.and_then(|bytes| u64::try_from(bytes).ok()) {
                return bytes.saturating_add(values.saturating_mul(4));
            }
            // Without that figure, dictionary-encoded text is guessed at this much a value.
            let keyed = chunk.encodings().any(|encoding| {
                matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
            });
            if keyed { 24 } else { 4 }
        }
    };
    let stored = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
    stored.max(values.saturating_mul(width))
}
