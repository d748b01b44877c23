//! New dataset files, written batch by batch.
//!
//! What a format cannot hold is refused when the file is created, before a byte is written, and the
//! error names the column. Making the file durable and giving it a name is the caller's part.

mod dictionary;
mod feather;
mod gather;
mod parquet;
mod rebuild;

use std::fs::File;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};

use self::feather::FeatherWriter;
use self::parquet::ParquetWriter;
use crate::error::{FileError, unwinding};
use crate::format::{Codec, Format};

/// How a new file is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    /// Feather or Parquet.
    pub format: Format,
    /// Feather takes none, LZ4 and zstd; Parquet takes all.
    pub codec: Codec,
}

impl WriteOptions {
    /// This format with the codec that it has by default.
    pub fn new(format: Format) -> Self {
        Self { format, codec: Codec::default_of(format) }
    }
}

/// Writes batches of one schema to a new file.
#[derive(Debug)]
pub struct BatchWriter {
    schema: SchemaRef,
    target: Target,
    rows: u64,
    /// An error left the file half written: it must never be finished.
    failed: bool,
}

#[derive(Debug)]
enum Target {
    Feather(Box<FeatherWriter>),
    Parquet(Box<ParquetWriter>),
}

/// A finished file. Nothing was synced.
#[derive(Debug)]
pub struct Written {
    pub file: File,
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
}

impl BatchWriter {
    /// Begins a file; `file` is empty and open for writing.
    ///
    /// # Errors
    ///
    /// When the format does not have the codec or cannot hold a column of the schema; the file is
    /// then still empty. When the disk refuses.
    pub fn create(
        file: File,
        schema: SchemaRef,
        options: &WriteOptions,
    ) -> Result<Self, FileError> {
        let created = unwinding(|| match options.format {
            Format::Feather => FeatherWriter::create(file, &schema, options.codec)
                .map(|writer| Target::Feather(Box::new(writer))),
            Format::Parquet => ParquetWriter::create(file, &schema, options.codec)
                .map(|writer| Target::Parquet(Box::new(writer))),
            Format::Stream => Err(FileError::invalid(
                "new datasets are stored as feather or parquet, not as an Arrow IPC stream",
            )),
        });
        let target = created.unwrap_or_else(|_| Err(no_encoder()))?;
        Ok(Self { schema, target, rows: 0, failed: false })
    }

    /// Appends the rows of `batch`, and may keep its memory until [`flush`](Self::flush). After an
    /// error the file cannot be finished any more.
    ///
    /// # Errors
    ///
    /// When the batch is not of the writer's schema, is beyond a limit, or the disk refuses.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        self.check_usable()?;
        self.failed = true;
        self.check_batch(batch)?;
        let written = unwinding(|| match &mut self.target {
            Target::Feather(writer) => writer.write(batch),
            Target::Parquet(writer) => writer.write(batch),
        });
        written.unwrap_or_else(|_| Err(no_encoder()))?;
        self.rows += batch.num_rows() as u64;
        self.failed = false;
        Ok(())
    }

    /// Lets go of the batches' memory, which a Feather file shares until a large write of some
    /// megabyte comes together. After an error the file cannot be finished any more.
    ///
    /// # Errors
    ///
    /// When a batch has failed before, or the disk refuses.
    pub fn flush(&mut self) -> Result<(), FileError> {
        self.check_usable()?;
        self.failed = true;
        match &mut self.target {
            Target::Feather(writer) => writer.flush()?,
            // Copies what it is given into pages.
            Target::Parquet(_) => {}
        }
        self.failed = false;
        Ok(())
    }

    /// Writes what is left, and the footer.
    ///
    /// # Errors
    ///
    /// When a batch has failed before, or the disk refuses.
    pub fn finish(self) -> Result<Written, FileError> {
        self.check_usable()?;
        let finished = unwinding(|| match self.target {
            Target::Feather(writer) => writer.finish(),
            Target::Parquet(writer) => writer.finish(),
        });
        let file = finished.unwrap_or_else(|_| Err(no_encoder()))?;
        let bytes = file.metadata()?.len();
        Ok(Written { file, rows: self.rows, bytes })
    }

    fn check_usable(&self) -> Result<(), FileError> {
        if self.failed {
            return Err(FileError::invalid("an earlier batch could not be written"));
        }
        Ok(())
    }

    fn check_batch(&self, batch: &RecordBatch) -> Result<(), FileError> {
        let (expected, found) = (self.schema.fields().len(), batch.num_columns());
        if expected != found {
            return Err(FileError::invalid(format!(
                "a batch has {found} columns and the schema {expected}"
            )));
        }
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            let name = field.name();
            if field.data_type() != column.data_type() {
                return Err(FileError::invalid(format!(
                    "column {name:?} of a batch is {}, and {} in the schema",
                    column.data_type(),
                    field.data_type()
                )));
            }
            // A union has no nulls of its own: those of its children are theirs to declare.
            let nullable = field.is_nullable() || matches!(field.data_type(), DataType::Union(..));
            if !nullable && column.is_nullable() && column.logical_null_count() > 0 {
                return Err(FileError::invalid(format!(
                    "column {name:?} has nulls, and may have none by its schema"
                )));
            }
        }
        Ok(())
    }
}

fn no_encoder() -> FileError {
    FileError::not_supported("a column holds what its encoder cannot write")
}
