//! What sending a file takes from the allocator: heads and lists, and no bodies.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its case has failed")]

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use flight_files::{DatasetFile, DecodeOptions, DecodePool, Format, Piece, ReadLimits, Scan};
use flight_wire::{EncodeOptions, Frame};

const BATCHES: usize = 64;
const ROWS: usize = 50_000;

fn dataset(map: bool) -> Arc<DatasetFile> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let texts = (0..ROWS).map(|row| format!("text {row}"));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("number", numbers), ("text", texts)]).unwrap();
    let file = tempfile::tempfile().unwrap();
    let mut writer = FileWriter::try_new(file.try_clone().unwrap(), &batch.schema()).unwrap();
    for _ in 0..BATCHES {
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
    let dataset = DatasetFile::open(file, Format::Feather, &ReadLimits::default()).unwrap();
    if map {
        dataset.map().unwrap();
    }
    Arc::new(dataset)
}

/// Makes every frame of the scan, as the server does; bytes of their bodies and of the largest.
fn send(
    dataset: &Arc<DatasetFile>,
    pool: &Arc<DecodePool>,
    scan: &Scan,
    message_bytes_max: usize,
) -> (u64, u64) {
    let options = EncodeOptions { message_bytes_max, ..EncodeOptions::default() };
    let (mut total, mut largest) = (0, 0);
    for piece in dataset.pieces(scan.clone(), options, pool).unwrap() {
        let bytes = match piece.unwrap() {
            Piece::Message(message) => {
                let bytes = message.body_bytes;
                drop(Frame::new(message, b"", None).into_chunks());
                bytes
            }
            Piece::Stored(mut message) => {
                let mut frame = Frame::head(&message.header, message.body_bytes);
                loop {
                    let part = message.next_part().unwrap();
                    if part.is_empty() {
                        break;
                    }
                    frame.add_part(part);
                    drop(std::mem::take(&mut frame).into_chunks());
                }
                message.body_bytes
            }
            Piece::Batch(_) => panic!("encoded"),
        } as u64;
        total += bytes;
        largest = largest.max(bytes);
    }
    (total, largest)
}

/// Bytes that are allocated for a scan of a file that was sent before: less than for one message.
fn check(map: bool, scan: &Scan, message_bytes_max: usize) {
    let (dataset, pool) = (dataset(map), DecodePool::new(DecodeOptions::default()).unwrap());
    send(&dataset, &pool, scan, message_bytes_max);
    let mut sent = (0, 0);
    let allocated =
        allocation_counter::measure(|| sent = send(&dataset, &pool, scan, message_bytes_max))
            .bytes_total;
    let (total, largest) = sent;
    assert!(total > 16 << 20, "{total} bytes are too few to tell");
    assert!(allocated < largest, "{allocated} bytes allocated to send {total}, map {map}");
}

#[test]
fn whole_batches_are_sent_without_allocating_bodies() {
    for map in [false, true] {
        check(map, &Scan::all(), 64 << 20);
    }
}

#[test]
fn a_projection_is_sent_without_allocating_bodies() {
    for map in [false, true] {
        check(map, &Scan { columns: Some(vec![0]), ..Scan::all() }, 64 << 20);
    }
}

#[test]
fn parts_of_batches_are_sent_with_their_offsets_alone_allocated() {
    // Half of each batch's offsets are rewritten: a tenth of its bytes.
    let (dataset, pool) = (dataset(true), DecodePool::new(DecodeOptions::default()).unwrap());
    send(&dataset, &pool, &Scan::all(), 600 << 10);
    let mut sent = (0, 0);
    let measured =
        allocation_counter::measure(|| sent = send(&dataset, &pool, &Scan::all(), 600 << 10));
    let offsets = (BATCHES * ROWS * size_of::<i32>()) as u64;
    assert!(measured.bytes_total < offsets + sent.1, "{measured:?} to send {sent:?}");
}
