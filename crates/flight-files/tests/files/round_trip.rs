//! What is written comes back: every type, sliced, in ranges, by columns, by every codec.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::{Schema, SchemaRef};
use flight_files::{Codec, FileError, Format, Scan, WriteOptions};
use flight_testkit::{batches, rng, schemas};
use proptest::prelude::*;
use rand::RngExt;

use crate::support::{assert_same_rows, bytes_of, open, open_file, read, scan, stream_of, write};

const FEATHER: WriteOptions = WriteOptions { format: Format::Feather, codec: Codec::None };
const PARQUET: WriteOptions = WriteOptions { format: Format::Parquet, codec: Codec::Zstd };

/// Writes and reads again. `None` when the format has no form for the schema and says so, naming
/// the column, before it writes a byte.
fn check(schema: &SchemaRef, batches: &[RecordBatch], options: WriteOptions) -> Option<Vec<u8>> {
    let what = format!("{options:?}");
    let written = match write(schema, batches, options) {
        Ok(written) => written,
        Err(FileError::NotSupported { column, what: reason })
            if options.format == Format::Parquet =>
        {
            let column = column.filter(|name| schema.field_with_name(name).is_ok());
            assert!(column.is_some() || schema.fields().is_empty(), "{what}: {reason}");
            return None;
        }
        // Random batches may have more distinct texts than their 8-bit keys can name.
        Err(FileError::NotSupported { what: reason, .. }) if reason.contains("keys can name") => {
            return None;
        }
        Err(error) => panic!("{what}: {error}"),
    };
    let bytes = bytes_of(&written.file);
    let dataset = open_file(written.file, options.format).unwrap();
    assert_eq!(dataset.schema(), schema, "{what}");
    assert_same_rows(batches, &read(&dataset).unwrap(), &what);
    Some(bytes)
}

#[test]
fn every_type_survives_feather_in_batches_with_dictionaries_of_their_own() {
    let (mut rng, schema) = (rng(1), schemas::every_type());
    let sent: Vec<_> = [5, 0, 40, 1].map(|n| batches::batch_of(&mut rng, &schema, n)).to_vec();
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let bytes = check(&schema, &sent, WriteOptions { codec, ..FEATHER }).unwrap();
        let other = FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
        let other = other.collect::<Result<Vec<_>, _>>().unwrap();
        assert_same_rows(&sent, &other, "arrow-ipc's reader");
    }
}

#[test]
fn every_type_survives_feather_sliced() {
    let (mut rng, schema) = (rng(2), schemas::every_type());
    let sent: Vec<_> = [7, 30].map(|n| batches::sliced_batch(&mut rng, &schema, n)).to_vec();
    check(&schema, &sent, FEATHER);
}

#[test]
fn every_type_survives_parquet_or_is_refused_by_name() {
    let mut rng = rng(3);
    let mut refused = Vec::new();
    for field in schemas::every_field() {
        let name = field.name().clone();
        let schema = Arc::new(Schema::new(vec![field]));
        let sent: Vec<_> = [30, 7].map(|n| batches::sliced_batch(&mut rng, &schema, n)).to_vec();
        if check(&schema, &sent, PARQUET).is_none() {
            refused.push(name);
        }
    }
    // Those that the parquet crate cannot store, or would give back as another type.
    assert_eq!(refused, NOT_IN_PARQUET);
}

const NOT_IN_PARQUET: [&str; 8] = [
    "Interval(MonthDayNano)",
    "Decimal256(76, -3)",
    "sparse_union",
    "dense_union",
    "dictionary_of_struct",
    "run_ends_Int16",
    "run_ends_Int32",
    "run_ends_Int64",
];

#[test]
fn every_parquet_codec_is_written_and_read() {
    let (mut rng, schema) = (rng(4), flat_schema());
    let sent = [batches::batch_of(&mut rng, &schema, 1000)];
    for codec in [Codec::None, Codec::Snappy, Codec::Gzip, Codec::Zstd, Codec::Lz4, Codec::Brotli] {
        assert!(check(&schema, &sent, WriteOptions { codec, ..PARQUET }).is_some());
    }
}

#[test]
fn feather_refuses_codecs_that_it_does_not_have() {
    for codec in [Codec::Snappy, Codec::Gzip, Codec::Brotli] {
        let error = write(&flat_schema(), &[], WriteOptions { codec, ..FEATHER }).unwrap_err();
        assert!(error.to_string().contains(codec.name()), "{error}");
    }
}

#[test]
fn no_rows_keep_the_schema() {
    for schema in [schemas::every_type(), Arc::new(Schema::empty())] {
        check(&schema, &[], FEATHER);
        check(&schema, &[RecordBatch::new_empty(Arc::clone(&schema))], FEATHER);
        let stream = open(&stream_of(&schema, &[]), Format::Stream).unwrap();
        assert_eq!((stream.schema(), stream.rows()), (&schema, Some(0)));
        assert!(read(&stream).unwrap().is_empty());
    }
    check(&flat_schema(), &[], PARQUET).unwrap();
}

