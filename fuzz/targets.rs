//! What the fuzz targets do with their bytes.
//!
//! Plain functions without libFuzzer, so that the tests of `flight-wire` replay the corpus and
//! mutate it with a stable compiler. A fault is a panic; what is returned says how far the bytes
//! got, so that a test can tell a corpus that reaches something.

#![allow(dead_code, reason = "each target is a program of its own and uses one of them")]

use arrow_array::Array as _;
use arrow_buffer::Buffer;
use bytes::Bytes;
use flight_wire::{BatchDecoder, DecodeLimits, Decoded, FlightMessage, MessageReader, Received};

/// What a target takes of memory at most, several times over.
const BYTES_MAX: u64 = 1 << 20;

/// Decodes messages, each `header length u16 | body length u16 | header | body` (little-endian), to
/// the first error. Gives the number of record batches.
///
/// # Panics
///
/// Where a batch is let through that is not valid, and where guard or decoder panic.
pub(crate) fn guard(mut bytes: &[u8]) -> usize {
    let limits = DecodeLimits {
        rows: BYTES_MAX,
        batch_bytes: BYTES_MAX,
        dictionary_bytes: BYTES_MAX,
        dictionary_work_bytes: BYTES_MAX,
        logical_bytes: BYTES_MAX,
        ..DecodeLimits::default()
    };
    let mut decoder = BatchDecoder::new(limits);
    let mut batches = 0;
    while let Some(([a, b, c, d], rest)) = bytes.split_first_chunk::<4>() {
        let lengths = [u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d])];
        let [header, body] = lengths.map(usize::from);
        let (header, rest) = rest.split_at(header.min(rest.len()));
        let (body, rest) = rest.split_at(body.min(rest.len()));
        bytes = rest;
        match decoder.decode(header, &Buffer::from(body)) {
            Err(_) => return batches,
            Ok(Decoded::Schema(_) | Decoded::Dictionary) => {}
            Ok(Decoded::Batch(batch)) => {
                batches += 1;
                for column in batch.columns() {
                    column.to_data().validate_full().expect("what is let through is valid");
                }
            }
        }
    }
    batches
}

/// A message as [`guard`] takes it; `None` when it is too long.
pub(crate) fn guard_input(header: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    let lengths = [header, body].map(|part| u16::try_from(part.len()).ok());
    let [Some(header_bytes), Some(body_bytes)] = lengths else { return None };
    Some([&header_bytes.to_le_bytes(), &body_bytes.to_le_bytes(), header, body].concat())
}

/// Reads gRPC messages twice, in one piece and in pieces of as many bytes as the first byte says.
/// Gives the number of messages.
///
/// # Panics
///
/// Where both ways come to different ends, and where the reader panics.
pub(crate) fn message_reader(bytes: &[u8]) -> usize {
    let Some((piece, wire)) = bytes.split_first() else { return 0 };
    let whole = read(wire, wire.len().max(1));
    let in_pieces = read(wire, usize::from(*piece).max(1));
    assert!(whole == in_pieces, "where the bytes are cut must not matter");
    whole.lines().count().saturating_sub(1)
}

/// A line for each message that is read, and one for how it ended.
fn read(wire: &[u8], piece: usize) -> String {
    let mut reader = MessageReader::new(BYTES_MAX as usize);
    let mut lines = String::new();
    for piece in wire.chunks(piece) {
        reader.push(Bytes::copy_from_slice(piece));
        loop {
            match reader.next() {
                Ok(Received::Starved) => break,
                Ok(Received::Begun(bytes)) => assert!(bytes <= BYTES_MAX as usize),
                Ok(Received::Message(FlightMessage {
                    descriptor,
                    header,
                    app_metadata,
                    body,
                    ..
                })) => {
                    let body = body.as_slice();
                    lines.push_str(&format!(
                        "{descriptor:?} {header:?} {app_metadata:?} {body:?}\n"
                    ));
                }
                Err(error) => return format!("{lines}{error}"),
            }
        }
    }
    format!("{lines}{:?}", reader.finish())
}
