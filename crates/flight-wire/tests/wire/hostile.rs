//! Messages made to harm: each is an error that says why, none a panic or an allocation.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, Int64Array, NullArray, RecordBatch, StringArray,
};
use arrow_buffer::Buffer;
use arrow_ipc::{MessageHeader, root_as_message};
use flight_testkit::{batches, rng, schemas};
use flight_wire::{BatchDecoder, Compression, DecodeLimits, Decoded, EncodeOptions, Message};
use proptest::prelude::*;

use super::{body, encode};

fn compressed() -> EncodeOptions {
    EncodeOptions { compression: Compression::Lz4, ..EncodeOptions::default() }
}

/// Decodes messages until the first error, and tells it.
fn outcome(messages: &[(Vec<u8>, Buffer)], limits: DecodeLimits) -> String {
    let mut decoder = BatchDecoder::new(limits);
    for (header, body) in messages {
        match decoder.decode(header, body) {
            Err(error) => return error.to_string(),
            Ok(Decoded::Batch(batch)) => {
                for column in batch.columns() {
                    column.to_data().validate_full().expect("what is let through is valid");
                }
            }
            Ok(_) => {}
        }
    }
    "decoded".into()
}

fn raw(messages: &[Message]) -> Vec<(Vec<u8>, Buffer)> {
    messages.iter().map(|m| (m.header.as_slice().to_vec(), body(m))).collect()
}

fn numbers() -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![7; 10_000]));
    RecordBatch::try_from_iter([("n", column)]).unwrap()
}

/// Overwrites the last eight bytes of the flatbuffer that hold `old` as a little-endian number: those
/// of a buffer or node, which stand behind the message's own fields.
fn forge(header: &[u8], old: i64, new: i64) -> Vec<u8> {
    let old = old.to_le_bytes();
    let at = header.windows(8).rposition(|w| w == old).expect("the number stands in the header");
    let mut forged = header.to_vec();
    forged[at..at + 8].copy_from_slice(&new.to_le_bytes());
    forged
}

/// <https://github.com/apache/arrow-rs/issues/10959>: `Vec::with_capacity(claim)` aborts.
#[test]
fn a_forged_length_of_a_compressed_buffer_is_refused() {
    let batch = numbers();
    let messages = raw(&encode(&batch.schema(), &[batch], &compressed()));
    let parsed = root_as_message(&messages[1].0).unwrap().header_as_record_batch().unwrap();
    let data = parsed.buffers().unwrap().get(1).offset() as usize;
    for claim in [1i64 << 35, 1 << 62, i64::MAX, -2, i64::MIN] {
        let mut bytes = messages[1].1.to_vec();
        bytes[data..data + 8].copy_from_slice(&claim.to_le_bytes());
        let forged = [messages[0].clone(), (messages[1].0.clone(), Buffer::from(bytes))];
        let text = outcome(&forged, DecodeLimits::default());
        let refused = text.contains("batch_bytes = 268435456") || text.contains("cannot be");
        assert!(refused, "{claim}: {text}");
    }
}

#[test]
fn buffers_and_nodes_outside_their_bounds_are_refused() {
    let batch = numbers();
    let messages = raw(&encode(&batch.schema(), &[batch], &EncodeOptions::default()));
    for (old, new, why) in [
        (80_000, 80_001, "lies outside the body"),
        (80_000, -1, "lies outside the body"),
        (80_000, i64::MAX, "lies outside the body"),
        (10_000, -1, "which cannot be"),
        (10_000, i64::MAX, "limit rows = 2147483648"),
    ] {
        let forged = (forge(&messages[1].0, old, new), messages[1].1.clone());
        let text = outcome(&[messages[0].clone(), forged], DecodeLimits::default());
        assert!(text.contains(why), "{old} -> {new}: {text}");
    }
}

#[test]
fn rows_without_bytes_are_bounded() {
    let column: ArrayRef = Arc::new(NullArray::new(1_000_000_007));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let messages = raw(&encode(&batch.schema(), &[batch], &EncodeOptions::default()));
    let text = outcome(&messages, DecodeLimits::default());
    assert!(text.contains("what the batch stands for"), "{text}");
}

