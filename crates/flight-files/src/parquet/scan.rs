//! Rows of a Parquet file, row group by row group.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, RowGroups, RowSelection, RowSelector,
};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::budget::{Budget, Refusal};
use super::pages::Pages;
use super::{Group, ParquetFile, guarded};
use crate::access::FileAccess;
use crate::error::{FileError, arrow_damage, parquet_damage, unwinding};
use crate::limits::{BATCH_ROWS_STEP, PARQUET_BATCH_BYTES, PARQUET_BATCH_ROWS_MAX};

/// How much smaller a batch is tried again when it would cost too much.
const SHRINK: u64 = 4;

/// Reads each row group with a reader of its own, so that one that holds fewer rows than it claims
/// cannot shift the rows of the next.
pub(crate) struct ParquetScan {
    access: Arc<FileAccess>,
    file: Arc<ParquetFile>,
    levels: FieldLevels,
    /// Of the batches given: columns in the asked order, with the file's metadata.
    schema: SchemaRef,
    /// Columns asked for, by index into the file's schema.
    asked: Vec<usize>,
    /// For each of them, which one of those decoded it is.
    order: Vec<usize>,
    /// Leaf columns that are decoded.
    leaves: Vec<usize>,
    rows: Range<u64>,
    batch_rows: usize,
    group: Option<GroupReader>,
}

/// A reader of a row group, from the scan's next row on.
struct GroupReader {
    reader: ParquetRecordBatchReader,
    budget: Arc<Budget>,
    batch_rows: u64,
    end: u64,
}

impl ParquetScan {
    /// `columns` and `rows` have been checked against the schema and the row count.
    pub(crate) fn new(
        access: Arc<FileAccess>,
        file: Arc<ParquetFile>,
        columns: Option<Vec<usize>>,
        schema: SchemaRef,
        rows: Range<u64>,
        batch_rows: usize,
    ) -> Result<Self, FileError> {
        let count = file.schema.fields().len();
        let asked = columns.unwrap_or_else(|| (0..count).collect());
        let mut roots = asked.clone();
        roots.sort_unstable();
        roots.dedup();
        let position =
            |column: &usize| roots.binary_search(column).expect("roots are the columns asked for");
        let order = asked.iter().map(position).collect();
        let descriptor = file.metadata.file_metadata().schema_descr();
        let leaves = (0..descriptor.num_columns())
            .filter(|leaf| roots.binary_search(&descriptor.get_column_root_idx(*leaf)).is_ok())
            .collect();
        let mask = ProjectionMask::roots(descriptor, roots);
        let levels = guarded(|| {
            parquet_to_arrow_field_levels(descriptor, mask, Some(file.schema.fields()))
        })?;
        let group = None;
        Ok(Self { access, file, levels, schema, asked, order, leaves, rows, batch_rows, group })
    }

