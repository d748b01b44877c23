//! Rows of a Parquet file, row group by row group.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, RowGroups, RowSelection, RowSelector,
};
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::budget::{Budget, Refusal};
use super::dictionaries::Dictionaries;
use super::pages::Pages;
use super::projection::Projection;
use crate::error::{FileError, arrow_damage, parquet_damage, unwinding};
use crate::limits::PARQUET_BATCH_ROWS_MAX;

/// How much smaller a batch is tried again when it would cost too much.
const SHRINK: u64 = 4;

/// Reads each row group with a reader of its own, so that one that holds fewer rows than it claims
/// cannot shift the rows of the next.
pub(crate) struct ParquetScan {
    projection: Arc<Projection>,
    /// Rows that are still to be given.
    rows: Range<u64>,
    /// The row up to which a reader may be opened, so that [`Self::extend`] finds it open: not
    /// before `rows.end`.
    reach: u64,
    /// Of the row group that this scan shares with others.
    dictionaries: Option<Arc<Dictionaries>>,
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
    /// `rows` have been checked against the row count.
    pub(crate) fn whole(projection: Arc<Projection>, rows: Range<u64>) -> Self {
        Self { projection, reach: rows.end, rows, dictionaries: None, group: None }
    }

    /// Whole batches of one row group, up to its end or to `reach` if the scan is extended.
    pub(super) fn part(
        projection: Arc<Projection>,
        rows: Range<u64>,
        reach: u64,
        dictionaries: Arc<Dictionaries>,
    ) -> Self {
        Self { projection, rows, reach, dictionaries: Some(dictionaries), group: None }
    }

    /// Goes on to `end`, which is not past the scan's reach.
    pub(super) fn extend(&mut self, end: u64) {
        self.rows.end = end;
    }

    /// How many rows are still to be given.
    pub(super) fn remaining(&self) -> u64 {
        self.rows.end.saturating_sub(self.rows.start)
    }

    /// Bytes of the pages and dictionaries that wait to be decoded further.
    pub(super) fn held_bytes(&self) -> u64 {
        self.group.as_ref().map_or(0, |group| group.budget.held_bytes())
    }

    /// The next batch; `None` once every asked row was given.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, FileError> {
        if self.rows.is_empty() {
            return Ok(None);
        }
        if self.projection.is_empty() {
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
                    let max = self.projection.file.limits.decoded_bytes;
                    let limit = "a decoded row's bytes";
                    return Err(FileError::TooLarge { limit, value, max, column: None });
                }
                Err(Refusal::Error(error)) => return Err(error),
            }
        }
    }

    fn next_without_columns(&mut self) -> Result<RecordBatch, FileError> {
        let rows = (self.rows.end - self.rows.start).min(PARQUET_BATCH_ROWS_MAX);
        let most = self.projection.batch_rows;
        let rows = usize::try_from(rows).unwrap_or(most).min(most);
        self.projection.access.check_unchanged()?;
        self.rows.start += rows as u64;
        self.projection.batch(Vec::new(), rows)
    }

    /// A reader of the group that holds the next row, giving batches of about the usual size.
    fn open_group(&self, batch_rows: Option<u64>) -> Result<GroupReader, FileError> {
        let (file, levels) = (&self.projection.file, &self.projection.levels);
        let index = file.group_of(self.rows.start);
        let group = &file.groups[index];
        // Batches of the usual size end where the rows do, even if the reader goes on.
        let reach = if batch_rows.is_some() { self.rows.end } else { self.reach };
        let end = (group.first_row + group.rows).min(reach);
        // Decoders reserve room for as many rows as they are told to expect.
        let batch_rows = batch_rows.unwrap_or_else(|| self.projection.usual_batch_rows(group));
        let batch_rows = batch_rows.min(end - self.rows.start);

        let leaves = file.metadata.file_metadata().schema_descr().num_columns();
        let budget = Arc::new(Budget::new(file.limits.decoded_bytes, leaves, batch_rows));
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
                levels,
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
        let batch = batch.and_then(|batch| self.projection.arrange(&batch));
        Ok(batch.map_err(|error| self.name_column(error, expected))?)
    }

    /// Names the column that an error about the next `rows` rows comes from. Where nothing but
    /// another try tells, each column is read by itself up to the one that fails so.
    fn name_column(&self, error: FileError, rows: u64) -> FileError {
        if !is_nameless(&error) {
            return error;
        }
        let asked = &self.projection.asked;
        if let [column] = asked[..] {
            return error.in_column(self.projection.file.schema.field(column).name());
        }
        let rows = self.rows.start..self.rows.start + rows;
        let alone = asked.iter().find_map(|column| self.error_of(*column, rows.clone()));
        alone.unwrap_or(error)
    }

    /// What is wrong with `rows` of one column.
    fn error_of(&self, column: usize, rows: Range<u64>) -> Option<FileError> {
        let mut alone = Self::whole(Arc::new(self.projection.of_one(column)?), rows);
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
        self.scan.projection.file.groups[self.index].rows as usize
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>, ParquetError> {
        let file = &self.scan.projection.file;
        let pages = Pages::new(
            Arc::clone(&self.scan.projection.access),
            Arc::clone(&self.budget),
            leaf,
            &file.groups[self.index].chunks[leaf],
            self.scan.projection.memory.clone(),
            self.scan.dictionaries.clone(),
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
        Box::new(std::iter::once(self.scan.projection.file.metadata.row_group(self.index)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.scan.projection.file.metadata
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
