//! Which columns of a Parquet file a scan decodes, and how a decoded batch becomes the one asked for.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use flight_wire::BufferPool;
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};

use super::{Group, ParquetFile, guarded};
use crate::access::FileAccess;
use crate::error::FileError;
use crate::limits::{
    BATCH_ROWS_STEP, PARQUET_BATCH_BYTES, PARQUET_BATCH_ROWS_MAX, PARQUET_KEPT_BYTES,
};

/// Columns of a file, shared by all that read rows of them.
pub(crate) struct Projection {
    pub(super) access: Arc<FileAccess>,
    pub(super) file: Arc<ParquetFile>,
    pub(super) levels: FieldLevels,
    /// Of the batches given: columns in the asked order, with the file's metadata.
    schema: SchemaRef,
    /// Columns asked for, by index into the file's schema.
    pub(super) asked: Vec<usize>,
    /// For each of them, which one of those decoded it is.
    order: Vec<usize>,
    /// Leaf columns that are decoded.
    leaves: Vec<usize>,
    /// Recycled memory for its pages.
    pub(super) memory: BufferPool,
    /// The most rows of a batch.
    pub(super) batch_rows: usize,
}

impl Projection {
    /// `columns` have been checked against the file's schema, of which `schema` is their part.
    pub(crate) fn new(
        access: Arc<FileAccess>,
        file: Arc<ParquetFile>,
        columns: Option<Vec<usize>>,
        schema: SchemaRef,
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
        let memory = BufferPool::new(PARQUET_KEPT_BYTES);
        Ok(Self { access, file, levels, schema, asked, order, leaves, memory, batch_rows })
    }

    /// Only this column of the same file.
    pub(super) fn of_one(&self, column: usize) -> Option<Self> {
        let (access, file) = (Arc::clone(&self.access), Arc::clone(&self.file));
        let schema = Arc::new(file.schema.project(&[column]).ok()?);
        Self::new(access, file, Some(vec![column]), schema, self.batch_rows).ok()
    }

    /// Whether nothing is decoded, and rows are only counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Rows of `group` that make a batch of about the usual size.
    pub(super) fn usual_batch_rows(&self, group: &Group) -> u64 {
        let rows =
            PARQUET_BATCH_BYTES.saturating_mul(group.rows) / self.decoded_bytes(group).max(1);
        let rows = rows.clamp(1, PARQUET_BATCH_ROWS_MAX);
        let rows = if rows > BATCH_ROWS_STEP { rows - rows % BATCH_ROWS_STEP } else { rows };
        rows.min(self.batch_rows as u64)
    }

    /// About how many bytes `rows` rows of `group` are once decoded.
    pub(super) fn bytes_of(&self, group: &Group, rows: u64) -> u64 {
        let bytes = u128::from(self.decoded_bytes(group)) * u128::from(rows);
        u64::try_from(bytes / u128::from(group.rows.max(1))).unwrap_or(u64::MAX)
    }

    /// About how many bytes of pages a reader of `group` holds, at `page` bytes each.
    pub(super) fn page_bytes(&self, group: &Group, page: u64) -> u64 {
        let pages = self.leaves.iter().map(|leaf| group.chunks[*leaf].decoded_bytes.min(page));
        pages.fold(0, u64::saturating_add)
    }

    /// Whether rows before a range can be passed over without being decoded: in columns without
    /// lists, a page's header tells its rows.
    pub(super) fn can_skip(&self, group: &Group) -> bool {
        self.leaves.iter().all(|leaf| group.chunks[*leaf].column.repetition_max == 0)
    }

    fn decoded_bytes(&self, group: &Group) -> u64 {
        let bytes = self.leaves.iter().map(|leaf| group.chunks[*leaf].decoded_bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// Makes a batch as it was asked for of one as it was decoded.
    pub(super) fn arrange(&self, decoded: &RecordBatch) -> Result<RecordBatch, FileError> {
        for (column, field) in decoded.columns().iter().zip(decoded.schema_ref().fields()) {
            // The crate trusts an embedded Arrow schema about the children of nested columns.
            let sound = column.to_data().validate();
            sound.map_err(|error| FileError::damaged(error.to_string()).in_column(field.name()))?;
        }
        let columns = self.order.iter().map(|column| Arc::clone(decoded.column(*column)));
        self.batch(columns.collect(), decoded.num_rows())
    }

    pub(super) fn batch(
        &self,
        columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch, FileError> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| FileError::damaged(error.to_string()))
    }
}
