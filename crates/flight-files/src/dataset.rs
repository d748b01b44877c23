//! An open dataset file of any format, and scans of it.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::access::FileAccess;
use crate::error::FileError;
use crate::format::Format;
use crate::ipc::{Index, IpcScan};
use crate::limits::ReadLimits;
use crate::parquet::{DecodePool, ParquetAhead, ParquetFile, ParquetScan, Projection};
use crate::version::Version;

/// A dataset file, opened and checked: its schema can be read and its footer or message list lies
/// within the file. Bodies are checked when they are read.
///
/// Holds the descriptor that it was given and nothing else of the file system; may be shared by any
/// number of scans at once.
#[derive(Debug)]
pub struct DatasetFile {
    access: Arc<FileAccess>,
    content: Content,
    version: Version,
}

#[derive(Debug)]
enum Content {
    Ipc(Arc<Index>),
    Parquet(Arc<ParquetFile>),
}

/// What to read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Columns by index into the schema, in the order in which they shall come; `None` for all.
    pub columns: Option<Vec<usize>>,
    /// Rows by their number in the file; those past the end are not an error.
    pub rows: Range<u64>,
    /// The most rows of one batch; `None` for batches as they are stored.
    pub batch_rows: Option<usize>,
}

impl Scan {
    /// Every row of every column.
    pub fn all() -> Self {
        Self { columns: None, rows: 0..u64::MAX, batch_rows: None }
    }
}

impl DatasetFile {
    /// Opens `file`, which shall hold data of `format`.
    ///
    /// # Errors
    ///
    /// When the file is not of that format, is damaged as far as its footer or message list tells,
    /// is encrypted, or holds what is not read here.
    pub fn open(file: File, format: Format, limits: &ReadLimits) -> Result<Self, FileError> {
        let access = Arc::new(FileAccess::new(file)?);
        if access.bytes() == 0 {
            return Err(FileError::damaged("it is empty (0 bytes)"));
        }
        let (content, digest) = match format {
            Format::Feather => {
                let (index, digest) = Index::of_file(&access, limits)?;
                (Content::Ipc(Arc::new(index)), digest)
            }
            Format::Stream => {
                let (index, digest) = Index::of_stream(&access, limits)?;
                (Content::Ipc(Arc::new(index)), digest)
            }
            Format::Parquet => {
                let (file, digest) = ParquetFile::open(&access, limits)?;
                (Content::Parquet(Arc::new(file)), digest)
            }
        };
        let version = Version::of(&access, &digest);
        Ok(Self { access, content, version })
    }

    /// Exactly the schema that a scan of all columns yields, metadata included.
    pub fn schema(&self) -> &SchemaRef {
        match &self.content {
            Content::Ipc(index) => &index.schema,
            Content::Parquet(file) => file.schema(),
        }
    }

    /// How many rows there are; `None` when only reading everything could tell.
    pub fn rows(&self) -> Option<u64> {
        Some(self.row_count())
    }

    /// Size of the file, in bytes.
    pub fn bytes(&self) -> u64 {
        self.access.bytes()
    }

    /// A hash over size, modification time and footer (of a stream: its list of messages).
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether the open file still is what it was. It may have been deleted or replaced by a
    /// rename, for its content stays then.
    ///
    /// # Errors
    ///
    /// [`FileError::Changed`] when its size or modification time is another than at open, or when
    /// its change time is and it has no name fewer: besides a rewrite that set the modification
    /// time back, that is a rename of this file itself, a new link to it or new permissions, which
    /// nothing tells from such a rewrite.
    pub fn check_unchanged(&self) -> Result<(), FileError> {
        self.access.check_unchanged()
    }

    /// Reads what `scan` asks for. Nothing is read before the first batch is asked for.
    ///
    /// # Errors
    ///
    /// When a column's index is not below the number of columns.
    pub fn scan(self: &Arc<Self>, scan: Scan) -> Result<BatchReader, FileError> {
        self.scan_by(scan, None)
    }

