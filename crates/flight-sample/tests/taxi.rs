//! The taxi table looks like the public one: schema, nulls, correlations, order.

use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use flight_sample::{Size, taxi};
use flight_testkit::corpus;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

const ROWS: usize = 50_000;

fn trips() -> RecordBatch {
    let size = Size { rows: ROWS as u64, batch_rows: ROWS, seed: 7 };
    taxi(size).expect("within the limits").next().expect("one batch")
}

fn dollars<'a>(batch: &'a RecordBatch, name: &str) -> &'a [f64] {
    batch[name].as_primitive::<Float64Type>().values()
}

/// The share of rows for which `holds` is true.
fn share(holds: impl Fn(usize) -> bool) -> f64 {
    (0..ROWS).filter(|&row| holds(row)).count() as f64 / ROWS as f64
}

#[test]
fn the_columns_are_those_of_the_public_file() {
    let Some(corpus) = corpus("the_columns_are_those_of_the_public_file") else { return };
    let file = File::open(corpus.join("real/yellow_tripdata_sample.parquet")).unwrap();
    let public = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().schema().clone();
    let made = trips().schema();
    let public: Vec<_> = public.fields().iter().collect();
    assert_eq!(made.fields().iter().collect::<Vec<_>>(), public[..19]);
    // The one column that later files have besides.
    assert_eq!(public[19..].iter().map(|f| f.name()).collect::<Vec<_>>(), ["cbd_congestion_fee"]);
}

#[test]
fn five_columns_are_null_together_where_the_fare_was_flexible() {
    let batch = trips();
    let group = [
        "passenger_count",
        "RatecodeID",
        "store_and_fwd_flag",
        "congestion_surcharge",
        "Airport_fee",
    ];
    let payment = batch["payment_type"].as_primitive::<Int64Type>();
    for (index, column) in batch.columns().iter().enumerate() {
        let name = batch.schema().field(index).name().clone();
        let nulls = if group.contains(&name.as_str()) { 0.04..0.06 } else { 0.0..0.001 };
        assert!(nulls.contains(&share(|row| column.is_null(row))), "{name}");
    }
    for name in group {
        let told = |row| batch[name].is_null(row) == (payment.value(row) == 0);
        assert!((0..ROWS).all(told), "{name}");
    }
}

#[test]
fn pickups_rise_through_one_month_and_trips_end_after_they_began() {
    const MONTH_US: std::ops::Range<i64> = 1_704_067_200_000_000..1_706_745_600_000_000;
    let batch = trips();
    let instants =
        |name: &str| batch[name].as_primitive::<TimestampMicrosecondType>().values().to_vec();
    let (pickup, dropoff) = (instants("tpep_pickup_datetime"), instants("tpep_dropoff_datetime"));
    assert!(pickup.iter().all(|us| MONTH_US.contains(us)));
    // Twenty minutes of disorder at most.
    assert!(pickup.windows(2).all(|pair| pair[0] - pair[1] < 1_200_000_000));
    assert!(pickup.windows(2).any(|pair| pair[1] < pair[0]));
    assert!(pickup.iter().zip(&dropoff).all(|(from, to)| from <= to));
    let spread = pickup[ROWS - 1] - pickup[0];
    assert!(MONTH_US.end - MONTH_US.start < spread + 3_600_000_000);
}

#[test]
fn amounts_add_up_and_tips_come_by_card() {
    let batch = trips();
    let vendor = batch["VendorID"].as_primitive::<Int32Type>();
    let payment = batch["payment_type"].as_primitive::<Int64Type>();
    let surcharge = |name: &str, row: usize| {
        let column = batch[name].as_primitive::<Float64Type>();
        if column.is_null(row) { 0.0 } else { column.value(row) }
    };
    let parts =
        ["fare_amount", "extra", "mta_tax", "tip_amount", "tolls_amount", "improvement_surcharge"];
    for row in (0..ROWS).filter(|&row| payment.value(row) != 0) {
        let mut sum: f64 = parts.iter().map(|name| dollars(&batch, name)[row]).sum();
        if vendor.value(row) != 1 {
            sum += surcharge("congestion_surcharge", row) + surcharge("Airport_fee", row);
        }
        let total = dollars(&batch, "total_amount")[row];
        assert!((sum - total).abs() < 0.005, "row {row}: {sum} {total}");
    }
    let tip = dollars(&batch, "tip_amount");
    assert!((0..ROWS).all(|row| payment.value(row) == 1 || tip[row] == 0.0));
    assert!((0.70..0.80).contains(&share(|row| 0.0 < tip[row])));
    assert!((0.005..0.03).contains(&share(|row| dollars(&batch, "total_amount")[row] < 0.0)));
}

#[test]
fn distances_are_log_normal_with_a_tail_and_fares_follow_them() {
    let batch = trips();
    let distance = dollars(&batch, "trip_distance");
    let fare = dollars(&batch, "fare_amount");
    let mut sorted = distance.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[ROWS / 2];
    let mean = sorted.iter().sum::<f64>() / ROWS as f64;
    assert!((1.6..2.1).contains(&median), "{median}");
    assert!((2.6..4.0).contains(&mean), "{mean}");
    assert!((15.0..30.0).contains(&sorted[ROWS * 99 / 100]), "{}", sorted[ROWS * 99 / 100]);
    let far = share(|row| 5.0 < distance[row] && 15.0 < fare[row].abs());
    assert!(0.95 < far / share(|row| 5.0 < distance[row]));
}

#[test]
fn zones_are_in_range_and_some_are_far_busier() {
    let batch = trips();
    for name in ["PULocationID", "DOLocationID"] {
        let mut count = [0_usize; 266];
        for &zone in batch[name].as_primitive::<Int32Type>().values() {
            assert!((1..=265).contains(&zone), "{name} {zone}");
            count[zone as usize] += 1;
        }
        assert!(count[1..].iter().all(|&count| 0 < count), "{name}");
        count.sort_unstable();
        assert!(ROWS / 2 < count[256..].iter().sum::<usize>() * 3 / 2, "{name}");
    }
}
