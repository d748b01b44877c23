//! DoPut: an upload, acknowledged batch by batch and once more when it is on stable storage.

mod upload;

use std::sync::Arc;

use arrow_flight::FlightDescriptor;
use bytes::Bytes;
use flight_net::server::{CallContext, Deadline};
use flight_net::{Body, FrameSender};
use flight_store::DatasetName;
use flight_ticket::Right;
use flight_wire::{FlightMessage, Frame};
use http::{Request, Response};
use hyper::body::Incoming;
use prost::Message as _;
use tokio::task::JoinHandle;
use tonic::Status;

use super::input::{Input, Reserved};
use crate::service::Flight;
use crate::service::command::PutCommand;
use crate::service::metrics::Call;
use crate::service::status::{self, IntoStatus, trailers};
use crate::service::tickets::Caller;
use upload::{Begun, Upload, Written};

/// Messages that arrived are decoded and written together until they make up this much, so that
/// small ones do not each cost a change of threads.
const GROUP_BYTES: usize = 4 << 20;

pub(in crate::service) fn do_put(
    flight: &Arc<Flight>,
    context: &CallContext,
    request: Request<Incoming>,
) -> Response<Body> {
    let deadline = context.deadline;
    let caller = Caller::new(context, request.headers());
    let (sender, body) = Body::frames();
    let flight = Arc::clone(flight);
    tokio::spawn(async move {
        let mut call = flight.metrics.begin("DoPut");
        let body = request.into_body();
        let status = match upload(&flight, body, caller, &sender, &call, deadline).await {
            Ok(()) => Status::ok(""),
            Err(status) => status,
        };
        call.finish(&status);
        sender.end_within(flight.stall, trailers(&status)).await;
    });
    status::streaming(body)
}

async fn upload(
    flight: &Arc<Flight>,
    body: Incoming,
    caller: Caller,
    acknowledge: &FrameSender,
    call: &Call,
    deadline: Option<Deadline>,
) -> Result<(), Status> {
    let mut input = Input::new(body, flight.budget.clone(), flight.stall);
    let taken = take(flight, &mut input, &caller, acknowledge, call);
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
    caller: &Caller,
    acknowledge: &FrameSender,
    call: &Call,
) -> Result<Option<Upload>, Status> {
    let Some(first) = input.next().await? else {
        return Err(Status::invalid_argument(
            "the upload ended before its first message, which holds the descriptor and the schema",
        ));
    };
    let command = command(&first.message, flight.perf)?;
    let bytes_max = permitted(flight, &command, caller)?;
    let begun = flight.blocking(move |flight| {
        // Named whole: its share of the memory goes back with it.
        let first = first;
        Upload::begin(flight, command, bytes_max, &first.message)
    });
    let upload = match begun.await? {
        Begun::Upload(upload) => upload,
        Begun::AlreadyStored(summary) => {
            acknowledge.send(Frame::put_result(&summary.to_json())).await;
            // The upload comes a second time in full: breaking it off would make clients report
            // a failure in place of this answer.
            while input.next().await?.is_some() {}
            return Ok(None);
        }
    };
    write(flight, upload, input, acknowledge, call).await.map(Some)
}

/// Writes all messages that come: one group on a thread that may block, while the next arrives.
async fn write(
    flight: &Flight,
    upload: Upload,
    input: &mut Input,
    acknowledge: &FrameSender,
    call: &Call,
) -> Result<Upload, Status> {
    let mut idle = Some(upload);
    let mut writing = None;
    let mut group = Group::default();
    loop {
        if !group.messages.is_empty()
            && let Some(upload) = idle.take()
        {
            let messages = group.take();
            writing = Some(tokio::task::spawn_blocking(move || upload.write(messages)));
        }
        if let Some(upload) = idle.take_if(|_| group.ended.is_some()) {
            return group.ended.unwrap_or(Ok(())).map(|()| upload);
        }
        tokio::select! {
            written = joined(&mut writing), if writing.is_some() => {
                writing = None;
                let written = written?;
                call.received(written.bytes, written.batches, written.rows);
                idle = Some(written.upload);
                send(flight, acknowledge, written.acknowledged).await?;
            }
            message = input.next(), if group.has_room() => group.push(message, input),
        }
    }
}

/// Messages that are written together.
#[derive(Default)]
struct Group {
    messages: Vec<Reserved>,
    bytes: usize,
    /// How the input ended. What came before is written first: its error is the one to be told.
    ended: Option<Result<(), Status>>,
}

impl Group {
    fn has_room(&self) -> bool {
        self.ended.is_none() && self.bytes < GROUP_BYTES
    }

    /// Takes in what the input gave, and what of it is there already.
    fn push(&mut self, message: Result<Option<Reserved>, Status>, input: &mut Input) {
        match message {
            Ok(Some(message)) => self.push_one(message),
            Ok(None) => self.ended = Some(Ok(())),
            Err(status) => self.ended = Some(Err(status)),
        }
        while self.has_room() {
            match input.ready() {
                Ok(Some(message)) => self.push_one(message),
                Ok(None) => break,
                Err(status) => self.ended = Some(Err(status)),
            }
        }
    }

    fn push_one(&mut self, message: Reserved) {
        self.bytes += message.message.bytes;
        self.messages.push(message);
    }

    fn take(&mut self) -> Vec<Reserved> {
        self.bytes = 0;
        std::mem::take(&mut self.messages)
    }
}

/// What became of the group that is being written.
async fn joined(
    writing: &mut Option<JoinHandle<Result<Written, Status>>>,
) -> Result<Written, Status> {
    let Some(writing) = writing else { return std::future::pending().await };
    writing.await.unwrap_or_else(|_| Err(Status::internal("the server failed on this call")))
}

/// Sends the acknowledgements of what was written.
async fn send(
    flight: &Flight,
    acknowledge: &FrameSender,
    acknowledged: Vec<Bytes>,
) -> Result<(), Status> {
    for app_metadata in acknowledged {
        let sent = acknowledge.send(Frame::put_result(&app_metadata));
        match tokio::time::timeout(flight.stall, sent).await {
            Ok(true) => {}
            Ok(false) => return Err(Status::cancelled("the client went away")),
            Err(_) => return Err(Status::deadline_exceeded("the acknowledgements are not read")),
        }
    }
    Ok(())
}

/// Whether the caller has a ticket for the upload, where it needs one; the bytes that it permits.
fn permitted(flight: &Flight, command: &PutCommand, caller: &Caller) -> Result<u64, Status> {
    let (Some(tickets), PutCommand::Dataset(request)) = (&flight.tickets, command) else {
        return Ok(u64::MAX);
    };
    let name = DatasetName::from_components(&request.dataset.components());
    let name = name.map_err(IntoStatus::into_status)?;
    let ticket = tickets.spend(&caller.ticket, Right::Write, Some(name.as_str()), caller)?;
    Ok(ticket.claims().bytes_max.unwrap_or(u64::MAX))
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
