//! Messages keep within the limit, and are no smaller than they need to be.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use flight_testkit::{batches, rng, schemas};
use flight_wire::{EncodeOptions, Frame, Kind, Message};

use super::{decode, encode, on_the_wire, receive};

fn sizes(messages: &[Message]) -> Vec<(Kind, usize)> {
    let bytes = |m: &Message| Frame::new(m.clone(), b"", None).bytes() - 5;
    messages.iter().map(|m| (m.kind, bytes(m))).collect()
}

fn limited(message_bytes_max: usize) -> EncodeOptions {
    EncodeOptions { message_bytes_max, ..EncodeOptions::default() }
}

/// Every batch message is within `limit` unless it is a single row.
fn check(batch: &RecordBatch, limit: usize) -> Vec<(Kind, usize)> {
    let sizes = sizes(&encode(&batch.schema(), std::slice::from_ref(batch), &limited(limit)));
    for (kind, bytes) in &sizes {
        let Kind::Batch { rows } = kind else { continue };
        assert!(*bytes <= limit || *rows == 1, "{rows} rows take {bytes} bytes, over {limit}");
    }
    let rows: usize =
        sizes.iter().map(|(k, _)| if let Kind::Batch { rows } = k { *rows } else { 0 }).sum();
    assert_eq!(rows, batch.num_rows());
    sizes
}

#[test]
fn every_type_is_counted_exactly() {
    let mut rng = rng(5);
    for field in schemas::every_field() {
        let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
        let batch = batches::batch_of(&mut rng, &schema, 3000);
        for limit in [1500, 6000, 50_000] {
            check(&batch, limit);
        }
    }
}

/// <https://github.com/apache/arrow-rs/issues/3478>: sizes were estimated per row.
#[test]
fn a_few_long_rows_do_not_hide_behind_many_short_ones() {
    let mut values = vec!["x".to_owned(); 20_000];
    values[5_000] = "y".repeat(300_000);
    values[5_001] = "y".repeat(300_000);
    values[15_000] = "y".repeat(1_000_000);
    let column: ArrayRef = Arc::new(StringArray::from(values));
    let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
    let sizes = check(&batch, 400_000);
    let over: Vec<_> = sizes.iter().filter(|(_, bytes)| *bytes > 400_000).collect();
    assert_eq!(over.len(), 1, "only the row that cannot be split: {over:?}");
}

/// <https://github.com/apache/arrow-rs/issues/9388>: columns of one allocation each counted as the
/// whole, and 20 MB went out as 480 messages.
#[test]
fn columns_that_share_an_allocation_do_not_split_further() {
    let columns = (0..50).map(|i| {
        let column: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100_000));
        (format!("c{i}"), column)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let wire = on_the_wire(encode(&batch.schema(), &[batch], &limited(64 << 20)));
    // Read back, all columns lie in one body.
    let (_, read) = decode(&receive(&wire, 1 << 20));
    let messages = check(&read[0], 2 << 20).len() - 1;
    assert!((10..=12).contains(&messages), "{messages} messages for 20 MB of 2 MiB each");
}

#[test]
fn pieces_are_cut_where_bitmaps_need_no_shift() {
    let mut rng = rng(6);
    let batch = batches::batch_of(&mut rng, &schemas::every_type(), 5000);
    let sizes = check(&batch, 200_000);
    let batches: Vec<_> = sizes.iter().filter(|(k, _)| matches!(k, Kind::Batch { .. })).collect();
    assert!(batches.len() > 2);
    for (kind, _) in &batches[..batches.len() - 1] {
        let Kind::Batch { rows } = kind else { unreachable!() };
        assert_eq!(rows % 64, 0, "{rows} rows");
    }
}

#[test]
fn a_limit_of_rows_holds_beside_the_limit_of_bytes() {
    let column: ArrayRef = Arc::new(Int32Array::from_iter_values(0..1000));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let options = EncodeOptions { batch_rows_max: Some(300), ..EncodeOptions::default() };
    let rows: Vec<_> = encode(&batch.schema(), &[batch], &options)
        .iter()
        .filter_map(|m| if let Kind::Batch { rows } = m.kind { Some(rows) } else { None })
        .collect();
    assert_eq!(rows, [300, 300, 300, 100]);
}
