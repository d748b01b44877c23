//! The message of a batch whose columns are numbers, times, booleans, text and binary alone.
//!
//! `arrow-ipc`'s walk over any array takes some thousand instructions a column, which shows when
//! batches are small. For columns without children this one takes a tenth, and gives the same
//! bytes. [`MessageEncoder`](crate::MessageEncoder) chooses.

use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, GenericByteArray, RecordBatch, downcast_primitive_array};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_ipc::{FieldNode, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder};
use arrow_schema::{ArrowError, DataType, Schema};
use flatbuffers::FlatBufferBuilder;

use crate::messages::{ALIGNMENT, Kind, MESSAGE_PREFIX_BYTES, Message};

/// Encodes batches of plain columns.
pub(crate) struct PlainEncoder {
    builder: FlatBufferBuilder<'static>,
    layout: Layout,
    padding: Buffer,
}

/// What the header tells of the columns.
#[derive(Default)]
struct Layout {
    nodes: Vec<FieldNode>,
    buffers: Vec<arrow_ipc::Buffer>,
}

/// The body as far as it is.
struct Body<'a> {
    pieces: Vec<Buffer>,
    bytes: usize,
    layout: &'a mut Layout,
    padding: &'a Buffer,
}

impl PlainEncoder {
    /// An encoder for this schema, if all its columns are plain.
    pub(crate) fn for_schema(schema: &Schema) -> Option<Self> {
        let all = schema.fields().iter().all(|field| is_plain(field.data_type()));
        all.then(|| Self {
            builder: FlatBufferBuilder::new(),
            layout: Layout::default(),
            padding: Buffer::from([0; ALIGNMENT]),
        })
    }

    /// # Errors
    ///
    /// A column that is not plain: the batch is of another schema.
    pub(crate) fn encode(&mut self, batch: &RecordBatch) -> Result<Message, ArrowError> {
        let Self { builder, layout, padding } = self;
        layout.nodes.clear();
        layout.buffers.clear();
        // Validity, offsets, values, and the padding of each.
        let pieces = Vec::with_capacity(6 * batch.num_columns());
        let mut body = Body { pieces, bytes: 0, layout, padding };
        batch.columns().iter().try_for_each(|column| body.push_column(column))?;
        let Body { pieces, bytes, .. } = body;
        let header = header(builder, layout, batch.num_rows(), bytes);
        let kind = Kind::Batch { rows: batch.num_rows() };
        Ok(Message { kind, header, body: pieces, body_bytes: bytes })
    }
}

fn is_plain(data_type: &DataType) -> bool {
    let plain = matches!(
        data_type,
        DataType::Boolean
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Binary
            | DataType::LargeBinary
    );
    plain || data_type.is_primitive()
}

impl Body<'_> {
    fn push_column(&mut self, column: &dyn Array) -> Result<(), ArrowError> {
        let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
        let null_count = nulls.map_or(0, |nulls| nulls.null_count());
        self.layout.nodes.push(FieldNode::new(column.len() as i64, null_count as i64));
        // Without nulls a bitmap may be left out.
        self.push(nulls.map_or_else(Buffer::default, |nulls| nulls.inner().sliced()));
        downcast_primitive_array! {
            column => self.push(column.values().inner().clone()),
            DataType::Boolean => self.push(column.as_boolean().values().sliced()),
            DataType::Utf8 => self.push_bytes(column.as_string::<i32>()),
            DataType::LargeUtf8 => self.push_bytes(column.as_string::<i64>()),
            DataType::Binary => self.push_bytes(column.as_binary::<i32>()),
            DataType::LargeBinary => self.push_bytes(column.as_binary::<i64>()),
            other => {
                let what = format!("a column is {other}, another type than in the schema");
                return Err(ArrowError::SchemaError(what));
            }
        }
        Ok(())
    }

    /// Offsets from 0, and the values that they span.
    fn push_bytes<T: ByteArrayType>(&mut self, column: &GenericByteArray<T>) {
        let offsets = column.offsets();
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        match first.as_usize() {
            0 => self.push(offsets.inner().inner().clone()),
            _ => self.push(offsets.iter().map(|offset| *offset - first).collect()),
        }
        let (first, last) = (first.as_usize(), last.as_usize());
        self.push(column.values().slice_with_length(first, last - first));
    }

    fn push(&mut self, buffer: Buffer) {
        let length = buffer.len();
        self.layout.buffers.push(arrow_ipc::Buffer::new(self.bytes as i64, length as i64));
        if length == 0 {
            return;
        }
        self.pieces.push(buffer);
        self.bytes += length;
        let padding = self.bytes.next_multiple_of(ALIGNMENT) - self.bytes;
        if padding > 0 {
            self.pieces.push(self.padding.slice_with_length(0, padding));
            self.bytes += padding;
        }
    }
}

/// The flatbuffer `Message` (Message.fbs), padded.
fn header(
    builder: &mut FlatBufferBuilder<'_>,
    layout: &Layout,
    rows: usize,
    body_bytes: usize,
) -> Buffer {
    builder.reset();
    let buffers = builder.create_vector(&layout.buffers);
    let nodes = builder.create_vector(&layout.nodes);
    let mut batch = RecordBatchBuilder::new(builder);
    batch.add_length(rows as i64);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    let batch = batch.finish();
    let mut message = MessageBuilder::new(builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_bodyLength(body_bytes as i64);
    message.add_header(batch.as_union_value());
    let message = message.finish();
    builder.finish(message, None);
    let written = builder.finished_data();
    let prefixed = (MESSAGE_PREFIX_BYTES + written.len()).next_multiple_of(ALIGNMENT);
    let mut header = Vec::with_capacity(prefixed - MESSAGE_PREFIX_BYTES);
    header.extend_from_slice(written);
    header.resize(prefixed - MESSAGE_PREFIX_BYTES, 0);
    header.into()
}
