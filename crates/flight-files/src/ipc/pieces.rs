//! Rows of an IPC file or stream as messages, made of the file's own bytes.
//!
//! A stored batch that is asked for whole and fits goes out as it is, header and body; of others
//! parts are [`cut`](super::cut). Everything else is decoded and left to the encoder: compressed
//! blocks that are not asked for in that form, and what was written before Arrow 1.0.
//!
//! Dictionaries are decoded, since a stream may not extend them as a file does. The first batch
//! behind them is left to the encoder, which sends what it uses of them; the batches after it only
//! point into what the peer has then, and go out like any other.
//!
//! Apart from these, a block is decoded once in the life of an open file, with validation on, to find
//! what is wrong with it; it is sent without being decoded from then on.

use std::ops::Range;

use arrow_buffer::Buffer;
use arrow_schema::{DataType, SchemaRef, UnionMode};
use flight_wire::frame::flight_data_bytes;
use flight_wire::guard;
use flight_wire::limits::{HEADER_BYTES_MAX, PROTOBUF_BYTES_MAX};
use flight_wire::{BatchDecoder, Decoded, EncodeOptions, Encoder, Kind, even_rows};

use super::block::{Block, Body};
use super::cut::{Stop, cut};
use super::scan::{IpcScan, fault};
use super::stored::{Segment, StoredMessage};
use super::{Entry, EntryKind};
use crate::access::FileAccess;
use crate::dataset::Piece;
use crate::error::{FileError, within};

/// A block of so many bytes is checked as a whole when a part of it is asked for; of a larger one,
/// each request checks what it takes.
const CHECKED_WHOLE_BYTES: u64 = 16 << 20;

/// A scan whose rows are wanted as messages.
#[derive(Debug)]
pub(crate) struct IpcPieces {
    scan: IpcScan,
    /// With the asked columns only.
    schema: SchemaRef,
    columns: Vec<usize>,
    options: EncodeOptions,
    current: Option<Current>,
    /// Whether parts of the asked columns that follow each other leave nothing out.
    seamless: bool,
    /// Whether dictionaries were read that the encoder has not sent yet.
    dictionaries_due: bool,
    /// Decodes what is cut from blocks that are not checked yet.
    checker: Option<BatchDecoder>,
}

/// A block that is being cut.
#[derive(Debug)]
struct Current {
    at: usize,
    block: Block,
    /// Rows of the block that are still to come.
    rows: Range<u64>,
    /// Rows of a message.
    step: usize,
    /// Whether the asked columns have passed a decoder, in all rows.
    checked: bool,
    /// Whether all that is stored is sound once all parts are: all rows are asked for, and none of
    /// the columns has gaps.
    proof: bool,
}

impl IpcPieces {
    pub(crate) fn new(
        scan: IpcScan,
        schema: SchemaRef,
        columns: Option<Vec<usize>>,
        options: EncodeOptions,
    ) -> Self {
        let columns = columns.unwrap_or_else(|| (0..schema.fields().len()).collect());
        let dictionaries_due = scan.dictionaries;
        let seamless = !schema.flattened_fields().iter().any(|field| has_gaps(field.data_type()));
        let (current, checker) = (None, None);
        Self { scan, schema, columns, options, current, seamless, dictionaries_due, checker }
    }

    pub(crate) fn access(&self) -> &FileAccess {
        &self.scan.access
    }

    /// The next rows. After an error there is none.
    pub(crate) fn next_piece(&mut self) -> Result<Option<Piece>, FileError> {
        loop {
            if let Some(mut current) = self.current.take() {
                let piece = self.cut_next(&mut current)?;
                if !current.rows.is_empty() {
                    self.current = Some(current);
                } else if current.proof && !current.checked {
                    self.note_checked(current.at);
                }
                return Ok(Some(piece));
            }
            let Some(at) = self.scan.entries.next() else { return Ok(None) };
            let entry = self.scan.index.entries[at];
            match self.scan.rows_of(entry) {
                None if entry.kind != EntryKind::Dictionary => continue,
                Some(rows) if !self.dictionaries_due => {
                    let header =
                        self.scan.access.copy_of(entry.header_offset, entry.header_bytes)?;
                    if let Some(piece) = self.begin(at, entry, &header, rows)? {
                        return Ok(Some(piece));
                    }
                    if self.current.is_some() {
                        continue;
                    }
                }
                _ => {}
            }
            match self.scan.read(entry)? {
                None => self.dictionaries_due = self.scan.dictionaries,
                Some(batch) => {
                    self.dictionaries_due = false;
                    self.note_decoded(at);
                    return Ok(Some(Piece::Batch(batch)));
                }
            }
        }
    }

