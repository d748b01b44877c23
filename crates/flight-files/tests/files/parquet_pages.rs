//! Parquet page layouts that are rare, forged or larger than they look.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};
use flight_files::{DatasetFile, FileError, Format, ReadLimits, Scan};

use crate::handmade::{
    Leaf, Structure, data_page, dictionary_page, file, page, runs, text_column, varint,
};
use crate::support::{file_of, open, read, scan};

const ZSTD: i64 = 6;
const GZIP: i64 = 2;
const STORED: i64 = 0;
const PLAIN: i64 = 0;
const KEYS: i64 = 8;
const DELTA_BYTE_ARRAY: i64 = 7;

/// An optional list of optional 32-bit numbers, in V2 pages of (values, repetition levels, rows).
fn list_column(name: &'static str, pages: &[(&[i32], &[u32], i64)]) -> Leaf {
    let schema = vec![
        Structure::default().i32(3, 1).text(4, name).i32(5, 1).i32(6, 3),
        Structure::default().i32(3, 2).text(4, "list").i32(5, 1),
        Structure::default().i32(1, 1).i32(3, 1).text(4, "element"),
    ];
    let v2 = |(values, repetition, rows): &(&[i32], &[u32], i64)| {
        let (repetition_bytes, definition_bytes) =
            (runs(repetition, 1), runs(&vec![3; values.len()], 2));
        let numbers = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let body = [repetition_bytes.clone(), definition_bytes.clone(), numbers].concat();
        let header = Structure::default()
            .i32(1, values.len() as i64)
            .i32(2, 0)
            .i32(3, *rows)
            .i32(4, PLAIN)
            .i32(5, definition_bytes.len() as i64)
            .i32(6, repetition_bytes.len() as i64)
            .boolean(7, false);
        page(3, (8, header), body.len(), &body)
    };
    Leaf {
        schema,
        path: vec![name, "list", "element"],
        physical: 1,
        codec: STORED,
        values: pages.iter().map(|page| page.0.len() as i64).sum(),
        dictionary: false,
        pages: pages.iter().flat_map(v2).collect(),
    }
}

fn lists(batches: &[RecordBatch], column: usize) -> Vec<Vec<i32>> {
    let lists = batches.iter().flat_map(|batch| {
        let lists = batch.column(column).as_list::<i32>();
        let list = |row| lists.value(row).as_primitive::<Int32Type>().values().to_vec();
        (0..lists.len()).map(list).collect::<Vec<_>>()
    });
    lists.collect()
}

/// A list that goes on over the border of two V2 pages was cut in two, and the second page's rows
/// moved to the wrong lists (<https://github.com/apache/arrow-rs/issues/10243>).
#[test]
fn a_list_goes_on_over_the_border_of_two_v2_pages() {
    let first = || list_column("c1", &[(&[1, 2], &[0, 1], 1), (&[3, 4, 5, 6], &[1, 1, 0, 1], 1)]);
    let second = || list_column("c2", &[(&[10, 20, 30], &[0, 0, 1], 2)]);
    let (left, right) = (vec![vec![1, 2, 3, 4], vec![5, 6]], vec![vec![10], vec![20, 30]]);

    let both = open(&file(vec![first(), second()], 2), Format::Parquet).unwrap();
    let batches = read(&both).unwrap();
    assert_eq!((lists(&batches, 0), lists(&batches, 1)), (left.clone(), right.clone()));
    for (column, expected) in [(0, &left), (1, &right)] {
        let part = Scan { columns: Some(vec![column]), ..Scan::all() };
        assert_eq!(&lists(&scan(&both, part).unwrap(), 0), expected);
        let last = Scan { columns: Some(vec![column]), rows: 1..2, batch_rows: Some(1) };
        assert_eq!(lists(&scan(&both, last).unwrap(), 0), expected[1..]);
    }
    let alone = open(&file(vec![first()], 2), Format::Parquet).unwrap();
    assert_eq!(lists(&read(&alone).unwrap(), 0), left);
}

