//! Rows of an IPC file or stream, batch by batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use flight_wire::{BatchDecoder, Decoded};

use super::{Entry, EntryKind, Index};
use crate::access::FileAccess;
use crate::error::FileError;

/// Reads the entries of an [`Index`] in their order and decodes what the asked rows need.
#[derive(Debug)]
pub(crate) struct IpcScan {
    access: Arc<FileAccess>,
    index: Arc<Index>,
    decoder: BatchDecoder,
    /// The next entry to look at, and the first that no asked row needs.
    entries: Range<usize>,
    rows: Range<u64>,
    dictionaries: bool,
}

impl IpcScan {
    /// `columns` and `rows` have been checked against the schema and the row count; `projected` is
    /// the schema with these columns only.
    pub(crate) fn new(
        access: Arc<FileAccess>,
        index: Arc<Index>,
        columns: Option<Vec<usize>>,
        projected: &Schema,
        rows: Range<u64>,
    ) -> Result<Self, FileError> {
        let mut decoder = index.decoder()?;
        if let Some(columns) = columns {
            decoder = decoder.with_projection(columns);
        }
        let dictionaries = has_dictionaries(projected);
        let needed = |entry: &Entry| entry.rows_in(&rows).is_some();
        let end = index.entries.iter().rposition(needed).map_or(0, |last| last + 1);
        Ok(Self { access, index, decoder, entries: 0..end, rows, dictionaries })
    }

    /// The asked rows of the next batch that has any.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, FileError> {
        for at in self.entries.by_ref() {
            let entry = self.index.entries[at];
            match entry.kind {
                EntryKind::Dictionary if !self.dictionaries => {}
                EntryKind::Dictionary => {
                    decode(&mut self.decoder, &self.access, entry)?;
                }
                EntryKind::Batch { first_row, rows } => {
                    let Some(wanted) = entry.rows_in(&self.rows) else { continue };
                    let Decoded::Batch(batch) = decode(&mut self.decoder, &self.access, entry)?
                    else {
                        return Err(FileError::Changed); // It was a batch when the file was opened.
                    };
                    if batch.num_rows() as u64 != rows {
                        return Err(FileError::Changed);
                    }
                    let offset = (wanted.start - first_row) as usize;
                    return Ok(Some(batch.slice(offset, (wanted.end - wanted.start) as usize)));
                }
            }
        }
        Ok(None)
    }
}

fn decode(
    decoder: &mut BatchDecoder,
    access: &FileAccess,
    entry: Entry,
) -> Result<Decoded, FileError> {
    let header = access.read(entry.header_offset, entry.header_bytes)?;
    let body = access.read_aligned(entry.body_offset, entry.body_bytes)?;
    Ok(decoder.decode(&header, &body)?)
}

impl Entry {
    /// The rows of `asked` that this entry holds, unless it holds none.
    fn rows_in(&self, asked: &Range<u64>) -> Option<Range<u64>> {
        let EntryKind::Batch { first_row, rows } = self.kind else { return None };
        let start = first_row.max(asked.start);
        let end = (first_row + rows).min(asked.end);
        (start < end).then_some(start..end)
    }
}

fn has_dictionaries(schema: &Schema) -> bool {
    schema.flattened_fields().iter().any(|f| matches!(f.data_type(), DataType::Dictionary(..)))
}
