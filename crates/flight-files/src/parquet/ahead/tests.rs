//! A scan's parts without threads: what is decoded when, what it holds, and in which order it comes.

use std::fs::File;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::parts::{Job, Parts, Taken};
use super::pool::DecodeOptions;
use crate::access::FileAccess;
use crate::limits::ReadLimits;
use crate::parquet::ParquetFile;
use crate::parquet::projection::Projection;

const GROUP_ROWS: i64 = 4_000;
const BATCH_ROWS: usize = 256;

/// Four columns of which the first counts the rows, in pages far smaller than the row groups.
fn file(rows: i64) -> File {
    let numbers = |factor: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row * factor)))
    };
    let texts = StringArray::from_iter((0..rows).map(|row| {
        (row % 7 > 0).then(|| format!("text {}", row % 300)) // repeated: in a dictionary
    }));
    let columns =
        [("n", numbers(1)), ("a", numbers(3)), ("b", numbers(5)), ("t", Arc::new(texts) as _)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP_ROWS as usize))
        .set_data_page_row_count_limit(150)
        .set_write_batch_size(50)
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled("t".into(), true)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let file = tempfile::tempfile().unwrap();
    let mut writer =
        ArrowWriter::try_new(file.try_clone().unwrap(), batch.schema(), Some(properties));
    let writer = writer.as_mut().unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    file
}

/// All rows of `file`.
fn parts(file: File, options: &DecodeOptions) -> Parts {
    let access = Arc::new(FileAccess::new(file).unwrap());
    let (file, _) = ParquetFile::open(&access, &ReadLimits::default()).unwrap();
    let (rows, schema) = (0..file.rows(), Arc::clone(file.schema()));
    let projection = Projection::new(access, Arc::new(file), None, schema, BATCH_ROWS).unwrap();
    Parts::new(Arc::new(projection), rows, options.clone())
}

pub(super) fn sample(rows: i64, options: &DecodeOptions) -> Parts {
    parts(file(rows), options)
}

/// Parts of two or three batches.
pub(super) fn options(threads: usize, scan_bytes: u64) -> DecodeOptions {
    let threads = NonZeroUsize::new(threads).unwrap();
    DecodeOptions { threads, scan_bytes, part_bytes: 30_000, ..DecodeOptions::default() }
}

/// Decodes whatever may be decoded, several batches at once, and checks what is held meanwhile.
fn decode_all(parts: &mut Parts, bytes_max: u64) -> usize {
    let mut decoded = 0;
    loop {
        let mut jobs: Vec<Job> = std::iter::from_fn(|| parts.next_job(u64::MAX)).collect();
        assert!(parts.bytes() <= bytes_max, "{} over {bytes_max}", parts.bytes());
        if jobs.is_empty() {
            assert_eq!(parts.bytes(), parts.held_in_memory(), "what is counted is what is held");
            return decoded;
        }
        decoded += jobs.len();
        jobs.reverse(); // The last may be done first.
        for job in jobs {
            assert!(parts.finish(job.run()).is_none());
        }
    }
}

/// Takes the rest; gives the numbers of its rows and the error's text.
fn take_all(parts: &mut Parts, bytes_max: u64) -> (Vec<i64>, Option<String>) {
    let mut rows = Vec::new();
    loop {
        match parts.take() {
            Some(Taken::Batch(batch)) => {
                rows.extend(batch.column(0).as_primitive::<Int64Type>().values());
            }
            Some(Taken::Failed(error)) => return (rows, Some(error.to_string())),
            Some(Taken::End) => return (rows, None),
            None => assert!(decode_all(parts, bytes_max) > 0, "a scan goes on"),
        }
    }
}

/// What the batch that is waited for may take beyond: itself, its reader's pages, and what both
/// were estimated too low.
const SLACK_BYTES: u64 = 150_000;

fn check(rows: i64, threads: usize, scan_bytes: u64, ahead_at_least: usize) {
    let what = format!("{rows} rows, {threads} threads, {scan_bytes} bytes");
    let bytes_max = scan_bytes + SLACK_BYTES;
    let mut parts = sample(rows, &options(threads, scan_bytes));
    let ahead = decode_all(&mut parts, bytes_max);
    assert!(ahead >= ahead_at_least, "{what}: {ahead} batches");
    let (found, error) = take_all(&mut parts, bytes_max);
    assert_eq!((found, error), ((0..rows).collect(), None), "{what}");
    assert_eq!(parts.bytes(), 0, "{what}");
}

#[test]
fn rows_come_in_order_within_the_bytes_of_the_scan() {
    for threads in [1, 2, 5] {
        check(50_000, threads, 1_000_000, 50);
        check(50_000, threads, 400_000, 15);
        check(50_000, threads, u64::MAX / 2, 196);
        check(0, threads, 400_000, 0);
        check(1, threads, 400_000, 1);
    }
}

#[test]
fn the_batch_that_is_waited_for_is_decoded_though_there_is_no_room() {
    check(10_000, 3, 0, 1);
}

#[test]
fn a_scan_that_nobody_reads_stops_at_its_bytes() {
    let mut parts = sample(100_000, &options(3, 800_000));
    decode_all(&mut parts, 800_000 + SLACK_BYTES);
    let held = parts.bytes();
    assert!(held > 600_000, "{held}");
    assert!(parts.next_job(u64::MAX).is_none());
    assert_eq!(parts.bytes(), held);
}

