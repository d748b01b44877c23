//! The header of a stored batch, taken apart once, and where the bytes of its body come from.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::{CompressionType, Message, MetadataVersion};
use arrow_schema::Schema;

use super::column::{Layout, Place};
use crate::access::FileAccess;
use crate::error::FileError;

/// What the header of a stored batch says. The guard has checked it.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) rows: u64,
    /// Length and null count of each array, children included, in the format's order.
    pub(super) nodes: Vec<(u64, u64)>,
    /// Where each buffer lies in the body.
    pub(super) buffers: Vec<Range<u64>>,
    pub(super) layout: Layout,
    pub(super) compression: Option<CompressionType>,
    /// Where each column begins, and where the last one ends.
    pub(super) places: Vec<Place>,
}

impl Block {
    /// `None` for a message that is no record batch, or is written as before Arrow 1.0.
    pub(super) fn of(message: &Message<'_>, schema: &Schema) -> Option<Self> {
        let batch = message.header_as_record_batch()?;
        if message.version() != MetadataVersion::V5 {
            return None;
        }
        let nodes = batch.nodes().map(|nodes| nodes.iter()).into_iter().flatten();
        let buffers = batch.buffers().map(|buffers| buffers.iter()).into_iter().flatten();
        let layout = Layout {
            variadic: batch.variadicBufferCounts().into_iter().flatten().collect(),
            union_nulls: false,
        };
        let mut place = Place::default();
        let mut places = vec![place];
        for field in schema.fields() {
            place.pass(field.data_type(), &layout);
            places.push(place);
        }
        Some(Self {
            rows: batch.length().unsigned_abs(),
            nodes: nodes
                .map(|node| (node.length().unsigned_abs(), node.null_count().unsigned_abs()))
                .collect(),
            buffers: buffers
                .map(|buffer| {
                    let start = buffer.offset().unsigned_abs();
                    start..start + buffer.length().unsigned_abs()
                })
                .collect(),
            layout,
            compression: batch.compression().map(|compression| compression.codec()),
            places,
        })
    }

    /// Bytes of the buffers of these columns.
    pub(super) fn bytes_of(&self, columns: &[usize]) -> u64 {
        let buffers = |column: &usize| {
            let (from, to) = (self.places[*column].buffer, self.places[column + 1].buffer);
            self.buffers.get(from..to.min(self.buffers.len())).unwrap_or_default()
        };
        let bytes = columns.iter().flat_map(buffers).map(|range| range.end - range.start);
        bytes.fold(0, u64::saturating_add)
    }
}

/// The body of a stored batch, of which only what is asked for is read.
#[derive(Debug)]
pub(super) struct Body<'a> {
    pub(super) access: &'a Arc<FileAccess>,
    pub(super) offset: u64,
}

impl Body<'_> {
    /// Some bytes of it, within its bounds. That the file did not change meanwhile is for the
    /// caller to check.
    pub(super) fn range(&self, range: Range<u64>) -> Result<Buffer, FileError> {
        let range = self.place(range);
        self.access.read_unwatched(range.start, range.end - range.start)
    }

    /// The same in memory that stays as it is, for what is looked at more than once.
    pub(super) fn copy(&self, range: Range<u64>) -> Result<Buffer, FileError> {
        let range = self.place(range);
        self.access.read_copy(range.start, range.end - range.start)
    }

    /// Where some bytes of it lie in the file.
    pub(super) fn place(&self, range: Range<u64>) -> Range<u64> {
        self.offset.saturating_add(range.start)..self.offset.saturating_add(range.end)
    }
}