#[test]
fn rows_are_skipped_by_whole_v2_pages_where_pages_hold_whole_rows() {
    let pages: [(&[i32], &[u32], i64); 4] = [
        (&[1, 2], &[0, 1], 1),
        (&[3, 4], &[0, 0], 2),
        (&[5, 6], &[0, 1], 1),
        (&[7, 8, 9], &[1, 0, 1], 1),
    ];
    let dataset = open(&file(vec![list_column("c", &pages)], 5), Format::Parquet).unwrap();
    let expected = [vec![1, 2], vec![3], vec![4], vec![5, 6, 7], vec![8, 9]];
    for start in 0..5 {
        for end in start..=5 {
            let part = Scan { rows: start..end, ..Scan::all() };
            let found = lists(&scan(&dataset, part).unwrap(), 0);
            assert_eq!(found, expected[start as usize..end as usize], "{start}..{end}");
        }
    }
}

#[test]
fn a_first_row_that_begins_inside_a_list_is_damage() {
    let dataset = open(&file(vec![list_column("c", &[(&[1, 2], &[1, 1], 1)])], 1), Format::Parquet);
    check_error(&dataset.unwrap(), "column \"c.list.element\": its first row begins in the middle");
}

#[test]
fn a_row_group_with_fewer_rows_than_it_claims_is_damage() {
    let mut leaf = text_leaf(3, PLAIN, STORED, &plain(&["a", "b"]), 2);
    leaf.values = 3;
    check_error(&open(&file(vec![leaf], 3), Format::Parquet).unwrap(), "insufficient rows read");
}

