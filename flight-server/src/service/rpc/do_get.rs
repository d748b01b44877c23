//! DoGet: the rows of a ticket, as messages within its limits.

use std::sync::Arc;

use arrow_flight::Ticket as FlightTicket;
use flight_files::{FileError, Scan};
use flight_net::Body;
use flight_net::server::CallContext;
use flight_store::DatasetName;
use flight_wire::EncodeOptions;
use flight_wire::limits::{COMMAND_BYTES_MAX, SEND_MESSAGE_BYTES_DEFAULT};
use flight_wire::protocol::{PACE_HEADER, PaceRequest, Ticket};
use http::{HeaderMap, Request, Response};
use hyper::body::Incoming;
use tonic::codec::Codec;
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;

use crate::service::produce::{self, Frames, Pace};
use crate::service::status::{self, IntoStatus};
use crate::service::tickets::Caller;
use crate::service::{Flight, perf};

pub(in crate::service) async fn do_get(
    flight: &Arc<Flight>,
    context: CallContext,
    request: Request<Incoming>,
) -> Response<Body> {
    let mut call = flight.metrics.begin("DoGet");
    let opened = async {
        let pace = pace_of(flight, request.headers())?;
        let caller = Caller::new(&context, request.headers());
        let Ok(ticket) = tokio::time::timeout(flight.stall, read_ticket(request)).await else {
            return Err(Status::deadline_exceeded("the ticket did not come"));
        };
        let ticket = ticket?;
        let open = move |flight: &Flight| {
            let frames = open(flight, &ticket, &caller)?;
            match pace {
                Some(request) => frames.paced(Pace::new(request)),
                None => Ok(frames),
            }
        };
        flight.blocking(open).await
    };
    let opened = match context.deadline {
        None => opened.await,
        Some(deadline) => tokio::time::timeout_at(deadline, opened)
            .await
            .unwrap_or_else(|_| Err(Status::deadline_exceeded("the deadline has passed"))),
    };
    match opened {
        Err(status) => {
            call.finish(&status);
            status::response(&status)
        }
        Ok(frames) => {
            let (sender, body) = Body::frames();
            tokio::spawn(produce::send(frames, sender, context, flight.stall, call));
            status::streaming(body)
        }
    }
}

/// How the stream is to be paced, if it is.
fn pace_of(flight: &Flight, headers: &HeaderMap) -> Result<Option<PaceRequest>, Status> {
    let Some(header) = headers.get(PACE_HEADER) else { return Ok(None) };
    if !flight.perf {
        let refused = "this server paces no streams; flight-pace needs one that runs with --perf";
        return Err(Status::unimplemented(refused));
    }
    let text = header.to_str().unwrap_or_default();
    text.parse().map(Some).map_err(IntoStatus::into_status)
}

async fn read_ticket(request: Request<Incoming>) -> Result<Vec<u8>, Status> {
    let decoder = ProstCodec::<FlightTicket, FlightTicket>::default().decoder();
    let max = Some(COMMAND_BYTES_MAX);
    let mut messages = Streaming::new_request(decoder, request.into_body(), None, max);
    match messages.message().await? {
        Some(ticket) => Ok(ticket.ticket.to_vec()),
        None => Err(Status::invalid_argument("DoGet needs a ticket; call GetFlightInfo for one")),
    }
}

/// Opens the stream of a ticket. Blocks on the disk.
fn open(flight: &Flight, bytes: &[u8], caller: &Caller) -> Result<Frames, Status> {
    if flight.perf && flight.tickets.is_none() && !Ticket::is_ours(bytes) {
        return perf::frames(bytes);
    }
    let ticket = flight.rows_of(bytes, caller)?;
    let name = DatasetName::parse(&ticket.dataset).map_err(IntoStatus::into_status)?;
    let dataset = flight.store.lookup(&name).map_err(IntoStatus::into_status)?;
    if dataset.info.version.to_bytes() != ticket.version {
        return Err(Status::failed_precondition(format!(
            "dataset {:?} has changed since this ticket was issued; call GetFlightInfo again",
            ticket.dataset
        )));
    }
    let Some(part) = dataset.parts.first() else {
        return Err(Status::internal("the dataset has no part"));
    };
    let options = EncodeOptions {
        message_bytes_max: ticket
            .message_bytes_max
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(SEND_MESSAGE_BYTES_DEFAULT),
        batch_rows_max: ticket.batch_rows_max.map(|rows| rows as usize),
        compression: ticket.compression.into(),
    };
    let columns = ticket.columns.as_ref();
    let scan = Scan {
        columns: columns.map(|columns| columns.iter().map(|index| *index as usize).collect()),
        rows: ticket.first_row..ticket.first_row.saturating_add(ticket.rows),
        batch_rows: options.batch_rows_max,
    };
    let explain = move |error: &FileError| status::of_file(&name, error);
    let pieces = part.file.pieces(scan, options.clone(), &flight.decode);
    let pieces = pieces.map_err(|error| explain(&error))?;
    let schema = Arc::clone(pieces.schema());
    let (pieces, explain) = (Box::new(pieces), Box::new(explain));
    Frames::new(&schema, pieces, explain, options, ticket.checksum.is_some())
}