#[test]
fn other_scans_leave_no_room_but_for_the_batch_that_is_waited_for() {
    let mut parts = sample(9_000, &options(3, u64::MAX / 2));
    let job = parts.next_job(0).unwrap();
    assert!(parts.next_job(0).is_none());
    parts.finish(job.run());
    assert!(parts.next_job(0).is_none(), "one is there");
    assert!(matches!(parts.take(), Some(Taken::Batch(_))));
    assert!(parts.next_job(0).is_some());
}

#[test]
fn a_parked_scan_holds_nothing_and_goes_on_where_it_was() {
    for threads in [1, 3] {
        let mut parts = sample(40_000, &options(threads, 200_000));
        let mut rows = Vec::new();
        // Nothing taken, then half a row group, then into the second.
        for batches in [0, 3, 2, 12] {
            let mut take = |parts: &mut Parts| {
                let Some(Taken::Batch(batch)) = parts.take() else { panic!("a batch is there") };
                rows.extend(batch.column(0).as_primitive::<Int64Type>().values());
            };
            for _ in 0..batches {
                decode_all(&mut parts, 200_000 + SLACK_BYTES);
                take(&mut parts);
            }
            let running = loop {
                let jobs: Vec<_> = std::iter::from_fn(|| parts.next_job(u64::MAX)).collect();
                if !jobs.is_empty() {
                    break jobs;
                }
                take(&mut parts); // It was full.
            };
            drop(parts.park());
            assert_eq!((parts.bytes(), parts.count()), (0, 0), "nothing is held");
            assert!(parts.next_job(u64::MAX).is_none(), "nobody asks");
            assert!(parts.take().is_none(), "it is still to be decoded");
            let anew = parts.next_job(u64::MAX).unwrap();
            for job in running {
                assert!(parts.finish(job.run()).is_some(), "of before");
            }
            assert!(parts.finish(anew.run()).is_none());
        }
        rows.extend(take_all(&mut parts, 200_000 + SLACK_BYTES).0);
        assert_eq!(rows, (0..40_000).collect::<Vec<_>>(), "{threads} threads");
        assert_eq!(parts.bytes(), 0);
    }
}

#[test]
fn a_scan_that_has_failed_is_over_though_it_is_parked() {
    let mut parts = parts(damaged(), &options(3, 800_000));
    decode_all(&mut parts, 800_000 + SLACK_BYTES);
    drop(parts.park());
    let (found, error) = take_all(&mut parts, 800_000 + SLACK_BYTES);
    assert_eq!((found.len(), error.is_some()), (GROUP_ROWS as usize, true));
    drop(parts.park());
    assert!(matches!(parts.take(), Some(Taken::End)));
}

/// A file whose second row group is overwritten.
fn damaged() -> File {
    let file = file(9_000);
    let access = FileAccess::new(file.try_clone().unwrap()).unwrap();
    let (opened, _) = ParquetFile::open(&access, &ReadLimits::default()).unwrap();
    let chunk = &opened.groups[1].chunks[0].range;
    file.write_all_at(&vec![0xAA; (chunk.end - chunk.start) as usize], chunk.start).unwrap();
    file
}

#[test]
fn batches_before_a_damaged_row_group_are_delivered() {
    for threads in [1, 2, 5] {
        let mut parts = parts(damaged(), &options(threads, 800_000));
        let (found, error) = take_all(&mut parts, 800_000 + SLACK_BYTES);
        assert_eq!(found, (0..GROUP_ROWS).collect::<Vec<_>>());
        assert!(error.unwrap().contains("column \"n\""));
        assert!(matches!(parts.take(), Some(Taken::End)));
        assert_eq!(parts.bytes(), 0);
        assert!(parts.next_job(u64::MAX).is_none());
    }
}

#[test]
fn a_batch_after_a_damaged_row_group_is_handed_back() {
    let whole_groups = DecodeOptions { part_bytes: u64::MAX, ..options(4, u64::MAX / 2) };
    let mut parts = parts(damaged(), &whole_groups);
    let mut jobs: Vec<Job> = std::iter::from_fn(|| parts.next_job(u64::MAX)).collect();
    let last = jobs.pop().unwrap();
    for job in jobs {
        parts.finish(job.run());
    }
    assert!(parts.finish(last.run()).is_some());
    assert_eq!(parts.bytes(), parts.held_in_memory());
}

#[test]
fn one_reader_reads_a_row_group_to_its_end() {
    let mut parts = sample(GROUP_ROWS, &options(1, u64::MAX / 2));
    decode_all(&mut parts, u64::MAX / 2);
    assert_eq!(parts.count(), 1);
}

#[test]
fn a_row_group_is_cut_for_several_readers_only_while_there_are_some() {
    let mut cut = sample(GROUP_ROWS, &options(3, u64::MAX / 2));
    decode_all(&mut cut, u64::MAX / 2);
    assert!(cut.count() >= 3, "{}", cut.count());
    // With room for one batch at a time, the one reader goes on instead.
    let mut whole = sample(GROUP_ROWS, &options(3, 0));
    let mut rows = 0;
    while let Some(job) = whole.next_job(u64::MAX) {
        whole.finish(job.run());
        assert_eq!(whole.count(), 1);
        let Some(Taken::Batch(batch)) = whole.take() else { panic!("a batch was decoded") };
        rows += batch.num_rows();
    }
    assert_eq!(rows, GROUP_ROWS as usize);
}
