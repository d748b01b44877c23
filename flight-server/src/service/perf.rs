//! The server's side of Arrow's perf protocol, so that `arrow-flight-benchmark` can drive it.
//!
//! As in apache/arrow: cpp/src/arrow/flight/perf_server.cc: streams of four int64 columns, random
//! numbers made once for each stream, the same batch again and again, the last one shorter.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, Ticket};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use flight_files::{FileError, Piece};
use flight_sample::{Size, perf4};
use flight_wire::limits::{ENDPOINTS_MAX, SEND_MESSAGE_BYTES_MAX};
use flight_wire::protocol::{Perf, Token};
use flight_wire::{EncodeOptions, schema_message};
use prost::Message as _;
use tonic::Status;

use super::produce::{Frames, Rows};
use super::status::IntoStatus;

/// Rows of a batch at most: 32 MiB of numbers.
const BATCH_ROWS_MAX: i32 = 1 << 20;

pub(super) fn schema() -> SchemaRef {
    let none = Size { rows: 0, batch_rows: 1, seed: 0 };
    let sample = perf4(none).expect("a sample of no rows is within every bound");
    Arc::clone(sample.schema())
}

/// # Errors
///
/// `INVALID_ARGUMENT` for counts that make no streams.
pub(super) fn flight_info(descriptor: FlightDescriptor, perf: &Perf) -> Result<FlightInfo, Status> {
    check(perf)?;
    let records = perf.records_per_stream;
    let endpoint = |stream: i64| {
        let start = stream * records;
        let token = Token { definition: perf.clone(), start, end: start + records };
        FlightEndpoint {
            ticket: Some(Ticket { ticket: token.encode_to_vec().into() }),
            ..FlightEndpoint::default()
        }
    };
    Ok(FlightInfo {
        schema: schema_message(&schema()).map_err(IntoStatus::into_status)?,
        flight_descriptor: Some(descriptor),
        endpoint: (0..i64::from(perf.stream_count)).map(endpoint).collect(),
        total_records: i64::from(perf.stream_count) * records,
        total_bytes: -1,
        ordered: false,
        app_metadata: Bytes::new(),
    })
}

/// The stream of a token.
///
/// # Errors
///
/// `INVALID_ARGUMENT` for what is no token.
pub(super) fn frames(ticket: &[u8]) -> Result<Frames, Status> {
    let token = Token::parse(ticket).map_err(IntoStatus::into_status)?;
    check(&token.definition)?;
    let records = token.end.checked_sub(token.start).filter(|records| *records >= 0);
    let left = records.ok_or_else(|| Status::invalid_argument("the token's range is empty"))?;
    let rows = i64::from(token.definition.records_per_batch);
    let batches = Repeated { batch: one_batch(rows.min(left.max(1)))?, left };
    let options =
        EncodeOptions { message_bytes_max: SEND_MESSAGE_BYTES_MAX, ..EncodeOptions::default() };
    let explain = Box::new(|error: &FileError| Status::internal(error.to_string())); // reads no file
    Frames::new(&schema(), Box::new(batches), explain, options, false)
}

/// The same batch again and again, as many rows as are `left`.
struct Repeated {
    batch: RecordBatch,
    left: i64,
}

impl Iterator for Repeated {
    type Item = Result<Piece, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = (self.batch.num_rows() as i64).min(self.left);
        self.left -= rows;
        (rows > 0).then(|| Ok(Piece::Batch(self.batch.slice(0, rows as usize))))
    }
}

impl Rows for Repeated {}

fn check(perf: &Perf) -> Result<(), Status> {
    let streams = (1..=ENDPOINTS_MAX as i32).contains(&perf.stream_count);
    let rows = (1..=BATCH_ROWS_MAX).contains(&perf.records_per_batch);
    let total = i64::from(perf.stream_count).checked_mul(perf.records_per_stream);
    if streams && rows && total.is_some_and(|total| total >= 0) {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "stream_count must be 1 to {ENDPOINTS_MAX}, records_per_batch 1 to {BATCH_ROWS_MAX}, \
         records_per_stream not negative"
    )))
}

/// Random numbers, the same in every stream.
fn one_batch(rows: i64) -> Result<RecordBatch, Status> {
    let size = Size { rows: rows.unsigned_abs(), batch_rows: rows as usize, seed: 0 };
    let mut sample = perf4(size).map_err(|error| Status::invalid_argument(error.to_string()))?;
    sample.next().ok_or_else(|| Status::internal("a sample of at least one row has a batch"))
}
