//! An open dataset file of any format, and scans of it.

use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use flight_wire::{EncodeOptions, Message};

use crate::access::FileAccess;
use crate::error::FileError;
use crate::format::Format;
use crate::ipc::{Index, IpcPieces, IpcScan, StoredMessage};
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
    schema_message: OnceLock<Bytes>,
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
        Ok(Self { access, content, version, schema_message: OnceLock::new() })
    }

    /// Exactly the schema that a scan of all columns yields, metadata included.
    pub fn schema(&self) -> &SchemaRef {
        match &self.content {
            Content::Ipc(index) => &index.schema,
            Content::Parquet(file) => file.schema(),
        }
    }

    /// The schema as FlightInfo carries it, made once; empty if the IPC format cannot carry it.
    pub fn schema_message(&self) -> &Bytes {
        self.schema_message
            .get_or_init(|| flight_wire::schema_message(self.schema()).unwrap_or_default())
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
                let scan = IpcScan::new(access, Arc::clone(index), columns, &schema, rows);
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

    /// Reads what `scan` asks for, in the form that costs least to send: rows of Arrow IPC files
    /// as messages made of the file's own bytes, in memory or still to be read, below `options.message_bytes_max` and
    /// `options.batch_rows_max`; everything else as batches that are still to be encoded, which
    /// `pool` decodes ahead.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    pub fn pieces(
        self: &Arc<Self>,
        scan: Scan,
        options: EncodeOptions,
        pool: &Arc<DecodePool>,
    ) -> Result<PieceReader, FileError> {
        let Content::Ipc(index) = &self.content else {
            let batches = self.scan_ahead(scan, pool)?;
            let schema = Arc::clone(&batches.schema);
            return Ok(PieceReader { schema, source: Pieces::Batches(batches), failed: false });
        };
        let schema = self.projected_schema(scan.columns.as_deref())?;
        let end = scan.rows.end.min(index.rows());
        let rows = scan.rows.start.min(end)..end;
        let (access, index) = (Arc::clone(&self.access), Arc::clone(index));
        let columns = scan.columns;
        let scan = IpcScan::new(access, index, columns.clone(), &schema, rows);
        let pieces = IpcPieces::new(scan, Arc::clone(&schema), columns, options);
        Ok(PieceReader { schema, source: Pieces::Ipc(Box::new(pieces)), failed: false })
    }

    /// Whether this library wrote the file, as far as the file tells. Who owns the folder replaces
    /// such a file by rename alone.
    pub fn is_own(&self) -> bool {
        matches!(&self.content, Content::Ipc(index) if index.is_own)
    }

    /// Whether some of the mapped file could not be had when it was read, be it that the disk failed:
    /// it has to be opened again.
    pub fn is_lost(&self) -> bool {
        self.access.is_lost()
    }

    /// Maps the file into memory, so that what is sent of it is never copied in this process.
    ///
    /// For files that are replaced by rename alone. If one is overwritten in place all the same, or
    /// cut, what was handed out of it shows other bytes, or zeros: once that was sent,
    /// [`check_unchanged`](Self::check_unchanged) says so. Files of formats that are decoded are left
    /// alone.
    ///
    /// # Errors
    ///
    /// When the system cannot map it, or as many files are mapped as may be.
    pub fn map(&self) -> Result<(), FileError> {
        match &self.content {
            Content::Ipc(_) => self.access.map(),
            Content::Parquet(_) => Ok(()),
        }
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

/// Some rows of a scan.
#[derive(Debug)]
pub enum Piece {
    /// Ready to be sent.
    Message(Message),
    /// To be read while it is sent.
    Stored(StoredMessage),
    /// Still to be encoded.
    Batch(RecordBatch),
}

/// The rows of a scan in the form that costs least to send. Stops at once after an error.
#[derive(Debug)]
pub struct PieceReader {
    schema: SchemaRef,
    source: Pieces,
    failed: bool,
}

#[derive(Debug)]
enum Pieces {
    Ipc(Box<IpcPieces>),
    Batches(BatchReader),
}

impl PieceReader {
    /// The schema of all rows. An [`Encoder`](flight_wire::Encoder) writes the message of it that
    /// goes before the pieces.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether pieces share memory with the file, so that what becomes of the file until they are
    /// sent may show in them; [`check_unchanged`](Self::check_unchanged) tells afterwards.
    pub fn shares_file(&self) -> bool {
        matches!(&self.source, Pieces::Ipc(pieces) if pieces.access().is_mapped())
    }

    /// Whether the file still is what it was.
    ///
    /// # Errors
    ///
    /// As [`DatasetFile::check_unchanged`].
    pub fn check_unchanged(&self) -> Result<(), FileError> {
        match &self.source {
            Pieces::Ipc(pieces) => pieces.access().check_unchanged(),
            // Batches stay as they are.
            Pieces::Batches(_) => Ok(()),
        }
    }

    /// Whether pieces are decoded before they are asked for.
    pub fn decodes_ahead(&self) -> bool {
        matches!(&self.source, Pieces::Batches(BatchReader { source: Source::Ahead(_), .. }))
    }

    /// Gives up what was decoded ahead, which is decoded again when the next piece is asked for:
    /// for streams that nobody reads.
    pub fn park(&mut self) {
        if let Pieces::Batches(BatchReader { source: Source::Ahead(scan), .. }) = &mut self.source {
            scan.park();
        }
    }
}

impl Iterator for PieceReader {
    type Item = Result<Piece, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = match &mut self.source {
            Pieces::Ipc(pieces) => pieces.next_piece().transpose(),
            Pieces::Batches(batches) => batches.next().map(|batch| batch.map(Piece::Batch)),
        };
        self.failed = matches!(next, Some(Err(_)));
        next
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
