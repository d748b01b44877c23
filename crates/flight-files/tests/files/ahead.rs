//! Parquet decoded ahead gives what a scan in place gives: the same batches, and the same error
//! after them.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use flight_files::{
    BatchReader, Codec, DatasetFile, DecodeOptions, DecodePool, Format, ReadLimits, Scan,
    WriteOptions,
};
use flight_testkit::{batches, corpus, rng, schemas};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{WriterProperties, WriterVersion};
use proptest::prelude::*;
use rand::RngExt;

use crate::corpus::files;
use crate::support::{assert_same_rows, open, open_file, write};

fn pool(threads: usize, scan_bytes: u64, part_bytes: u64) -> Arc<DecodePool> {
    let threads = NonZeroUsize::new(threads).unwrap();
    let options = DecodeOptions { threads, scan_bytes, part_bytes, ..DecodeOptions::default() };
    DecodePool::new(options).unwrap()
}

/// Its batches, and the error that ended it.
fn drain(reader: BatchReader) -> (Vec<RecordBatch>, Option<String>) {
    let (mut found, mut error) = (Vec::new(), None);
    for batch in reader {
        match batch {
            Ok(batch) => found.push(batch),
            Err(other) => error = Some(other.to_string()),
        }
    }
    (found, error)
}

/// Reads the same in place and ahead. Gives the number of rows.
fn check(dataset: &Arc<DatasetFile>, asked: &Scan, pool: &Arc<DecodePool>, what: &str) -> usize {
    let (expected, error) = drain(dataset.scan(asked.clone()).unwrap());
    let ahead = dataset.scan_ahead(asked.clone(), pool).unwrap();
    let schema = Arc::clone(ahead.schema());
    let (found, found_error) = drain(ahead);
    assert_eq!(found_error, error, "{what}: {asked:?}");
    let lengths =
        |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>();
    assert_eq!(lengths(&expected), lengths(&found), "{what}: {asked:?}");
    assert!(found.iter().all(|batch| batch.schema() == schema), "{what}");
    assert_same_rows(&expected, &found, what);
    lengths(&found).iter().sum()
}

/// Rows of consecutive numbers, in row groups of 1 000.
fn numbers(rows: i64) -> Arc<DatasetFile> {
    let column = Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1000)).build();
    open(&written(&batch.schema(), &[batch], properties).unwrap(), Format::Parquet).unwrap()
}

/// `None` for a schema that the parquet crate does not write.
fn written(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    properties: WriterProperties,
) -> Option<Vec<u8>> {
    let mut writer = ArrowWriter::try_new(Vec::new(), Arc::clone(schema), Some(properties)).ok()?;
    for batch in batches {
        writer.write(batch).ok()?;
    }
    writer.into_inner().ok()
}

#[test]
fn public_files_and_hostile_ones_read_ahead_as_in_place() {
    let Some(corpus) = corpus("public_files_ahead") else { return };
    let pools = [pool(1, 0, 1), pool(3, 1 << 20, 1), pool(2, 36 << 20, 12 << 20)];
    let healthy = numbers(50_000);
    let mut rows = 0;
    for folder in [
        "parquet-testing/data",
        "parquet-testing/bad_data",
        "parquet-testing/shredded_variant",
        "arrow-testing/parquet",
        "real",
    ] {
        for path in files(&corpus.join(folder), "") {
            let opened = |path: &Path| open_file(File::open(path).unwrap(), Format::Parquet);
            let Ok(dataset) = opened(&path) else { continue };
            for pool in &pools {
                // No file takes a thread of the pool down, or rows of another scan.
                let mut beside = healthy.scan_ahead(Scan::all(), pool).unwrap();
                assert!(beside.next().unwrap().is_ok());
                for batch_rows in [None, Some(1_000)] {
                    let asked = Scan { batch_rows, ..Scan::all() };
                    rows += check(&dataset, &asked, pool, &path.display().to_string());
                }
                assert_eq!(drain(beside).1, None);
            }
        }
    }
    assert!(rows > 1_000_000, "{rows} rows");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: flight_testkit::cases(96),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_part_of_any_file_reads_ahead_as_in_place(seed in any::<u64>()) {
        let mut rng = rng(seed);
        let schema = stored_schema(seed);
        let rows = rng.random_range(0..600);
        let batch = batches::batch_of(&mut rng, &schema, rows);
        let version = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
        let properties = WriterProperties::builder()
            .set_writer_version(version[rng.random_range(0..2)])
            .set_max_row_group_row_count(Some(rng.random_range(1..400)))
            .set_data_page_row_count_limit(rng.random_range(1..90))
            .set_write_batch_size(rng.random_range(1..50))
            .set_dictionary_enabled(rng.random_bool(0.7))
            .build();
        let Some(bytes) = written(&schema, &[batch], properties) else { return Ok(()) };
        let dataset = open(&bytes, Format::Parquet).unwrap();
        for _ in 0..4 {
            let part_bytes = [1, 1000, 24 << 20][rng.random_range(0..3)];
            let scan_bytes = [0, 50_000, 96 << 20][rng.random_range(0..3)];
            let pool = pool(rng.random_range(1..5), scan_bytes, part_bytes);
            let columns = schema.fields().len();
            let start = rng.random_range(0..rows as u64 + 2);
            let asked = Scan {
                columns: (columns > 0 && rng.random_bool(0.6)).then(|| {
                    let count = rng.random_range(0..3);
                    (0..count).map(|_| rng.random_range(0..columns)).collect()
                }),
                rows: start..start + rng.random_range(0..rows as u64 + 2),
                batch_rows: rng.random_bool(0.8).then(|| rng.random_range(1..60)),
            };
            check(&dataset, &asked, &pool, &format!("seed {seed}"));
        }
    }
}