#[test]
fn rows_without_columns_are_counted() {
    let sent = [batches::without_columns(10), batches::without_columns(3)];
    check(&sent[0].schema(), &sent, FEATHER);
    assert!(check(&sent[0].schema(), &sent, PARQUET).is_none());
    let stream = open(&stream_of(&sent[0].schema(), &sent), Format::Stream).unwrap();
    assert_same_rows(&sent, &read(&stream).unwrap(), "stream");
}

#[test]
fn a_batch_of_another_schema_is_refused_and_spoils_the_file() {
    let (mut rng, schema) = (rng(5), flat_schema());
    let other = batches::batch_of(&mut rng, &schemas::every_type(), 3);
    let wrong = other.project(&[1]).unwrap();
    let mut writer = flight_files::BatchWriter::create(
        tempfile::tempfile().unwrap(),
        Arc::new(Schema::new(vec![schema.field(0).clone()])),
        &FEATHER,
    )
    .unwrap();
    let error = writer.write(&wrong).unwrap_err().to_string();
    assert!(error.contains("of a batch is Boolean"), "{error}");
    assert!(writer.write(&wrong).unwrap_err().to_string().contains("earlier batch"));
    assert!(writer.finish().unwrap_err().to_string().contains("earlier batch"));
}

#[test]
fn a_column_that_is_not_there_is_named() {
    let (mut rng, schema) = (rng(6), flat_schema());
    let sent = [batches::batch_of(&mut rng, &schema, 3)];
    let dataset = open_file(write(&schema, &sent, FEATHER).unwrap().file, Format::Feather).unwrap();
    let asked = Scan { columns: Some(vec![0, 99]), ..Scan::all() };
    assert!(scan(&dataset, asked).unwrap_err().to_string().contains("column 99"));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: flight_testkit::cases(24),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_batches_survive_and_any_part_of_them_can_be_read(seed in any::<u64>()) {
        let mut rng = rng(seed);
        let first = batches::any_batch(&mut rng, 40);
        let schema = first.schema();
        let second = batches::sliced_batch(&mut rng, &schema, 25);
        let sent = [first, second];
        let stream = stream_of(&schema, &sent);
        let Some(feather) = check(&schema, &sent, FEATHER) else { return Ok(()) };
        let mut forms = vec![(feather, Format::Feather), (stream, Format::Stream)];
        if let Some(parquet) = check(&schema, &sent, PARQUET) {
            forms.push((parquet, Format::Parquet));
        }
        for (bytes, format) in forms {
            let dataset = open(&bytes, format).unwrap();
            for _ in 0..8 {
                check_part(&dataset, &sent, &random_scan(&mut rng, schema.fields().len()));
            }
        }
    }
}

fn random_scan(rng: &mut impl RngExt, columns: usize) -> Scan {
    let picked = (0..rng.random_range(0..4)).map(|_| rng.random_range(0..columns.max(1)));
    let picked: Vec<_> = picked.filter(|_| columns > 0).collect();
    let start = rng.random_range(0..70);
    Scan {
        columns: rng.random_bool(0.7).then_some(picked),
        rows: start..start + rng.random_range(0..70),
        batch_rows: rng.random_bool(0.5).then(|| rng.random_range(1..30)),
    }
}

/// A scan gives what slicing and projecting the whole gives.
fn check_part(dataset: &Arc<flight_files::DatasetFile>, sent: &[RecordBatch], asked: &Scan) {
    let what = format!("{asked:?}");
    let mut expected = Vec::new();
    let mut first_row = 0;
    for batch in sent {
        let rows = batch.num_rows() as u64;
        let start = asked.rows.start.clamp(first_row, first_row + rows);
        let end = asked.rows.end.clamp(start, first_row + rows);
        let part = batch.slice((start - first_row) as usize, (end - start) as usize);
        let columns = asked.columns.clone();
        expected.push(columns.map_or(part.clone(), |columns| part.project(&columns).unwrap()));
        first_row += rows;
    }
    let reader = dataset.scan(asked.clone()).unwrap();
    assert_eq!(reader.schema(), expected[0].schema_ref(), "{what}");
    let found: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
    let most = asked.batch_rows.unwrap_or(usize::MAX);
    assert!(found.iter().all(|batch| (1..=most).contains(&batch.num_rows())), "{what}");
    assert_same_rows(&expected, &found, &what);
}

/// The types without children that Parquet stores.
fn flat_schema() -> SchemaRef {
    let fields = schemas::flat_fields().into_iter();
    let stored = fields.filter(|field| !NOT_IN_PARQUET.contains(&field.name().as_str()));
    Arc::new(Schema::new(stored.collect::<Vec<_>>()))
}

#[test]
fn batches_are_cut_without_copying() {
    let mut rng = rng(7);
    let schema = Arc::new(Schema::new(vec![schemas::flat_fields()[5].clone()]));
    let sent = [batches::batch_of(&mut rng, &schema, 1000)];
    let dataset = open_file(write(&schema, &sent, FEATHER).unwrap().file, Format::Feather).unwrap();
    let parts = scan(&dataset, Scan { batch_rows: Some(64), ..Scan::all() }).unwrap();
    let buffer = |batch: &RecordBatch| batch.column(0).to_data().buffers()[0].data_ptr();
    assert_eq!(parts.len(), 16);
    assert!(parts.iter().all(|part| buffer(part) == buffer(&parts[0])));
}
