//! What a source means at a server: the tickets to read, and what the server says they hold.
//!
//! Locations that a server advertises are not followed: the target that was named is measured.

use arrow_flight::{FlightDescriptor, FlightInfo, IpcMessage, SchemaAsIpc};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use flight_wire::protocol::{ChecksumKind, GetRequest, Perf};
use prost::Message;

use super::Control;
use crate::cli::{Source, Text};
use crate::exit::Stop;
use crate::limits;

/// What streams read, and what the server announced about it.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    tickets: Vec<Bytes>,
    /// Under Arrow's perf protocol each stream reads an endpoint of its own; elsewhere each stream
    /// reads all of them in order.
    endpoint_per_stream: bool,
    rows: PlanRows,
    pub(crate) schema: Option<SchemaRef>,
}

/// How many rows there should be, as far as anybody said.
#[derive(Debug, Clone, Copy, Default)]
struct PlanRows {
    /// What one stream was told to read, by Arrow's perf protocol.
    asked_per_stream: Option<u64>,
    /// What all streams together were told to read.
    asked: Option<u64>,
    /// `total_records` of the answer; absent where it is negative, which stands for "unknown".
    announced: Option<u64>,
}

/// How the server is asked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PlanOptions {
    pub(crate) batch_rows: Option<u64>,
    pub(crate) message_bytes: Option<u64>,
    pub(crate) checksum: bool,
    /// Arrow's perf protocol: one stream each.
    pub(crate) streams: usize,
    pub(crate) records_per_stream: u64,
}

/// Rows of a batch under Arrow's perf protocol, as its own client asks for.
const PERF_BATCH_ROWS: u64 = 4096;

impl Plan {
    pub(crate) fn tickets_of(&self, stream: usize) -> &[Bytes] {
        if self.endpoint_per_stream {
            let index = stream % self.tickets.len();
            return &self.tickets[index..=index];
        }
        &self.tickets
    }

    /// Compares what a stream read until the source ended with what was asked for and announced.
    ///
    /// # Errors
    ///
    /// What differs, in words.
    pub(crate) fn check_rows(&self, sent: u64) -> Result<(), String> {
        self.rows.check(sent)
    }
}

impl PlanRows {
    fn check(self, sent: u64) -> Result<(), String> {
        if let Some(asked) = self.asked_per_stream
            && asked != sent
        {
            return Err(format!("{asked} rows were asked for and the server sent {sent}"));
        }
        // An announcement covers all endpoints; a stream of the perf protocol reads one of them.
        match (self.announced, self.asked) {
            (Some(announced), Some(asked)) if announced != asked => {
                Err(format!("{asked} rows were asked for and the server announced {announced}"))
            }
            (Some(announced), None) if announced != sent => {
                Err(format!("the server announced {announced} rows and sent {sent}"))
            }
            _ => Ok(()),
        }
    }
}

/// Asks the server what `source` holds.
///
/// # Errors
///
/// The server's refusal, an answer that holds no ticket, or a file that cannot be read.
pub(crate) async fn plan(
    control: &mut Control,
    source: &Source,
    options: PlanOptions,
) -> Result<Plan, Stop> {
    if let Source::Ticket(text) = source {
        let tickets = vec![Bytes::from(read_text(text)?)];
        // No call is needed for it, so that this is the first sign of a server.
        control.ready().await?;
        let rows = PlanRows::default();
        return Ok(Plan { tickets, endpoint_per_stream: false, rows, schema: None });
    }
    let descriptor = descriptor(source, options)?;
    let info = control
        .flight_info(descriptor)
        .await
        .map_err(|status| control.refused(&format!("GetFlightInfo of {source}"), status))?;
    let schema = schema_of(&info, source)?;
    let tickets = tickets_of(&info, source)?;
    let perf = *source == Source::Perf;
    let asked_per_stream = perf.then_some(options.records_per_stream);
    let rows = PlanRows {
        asked_per_stream,
        asked: asked_per_stream.map(|rows| rows.saturating_mul(options.streams as u64)),
        announced: u64::try_from(info.total_records).ok(),
    };
    Ok(Plan { tickets, endpoint_per_stream: perf, rows, schema })
}

/// The server's only dataset.
///
/// # Errors
///
/// It has none or several; the sentence names some of them.
pub(crate) async fn only_dataset(control: &mut Control) -> Result<Source, Stop> {
    let flights = control.list_flights().await;
    let flights = flights.map_err(|status| control.refused("ListFlights", status))?;
    let name = |info: &FlightInfo| {
        let descriptor = info.flight_descriptor.as_ref()?;
        (!descriptor.path.is_empty()).then(|| descriptor.path.clone())
    };
    let mut names: Vec<Vec<String>> = flights.iter().filter_map(name).collect();
    if names.len() > 1 {
        let shown: Vec<String> =
            names.iter().take(limits::NAMES_SHOWN).map(|name| name.join("/")).collect();
        let more = if names.len() > shown.len() { ", …" } else { "" };
        return Err(Stop::usage(format!(
            "the server has {} datasets ({}{more}); choose one with --source path:NAME",
            names.len(),
            shown.join(", ")
        )));
    }
    match names.pop() {
        Some(components) => Ok(Source::Path(components)),
        None => Err(Stop::usage(
            "the server lists no dataset; name what to read with --source, or let \
             'flight-bench put' measure uploads",
        )),
    }
}