    /// The next batch; `None` once every asked row was given.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, FileError> {
        if self.rows.is_empty() {
            return Ok(None);
        }
        if self.order.is_empty() {
            return self.next_without_columns().map(Some);
        }
        loop {
            let mut group = match self.group.take() {
                Some(group) => group,
                None => self.open_group(None)?,
            };
            match self.read(&mut group) {
                Ok(batch) => {
                    self.rows.start += batch.num_rows() as u64;
                    if self.rows.start < group.end {
                        self.group = Some(group);
                    }
                    return Ok(Some(batch));
                }
                Err(Refusal::OverBudget(_)) if group.batch_rows > 1 => {
                    let fewer = (group.batch_rows / SHRINK).max(1);
                    self.group = Some(self.open_group(Some(fewer))?);
                }
                Err(Refusal::OverBudget(value)) => {
                    let max = self.file.limits.decoded_bytes;
                    let limit = "a decoded row's bytes";
                    return Err(FileError::TooLarge { limit, value, max, column: None });
                }
                Err(Refusal::Error(error)) => return Err(error),
            }
        }
    }

    fn next_without_columns(&mut self) -> Result<RecordBatch, FileError> {
        let rows = (self.rows.end - self.rows.start).min(PARQUET_BATCH_ROWS_MAX);
        let rows = usize::try_from(rows).unwrap_or(self.batch_rows).min(self.batch_rows);
        self.access.check_unchanged()?;
        self.rows.start += rows as u64;
        self.batch(Vec::new(), rows)
    }

    /// A reader of the group that holds the next row, giving batches of about the usual size.
    fn open_group(&self, batch_rows: Option<u64>) -> Result<GroupReader, FileError> {
        let groups = &self.file.groups;
        let after = groups.partition_point(|group| group.first_row <= self.rows.start);
        let index = after.checked_sub(1).expect("the first group begins at row 0");
        let group = &groups[index];
        let end = (group.first_row + group.rows).min(self.rows.end);
        // Decoders reserve room for as many rows as they are told to expect.
        let batch_rows = batch_rows.unwrap_or_else(|| self.usual_batch_rows(group));
        let batch_rows = batch_rows.min(end - self.rows.start);

        let leaves = self.file.metadata.file_metadata().schema_descr().num_columns();
        let limit = self.file.limits.decoded_bytes;
        let budget = Arc::new(Budget::new(limit, leaves, batch_rows));
        let source = GroupSource { scan: self, index, budget: Arc::clone(&budget) };
        let length = |rows: u64| {
            let rows = usize::try_from(rows);
            rows.map_err(|_| FileError::damaged("a row group claims more rows than can be"))
        };
        let selection = RowSelection::from(vec![
            RowSelector::skip(length(self.rows.start - group.first_row)?),
            RowSelector::select(length(end - self.rows.start)?),
        ]);
        let reader = unwinding(|| {
            ParquetRecordBatchReader::try_new_with_row_groups(
                &self.levels,
                &source,
                batch_rows as usize,
                Some(selection),
            )
        });
        let error = match reader {
            Ok(Ok(reader)) => return Ok(GroupReader { reader, budget, batch_rows, end }),
            Ok(Err(error)) => match budget.take_refusal() {
                Some(Refusal::Error(refusal)) => refusal,
                _ => parquet_damage(&error),
            },
            Err(_) => FileError::damaged("its column chunks cannot be decoded"),
        };
        Err(self.name_column(error, batch_rows))
    }

    fn usual_batch_rows(&self, group: &Group) -> u64 {
        let bytes = self.leaves.iter().map(|leaf| group.chunks[*leaf].decoded_bytes);
        let bytes = bytes.fold(0, u64::saturating_add);
        let rows = PARQUET_BATCH_BYTES.saturating_mul(group.rows) / bytes.max(1);
        let rows = rows.clamp(1, PARQUET_BATCH_ROWS_MAX);
        let rows = if rows > BATCH_ROWS_STEP { rows - rows % BATCH_ROWS_STEP } else { rows };
        rows.min(self.batch_rows as u64)
    }

    fn read(&self, group: &mut GroupReader) -> Result<RecordBatch, Refusal> {
        group.budget.begin();
        let next = unwinding(|| group.reader.next());
        if let Some(refusal) = group.budget.take_refusal() {
            return Err(refusal);
        }
        let expected = group.batch_rows.min(group.end - self.rows.start);
        let batch = match next {
            Err(_) => Err(FileError::damaged("a page holds what its encoding cannot")),
            Ok(Some(Err(error))) => Err(arrow_damage(&error)),
            Ok(None) => Err(FileError::damaged("a row group holds fewer rows than it claims")),
            Ok(Some(Ok(batch))) if batch.num_rows() as u64 != expected => {
                Err(FileError::damaged("a row group holds fewer rows than it claims"))
            }
            Ok(Some(Ok(batch))) => Ok(batch),
        };
        let batch = batch.and_then(|batch| self.arrange(&batch));
        Ok(batch.map_err(|error| self.name_column(error, expected))?)
    }

    /// Makes a batch as it was asked for of one as it was decoded.
    fn arrange(&self, decoded: &RecordBatch) -> Result<RecordBatch, FileError> {
        for (column, field) in decoded.columns().iter().zip(decoded.schema_ref().fields()) {
            // The crate trusts an embedded Arrow schema about the children of nested columns.
            let sound = column.to_data().validate();
            sound.map_err(|error| FileError::damaged(error.to_string()).in_column(field.name()))?;
        }
        let columns = self.order.iter().map(|column| Arc::clone(decoded.column(*column)));
        self.batch(columns.collect(), decoded.num_rows())
    }

    /// Names the column that an error about the next `rows` rows comes from. Where nothing but
    /// another try tells, each column is read by itself up to the one that fails so.
    fn name_column(&self, error: FileError, rows: u64) -> FileError {
        if !is_nameless(&error) {
            return error;
        }
        if let [column] = self.asked[..] {
            return error.in_column(self.file.schema.field(column).name());
        }
        let rows = self.rows.start..self.rows.start + rows;
        let alone = self.asked.iter().find_map(|column| self.error_of(*column, rows.clone()));
        alone.unwrap_or(error)
    }

    /// What is wrong with `rows` of one column.
    fn error_of(&self, column: usize, rows: Range<u64>) -> Option<FileError> {
        let (access, file) = (Arc::clone(&self.access), Arc::clone(&self.file));
        let schema = Arc::new(file.schema.project(&[column]).ok()?);
        let alone = Self::new(access, file, Some(vec![column]), schema, rows, self.batch_rows);
        let mut alone = alone.ok()?;
        loop {
            match alone.next_batch() {
                Ok(Some(_)) => {}
                Err(error @ (FileError::Damaged { .. } | FileError::NotSupported { .. })) => {
                    return Some(error);
                }
                Ok(None) | Err(_) => return None,
            }
        }
    }

    fn batch(
        &self,
        columns: Vec<arrow_array::ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch, FileError> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| FileError::damaged(error.to_string()))
    }
}

fn is_nameless(error: &FileError) -> bool {
    matches!(
        error,
        FileError::Damaged { column: None, .. } | FileError::NotSupported { column: None, .. }
    )
}

impl std::fmt::Debug for ParquetScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetScan").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// The column chunks of one row group, as the parquet crate asks for them.
struct GroupSource<'a> {
    scan: &'a ParquetScan,
    index: usize,
    budget: Arc<Budget>,
}

impl RowGroups for GroupSource<'_> {
    fn num_rows(&self) -> usize {
        self.scan.file.groups[self.index].rows as usize
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>, ParquetError> {
        let file = &self.scan.file;
        let pages = Pages::new(
            Arc::clone(&self.scan.access),
            Arc::clone(&self.budget),
            leaf,
            &file.groups[self.index].chunks[leaf],
            file.limits.page_bytes,
        );
        match pages {
            Ok(pages) => Ok(Box::new(Chunks(Some(pages)))),
            Err(error) => {
                self.budget.refuse(error.into());
                Err(ParquetError::General("refused".to_owned()))
            }
        }
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.scan.file.metadata.row_group(self.index)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.scan.file.metadata
    }
}

/// The one chunk that a column has in a row group.
struct Chunks(Option<Pages>);

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for Chunks {}
