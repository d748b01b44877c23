//! The header of a record batch, written anew for a part of one.

use arrow_buffer::Buffer;
use arrow_ipc::{FieldNode, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder};
use flatbuffers::FlatBufferBuilder;

/// What the header of an uncompressed batch says (Message.fbs, `RecordBatch`).
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) rows: u64,
    pub(super) nodes: Vec<FieldNode>,
    pub(super) buffers: Vec<arrow_ipc::Buffer>,
    /// For each view column the number of its data buffers.
    pub(super) variadic: Vec<i64>,
    pub(super) body_bytes: u64,
}

impl Header {
    /// A flatbuffer `Message` without length prefix.
    pub(super) fn write(&self) -> Buffer {
        let mut builder = FlatBufferBuilder::with_capacity(self.bytes_about());
        let nodes = builder.create_vector(&self.nodes);
        let buffers = builder.create_vector(&self.buffers);
        let variadic = (!self.variadic.is_empty()).then(|| builder.create_vector(&self.variadic));
        let mut batch = RecordBatchBuilder::new(&mut builder);
        batch.add_length(self.rows as i64);
        batch.add_nodes(nodes);
        batch.add_buffers(buffers);
        if let Some(variadic) = variadic {
            batch.add_variadicBufferCounts(variadic);
        }
        let batch = batch.finish().as_union_value();
        let mut message = MessageBuilder::new(&mut builder);
        message.add_version(MetadataVersion::V5);
        message.add_header_type(MessageHeader::RecordBatch);
        message.add_header(batch);
        message.add_bodyLength(self.body_bytes as i64);
        let message = message.finish();
        builder.finish(message, None);
        Buffer::from(builder.finished_data())
    }

    /// A bound of what [`Self::write`] gives.
    pub(super) fn bytes_about(&self) -> usize {
        128 + 16 * (self.nodes.len() + self.buffers.len()) + 8 * self.variadic.len()
    }
}