/// The bytes of a `cmd:` or `ticket:`.
///
/// # Errors
///
/// The file cannot be read or is too large.
pub(super) fn read_text(text: &Text) -> Result<Vec<u8>, Stop> {
    let path = match text {
        Text::Inline(text) => return Ok(text.clone().into_bytes()),
        Text::File(path) => path,
    };
    let refused = |why: String| Stop::usage(format!("--source: {}: {why}", path.display()));
    let bytes = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?.len();
    let max = limits::SOURCE_FILE_BYTES_MAX;
    if bytes > max {
        return Err(refused(format!(
            "{bytes} bytes are more than the {max} of a command or ticket"
        )));
    }
    std::fs::read(path).map_err(|error| refused(error.to_string()))
}

pub(crate) fn descriptor(source: &Source, options: PlanOptions) -> Result<FlightDescriptor, Stop> {
    let plain =
        options.batch_rows.is_none() && options.message_bytes.is_none() && !options.checksum;
    Ok(match source {
        Source::Path(components) if plain => FlightDescriptor::new_path(components.clone()),
        Source::Path(components) => {
            let mut request = GetRequest::whole(components.clone());
            request.batch_rows = options.batch_rows;
            request.message_bytes = options.message_bytes;
            request.checksum = options.checksum.then_some(ChecksumKind::Xxh3);
            let json = serde_json::to_vec(&request).expect("strings and numbers are always JSON");
            FlightDescriptor::new_cmd(json)
        }
        Source::Command(text) => FlightDescriptor::new_cmd(read_text(text)?),
        Source::Perf => FlightDescriptor::new_cmd(perf(options).encode_to_vec()),
        Source::Ticket(_) => unreachable!("a ticket needs no descriptor"),
    })
}

fn perf(options: PlanOptions) -> Perf {
    let schema = flight_sample::perf4(flight_sample::Size { rows: 0, batch_rows: 1, seed: 0 })
        .expect("no rows are within the bounds of a sample");
    let write_options = IpcWriteOptions::default();
    // Java's server wants the schema; Arrow's own client leaves it out.
    let message = IpcMessage::try_from(SchemaAsIpc::new(schema.schema(), &write_options))
        .expect("four integer columns can be encoded");
    let rows = options.batch_rows.unwrap_or(PERF_BATCH_ROWS);
    Perf {
        schema: message.0,
        stream_count: i32::try_from(options.streams).unwrap_or(i32::MAX),
        records_per_stream: i64::try_from(options.records_per_stream).unwrap_or(i64::MAX),
        records_per_batch: i32::try_from(rows).unwrap_or(i32::MAX),
    }
}

fn schema_of(info: &FlightInfo, source: &Source) -> Result<Option<SchemaRef>, Stop> {
    if info.schema.is_empty() {
        return Ok(None);
    }
    let schema = info.clone().try_decode_schema().map_err(|error| {
        Stop::failed(anyhow::anyhow!("GetFlightInfo of {source}: the schema is malformed: {error}"))
    })?;
    Ok(Some(schema.into()))
}

fn tickets_of(info: &FlightInfo, source: &Source) -> Result<Vec<Bytes>, Stop> {
    let count = info.endpoint.len();
    if count > limits::ENDPOINTS_MAX {
        let max = limits::ENDPOINTS_MAX;
        return Err(Stop::failed(anyhow::anyhow!(
            "GetFlightInfo of {source}: {count} endpoints are more than the {max} that are read"
        )));
    }
    let tickets: Vec<Bytes> = info
        .endpoint
        .iter()
        .filter_map(|endpoint| endpoint.ticket.as_ref())
        .map(|ticket| ticket.ticket.clone())
        .collect();
    if tickets.is_empty() {
        return Err(Stop::failed(anyhow::anyhow!(
            "GetFlightInfo of {source}: the answer holds no ticket, so that there is nothing to read"
        )));
    }
    Ok(tickets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_with_what_was_asked_for_and_with_what_was_announced() {
        // Two streams of ten rows by Arrow's perf protocol; -1 announces nothing.
        check_perf(-1, 10, "equal");
        check_perf(20, 10, "equal");
        check_perf(-1, 7, "10 rows were asked for and the server sent 7");
        check_perf(20, 7, "10 rows were asked for and the server sent 7");
        check_perf(10, 10, "20 rows were asked for and the server announced 10");
        check_perf(0, 10, "20 rows were asked for and the server announced 0");
    }

    #[test]
    fn a_dataset_is_compared_with_its_announcement_alone() {
        check(PlanRows { announced: Some(8), ..PlanRows::default() }, 8, "equal");
        let eight = PlanRows { announced: Some(8), ..PlanRows::default() };
        check(eight, 7, "the server announced 8 rows and sent 7");
        check(PlanRows::default(), 7, "equal");
    }

    fn check_perf(total_records: i64, sent: u64, want: &str) {
        let announced = u64::try_from(total_records).ok();
        check(PlanRows { asked_per_stream: Some(10), asked: Some(20), announced }, sent, want);
    }

    fn check(rows: PlanRows, sent: u64, want: &str) {
        assert_eq!(rows.check(sent).err().unwrap_or("equal".to_owned()), want);
    }
}
