//! Files that other readers got wrong: names, codecs by page version, maps, views and runs.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, ListViewArray, RecordBatch, RunArray,
    StringArray,
};
use arrow_schema::{Field, Schema};
use flight_files::{Codec, Format, Scan, WriteOptions};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::support::{assert_same_rows, open, open_file, read, scan, stream_of, write};

fn check(batch: &RecordBatch, format: Format) {
    let sent = std::slice::from_ref(batch);
    let written = write(&batch.schema(), sent, WriteOptions::new(format)).unwrap();
    let dataset = open_file(written.file, format).unwrap();
    assert_eq!(dataset.schema(), batch.schema_ref());
    assert_same_rows(sent, &read(&dataset).unwrap(), "written here");
}

/// Columns are found by position: a dot is part of a name, "a" is not "aa", and two may be alike
/// (<https://github.com/apache/datafusion/issues/24381>).
#[test]
fn columns_are_kept_whatever_their_names() {
    let names = ["", "a.b", "a", "aa", "名前", "sp ace", "q\"uo'te", "a/b", "\u{1f680}", "A", "a"];
    let fields: Vec<_> =
        names.iter().map(|n| Field::new(*n, arrow_schema::DataType::Int64, true)).collect();
    let columns = (0..names.len() as i64).map(|n| Arc::new(Int64Array::from(vec![n])) as ArrayRef);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).unwrap();
    for format in [Format::Feather, Format::Parquet] {
        let sent = std::slice::from_ref(&batch);
        let written = write(&batch.schema(), sent, WriteOptions::new(format)).unwrap();
        let dataset = open_file(written.file, format).unwrap();
        assert_same_rows(sent, &read(&dataset).unwrap(), "all");
        for (column, name) in names.iter().enumerate() {
            let asked = Scan { columns: Some(vec![column, 0]), ..Scan::all() };
            let found = scan(&dataset, asked).unwrap();
            assert_same_rows(&[batch.project(&[column, 0]).unwrap()], &found, name);
            assert_eq!(found[0].schema().field(0).name(), name);
        }
    }
}

/// Among them a V2 page without a byte to unpack (<https://github.com/apache/arrow-rs/issues/7388>).
#[test]
fn every_codec_is_read_in_both_page_versions() {
    let rows = 5000;
    let batch = RecordBatch::try_from_iter([
        ("i", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef),
        ("s", Arc::new(StringArray::from_iter_values((0..rows).map(|i| format!("s{}", i % 97))))),
        ("f", Arc::new(Float64Array::from_iter_values((0..rows).map(|i| i as f64)))),
        ("n", Arc::new(Int32Array::from(vec![None; rows as usize]))),
    ])
    .unwrap();
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
    ];
    for codec in codecs {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder()
                .set_compression(codec)
                .set_writer_version(version)
                .set_max_row_group_row_count(Some(1777))
                .set_data_page_row_count_limit(300)
                .set_write_batch_size(100)
                .build();
            let mut bytes = Vec::new();
            let mut writer =
                ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            let dataset = open(&bytes, Format::Parquet).unwrap();
            let what = format!("{codec} {version:?}");
            assert_same_rows(std::slice::from_ref(&batch), &read(&dataset).unwrap(), &what);
            let part = Scan { rows: 1500..3600, columns: Some(vec![1, 0]), batch_rows: None };
            let expected = batch.slice(1500, 2100).project(&[1, 0]).unwrap();
            assert_same_rows(&[expected], &scan(&dataset, part).unwrap(), &what);
        }
    }
}

#[test]
fn a_map_keeps_the_names_of_its_children_and_its_order() {
    let names = MapFieldNames {
        entry: "pairs".to_owned(),
        key: "some_key".to_owned(),
        value: "some_value".to_owned(),
    };
    let mut map = MapBuilder::new(Some(names), StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("a");
    map.values().append_value(1);
    map.append(true).unwrap();
    map.append(false).unwrap();
    let map = Arc::new(map.finish()) as ArrayRef;
    check(&RecordBatch::try_from_iter_with_nullable([("m", map, true)]).unwrap(), Format::Feather);
}

/// Views that overlap and run backwards, and runs, cut at odd places
/// (<https://github.com/apache/arrow-rs/issues/9002>).
#[test]
fn list_views_and_runs_survive_being_cut() {
    let rows = 30_000;
    let views = ListViewArray::new(
        Arc::new(Field::new_list_field(arrow_schema::DataType::Int32, true)),
        (0..rows).map(|i| (i * 7) % 1000).collect(),
        (0..rows).map(|i| i % 5).collect(),
        Arc::new(Int32Array::from_iter_values(0..1010)),
        None,
    );
    let ends = Int32Array::from_iter_values((1..=rows / 10).map(|run| run * 10));
    let values = (0..rows / 10).map(|run| (run % 7 != 0).then(|| format!("run{run}")));
    let runs = RunArray::<Int32Type>::try_new(&ends, &StringArray::from_iter(values)).unwrap();
    let columns = [("views", Arc::new(views) as ArrayRef, true), ("runs", Arc::new(runs), true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    check(&batch, Format::Feather);
    let stream = stream_of(&batch.schema(), std::slice::from_ref(&batch));
    let dataset = open(&stream, Format::Stream).unwrap();
    for batch_rows in [7, 1000] {
        let cut = Scan { batch_rows: Some(batch_rows), ..Scan::all() };
        let found = scan(&dataset, cut).unwrap();
        assert_same_rows(std::slice::from_ref(&batch), &found, "cut");
    }
}

/// A batch of a few bytes stands for gigabytes, which the Parquet writer would write out.
#[test]
fn a_batch_that_stands_for_too_much_is_not_written_as_parquet() {
    let values = Arc::new(StringArray::from(vec!["x".repeat(8 << 20)]));
    let keys = Int32Array::from(vec![0; 140]);
    let column = Arc::new(arrow_array::DictionaryArray::new(keys, values)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("d", column)]).unwrap();
    let parquet = WriteOptions { format: Format::Parquet, codec: Codec::None };
    let started = std::time::Instant::now();
    let error = write(&batch.schema(), std::slice::from_ref(&batch), parquet).unwrap_err();
    assert!(error.to_string().contains("rows, written out would be"), "{error}");
    assert!(started.elapsed().as_secs() < 5);
    check(&batch, Format::Feather);
}
