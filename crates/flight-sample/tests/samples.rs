//! What a caller of the samples may rely on: length, order, bounds, and bytes that never change.

use arrow_array::RecordBatch;
use flight_sample::{Sample, SampleError, Size, TpchTable, limits, perf4, taxi, tpch};
use xxhash_rust::xxh3::Xxh3;

const SIZE: Size = Size { rows: 10_000, batch_rows: 1_000, seed: 42 };

/// A hash over the buffers of all batches, in order.
fn hash(sample: Sample) -> String {
    let mut hash = Xxh3::new();
    for batch in sample {
        for column in batch.columns() {
            let data = column.to_data();
            data.buffers().iter().for_each(|buffer| hash.update(buffer.as_slice()));
            if let Some(nulls) = data.nulls() {
                hash.update(nulls.validity());
            }
        }
    }
    format!("{:016x}", hash.digest())
}

fn rows(sample: Sample) -> u64 {
    sample.map(|batch| batch.num_rows() as u64).sum()
}

#[test]
fn the_same_seed_gives_the_same_bytes_in_every_release() {
    let hashes = [
        hash(taxi(SIZE).unwrap()),
        hash(perf4(SIZE).unwrap()),
        hash(tpch(TpchTable::Lineitem, 0.01, 1_000).unwrap()),
        hash(tpch(TpchTable::Customer, 0.01, 1_000).unwrap()),
    ];
    let golden = ["5094212505f7f129", "66029c9074500d92", "491b6c881d236539", "721c7a30d859e3d3"];
    assert_eq!(hashes, golden);
}

#[test]
fn another_seed_gives_other_bytes() {
    let other = Size { seed: 43, ..SIZE };
    assert_ne!(hash(taxi(SIZE).unwrap()), hash(taxi(other).unwrap()));
    assert_ne!(hash(perf4(SIZE).unwrap()), hash(perf4(other).unwrap()));
}

#[test]
fn the_batch_length_does_not_change_the_rows() {
    fn batches(size: Size) -> Vec<RecordBatch> {
        taxi(size).unwrap().collect()
    }
    let long = batches(Size { rows: 100, batch_rows: 100, seed: 1 });
    let short = batches(Size { rows: 100, batch_rows: 33, seed: 1 });
    assert_eq!(short.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [33, 33, 33, 1]);
    assert_eq!(short[1], long[0].slice(33, 33));
}

#[test]
fn a_sample_has_as_many_rows_as_it_says() {
    for count in [0, 1, 999, 1_000, 1_001] {
        let size = Size { rows: count, ..SIZE };
        assert_eq!(taxi(size).unwrap().rows(), Some(count));
        assert_eq!(rows(taxi(size).unwrap()), count);
        assert_eq!(rows(perf4(size).unwrap()), count);
    }
}

#[test]
fn every_tpch_table_is_made_by_name_at_the_smallest_scale() {
    for name in TpchTable::NAMES {
        let table: TpchTable = name.parse().unwrap();
        assert_eq!(table.name(), name);
        let sample = tpch(table, limits::SCALE_MIN, 100).unwrap();
        let (told, schema) = (sample.rows(), sample.schema().clone());
        let batches: Vec<_> = sample.collect();
        let made: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        assert!(0 < made, "{name}");
        assert_eq!(told.unwrap_or(made), made, "{name}");
        assert!(batches.iter().all(|batch| batch.schema() == schema), "{name}");
        assert!(batches.iter().all(|batch| batch.num_rows() <= 100), "{name}");
    }
}

#[test]
fn a_number_out_of_bounds_is_refused_with_the_bound() {
    fn check(sample: Result<Sample, SampleError>, sentence: &str) {
        assert_eq!(sample.expect_err(sentence).to_string(), sentence);
    }
    check(
        taxi(Size { rows: 100_000_000_001, ..SIZE }),
        "100000000001 rows are more than the 100000000000 that a sample may have",
    );
    check(perf4(Size { batch_rows: 0, ..SIZE }), "0 rows a batch are outside 1 to 1048576");
    check(tpch(TpchTable::Part, 1.0, 1_048_577), "1048577 rows a batch are outside 1 to 1048576");
    check(tpch(TpchTable::Part, 0.0, 10), "scale factor 0 is outside 0.001 to 1000");
    check(tpch(TpchTable::Part, f64::NAN, 10), "scale factor NaN is outside 0.001 to 1000");
}

#[test]
fn an_unknown_tpch_table_is_refused_with_those_there_are() {
    let error = "order".parse::<TpchTable>().expect_err("the table is called orders");
    assert_eq!(
        error.to_string(),
        "there is no TPC-H table \"order\"; choose one of customer, lineitem, nation, orders, \
         part, partsupp, region, supplier"
    );
}