    /// Like [`Self::scan`], and gives the same rows; Parquet is decoded by the threads of `pool`,
    /// from now on and ahead of the batches that are asked for. Other formats need no decoding.
    ///
    /// # Errors
    ///
    /// As [`Self::scan`].
    pub fn scan_ahead(
        self: &Arc<Self>,
        scan: Scan,
        pool: &Arc<DecodePool>,
    ) -> Result<BatchReader, FileError> {
        self.scan_by(scan, Some(pool))
    }

    fn scan_by(
        self: &Arc<Self>,
        scan: Scan,
        pool: Option<&Arc<DecodePool>>,
    ) -> Result<BatchReader, FileError> {
        let Scan { columns, rows, batch_rows } = scan;
        let schema = self.projected_schema(columns.as_deref())?;
        let end = rows.end.min(self.row_count());
        let rows = rows.start.min(end)..end;
        let batch_rows = batch_rows.unwrap_or(usize::MAX).max(1);
        let access = Arc::clone(&self.access);
        let source = match &self.content {
            Content::Ipc(index) => {
                let scan = IpcScan::new(access, Arc::clone(index), columns, &schema, rows)?;
                Source::Ipc(Box::new(scan))
            }
            Content::Parquet(file) => {
                let (file, schema) = (Arc::clone(file), Arc::clone(&schema));
                let projection = Projection::new(access, file, columns, schema, batch_rows)?;
                match pool.filter(|_| !projection.is_empty()) {
                    Some(pool) => {
                        Source::Ahead(ParquetAhead::new(Arc::clone(pool), projection, rows))
                    }
                    None => {
                        Source::Parquet(Box::new(ParquetScan::whole(Arc::new(projection), rows)))
                    }
                }
            }
        };
        Ok(BatchReader { schema, source, pending: None, batch_rows, failed: false })
    }

    fn row_count(&self) -> u64 {
        match &self.content {
            Content::Ipc(index) => index.rows(),
            Content::Parquet(file) => file.rows(),
        }
    }

    fn projected_schema(&self, columns: Option<&[usize]>) -> Result<SchemaRef, FileError> {
        let schema = self.schema();
        let Some(columns) = columns else { return Ok(Arc::clone(schema)) };
        let count = schema.fields().len();
        if let Some(column) = columns.iter().find(|column| **column >= count) {
            return Err(FileError::invalid(format!(
                "column {column} does not exist; there are {count}, counted from 0"
            )));
        }
        let projected = schema.project(columns);
        let projected = projected.map_err(|error| FileError::invalid(error.to_string()))?;
        Ok(Arc::new(projected))
    }
}

/// The batches of a scan. Stops at once after an error.
#[derive(Debug)]
pub struct BatchReader {
    schema: SchemaRef,
    source: Source,
    /// What is left of a batch that had more than `batch_rows` rows.
    pending: Option<RecordBatch>,
    batch_rows: usize,
    failed: bool,
}

#[derive(Debug)]
enum Source {
    Ipc(Box<IpcScan>),
    Parquet(Box<ParquetScan>),
    Ahead(ParquetAhead),
}

impl BatchReader {
    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, FileError> {
        let batch = match self.pending.take() {
            Some(batch) => Some(batch),
            None => match &mut self.source {
                Source::Ipc(scan) => scan.next_batch()?,
                Source::Parquet(scan) => scan.next_batch()?,
                Source::Ahead(scan) => scan.next_batch()?,
            },
        };
        let Some(batch) = batch else { return Ok(None) };
        if batch.num_rows() <= self.batch_rows {
            return Ok(Some(batch));
        }
        self.pending = Some(batch.slice(self.batch_rows, batch.num_rows() - self.batch_rows));
        Ok(Some(batch.slice(0, self.batch_rows)))
    }
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.next_batch().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}
