//! What a source means at a server: the tickets to read, and what the server says they hold.
//!
//! A plan is made before the clock starts; a query is asked anew for each pass over it, since its
//! tickets may be good for one reading alone.

use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt};
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage, SchemaAsIpc};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use flight_wire::protocol::{ChecksumKind, GetRequest, Perf};
use prost::Message;
use tonic::{Code, Status};

use super::places::{KnownPlaces, Places};
use super::{Capability, Control};
use crate::cli::{Source, Text};
use crate::exit::Stop;
use crate::limits;
use crate::record::Failure;

/// What streams read, and what the server announced about it.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    parts: Vec<Part>,
    /// What is asked before each pass; what it answers takes the place of this plan.
    question: Option<Question>,
    /// Under Arrow's perf protocol each stream reads an endpoint of its own; elsewhere each stream
    /// reads all of them in order.
    endpoint_per_stream: bool,
    rows: PlanRows,
    pub(crate) schema: Option<SchemaRef>,
}

/// One endpoint: what is asked for, and where.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) ticket: Bytes,
    /// The index of a place other than the target.
    pub(crate) place: Option<usize>,
}

/// What a server is asked before each pass.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) descriptor: FlightDescriptor,
    places: KnownPlaces,
}

impl Question {
    /// The plan that an answer makes.
    ///
    /// # Errors
    ///
    /// What is wrong with the answer, in words.
    pub(crate) fn plan(&self, info: &FlightInfo) -> Result<Plan, String> {
        Ok(Plan {
            parts: parts_of(info, &self.places)?,
            question: None,
            endpoint_per_stream: false,
            rows: PlanRows { announced: announced(info), ..PlanRows::default() },
            schema: schema_of(info)?,
        })
    }
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
    pub(crate) fn parts_of(&self, stream: usize) -> &[Part] {
        if self.endpoint_per_stream {
            let index = stream % self.parts.len();
            return &self.parts[index..=index];
        }
        &self.parts
    }

    /// Where a stream begins.
    pub(crate) fn first_place(&self, stream: usize) -> Option<usize> {
        self.parts_of(stream).first().and_then(|part| part.place)
    }