    /// Begins a block: gives all of it if it can go out as it is, or notes how it is to be cut, or
    /// does neither for one that has to be decoded.
    fn begin(
        &mut self,
        at: usize,
        entry: Entry,
        header: &Buffer,
        rows: Range<u64>,
    ) -> Result<Option<Piece>, FileError> {
        let EntryKind::Batch { rows: stored, .. } = entry.kind else { return Ok(None) };
        let index = &self.scan.index;
        let Ok(message) = guard::check_header(header, entry.body_bytes, &index.limits) else {
            return Ok(None); // The decoder says what is wrong, and in which column.
        };
        let Some(block) = Block::of(&message, &index.schema) else { return Ok(None) };
        if message.header_as_record_batch().map(|batch| batch.length().unsigned_abs())
            != Some(stored)
        {
            return Err(FileError::Changed);
        }
        if block.compression != self.options.compression.codec() {
            return Ok(None);
        }
        let all_rows = rows == (0..stored);
        let all = all_rows && self.scan.columns.is_none();
        let checked = index.checked.has(at, &self.columns);
        let bytes = flight_data_bytes(header.len(), entry.body_bytes as usize, 0);
        let rows_max = self.options.batch_rows_max.unwrap_or(usize::MAX).max(1) as u64;
        if all && bytes <= self.options.message_bytes_max && stored <= rows_max {
            if !index.checked.has_whole(at) {
                // Decoders of compressed buffers look at lengths again that were checked before.
                let body = match block.compression {
                    Some(_) => {
                        self.scan.access.read_aligned(entry.body_offset, entry.body_bytes)?
                    }
                    None => self.scan.access.bytes_of(entry.body_offset, entry.body_bytes)?,
                };
                self.scan.decode(header, &body)?;
                self.scan.index.checked.add_whole(at);
            }
            let body = Segment::of(&self.scan.access, entry.body_offset, entry.body_bytes)?;
            let kind = Kind::Batch { rows: stored as usize };
            let access = &self.scan.access;
            let message = StoredMessage::new(kind, header.clone(), [body], access);
            return message.into_piece().map(Some);
        }
        if block.compression.is_some() {
            return Ok(None);
        }
        if self.scan.dictionaries && !checked {
            return Ok(None); // Keys are checked by a decoder that has their dictionaries.
        }
        let bytes = block.bytes_of(&self.columns) as f64 * (rows.end - rows.start) as f64
            / stored.max(1) as f64;
        let pieces = (bytes as usize).div_ceil(self.options.message_bytes_max);
        let step = even_rows((rows.end - rows.start) as usize, pieces).min(rows_max as usize);
        let proof = all_rows && self.seamless;
        let checked = checked || !proof && self.check_stored(at, entry, header);
        self.current = Some(Current { at, block, rows, step, checked, proof });
        Ok(None)
    }

    /// Decodes a block as it is stored where its parts would not prove all of it, or not all are
    /// asked for, so that no later request has to. What is wrong elsewhere in it is left to those
    /// who ask for it.
    fn check_stored(&mut self, at: usize, entry: Entry, header: &Buffer) -> bool {
        let checked = &self.scan.index.checked;
        if entry.body_bytes > CHECKED_WHOLE_BYTES || checked.was_tried(at) {
            return false;
        }
        let body = self.scan.access.bytes_of(entry.body_offset, entry.body_bytes);
        match body.and_then(|body| self.scan.decode(header, &body)) {
            Ok(_) => {
                self.note_decoded(at);
                true
            }
            Err(error) => {
                if matches!(error, FileError::Damaged { .. }) {
                    self.scan.index.checked.add_tried(at);
                }
                false
            }
        }
    }