#[test]
fn a_small_message_cannot_stand_for_gigabytes() {
    let values = Arc::new(StringArray::from(vec!["x".repeat(8 << 20)]));
    let keys = Int32Array::from(vec![0; 2_000]);
    let column: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
    let batch = RecordBatch::try_from_iter([("d", column)]).unwrap();
    let options = EncodeOptions { message_bytes_max: 64 << 20, ..EncodeOptions::default() };
    let messages = raw(&encode(&batch.schema(), &[batch], &options));
    let text = outcome(&messages, DecodeLimits::default());
    assert!(text.contains("limit expansion"), "{text}");
}

#[test]
fn dictionaries_have_a_budget() {
    let mut rng = rng(8);
    let field = schemas::dictionary_fields().remove(0);
    let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
    let batch = batches::batch_of(&mut rng, &schema, 100);
    let messages = raw(&encode(&schema, &[batch], &EncodeOptions::default()));
    let limits = DecodeLimits { dictionary_bytes: 4, ..DecodeLimits::default() };
    let text = outcome(&messages, limits);
    assert!(text.contains("limit dictionary_bytes = 4"), "{text}");
}

#[test]
fn schemas_have_limits() {
    let schema = schemas::every_type();
    let messages = raw(&encode(&schema, &[], &EncodeOptions::default()));
    for (limits, why) in [
        (DecodeLimits { columns: 5, ..DecodeLimits::default() }, "limit columns = 5"),
        (DecodeLimits { depth: 1, ..DecodeLimits::default() }, "limit depth = 1"),
        (DecodeLimits { text_bytes: 0, ..DecodeLimits::default() }, "limit text_bytes = 0"),
    ] {
        let text = outcome(&messages, limits);
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn messages_out_of_order_are_refused() {
    let mut rng = rng(9);
    let field = schemas::dictionary_fields().remove(0);
    let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
    let batch = batches::batch_of(&mut rng, &schema, 10);
    let messages = raw(&encode(&schema, &[batch], &EncodeOptions::default()));
    let pick = |order: &[usize]| order.iter().map(|i| messages[*i].clone()).collect::<Vec<_>>();
    for (order, why) in [
        (&[2][..], "record batch came before the schema"),
        (&[1][..], "dictionary came before the schema"),
        (&[0, 0][..], "a schema came twice"),
        (&[0, 2][..], "out of bounds"),
        (&[0, 1, 2][..], "decoded"),
    ] {
        let text = outcome(&pick(order), DecodeLimits::default());
        assert!(text.contains(why), "{order:?}: {text}");
    }
}

#[test]
fn headers_that_are_no_messages_are_refused() {
    let empty = Buffer::from(&[]);
    for header in [&b""[..], b"\0", b"garbage!", &[0xff; 200]] {
        let text = outcome(&[(header.to_vec(), empty.clone())], DecodeLimits::default());
        assert!(text.contains("not a valid flatbuffer"), "{header:?}: {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(flight_testkit::cases(3000)))]

    #[test]
    fn mutated_messages_are_refused_or_valid(
        seed in 0u64..40,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        in_body: bool,
        compress: bool,
    ) {
        let mut rng = rng(seed);
        let schema = schemas::any_schema(&mut rng);
        let sent = batches::stream_of(&mut rng, &schema, &[20, 20]);
        let options = if compress { compressed() } else { EncodeOptions::default() };
        let mut messages = raw(&encode(&schema, &sent, &options));
        for (index, byte) in &flips {
            let at = index.index(messages.len());
            let (header, body) = &mut messages[at];
            if in_body && !body.is_empty() {
                let mut bytes = body.to_vec();
                let at = index.index(bytes.len());
                bytes[at] = *byte;
                *body = Buffer::from(bytes);
            } else {
                let at = index.index(header.len());
                header[at] = *byte;
            }
        }
        // Valid or an error: `outcome` itself checks what is let through.
        outcome(&messages, DecodeLimits::default());
    }
}

#[test]
fn a_tensor_is_refused_by_its_name() {
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let mut message = arrow_ipc::MessageBuilder::new(&mut builder);
    message.add_version(arrow_ipc::MetadataVersion::V5);
    message.add_header_type(MessageHeader::Tensor);
    let message = message.finish();
    builder.finish(message, None);
    let header = builder.finished_data().to_vec();
    let text = outcome(&[(header, Buffer::from(&[]))], DecodeLimits::default());
    assert!(text.contains("Tensor") || text.contains("not a valid flatbuffer"), "{text}");
}
