//! What arrives equals what was sent.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use flight_testkit::{batches, rng, schemas};
use flight_wire::{Compression, EncodeOptions, MESSAGE_PREFIX_BYTES, Message};
use proptest::prelude::*;

use super::{decode, encode, on_the_wire, receive};

/// Sends `sent` and compares what arrives, schema and values, whatever the borders of batches.
fn check(schema: &SchemaRef, sent: &[RecordBatch], options: &EncodeOptions) {
    let messages = encode(schema, sent, options);
    messages.iter().for_each(assert_aligned);
    let wire = on_the_wire(messages);
    let (got_schema, got) = decode(&receive(&wire, 70_001));
    assert_eq!(&got_schema, schema, "the schema arrives as it is");
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(rows(&got), rows(sent));
    // Batch borders may move; walk both sides in step.
    let (mut taken, mut index, mut offset) = (0, 0, 0);
    for got in &got {
        while sent[index].num_rows() == offset && got.num_rows() > 0 {
            (index, offset) = (index + 1, 0);
        }
        let want = sent[index].slice(offset, got.num_rows());
        assert_eq!(got, &want, "rows from {taken}");
        offset += got.num_rows();
        taken += got.num_rows();
    }
}

/// Every buffer begins at a multiple of 64 bytes of its body, as arrays want it in memory, and a
/// message takes such a multiple in a file.
fn assert_aligned(message: &Message) {
    let parsed = arrow_ipc::root_as_message(&message.header).unwrap();
    let rows = parsed.header_as_record_batch();
    let values = parsed.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    for buffer in rows.or(values).and_then(|batch| batch.buffers()).into_iter().flatten() {
        assert_eq!(buffer.offset() % 64, 0, "{buffer:?} of {:?}", message.kind);
    }
    assert_eq!(parsed.bodyLength(), message.body_bytes as i64);
    assert_eq!(message.body_bytes % 64, 0, "{:?}", message.kind);
    assert_eq!((message.header.len() + MESSAGE_PREFIX_BYTES) % 64, 0, "{:?}", message.kind);
}

fn options(message_bytes_max: usize, compression: Compression) -> EncodeOptions {
    EncodeOptions { message_bytes_max, compression, batch_rows_max: None }
}

#[test]
fn every_type_arrives_whole() {
    let mut rng = rng(1);
    let schema = schemas::every_type();
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let sent = batches::stream_of(&mut rng, &schema, &[100, 0, 1, 333]);
        check(&schema, &sent, &options(64 << 20, compression));
    }
}

#[test]
fn every_type_arrives_in_many_small_messages() {
    let mut rng = rng(2);
    for field in schemas::every_field() {
        let schema: SchemaRef = Arc::new(arrow_schema::Schema::new(vec![field]));
        let sent = batches::stream_of(&mut rng, &schema, &[2000, 700]);
        check(&schema, &sent, &options(2048, Compression::None));
    }
}

#[test]
fn slices_arrive_without_the_rows_beside_them() {
    let mut rng = rng(3);
    for field in schemas::every_field() {
        let schema: SchemaRef = Arc::new(arrow_schema::Schema::new(vec![field]));
        let sent: Vec<_> = (0..4).map(|_| batches::sliced_batch(&mut rng, &schema, 500)).collect();
        check(&schema, &sent, &options(4096, Compression::None));
    }
}

#[test]
fn rows_without_columns_are_counted() {
    let batch = batches::without_columns(10);
    check(&batch.schema(), &[batch.clone(), batch], &options(1 << 20, Compression::None));
}

#[test]
fn a_stream_without_batches_is_its_schema() {
    let schema = schemas::every_type();
    check(&schema, &[], &EncodeOptions::default());
}

#[test]
fn a_dictionary_that_changes_is_sent_again_and_one_that_does_not_once() {
    let mut rng = rng(4);
    let field = schemas::dictionary_fields().remove(0);
    let schema: SchemaRef = Arc::new(arrow_schema::Schema::new(vec![field]));
    let one = batches::batch_of(&mut rng, &schema, 50);
    let other = batches::batch_of(&mut rng, &schema, 50);
    let count = |sent: &[RecordBatch]| {
        let messages = encode(&schema, sent, &EncodeOptions::default());
        messages.iter().filter(|m| m.kind == flight_wire::Kind::Dictionary).count()
    };
    assert_eq!(count(&[one.clone(), one.slice(3, 5), one.clone()]), 1);
    assert_eq!(count(&[one.clone(), other.clone(), one.clone()]), 3);
    check(&schema, &[one.clone(), other, one], &EncodeOptions::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(flight_testkit::cases(300)))]

    #[test]
    fn any_batches_arrive_whatever_the_limit(
        seed: u64,
        lengths in prop::collection::vec(0usize..400, 0..5),
        limit in prop::sample::select(vec![300, 1000, 5000, 100_000, 1 << 22]),
        rows_max in prop::option::of(1usize..100),
        compression in prop::sample::select(vec![Compression::None, Compression::Lz4]),
    ) {
        let mut rng = rng(seed);
        let schema = schemas::any_schema(&mut rng);
        let sent = batches::stream_of(&mut rng, &schema, &lengths);
        let options = EncodeOptions { message_bytes_max: limit, batch_rows_max: rows_max, compression };
        check(&schema, &sent, &options);
    }

    #[test]
    fn where_the_bytes_are_cut_does_not_matter(seed: u64, piece in 1usize..5000) {
        let mut rng = rng(seed);
        let schema = schemas::any_schema(&mut rng);
        let sent = batches::stream_of(&mut rng, &schema, &[30, 5]);
        let wire = on_the_wire(encode(&schema, &sent, &EncodeOptions::default()));
        let (_, got) = decode(&receive(&wire, piece));
        let all = |batches: &[RecordBatch]| {
            if schema.fields().is_empty() {
                let rows = batches.iter().map(RecordBatch::num_rows).sum();
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                return RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
            }
            concat_batches(&schema, batches).unwrap()
        };
        prop_assert_eq!(all(&got).num_rows(), all(&sent).num_rows());
        for (got, sent) in got.iter().zip(&sent) {
            prop_assert_eq!(got, sent);
        }
    }
}

#[test]
fn bodies_are_not_copied_on_the_way_out() {
    let column: arrow_array::ArrayRef =
        Arc::new(arrow_array::Int64Array::from_iter_values(0..100_000));
    let batch = RecordBatch::try_from_iter([("a", Arc::clone(&column))]).unwrap();
    let messages = encode(&batch.schema(), &[batch], &EncodeOptions::default());
    let values = column.to_data().buffers()[0].as_ptr();
    let shared = messages[1].body.iter().any(|buffer| buffer.as_ptr() == values);
    assert!(shared, "the message's body is the column's own buffer");
}