    /// The next message of the block that is being cut.
    fn cut_next(&mut self, current: &mut Current) -> Result<Piece, FileError> {
        let left = (current.rows.end - current.rows.start) as usize;
        let mut rows = current.step.min(left);
        let message = loop {
            let end = current.rows.start + rows as u64;
            match self.cut_rows(current, current.rows.start..end) {
                Ok(message) => break message,
                // Its rows are longer than most; a single row goes out however long it is.
                Err(Stop::TooLarge) if rows > 1 => rows = even_rows(rows, 2),
                Err(Stop::TooLarge) => {
                    let bytes = current.block.bytes_of(&self.columns);
                    within("the bytes of one row", bytes, PROTOBUF_BYTES_MAX as u64)?;
                    if self.row_bytes_max(current) < PROTOBUF_BYTES_MAX {
                        let what = "its buffers overlap: a row is larger than its batch";
                        return Err(FileError::damaged(what));
                    }
                    return Err(FileError::not_supported(format!(
                        "one row takes more than the {PROTOBUF_BYTES_MAX} bytes that a gRPC message can hold"
                    )));
                }
                Err(Stop::File(error)) => return Err(error),
            }
        };
        self.scan.access.check_unchanged()?;
        if !current.checked {
            // Read once more when it is sent: what waits for the socket is then a part, and no more.
            self.check(&message)?;
        }
        current.rows.start += rows as u64;
        message.into_piece()
    }

    fn note_checked(&self, at: usize) {
        self.scan.index.checked.add(at, &self.columns);
    }

    /// Notes that a block was decoded as it is stored, in the asked columns.
    fn note_decoded(&self, at: usize) {
        match self.scan.columns {
            Some(_) => self.note_checked(at),
            None => self.scan.index.checked.add_whole(at),
        }
    }

    fn cut_rows(&self, current: &Current, rows: Range<u64>) -> Result<StoredMessage, Stop> {
        let single = rows.end - rows.start == 1;
        let max = match single {
            true => self.row_bytes_max(current),
            false => self.options.message_bytes_max,
        };
        let entry = self.scan.index.entries[current.at];
        let body = Body { access: &self.scan.access, offset: entry.body_offset };
        let schema = &self.scan.index.schema;
        let (block, columns) = (&current.block, &self.columns);
        let message = cut(block, &body, schema, columns, rows, max)?;
        let bytes = flight_data_bytes(message.header.len(), message.body_bytes, 0);
        if bytes > max { Err(Stop::TooLarge) } else { Ok(message) }
    }

    /// Bytes of a message of a single row: no more than its batch has, with what is added to it.
    fn row_bytes_max(&self, current: &Current) -> usize {
        let stored = self.scan.index.entries[current.at].body_bytes as usize;
        // A header, and for each buffer its padding or its offsets anew.
        let added = HEADER_BYTES_MAX + 128 * current.block.buffers.len();
        stored.saturating_add(added).clamp(self.options.message_bytes_max, PROTOBUF_BYTES_MAX)
    }

    /// Decodes what was cut, to find what is wrong with it.
    fn check(&mut self, message: &StoredMessage) -> Result<(), FileError> {
        let make = || {
            let mut decoder = BatchDecoder::new(self.scan.index.limits.clone());
            let encoder = Encoder::new(&self.schema, EncodeOptions::default());
            let encoder = encoder.map_err(|error| FileError::not_supported(error.to_string()))?;
            decoder.decode(&encoder.schema().header, &Buffer::default())?;
            Ok::<_, FileError>(decoder)
        };
        let decoder = match &mut self.checker {
            Some(decoder) => decoder,
            none => none.insert(make()?),
        };
        let body = message.body()?;
        match decoder.decode(&message.header, &body) {
            Ok(Decoded::Batch(_)) => Ok(()),
            Ok(_) => Err(FileError::Changed),
            Err(error) => {
                let columns = 0..self.schema.fields().len();
                Err(fault(&self.schema, error, &message.header, &body, columns, make))
            }
        }
    }
}

/// Whether two parts of such an array that follow each other can leave some of what it points at to
/// neither: run ends are found by bisection, and a part takes from its first child to its last.
fn has_gaps(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::RunEndEncoded(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_)
            | DataType::Union(_, UnionMode::Dense)
    )
}
