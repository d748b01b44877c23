//! Taxi trips in the schema of New York's public yellow-cab records, as published up to 2024.
//!
//! How one trip is made up is in `taxi/trip.rs`.

mod trip;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::draw::Draw;
use crate::{Sample, SampleError, Size};
use trip::Trip;

/// `size.rows` trips that begin in January 2024, in about the order of their beginning.
///
/// The 19 columns, their types and the group of columns that are null together are those of the
/// public monthly files (the surcharge of 2025, a twentieth column, is not among them).
///
/// # Errors
/// When a number of `size` is out of its bound.
pub fn taxi(size: Size) -> Result<Sample, SampleError> {
    let size = size.check()?;
    let schema = schema();
    let made = Arc::clone(&schema);
    let mut draw = Draw::new(size.seed);
    let batches = size.batches().map(move |(first, rows)| {
        let trips: Vec<Trip> =
            (first..).take(rows).map(|row| Trip::new(&mut draw, row, size.rows)).collect();
        RecordBatch::try_new(Arc::clone(&made), columns(&trips))
            .expect("the columns are those of the schema, a value for each trip")
    });
    Ok(Sample { schema, rows: Some(size.rows), batches: Box::new(batches) })
}

fn schema() -> SchemaRef {
    let instant = DataType::Timestamp(TimeUnit::Microsecond, None);
    let columns = [
        ("VendorID", DataType::Int32),
        ("tpep_pickup_datetime", instant.clone()),
        ("tpep_dropoff_datetime", instant),
        ("passenger_count", DataType::Int64),
        ("trip_distance", DataType::Float64),
        ("RatecodeID", DataType::Int64),
        ("store_and_fwd_flag", DataType::LargeUtf8),
        ("PULocationID", DataType::Int32),
        ("DOLocationID", DataType::Int32),
        ("payment_type", DataType::Int64),
        ("fare_amount", DataType::Float64),
        ("extra", DataType::Float64),
        ("mta_tax", DataType::Float64),
        ("tip_amount", DataType::Float64),
        ("tolls_amount", DataType::Float64),
        ("improvement_surcharge", DataType::Float64),
        ("total_amount", DataType::Float64),
        ("congestion_surcharge", DataType::Float64),
        ("Airport_fee", DataType::Float64),
    ];
    let fields = columns.map(|(name, data_type)| Field::new(name, data_type, true));
    Arc::new(Schema::new(fields.to_vec()))
}

fn columns(trips: &[Trip]) -> Vec<ArrayRef> {
    vec![
        int32(trips, |trip| trip.vendor),
        instants(trips, |trip| trip.pickup_us),
        instants(trips, |trip| trip.dropoff_us),
        optional_int64(trips, |trip| trip.reported.map(|reported| reported.passengers)),
        // Hundredths of a mile, as cents are hundredths of a dollar.
        dollars(trips, |trip| trip.distance_hundredths),
        optional_int64(trips, |trip| trip.reported.map(|reported| reported.rate_code)),
        Arc::new(LargeStringArray::from_iter(
            trips
                .iter()
                .map(|trip| trip.reported.map(|reported| if reported.stored { "Y" } else { "N" })),
        )),
        int32(trips, |trip| trip.pickup_zone),
        int32(trips, |trip| trip.dropoff_zone),
        Arc::new(Int64Array::from_iter_values(trips.iter().map(|trip| trip.payment))),
        dollars(trips, |trip| trip.fare_cents),
        dollars(trips, |trip| trip.extra_cents),
        dollars(trips, |trip| trip.mta_tax_cents),
        dollars(trips, |trip| trip.tip_cents),
        dollars(trips, |trip| trip.tolls_cents),
        dollars(trips, |trip| trip.improvement_cents),
        dollars(trips, |trip| trip.total_cents),
        optional_dollars(trips, |trip| trip.reported.map(|_| trip.congestion_cents)),
        optional_dollars(trips, |trip| trip.reported.map(|_| trip.airport_cents)),
    ]
}

fn int32(trips: &[Trip], value: impl Fn(&Trip) -> i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(trips.iter().map(value)))
}

fn instants(trips: &[Trip], value_us: impl Fn(&Trip) -> i64) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from_iter_values(trips.iter().map(value_us)))
}

fn optional_int64(trips: &[Trip], value: impl Fn(&Trip) -> Option<i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter(trips.iter().map(value)))
}

/// A division of two exact numbers rounds the same everywhere (IEEE 754).
fn dollars(trips: &[Trip], cents: impl Fn(&Trip) -> i32) -> ArrayRef {
    let values = trips.iter().map(|trip| f64::from(cents(trip)) / 100.0);
    Arc::new(Float64Array::from_iter_values(values))
}

fn optional_dollars(trips: &[Trip], cents: impl Fn(&Trip) -> Option<i32>) -> ArrayRef {
    let values = trips.iter().map(|trip| cents(trip).map(|cents| f64::from(cents) / 100.0));
    Arc::new(Float64Array::from_iter(values))
}
