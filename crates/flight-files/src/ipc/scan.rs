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
    pub(super) access: Arc<FileAccess>,
    pub(super) index: Arc<Index>,
    /// Made when something has to be decoded, which takes longer than sending a small batch.
    decoder: Option<BatchDecoder>,
    pub(super) columns: Option<Vec<usize>>,
    /// The next entry to look at, and the first that no asked row needs.
    pub(super) entries: Range<usize>,
    rows: Range<u64>,
    /// Whether an asked column has any.
    pub(super) dictionaries: bool,
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
    ) -> Self {
        let dictionaries = has_dictionaries(projected);
        let needed = |entry: &Entry| entry.rows_in(&rows).is_some();
        let end = index.entries.iter().rposition(needed).map_or(0, |last| last + 1);
        Self { access, index, decoder: None, columns, entries: 0..end, rows, dictionaries }
    }

    /// The asked rows of the next batch that has any. After an error there is none.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, FileError> {
        while let Some(at) = self.entries.next() {
            if let Some(batch) = self.read(self.index.entries[at])? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Decodes the next entry, and gives the asked rows if it holds any.
    pub(super) fn read(&mut self, entry: Entry) -> Result<Option<RecordBatch>, FileError> {
        match entry.kind {
            EntryKind::Dictionary if !self.dictionaries => Ok(None),
            EntryKind::Dictionary => {
                self.decode_entry(entry)?;
                Ok(None)
            }
            EntryKind::Batch { first_row, rows } => {
                let Some(wanted) = entry.rows_in(&self.rows) else { return Ok(None) };
                let Decoded::Batch(batch) = self.decode_entry(entry)? else {
                    return Err(FileError::Changed); // It was a batch when the file was opened.
                };
                if batch.num_rows() as u64 != rows {
                    return Err(FileError::Changed);
                }
                let offset = (wanted.start - first_row) as usize;
                Ok(Some(batch.slice(offset, (wanted.end - wanted.start) as usize)))
            }
        }
    }

    /// The asked rows among those of a batch, by their number within it; `None` if there are none.
    pub(super) fn rows_of(&self, entry: Entry) -> Option<Range<u64>> {
        let EntryKind::Batch { first_row, .. } = entry.kind else { return None };
        let wanted = entry.rows_in(&self.rows)?;
        Some(wanted.start - first_row..wanted.end - first_row)
    }

    fn decode_entry(&mut self, entry: Entry) -> Result<Decoded, FileError> {
        // Read, though the file may be mapped: arrays are used after they were checked.
        let header = self.access.read_aligned(entry.header_offset, entry.header_bytes)?;
        let body = self.access.read_aligned(entry.body_offset, entry.body_bytes)?;
        self.decode(&header, &body)
    }

    /// Decodes a message of the file, validation on.
    pub(super) fn decode(&mut self, header: &[u8], body: &Buffer) -> Result<Decoded, FileError> {
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(decoder(&self.index, self.columns.as_ref())?),
        };
        decoder.decode(header, body).map_err(|error| {
            let all = 0..self.index.schema.fields().len();
            let columns = self.columns.clone().unwrap_or_else(|| all.collect());
            let index = &self.index;
            // The decoder that has the dictionaries. The scan ends here and needs it no more.
            let make = || self.decoder.take().map_or_else(|| index.decoder(), Ok);
            fault(&index.schema, error, header, body, columns, make)
        })
    }
}

/// A decoder of these columns, without dictionaries yet.
fn decoder(index: &Index, columns: Option<&Vec<usize>>) -> Result<BatchDecoder, FileError> {
    let decoder = index.decoder()?;
    Ok(match columns {
        Some(columns) => decoder.with_projection(columns.clone()),
        None => decoder,
    })
}

/// The error of a message that a decoder refused, with the column of `schema` that is at fault.
/// `make` gives a decoder like the one that refused it.
pub(super) fn fault(
    schema: &Schema,
    error: DecodeError,
    header: &[u8],
    body: &Buffer,
    columns: impl IntoIterator<Item = usize>,
    make: impl FnOnce() -> Result<BatchDecoder, FileError>,
) -> FileError {
    let column = || {
        let message = parse_message(header).ok()?;
        if let Some(dictionary) = message.header_as_dictionary_batch() {
            return column::of_dictionary(schema, dictionary.id());
        }
        match &error {
            DecodeError::Guard(
                GuardError::Buffer { index, .. } | GuardError::Prefix { index, .. },
            ) => column::of_buffer(schema, &message, *index),
            DecodeError::Malformed(_) | DecodeError::Panicked => {
                try_columns(make().ok()?, header, body, columns)
            }
            _ => None,
        }
    };
    let column = column();
    let error = FileError::from(error);
    match column {
        Some(column) => error.in_column(schema.field(column).name()),
        None => error,
    }
}

/// Decodes a batch that failed once more, column by column, up to the one that fails alone.
fn try_columns(
    decoder: BatchDecoder,
    header: &[u8],
    body: &Buffer,
    columns: impl IntoIterator<Item = usize>,
) -> Option<usize> {
    let mut decoder = decoder.with_projection(Vec::new());
    decoder.decode(header, body).ok()?; // What fails without columns is no column's fault.
    for column in columns {
        decoder = decoder.with_projection(vec![column]);
        if decoder.decode(header, body).is_err() {
            return Some(column);
        }
    }
    None
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
