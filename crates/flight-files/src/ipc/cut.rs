//! Some rows of some columns of a stored batch, as a message of their own.
//!
//! Nothing is decoded and next to nothing is copied: a message is made of parts of the stored
//! buffers. Rewritten are offsets that must begin at zero, bitmaps that do not begin at a byte, and
//! the views, run ends and type offsets that point into what was cut.
//! The layouts are those of <https://arrow.apache.org/docs/format/Columnar.html>.
//!
//! What a decoder would find wrong in the values (text that is no UTF-8, offsets that run
//! backwards) is not found here: whoever cuts a file that nobody has decoded yet decodes the parts.
//! All that is computed from the file is checked before it selects bytes.

mod offsets;
mod runs;
mod unions;
mod views;

use std::ops::Range;

use arrow_buffer::Buffer;
use arrow_buffer::bit_util;
use arrow_ipc::FieldNode;
use arrow_schema::{DataType, Schema, UnionMode};
use flight_wire::{ALIGNMENT, Kind};

use super::block::{Block, Body};
use super::column::Place;
use super::header::Header;
use super::stored::{Segment, StoredMessage};
use crate::error::FileError;

static PADDING: [u8; ALIGNMENT] = [0; ALIGNMENT];

/// Less than this is read at once: a read costs as much as copying some thousand bytes.
const READ_LATER_BYTES_MIN: u64 = 16 << 10;

/// Why there is no message.
#[derive(Debug)]
pub(super) enum Stop {
    /// It would be larger than asked for; nothing beyond that was read.
    TooLarge,
    File(FileError),
}

impl From<FileError> for Stop {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// The `rows` of the `columns` of a block, in this order, in at most `body_bytes_max` bytes. What
/// goes out as it lies is left in the file unless that is mapped.
pub(super) fn cut(
    block: &Block,
    body: &Body<'_>,
    schema: &Schema,
    columns: &[usize],
    rows: Range<u64>,
    body_bytes_max: usize,
) -> Result<StoredMessage, Stop> {
    let mut cutter = Cutter {
        block,
        body,
        at: Place::default(),
        header: Header { rows: rows.end - rows.start, ..Header::default() },
        segments: Vec::new(),
        bytes: 0,
        bytes_max: body_bytes_max,
    };
    for column in columns {
        cutter.at = block.places[*column];
        let field = schema.field(*column);
        let array = cutter.array_of(block.rows, field.data_type(), rows.clone());
        array.map_err(|stop| match stop {
            Stop::File(error) => Stop::File(error.in_column(field.name())),
            Stop::TooLarge => stop,
        })?;
    }
    let Cutter { mut header, segments, bytes, .. } = cutter;
    header.body_bytes = bytes as u64;
    let kind = Kind::Batch { rows: header.rows as usize };
    Ok(StoredMessage::new(kind, header.write(), segments, body.access))
}

struct Cutter<'a> {
    block: &'a Block,
    body: &'a Body<'a>,
    /// What comes next of the block.
    at: Place,
    header: Header,
    segments: Vec<Segment>,
    bytes: usize,
    bytes_max: usize,
}

