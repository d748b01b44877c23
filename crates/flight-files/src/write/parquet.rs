//! Parquet through the parquet crate's Arrow writer.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::{DataType, FieldRef, Fields, Schema, SchemaRef};
use bytes::Bytes;
use flight_wire::logical_bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::dictionary::Dictionaries;
use super::rebuild::child_types;
use crate::error::{FileError, parquet_write, unwinding, within};
use crate::format::Codec;
use crate::limits::{
    PARQUET_WRITE_LOGICAL_BYTES_MAX, ROW_GROUP_BYTES, ROW_GROUP_ROWS, WRITE_BUFFER_BYTES,
};

#[derive(Debug)]
pub(super) struct ParquetWriter {
    writer: ArrowWriter<BufWriter<File>>,
    /// By column. Readers give a row group's text back in one dictionary: what its keys cannot name
    /// could be written and never read.
    dictionaries: Vec<Dictionaries>,
}

impl ParquetWriter {
    pub(super) fn create(file: File, schema: &SchemaRef, codec: Codec) -> Result<Self, FileError> {
        let properties = properties(codec);
        check_schema(schema, &properties)?;
        let buffered = BufWriter::with_capacity(WRITE_BUFFER_BYTES, file);
        let writer = ArrowWriter::try_new(buffered, Arc::clone(schema), Some(properties));
        let dictionaries = schema.fields().iter();
        let dictionaries = dictionaries
            .map(|field| Dictionaries::with_narrow_keys(field.name(), field.data_type()));
        Ok(Self { writer: writer.map_err(parquet_write)?, dictionaries: dictionaries.collect() })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        let max = PARQUET_WRITE_LOGICAL_BYTES_MAX;
        // Here every row is written out, and a few bytes can stand for terabytes of rows.
        let value = logical_bytes(batch, max);
        within("the bytes of a batch's rows, written out", value, max)?;
        let batch = Dictionaries::unify_batch(&mut self.dictionaries, batch)?;
        self.writer.write(&batch).map_err(parquet_write)
    }

    pub(super) fn finish(self) -> Result<File, FileError> {
        let buffered = self.writer.into_inner().map_err(parquet_write)?;
        buffered.into_inner().map_err(|error| FileError::Io(error.into_error()))
    }
}

fn properties(codec: Codec) -> WriterProperties {
    let compression = match codec {
        Codec::None => Compression::UNCOMPRESSED,
        Codec::Snappy => Compression::SNAPPY,
        Codec::Gzip => Compression::GZIP(GzipLevel::default()),
        Codec::Brotli => Compression::BROTLI(BrotliLevel::default()),
        Codec::Zstd => Compression::ZSTD(ZstdLevel::default()),
        Codec::Lz4 => Compression::LZ4_RAW,
    };
    WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
        .build()
}

/// Makes sure that every column comes back with the type that it has now.
fn check_schema(schema: &SchemaRef, properties: &WriterProperties) -> Result<(), FileError> {
    if schema.fields().is_empty() {
        return Err(FileError::not_supported(
            "Parquet cannot hold rows without columns; store this dataset as feather",
        ));
    }
    let unions = schema.fields().iter().any(|field| has_union(field.data_type()));
    if !unions && survives(schema, properties) == Some(true) {
        return Ok(());
    }
    for field in schema.fields() {
        let alone = Arc::new(Schema::new(vec![Arc::clone(field)]));
        // The parquet crate panics on a union; that would be caught, and told on stderr.
        let union = has_union(field.data_type());
        let what = match if union { None } else { survives(&alone, properties) } {
            Some(true) => continue,
            Some(false) => "would come back from Parquet as another type",
            None => "cannot be stored as Parquet",
        };
        let what = format!("{} {what}; store this dataset as feather", field.data_type());
        return Err(FileError::column_not_supported(field.name(), what));
    }
    Err(FileError::not_supported("this schema cannot be stored as Parquet; store it as feather"))
}

fn has_union(data_type: &DataType) -> bool {
    let value = match data_type {
        DataType::Union(..) => return true,
        DataType::Dictionary(_, value) => vec![value.as_ref()],
        other => child_types(other),
    };
    value.into_iter().any(has_union)
}

/// Whether an empty file of this schema has this schema; `None` when there can be none.
fn survives(schema: &SchemaRef, properties: &WriterProperties) -> Option<bool> {
    let read = unwinding(|| {
        let mut bytes = Vec::new();
        ArrowWriter::try_new(&mut bytes, Arc::clone(schema), Some(properties.clone()))?.close()?;
        // Some types are only refused with their first row.
        let row = null_row(schema);
        ArrowWriter::try_new(std::io::sink(), row.schema(), Some(properties.clone()))?
            .write(&row)?;
        ArrowReaderMetadata::load(&Bytes::from(bytes), ArrowReaderOptions::new())
    });
    let read = read.ok()?.ok()?;
    Some(read.schema() == schema)
}

/// A row of nulls, in columns that may have them but otherwise are those of `schema`.
fn null_row(schema: &SchemaRef) -> RecordBatch {
    let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
    let fields: Fields = schema.fields().iter().map(nullable).collect();
    let columns = fields.iter().map(|field| new_null_array(field.data_type(), 1)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .expect("every array was made for its field")
}