    /// What is asked before each pass, where its tickets may be good for one reading alone.
    pub(crate) fn asked_anew(&self) -> Option<&Question> {
        self.question.as_ref()
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

/// Asks the server what `source` holds, and finds out where it is read.
///
/// # Errors
///
/// The server's refusal, an answer that holds no ticket, a place that cannot be reached, or a file
/// that cannot be read.
pub(crate) async fn plan(
    control: &mut Control,
    source: &Source,
    options: PlanOptions,
    places: &mut Places,
) -> Result<Plan, Stop> {
    if let Source::Ticket(text) = source {
        let parts = vec![Part { ticket: Bytes::from(read_text(text)?), place: None }];
        // No call is needed for it, so that this is the first sign of a server.
        control.ready().await?;
        let rows = PlanRows::default();
        return Ok(Plan { parts, question: None, endpoint_per_stream: false, rows, schema: None });
    }
    let descriptor = descriptor(source, options)?;
    let capability = Capability::of_source(source);
    let about = format!(" of {}", source.named());
    let info = control.flight_info(descriptor.clone(), capability).await;
    let info = info.map_err(|status| control.lacks(capability, &about, status))?;
    check_endpoints(&info).map_err(|why| wrong_answer(source, &why))?;
    for endpoint in &info.endpoint {
        places.look_at(&endpoint.location).await?;
    }
    let known = places.known();
    let parts = parts_of(&info, &known).map_err(|why| wrong_answer(source, &why))?;
    let schema = schema_of(&info).map_err(|why| wrong_answer(source, &why))?;
    let perf = *source == Source::Perf;
    let asked_per_stream = perf.then_some(options.records_per_stream);
    let rows = PlanRows {
        asked_per_stream,
        asked: asked_per_stream.map(|rows| rows.saturating_mul(options.streams as u64)),
        announced: announced(&info),
    };
    let anew = matches!(source, Source::Sql(_));
    let question = anew.then_some(Question { descriptor, places: known });
    Ok(Plan { parts, question, endpoint_per_stream: perf, rows, schema })
}

fn wrong_answer(source: &Source, why: &str) -> Stop {
    Stop::failed(anyhow::anyhow!("GetFlightInfo of {}: {why}", source.named()))
}

/// The server's only dataset.
///
/// # Errors
///
/// It has none or several; the sentence names some of them.
pub(crate) async fn only_dataset(control: &mut Control) -> Result<Source, Stop> {
    let flights = control.list_flights().await;
    let flights = match flights {
        Err(status) if status.code() == Code::Unimplemented => {
            return Err(nothing_listed(control, status).await);
        }
        flights => flights.map_err(|status| control.refused("ListFlights", status))?,
    };
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

/// What to do about a server without ListFlights; one that speaks Arrow's perf protocol is told.
async fn nothing_listed(control: &mut Control, status: Status) -> Stop {
    let one = PlanOptions { streams: 1, records_per_stream: 1, ..PlanOptions::default() };
    let probe = FlightDescriptor::new_cmd(perf(one).encode_to_vec());
    let info = control.flight_info(probe, Capability::Perf).await;
    // A server that answers whatever it is asked would hardly answer just so.
    let speaks = info.is_ok_and(|info| info.total_records == 1 && info.endpoint.len() == 1);
    control.note(Capability::Perf, speaks);
    if !speaks {
        return control.lacks(Capability::List, "", status);
    }
    let Failure { code, sentence } = status.into();
    Stop::failed(anyhow::anyhow!(
        "ListFlights: {code}: {sentence}; the server speaks Arrow's perf protocol, so read that \
         with --source perf"
    ))
}

/// The bytes of a `cmd:`, `ticket:` or `sql:`.
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
            "{bytes} bytes are more than the {max} of a command, ticket or query"
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
        Source::Sql(text) => FlightDescriptor::new_cmd(statement(text)?),
        Source::Perf => FlightDescriptor::new_cmd(perf(options).encode_to_vec()),
        Source::Ticket(_) => unreachable!("a ticket needs no descriptor"),
    })
}

/// A query as Flight SQL asks it, outside of a transaction.
fn statement(text: &Text) -> Result<Vec<u8>, Stop> {
    let query = String::from_utf8(read_text(text)?)
        .map_err(|error| Stop::usage(format!("--sql {text}: a query is UTF-8, and {error}")))?;
    let command = CommandStatementQuery { query, transaction_id: None };
    Ok(command.as_any().encode_to_vec())
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

fn schema_of(info: &FlightInfo) -> Result<Option<SchemaRef>, String> {
    if info.schema.is_empty() {
        return Ok(None);
    }
    let schema = info.clone().try_decode_schema();
    let schema = schema.map_err(|error| format!("the schema is malformed: {error}"))?;
    Ok(Some(schema.into()))
}

/// Rows of all endpoints; negative stands for "unknown".
fn announced(info: &FlightInfo) -> Option<u64> {
    u64::try_from(info.total_records).ok()
}

fn check_endpoints(info: &FlightInfo) -> Result<(), String> {
    let (count, max) = (info.endpoint.len(), limits::ENDPOINTS_MAX);
    if count > max {
        return Err(format!("{count} endpoints are more than the {max} that are read"));
    }
    Ok(())
}

fn parts_of(info: &FlightInfo, places: &KnownPlaces) -> Result<Vec<Part>, String> {
    check_endpoints(info)?;
    let part = |endpoint: &FlightEndpoint| {
        let ticket = endpoint.ticket.as_ref()?.ticket.clone();
        Some(Part { ticket, place: places.of(&endpoint.location) })
    };
    let parts: Vec<Part> = info.endpoint.iter().filter_map(part).collect();
    if parts.is_empty() {
        return Err("the answer holds no ticket, so that there is nothing to read".to_owned());
    }
    Ok(parts)
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