fn check_error(dataset: &Arc<DatasetFile>, expected: &str) {
    let started = Instant::now();
    let error = read(dataset).unwrap_err().to_string();
    assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    assert!(error.len() < 1024 && !error.contains("panicked"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

fn plain(values: &[&str]) -> Vec<u8> {
    let one = |v: &&str| [&(v.len() as u32).to_le_bytes(), v.as_bytes()].concat();
    values.iter().flat_map(one).collect()
}

fn text_leaf(rows: i64, encoding: i64, codec: i64, body: &[u8], values: i64) -> Leaf {
    Leaf {
        schema: text_column("text"),
        path: vec!["text"],
        physical: 6,
        codec,
        values: rows,
        dictionary: false,
        pages: data_page(values, encoding, body.len(), body),
    }
}

/// 284 bytes whose 4 096 rows all are the same megabyte: 4 GiB of text.
fn megabyte_rows() -> Vec<u8> {
    let dictionary = plain(&[&"x".repeat(1 << 20)]);
    let packed = zstd::bulk::compress(&dictionary, 1).unwrap();
    let keys = zstd::bulk::compress(&[&[1], &varint(4096 << 1)[..], &[0]].concat(), 1).unwrap();
    let mut pages = dictionary_page(1, dictionary.len(), &packed);
    pages.extend(data_page(4096, KEYS, 4, &keys));
    let leaf = Leaf {
        schema: text_column("text"),
        path: vec!["text"],
        physical: 6,
        codec: ZSTD,
        values: 4096,
        dictionary: true,
        pages,
    };
    file(vec![leaf], 4096)
}

#[test]
fn a_small_file_that_stands_for_gigabytes_comes_in_bounded_batches() {
    let bytes = megabyte_rows();
    assert!(bytes.len() < 400, "{} bytes", bytes.len());
    let limits = ReadLimits { decoded_bytes: 64 << 20, ..ReadLimits::default() };
    let dataset = DatasetFile::open(file_of(&bytes), Format::Parquet, &limits).map(Arc::new);
    let dataset = dataset.unwrap();
    let mut rows = 0;
    for batch in dataset.scan(Scan { rows: 0..500, ..Scan::all() }).unwrap() {
        let batch = batch.unwrap();
        assert!(batch.get_array_memory_size() < 128 << 20, "{}", batch.get_array_memory_size());
        assert!(batch.column(0).as_string::<i32>().iter().all(|v| v.unwrap().len() == 1 << 20));
        rows += batch.num_rows();
    }
    assert_eq!(rows, 500);
}

#[test]
fn a_row_over_the_limit_is_refused_by_its_name() {
    let limits = ReadLimits { decoded_bytes: 1 << 20, ..ReadLimits::default() };
    let dataset = DatasetFile::open(file_of(&megabyte_rows()), Format::Parquet, &limits);
    check_error(&Arc::new(dataset.unwrap()), "a decoded row's bytes would be");
}

#[test]
fn a_page_over_the_limit_is_refused_before_it_is_unpacked() {
    let mut leaf = text_leaf(1, PLAIN, ZSTD, &[], 1);
    leaf.pages = data_page(1, PLAIN, i32::MAX as usize, b"tiny");
    let dataset = open(&file(vec![leaf], 1), Format::Parquet).unwrap();
    check_error(&dataset, "a Parquet page's bytes would be 2147483647, more than the limit");
}

#[test]
fn a_gzip_page_that_unpacks_to_more_than_it_claims_is_damage() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &vec![0; 32 << 20]).unwrap();
    let mut leaf = text_leaf(1, PLAIN, GZIP, &[], 1);
    leaf.pages = data_page(1, PLAIN, 100, &encoder.finish().unwrap());
    check_error(&open(&file(vec![leaf], 1), Format::Parquet).unwrap(), "claims to unpack to 100");
}

#[test]
fn a_prefix_that_is_longer_than_the_value_before_it_is_damage() {
    // Two values: "ab", then the first nine bytes of it and "c".
    let delta = |first: u8, second: u8| {
        let difference = i64::from(second) - i64::from(first);
        let zigzag = |v: i64| varint(((v << 1) ^ (v >> 63)) as u64);
        let head = [varint(128), varint(4), varint(2), zigzag(first.into())].concat();
        [head, zigzag(difference), vec![0; 4]].concat()
    };
    let body = |prefix| [delta(0, prefix), delta(2, 1), b"abc".to_vec()].concat();
    let good = text_leaf(2, DELTA_BYTE_ARRAY, STORED, &body(2), 2);
    let batches = read(&open(&file(vec![good], 2), Format::Parquet).unwrap()).unwrap();
    let texts = batches[0].column(0).as_string::<i32>();
    assert_eq!((texts.value(0), texts.value(1)), ("ab", "abc"));
    let bad = text_leaf(2, DELTA_BYTE_ARRAY, STORED, &body(9), 2);
    check_error(&open(&file(vec![bad], 2), Format::Parquet).unwrap(), "contradicts itself");
}

#[test]
fn forged_counts_are_damage() {
    let forged_dictionary = Leaf {
        dictionary: true,
        pages: dictionary_page(i64::from(i32::MAX), 5, &plain(&["a"])),
        ..text_leaf(1, PLAIN, STORED, &[], 1)
    };
    let dataset = open(&file(vec![forged_dictionary], 1), Format::Parquet).unwrap();
    check_error(&dataset, "less values than it claims");
    let without = text_leaf(1, KEYS, STORED, &[1, 2, 0], 1);
    check_error(&open(&file(vec![without], 1), Format::Parquet).unwrap(), "not there");
    let mut negative = text_leaf(1, PLAIN, STORED, &[], 1);
    negative.pages = data_page(-1, PLAIN, 5, &plain(&["a"]));
    check_error(&open(&file(vec![negative], 1), Format::Parquet).unwrap(), "negative");
    let mut outside = text_leaf(1, PLAIN, STORED, &plain(&["a"]), 1);
    outside.pages = data_page(1, PLAIN, 5, b"a").into_iter().take(12).collect();
    let result = open(&file(vec![outside], 1), Format::Parquet).and_then(|d| read(&d));
    assert!(matches!(result, Err(FileError::Damaged { .. })), "{result:?}");
}

#[test]
fn a_codec_that_is_not_read_is_named_with_its_column() {
    let leaf = text_leaf(1, PLAIN, 3, &plain(&["a"]), 1);
    check_error(
        &open(&file(vec![leaf], 1), Format::Parquet).unwrap(),
        "column \"text\": codec LZO",
    );
}
