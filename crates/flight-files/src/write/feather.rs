//! Feather V2 through `arrow-ipc`'s file writer, with dictionaries that only grow.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field, SchemaRef};

use super::dictionary::Dictionaries;
use crate::error::{FileError, arrow_write};
use crate::format::Codec;
use crate::limits::WRITE_BUFFER_BYTES;

pub(super) struct FeatherWriter {
    writer: FileWriter<BufWriter<File>>,
    schema: SchemaRef,
    /// By column.
    dictionaries: Vec<Dictionaries>,
}

impl FeatherWriter {
    pub(super) fn create(file: File, schema: &SchemaRef, codec: Codec) -> Result<Self, FileError> {
        let compression = match codec {
            Codec::None => None,
            Codec::Lz4 => Some(CompressionType::LZ4_FRAME),
            Codec::Zstd => Some(CompressionType::ZSTD),
            Codec::Snappy | Codec::Gzip | Codec::Brotli => {
                return Err(FileError::invalid(format!(
                    "codec {} is not one of Feather's; take none, lz4 or zstd",
                    codec.name()
                )));
            }
        };
        for field in schema.fields() {
            check(field.name(), field)?;
        }
        let options = IpcWriteOptions::default()
            .with_dictionary_handling(DictionaryHandling::Delta)
            .try_with_compression(compression)
            .map_err(arrow_write)?;
        let buffered = BufWriter::with_capacity(WRITE_BUFFER_BYTES, file);
        let writer = FileWriter::try_new_with_options(buffered, schema, options);
        let dictionaries = schema.fields().iter();
        let dictionaries =
            dictionaries.map(|field| Dictionaries::of(field.name(), field.data_type()));
        Ok(Self {
            writer: writer.map_err(arrow_write)?,
            schema: Arc::clone(schema),
            dictionaries: dictionaries.collect(),
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        let batch = Dictionaries::unify_batch(&mut self.dictionaries, batch)?;
        self.writer.write(&batch).map_err(arrow_write)
    }

    pub(super) fn finish(self) -> Result<File, FileError> {
        let buffered = self.writer.into_inner().map_err(arrow_write)?;
        buffered.into_inner().map_err(|error| FileError::Io(error.into_error()))
    }
}

impl std::fmt::Debug for FeatherWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FeatherWriter").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Finds what the format has no form for.
fn check(column: &str, field: &Field) -> Result<(), FileError> {
    match field.data_type() {
        DataType::Dictionary(_, value) if matches!(**value, DataType::Dictionary(..)) => {
            let what = "Feather cannot hold a dictionary whose values are dictionary-encoded";
            Err(FileError::column_not_supported(column, what))
        }
        DataType::Dictionary(_, value) => check(column, &Field::new("", (**value).clone(), true)),
        DataType::List(child)
        | DataType::LargeList(child)
        | DataType::ListView(child)
        | DataType::LargeListView(child)
        | DataType::FixedSizeList(child, _)
        | DataType::Map(child, _)
        | DataType::RunEndEncoded(_, child) => check(column, child),
        DataType::Struct(children) => children.iter().try_for_each(|child| check(column, child)),
        DataType::Union(children, _) => {
            children.iter().try_for_each(|(_, child)| check(column, child))
        }
        _ => Ok(()),
    }
}
