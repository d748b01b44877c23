//! DoPut: an upload, acknowledged batch by batch and once more when it is on stable storage.

mod input;
mod upload;

use std::sync::Arc;

use arrow_flight::FlightDescriptor;
use flight_net::server::{CallContext, Deadline};
use flight_net::{Body, FrameSender};
use flight_wire::{FlightMessage, Frame};
use http::{Request, Response};
use hyper::body::Incoming;
use prost::Message as _;
use tonic::Status;

use crate::service::Flight;
use crate::service::command::PutCommand;
use crate::service::metrics::Call;
use crate::service::status::{self, trailers};
use input::Input;
use upload::{Begun, Upload};

/// Messages that arrived are decoded and written together until they make up this much, so that
/// small ones do not each cost a change of threads.
const GROUP_BYTES: usize = 4 << 20;

pub(in crate::service) fn do_put(
    flight: &Arc<Flight>,
    context: &CallContext,
    request: Request<Incoming>,
) -> Response<Body> {
    let deadline = context.deadline;
    let (sender, body) = Body::frames();
    let flight = Arc::clone(flight);
    tokio::spawn(async move {
        let mut call = flight.metrics.begin("DoPut");
        let status = match upload(&flight, request.into_body(), &sender, &call, deadline).await {
            Ok(()) => Status::ok(""),
            Err(status) => status,
        };
        call.finish(&status);
        sender.end(Some(trailers(&status))).await;
    });
    status::streaming(body)
}

async fn upload(
    flight: &Arc<Flight>,
    body: Incoming,
    acknowledge: &FrameSender,
    call: &Call,
    deadline: Option<Deadline>,
) -> Result<(), Status> {
    let mut input = Input::new(body, flight.budget.clone(), flight.stall);
    let taken = take(flight, &mut input, acknowledge, call);
    let taken = async {
        tokio::select! {
            taken = taken => taken,
            // Whoever waits, for bytes or for memory, waits for a client that is there.
            () = acknowledge.closed() => Err(Status::cancelled("the client went away")),
        }
    };
    let complete = match deadline {
        None => taken.await,
        Some(deadline) => tokio::time::timeout_at(deadline, taken)
            .await
            .unwrap_or_else(|_| Err(Status::deadline_exceeded("the deadline has passed"))),
    };
    // A commit is not broken off: whether it happened must not be left open.
    let Some(upload) = complete? else { return Ok(()) };
    if let Some(summary) = flight.blocking(move |_| upload.commit()).await? {
        acknowledge.send(Frame::put_result(&summary.to_json())).await;
    }
    Ok(())
}

/// Takes an upload's messages to their end; `None` where it was stored before, under the same id.
async fn take(
    flight: &Arc<Flight>,
    input: &mut Input,
    acknowledge: &FrameSender,
    call: &Call,
) -> Result<Option<Upload>, Status> {
    let Some(first) = input.next().await? else {
        return Err(Status::invalid_argument(
            "the upload ended before its first message, which holds the descriptor and the schema",
        ));
    };
    let command = command(&first.message, flight.perf)?;
    let begun = flight.blocking(move |flight| {
        // Named whole: its share of the memory goes back with it.
        let first = first;
        Upload::begin(flight, command, &first.message)
    });
    let mut upload = match begun.await? {
        Begun::Upload(upload) => upload,
        Begun::AlreadyStored(summary) => {
            acknowledge.send(Frame::put_result(&summary.to_json())).await;
            // The upload comes a second time in full: breaking it off would make clients report
            // a failure in place of this answer.
            while input.next().await?.is_some() {}
            return Ok(None);
        }
    };
    while let Some(first) = input.next().await? {
        let mut group = vec![first];
        let mut bytes = group[0].message.bytes;
        while bytes < GROUP_BYTES
            && let Some(more) = input.ready()?
        {
            bytes += more.message.bytes;
            group.push(more);
        }
        let written = flight.blocking(move |_| upload.write(group)).await?;
        call.received(bytes as u64, written.batches, written.rows);
        upload = written.upload;
        for app_metadata in written.acknowledged {
            let sent = acknowledge.send(Frame::put_result(&app_metadata));
            match tokio::time::timeout(flight.stall, sent).await {
                Ok(true) => {}
                Ok(false) => return Err(Status::cancelled("the client went away")),
                Err(_) => {
                    return Err(Status::deadline_exceeded("the acknowledgements are not read"));
                }
            }
        }
    }
    Ok(Some(upload))
}

fn command(first: &FlightMessage, perf: bool) -> Result<PutCommand, Status> {
    let Some(descriptor) = &first.descriptor else {
        return Err(Status::invalid_argument(
            "the first message of an upload names no dataset; set its flight_descriptor",
        ));
    };
    let descriptor = FlightDescriptor::decode(descriptor.clone())
        .map_err(|_| Status::invalid_argument("the flight_descriptor is malformed"))?;
    PutCommand::of(&descriptor, perf)
}
