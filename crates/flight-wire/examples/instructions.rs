//! One step of the data plane again and again, for `tests/instructions.sh` to count what it costs.
//!
//! `instructions SCENARIO TIMES`. The script runs it twice with different `TIMES` and divides the
//! difference, so that what comes before and after the loop does not count. Without arguments it
//! lists the scenarios. Sources are made without randomness, so that every run counts the same.

#![allow(clippy::print_stdout, reason = "the list of scenarios is its answer")]

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use bytes::{Buf as _, Bytes};
use flight_wire::{
    BatchDecoder, DecodeLimits, Decoded, EncodeOptions, Encoder, Frame, MessageReader, Received,
};

struct Scenario {
    name: &'static str,
    /// Runs it so many times.
    run: fn(usize),
}

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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, times] = arguments.as_slice() else {
        SCENARIOS.iter().for_each(|scenario| println!("{}", scenario.name));
        return Ok(());
    };
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name);
    let scenario = scenario.ok_or_else(|| format!("there is no scenario {name:?}"))?;
    let times = times.parse().map_err(|_| format!("{times:?} is no number of times"))?;
    (scenario.run)(times);
    Ok(())
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

/// 4096 rows of 4 integers: 128 KiB.
fn small() -> RecordBatch {
    let column = |seed: i64| Arc::new(Int64Array::from_iter_values((0..4096).map(|n| n * seed)));
    let columns = (1..=4).map(|seed| (format!("c{seed}"), column(seed) as ArrayRef));
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

/// 32 768 rows of 20 columns as trips of a taxi have them: about 5 MB.
fn taxi() -> RecordBatch {
    const ROWS: i64 = 32_768;
    let whole: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|n| n % 7)));
    let times = (0..ROWS).map(|n| 1_700_000_000_000_000 + n * 1_000_003);
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(times));
    let fare = (0..ROWS).map(|n| (n % 10 > 0).then_some(n as f64 / 8.0));
    let fare: ArrayRef = Arc::new(Float64Array::from_iter(fare));
    let flag = (0..ROWS).map(|n| if n % 3 == 0 { "N" } else { "Y" });
    let flag: ArrayRef = Arc::new(StringArray::from_iter_values(flag));
    let zone = (0..ROWS).map(|n| format!("zone {}", n % 263));
    let zone: ArrayRef = Arc::new(StringArray::from_iter_values(zone));
    let kinds = [(&whole, 5), (&times, 2), (&fare, 11), (&flag, 1), (&zone, 1)];
    let columns = kinds.into_iter().flat_map(|(column, count)| vec![Arc::clone(column); count]);
    let named = columns.enumerate().map(|(index, column)| (format!("c{index}"), column));
    RecordBatch::try_from_iter_with_nullable(named.map(|(name, c)| (name, c, true)))
        .expect("columns of one length")
}

/// 4096 rows of keys into a dictionary of 300 texts, which is sent once.
fn dictionary() -> RecordBatch {
    let keys = Int32Array::from_iter_values((0..4096).map(|n| n % 300));
    let values = StringArray::from_iter_values((0..300).map(|n| format!("value {n}")));
    let column: ArrayRef =
        Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values)).expect("300 keys"));
    RecordBatch::try_from_iter([("d", column)]).expect("one column")
}