impl Cutter<'_> {
    /// The next array, which must have `length` values as its batch or parent has.
    fn array_of(
        &mut self,
        length: u64,
        data_type: &DataType,
        rows: Range<u64>,
    ) -> Result<(), Stop> {
        let stored = self.block.nodes.get(self.at.node).map_or(0, |(stored, _)| *stored);
        if stored != length {
            let what = format!("an array has {stored} values where {length} belong");
            return Err(FileError::damaged(what).into());
        }
        self.array(data_type, rows)
    }

    /// The next array and its children.
    fn array(&mut self, data_type: &DataType, rows: Range<u64>) -> Result<(), Stop> {
        let (length, stored_nulls) = self.node(&rows)?;
        let nulls = match data_type {
            DataType::Null => rows.end - rows.start,
            DataType::Union(..) | DataType::RunEndEncoded(..) => 0,
            _ => self.validity(stored_nulls, &rows)?,
        };
        let node = self.header.nodes.len() - 1;
        self.header.nodes[node] = FieldNode::new((rows.end - rows.start) as i64, nulls as i64);
        match data_type {
            DataType::Null => Ok(()),
            DataType::Boolean => {
                let bits = self.bits(&rows)?;
                self.push(bits);
                Ok(())
            }
            DataType::Utf8 | DataType::Binary => self.text(4, &rows),
            DataType::LargeUtf8 | DataType::LargeBinary => self.text(8, &rows),
            DataType::Utf8View | DataType::BinaryView => self.views(&rows),
            DataType::List(child) | DataType::Map(child, _) => {
                let rows = self.offsets(4, &rows)?;
                self.array(child.data_type(), rows)
            }
            DataType::LargeList(child) => {
                let rows = self.offsets(8, &rows)?;
                self.array(child.data_type(), rows)
            }
            DataType::ListView(child) => {
                let rows = self.list_views(4, &rows)?;
                self.array(child.data_type(), rows)
            }
            DataType::LargeListView(child) => {
                let rows = self.list_views(8, &rows)?;
                self.array(child.data_type(), rows)
            }
            DataType::FixedSizeList(child, size) => {
                let size = u64::from(size.unsigned_abs());
                let start = times(rows.start, size)?;
                self.array(child.data_type(), start..times(rows.end, size)?)
            }
            DataType::Struct(children) => {
                let mut children = children.iter();
                children
                    .try_for_each(|child| self.array_of(length, child.data_type(), rows.clone()))
            }
            DataType::Union(children, UnionMode::Sparse) => {
                self.fixed(1, &rows)?;
                let mut children = children.iter();
                children.try_for_each(|(_, child)| {
                    self.array_of(length, child.data_type(), rows.clone())
                })
            }
            DataType::Union(children, UnionMode::Dense) => self.dense_union(children, &rows),
            DataType::RunEndEncoded(ends, values) => {
                self.runs(ends.data_type(), values.data_type(), &rows)
            }
            DataType::Dictionary(keys, _) => {
                self.fixed(keys.primitive_width().unwrap_or_default() as u64, &rows)
            }
            DataType::FixedSizeBinary(width) => self.fixed(u64::from(width.unsigned_abs()), &rows),
            other => match other.primitive_width() {
                Some(width) => self.fixed(width as u64, &rows),
                None => Err(FileError::not_supported(format!("{other} cannot be cut")).into()),
            },
        }
    }

    /// Goes to the next node, and makes room for it; its length and null count.
    fn node(&mut self, rows: &Range<u64>) -> Result<(u64, u64), Stop> {
        let node = self.block.nodes.get(self.at.node);
        let (length, nulls) =
            *node.ok_or_else(|| FileError::damaged("a batch's header lacks a field node"))?;
        self.at.node += 1;
        if rows.end > length {
            let what = format!("an array of {length} values is asked for value {}", rows.end);
            return Err(FileError::damaged(what).into());
        }
        self.header.nodes.push(FieldNode::default());
        Ok((length, nulls))
    }

    /// The validity bitmap of an array that has `stored` nulls; how many these rows have.
    fn validity(&mut self, stored: u64, rows: &Range<u64>) -> Result<u64, Stop> {
        if stored == 0 || rows.is_empty() {
            self.buffer()?;
            self.push(Buffer::default());
            return Ok(0);
        }
        let bits = self.bits(rows)?;
        let count = (rows.end - rows.start) as usize;
        let nulls = count - bits.count_set_bits_offset(0, count);
        self.push(if nulls == 0 { Buffer::default() } else { bits });
        Ok(nulls as u64)
    }

    /// The bits of these rows in the next buffer.
    fn bits(&mut self, rows: &Range<u64>) -> Result<Buffer, Stop> {
        let buffer = self.buffer()?;
        let bytes = self.take(&buffer, rows.start / 8..rows.end.div_ceil(8))?;
        let shift = (rows.start % 8) as usize;
        if shift == 0 || rows.is_empty() {
            return Ok(bytes);
        }
        Ok(bytes.bit_slice(shift, (rows.end - rows.start) as usize))
    }

    /// Values of `width` bytes each.
    fn fixed(&mut self, width: u64, rows: &Range<u64>) -> Result<(), Stop> {
        let buffer = self.buffer()?;
        self.pass(&buffer, times(rows.start, width)?..times(rows.end, width)?)
    }

    /// Where the next buffer lies.
    fn buffer(&mut self) -> Result<Range<u64>, Stop> {
        let buffer = self.block.buffers.get(self.at.buffer).cloned();
        self.at.buffer += 1;
        buffer.ok_or_else(|| FileError::damaged("a batch's header lacks a buffer").into())
    }

    /// Appends a part of a buffer as it lies.
    fn pass(&mut self, buffer: &Range<u64>, part: Range<u64>) -> Result<(), Stop> {
        let bytes = part.end.saturating_sub(part.start);
        if bytes >= READ_LATER_BYTES_MIN && !self.body.access.is_mapped() {
            let range = self.place(buffer, part)?;
            self.append(Segment::Stored(self.body.place(range)));
            return Ok(());
        }
        let bytes = self.take(buffer, part)?;
        self.push(bytes);
        Ok(())
    }

    /// A part of a buffer, unless the message would be too large with it.
    fn take(&self, buffer: &Range<u64>, part: Range<u64>) -> Result<Buffer, Stop> {
        let range = self.place(buffer, part)?;
        Ok(self.body.range(range)?)
    }

    /// Where a part of a buffer lies in the body, unless the message would be too large with it.
    fn place(&self, buffer: &Range<u64>, part: Range<u64>) -> Result<Range<u64>, Stop> {
        let length = buffer.end - buffer.start;
        if part.start > part.end || part.end > length {
            let what = format!(
                "a buffer of {length} bytes is asked for its bytes {} to {}",
                part.start, part.end
            );
            return Err(FileError::damaged(what).into());
        }
        self.check_room(part.end - part.start)?;
        Ok(buffer.start + part.start..buffer.start + part.end)
    }

    fn check_room(&self, bytes: u64) -> Result<(), Stop> {
        let room = self.bytes_max.saturating_sub(self.bytes) as u64;
        if bytes > room { Err(Stop::TooLarge) } else { Ok(()) }
    }

    /// Appends a buffer to the message.
    fn push(&mut self, buffer: Buffer) {
        self.append(Segment::Memory(buffer));
    }

    fn append(&mut self, segment: Segment) {
        let (offset, length) = (self.bytes as i64, segment.bytes() as usize);
        self.header.buffers.push(arrow_ipc::Buffer::new(offset, length as i64));
        if length == 0 {
            return;
        }
        let padding = bit_util::round_upto_multiple_of_64(length) - length;
        self.bytes += length + padding;
        self.segments.push(segment);
        if padding > 0 {
            let padding = bytes::Bytes::from_static(&PADDING).slice(..padding);
            self.segments.push(Segment::Memory(padding.into()));
        }
    }
}

