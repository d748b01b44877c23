//! Rows of an IPC file or stream, batch by batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Schema};
use flight_wire::guard::GuardError;
use flight_wire::{BatchDecoder, DecodeError, Decoded};

use super::{Entry, EntryKind, Index, column, parse_message};
use crate::access::FileAccess;
use crate::error::FileError;

/// Reads the entries of an [`Index`] in their order and decodes what the asked rows need.
#[derive(Debug)]
pub(crate) struct IpcScan {
    access: Arc<FileAccess>,
    index: Arc<Index>,
    decoder: BatchDecoder,
    columns: Option<Vec<usize>>,
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
        if let Some(columns) = &columns {
            decoder = decoder.with_projection(columns.clone());
        }
        let dictionaries = has_dictionaries(projected);
        let needed = |entry: &Entry| entry.rows_in(&rows).is_some();
        let end = index.entries.iter().rposition(needed).map_or(0, |last| last + 1);
        Ok(Self { access, index, decoder, columns, entries: 0..end, rows, dictionaries })
    }

    /// The asked rows of the next batch that has any. After an error there is none.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, FileError> {
        while let Some(at) = self.entries.next() {
            let entry = self.index.entries[at];
            match entry.kind {
                EntryKind::Dictionary if !self.dictionaries => {}
                EntryKind::Dictionary => {
                    self.decode(entry)?;
                }
                EntryKind::Batch { first_row, rows } => {
                    let Some(wanted) = entry.rows_in(&self.rows) else { continue };
                    let Decoded::Batch(batch) = self.decode(entry)? else {
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

    fn decode(&mut self, entry: Entry) -> Result<Decoded, FileError> {
        let header = self.access.read(entry.header_offset, entry.header_bytes)?;
        let body = self.access.read_aligned(entry.body_offset, entry.body_bytes)?;
        self.decoder.decode(&header, &body).map_err(|error| {
            let column = self.column_at_fault(&error, &header, &body);
            let error = FileError::from(error);
            match column {
                Some(column) => error.in_column(self.index.schema.field(column).name()),
                None => error,
            }
        })
    }

    fn column_at_fault(
        &mut self,
        error: &DecodeError,
        header: &[u8],
        body: &Buffer,
    ) -> Option<usize> {
        let message = parse_message(header).ok()?;
        if let Some(dictionary) = message.header_as_dictionary_batch() {
            return column::of_dictionary(&self.index.schema, dictionary.id());
        }
        match error {
            DecodeError::Guard(
                GuardError::Buffer { index, .. } | GuardError::Prefix { index, .. },
            ) => column::of_buffer(&self.index.schema, &message, *index),
            DecodeError::Malformed(_) | DecodeError::Panicked => self.try_columns(header, body),
            _ => None,
        }
    }

    /// Decodes a batch that failed once more, column by column, up to the one that fails alone.
    fn try_columns(&mut self, header: &[u8], body: &Buffer) -> Option<usize> {
        let all = || (0..self.index.schema.fields().len()).collect();
        let columns = self.columns.clone().unwrap_or_else(all);
        // The one that has the dictionaries. The scan ends here and needs it no more.
        let mut decoder = std::mem::replace(&mut self.decoder, self.index.decoder().ok()?);
        decoder = decoder.with_projection(Vec::new());
        decoder.decode(header, body).ok()?; // What fails without columns is no column's fault.
        for column in columns {
            decoder = decoder.with_projection(vec![column]);
            if decoder.decode(header, body).is_err() {
                return Some(column);
            }
        }
        None
    }
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