/// A schema that Parquet stores; every other one without lists.
fn stored_schema(seed: u64) -> SchemaRef {
    let mut rng = rng(seed);
    let parquet = WriteOptions { format: Format::Parquet, codec: Codec::None };
    for _ in 0..100 {
        let schema = if rng.random_bool(0.5) {
            schemas::any_schema(&mut rng)
        } else {
            flat_schema(&mut rng)
        };
        if write(&schema, &[], parquet).is_ok() {
            return schema;
        }
    }
    panic!("of a hundred schemas Parquet stores none");
}

/// A few columns without lists: those whose row groups are cut into parts.
fn flat_schema(rng: &mut impl RngExt) -> SchemaRef {
    let fields = schemas::flat_fields();
    let picked = (0..rng.random_range(1..4)).map(|_| rng.random_range(0..fields.len()));
    let fields =
        picked.enumerate().map(|(at, field)| fields[field].clone().with_name(format!("c{at}")));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

#[test]
fn batches_that_had_to_be_smaller_are_read_ahead_too() {
    let text = Arc::new(arrow_array::StringArray::from_iter_values(
        (0..3_000).map(|row| format!("{row}").repeat(500)),
    )) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("t", text)]).unwrap();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(20)
        .set_write_batch_size(10)
        .set_dictionary_enabled(false)
        .build();
    let bytes = written(&batch.schema(), &[batch], properties).unwrap();
    let limits = ReadLimits { decoded_bytes: 400_000, ..ReadLimits::default() };
    let file = crate::support::file_of(&bytes);
    let dataset = Arc::new(DatasetFile::open(file, Format::Parquet, &limits).unwrap());
    for part_bytes in [1, 1 << 20, 24 << 20] {
        let ahead = dataset.scan_ahead(Scan::all(), &pool(3, 1 << 20, part_bytes)).unwrap();
        let (found, error) = drain(ahead);
        assert_eq!(error, None);
        let expected = drain(dataset.scan(Scan::all()).unwrap()).0;
        assert!(expected.len() > 3, "{}", expected.len());
        assert_same_rows(&expected, &found, "smaller batches");
    }
}

#[test]
fn a_scan_that_nobody_reads_keeps_no_other_from_its_rows() {
    let pool = pool(1, 20_000, 24 << 20);
    let dataset = numbers(30_000);
    let mut stalled: Vec<_> =
        (0..5).map(|_| dataset.scan_ahead(Scan::all(), &pool).unwrap()).collect();
    let first = stalled[0].next().unwrap().unwrap();
    assert_eq!(check(&dataset, &Scan::all(), &pool, "beside five"), 30_000);
    let rest = drain(stalled.remove(0)).0;
    assert_eq!(rest.iter().map(RecordBatch::num_rows).sum::<usize>(), 30_000 - first.num_rows());
}

#[test]
fn a_dropped_scan_gives_everything_back() {
    let pool = pool(2, 1 << 20, 1);
    let dataset = numbers(100_000);
    for taken in 0..4 {
        let mut scan = dataset.scan_ahead(Scan::all(), &pool).unwrap();
        for _ in 0..taken {
            assert!(scan.next().unwrap().is_ok());
        }
        drop(scan);
        assert_eq!(pool.bytes(), 0);
    }
    assert_eq!(check(&dataset, &Scan::all(), &pool, "after them"), 100_000);
}

#[test]
fn other_formats_and_no_columns_are_read_as_they_are() {
    let pool = pool(1, 1 << 20, 1);
    let none = Scan { columns: Some(vec![]), ..Scan::all() };
    assert_eq!(check(&numbers(2_500), &none, &pool, "no columns"), 2_500);
    let batch = batches::without_columns(7);
    let feather = WriteOptions { format: Format::Feather, codec: Codec::None };
    let feather = write(&batch.schema(), &[batch], feather).unwrap().file;
    let feather = open_file(feather, Format::Feather).unwrap();
    assert_eq!(check(&feather, &Scan::all(), &pool, "Feather"), 7);
}

#[test]
fn a_column_that_is_not_there_is_refused_at_once() {
    let asked = Scan { columns: Some(vec![1]), ..Scan::all() };
    let error = numbers(5).scan_ahead(asked, &pool(1, 0, 1)).unwrap_err().to_string();
    assert!(error.contains("column 1 does not exist"), "{error}");
}

#[test]
fn scans_share_a_pool_between_threads() {
    let pool = pool(3, 50_000, 1);
    let dataset = numbers(40_000);
    std::thread::scope(|threads| {
        for _ in 0..6 {
            threads.spawn(|| check(&dataset, &Scan::all(), &pool, "a thread"));
        }
    });
    assert_eq!(pool.bytes(), 0);
}
