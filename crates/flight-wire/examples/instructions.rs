//! One step of the data plane again and again, for `tests/instructions.sh` to count what it costs.
//!
//! `instructions SCENARIO TIMES`; without arguments it lists the scenarios.

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use bytes::{Buf as _, Bytes};
use flight_testkit::measured::{self, Scenario, small, taxi};
use flight_wire::{
    BatchDecoder, DecodeLimits, Decoded, EncodeOptions, Encoder, Frame, MessageReader, Received,
};

const SCENARIOS: [Scenario; 7] = [
    Scenario { name: "encode-small", run: |times| encode(&small(), times) },
    Scenario { name: "encode-taxi", run: |times| encode(&taxi(), times) },
    Scenario { name: "encode-taxi-split", run: |times| encode_within(&taxi(), 1 << 20, times) },
    Scenario { name: "encode-dictionary", run: |times| encode(&dictionary(), times) },
    Scenario { name: "decode-small", run: |times| decode(&small(), times) },
    Scenario { name: "decode-taxi", run: |times| decode(&taxi(), times) },
    Scenario { name: "decode-dictionary", run: |times| decode(&dictionary(), times) },
];

fn main() -> Result<(), String> {
    measured::run(&SCENARIOS)
}

/// Batch to framed messages.
fn encode(batch: &RecordBatch, times: usize) {
    encode_within(batch, 64 << 20, times);
}

fn encode_within(batch: &RecordBatch, message_bytes_max: usize, times: usize) {
    let options = EncodeOptions { message_bytes_max, ..EncodeOptions::default() };
    let mut encoder = Encoder::new(&batch.schema(), options).expect("a schema of plain types");
    for _ in 0..times {
        for message in encoder.encode(batch).expect("a batch of the schema") {
            black_box(Frame::new(message, b"", None).into_chunks());
        }
    }
}

/// Bytes of a socket to batch, as they arrive in pieces of 256 KiB.
fn decode(batch: &RecordBatch, times: usize) {
    let options = EncodeOptions { message_bytes_max: 64 << 20, ..EncodeOptions::default() };
    let mut encoder = Encoder::new(&batch.schema(), options).expect("a schema of plain types");
    let mut reader = MessageReader::new(64 << 20);
    let mut decoder = BatchDecoder::new(DecodeLimits::default());
    let mut opening = vec![encoder.schema()];
    opening.append(&mut encoder.encode(batch).expect("a batch of the schema"));
    let last = opening.last().cloned().expect("the batch's own message");
    for message in opening {
        read(&mut reader, &mut decoder, &wire(Frame::new(message, b"", None)));
    }
    let wire = wire(Frame::new(last, b"", None));
    for _ in 0..times {
        read(&mut reader, &mut decoder, &wire);
    }
}

fn wire(frame: Frame) -> Bytes {
    let mut chunks = frame.into_chunks();
    chunks.copy_to_bytes(chunks.remaining())
}

fn read(reader: &mut MessageReader, decoder: &mut BatchDecoder, wire: &Bytes) {
    const PIECE: usize = 256 << 10;
    for start in (0..wire.len()).step_by(PIECE) {
        reader.push(wire.slice(start..wire.len().min(start + PIECE)));
        loop {
            match reader.next().expect("our own frames") {
                Received::Begun(_) => {}
                Received::Starved => break,
                Received::Message(message) => {
                    let decoded = decoder.decode(&message.header, &message.body);
                    if let Decoded::Batch(batch) = decoded.expect("our own messages") {
                        black_box(batch);
                    }
                }
            }
        }
    }
}

/// 4096 rows of keys into a dictionary of 300 texts, which is sent once.
fn dictionary() -> RecordBatch {
    let keys = Int32Array::from_iter_values((0..4096).map(|n| n % 300));
    let values = StringArray::from_iter_values((0..300).map(|n| format!("value {n}")));
    let column: ArrayRef =
        Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values)).expect("300 keys"));
    RecordBatch::try_from_iter([("d", column)]).expect("one column")
}