fn times(count: u64, width: u64) -> Result<u64, Stop> {
    let overflow = || FileError::damaged("an array is larger than any memory").into();
    count.checked_mul(width).ok_or_else(overflow)
}

/// Number `index` of the signed little-endian integers of `width` bytes in `bytes`.
fn integer(bytes: &[u8], width: usize, index: usize) -> Result<u64, Stop> {
    let value = bytes.get(index * width..(index + 1) * width).and_then(|bytes| match width {
        2 => Some(i64::from(i16::from_le_bytes(bytes.try_into().ok()?))),
        4 => Some(i64::from(i32::from_le_bytes(bytes.try_into().ok()?))),
        _ => Some(i64::from_le_bytes(bytes.try_into().ok()?)),
    });
    let value = value.ok_or_else(|| FileError::damaged("an offset is missing"))?;
    u64::try_from(value).map_err(|_| FileError::damaged(format!("an offset is {value}")).into())
}

/// These integers as signed little-endian ones of `width` bytes.
fn integers(values: impl ExactSizeIterator<Item = u64>, width: usize) -> Buffer {
    match width {
        2 => Buffer::from_vec(values.map(|value| value as i16).collect()),
        4 => Buffer::from_vec(values.map(|value| value as i32).collect()),
        _ => Buffer::from_vec(values.map(|value| value as i64).collect()),
    }
}
