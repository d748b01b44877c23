//! Batches through the whole path: encoder, frames, reader, guard, decoder.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fuzz;
mod hostile;
mod receive;
mod round_trip;
mod split;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use bytes::{Buf, Bytes};
use flight_wire::{
    BatchDecoder, DecodeLimits, Decoded, EncodeOptions, Encoder, FlightMessage, Frame, Message,
    MessageReader, Received,
};

/// Encodes a stream: the schema's message, then those of each batch.
fn encode(schema: &SchemaRef, batches: &[RecordBatch], options: &EncodeOptions) -> Vec<Message> {
    let mut encoder = Encoder::new(schema, options.clone()).unwrap();
    let mut messages = vec![encoder.schema()];
    for batch in batches {
        messages.append(&mut encoder.encode(batch).unwrap());
    }
    messages
}

/// The bytes that a socket would carry.
fn on_the_wire(messages: Vec<Message>) -> Bytes {
    let mut frame = Frame::default();
    for message in messages {
        frame.append(Frame::new(message, b"", None));
    }
    let bytes = frame.bytes();
    let mut chunks = frame.into_chunks();
    assert_eq!(chunks.remaining(), bytes, "a frame knows its length");
    chunks.copy_to_bytes(bytes)
}

/// Reads messages out of pieces of `piece` bytes.
fn receive(wire: &Bytes, piece: usize) -> Vec<FlightMessage> {
    let mut reader = MessageReader::new(usize::MAX);
    let mut messages = Vec::new();
    for start in (0..wire.len()).step_by(piece) {
        reader.push(wire.slice(start..wire.len().min(start + piece)));
        loop {
            match reader.next().unwrap() {
                Received::Message(message) => messages.push(message),
                Received::Begun(_) => {}
                Received::Starved => break,
            }
        }
    }
    reader.finish().unwrap();
    messages
}

/// Decodes a stream: its schema and batches.
fn decode(messages: &[FlightMessage]) -> (SchemaRef, Vec<RecordBatch>) {
    let mut decoder = BatchDecoder::new(DecodeLimits::default());
    let mut batches = Vec::new();
    for message in messages {
        if let Decoded::Batch(batch) = decoder.decode(&message.header, &message.body).unwrap() {
            batches.push(batch);
        }
    }
    (Arc::clone(decoder.schema().expect("a stream opens with its schema")), batches)
}

/// The body of a message in one piece.
fn body(message: &Message) -> Buffer {
    let bytes: Vec<u8> = message.body.iter().flat_map(|b| b.as_slice()).copied().collect();
    Buffer::from(bytes)
}
