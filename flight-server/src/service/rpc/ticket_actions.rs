//! The actions about tickets: issued for uploads and deletions, renewed, cancelled.

use std::sync::Arc;

use arrow_flight::{
    ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightEndpoint,
    RenewFlightEndpointRequest,
};
use bytes::Bytes;
use flight_store::DatasetName;
use flight_ticket::{Right, Rows};
use flight_wire::protocol::{IssueMode, IssueRequest, actions};
use prost::Message;
use tonic::Status;

use crate::service::Flight;
use crate::service::status::IntoStatus;
use crate::service::tickets::{Caller, Grant, Tickets};

pub(super) const NAMES: [&str; 3] =
    [actions::TICKET_ISSUE, actions::RENEW_FLIGHT_ENDPOINT, actions::CANCEL_FLIGHT_INFO];

/// The answer of an action of [`NAMES`].
pub(super) async fn answer(
    flight: &Arc<Flight>,
    name: &str,
    body: Bytes,
    caller: Caller,
) -> Result<Bytes, Status> {
    let work: fn(&Tickets, &[u8], &Caller) -> Result<Bytes, Status> = match name {
        actions::TICKET_ISSUE => issue,
        actions::RENEW_FLIGHT_ENDPOINT => renew,
        _ => cancel,
    };
    let work = move |flight: &Flight| match &flight.tickets {
        Some(tickets) => work(tickets, &body, &caller),
        None => Err(Status::unimplemented("this server signs no tickets; --tickets makes it")),
    };
    flight.blocking(work).await
}

fn issue(tickets: &Tickets, body: &[u8], caller: &Caller) -> Result<Bytes, Status> {
    let request = IssueRequest::parse(body).map_err(IntoStatus::into_status)?;
    let name = DatasetName::from_components(&request.dataset.components());
    let grant = Grant {
        right: match request.mode {
            IssueMode::Write => Right::Write,
            IssueMode::Delete => Right::Delete,
        },
        once: request.once.unwrap_or(false),
        dataset: name.map_err(IntoStatus::into_status)?.as_str().to_owned(),
        // Of a dataset that may not be there yet.
        version: [0; 16],
        rows: Rows::ALL,
        bytes_max: request.bytes,
        tail: Vec::new(),
    };
    Ok(tickets.issue(grant, caller)?.ticket.into())
}

fn renew(tickets: &Tickets, body: &[u8], caller: &Caller) -> Result<Bytes, Status> {
    let endpoint = decode::<RenewFlightEndpointRequest>(body)?.endpoint.unwrap_or_default();
    let renewed = tickets.renew(ticket(&endpoint), caller)?;
    Ok(renewed.within(endpoint).encode_to_vec().into())
}

fn cancel(tickets: &Tickets, body: &[u8], caller: &Caller) -> Result<Bytes, Status> {
    let info = decode::<CancelFlightInfoRequest>(body)?.info.unwrap_or_default();
    let cancelled: Vec<_> = info.endpoint.iter().map(ticket).collect();
    tickets.cancel(&cancelled, caller)?;
    Ok(CancelFlightInfoResult::new(CancelStatus::Cancelled).encode_to_vec().into())
}

fn ticket(endpoint: &FlightEndpoint) -> &[u8] {
    endpoint.ticket.as_ref().map(|ticket| &ticket.ticket[..]).unwrap_or_default()
}

fn decode<M: Message + Default>(body: &[u8]) -> Result<M, Status> {
    M::decode(body).map_err(|_| Status::invalid_argument("the action's body is malformed"))
}

/// The actions of [`NAMES`], with what they take and give.
pub(super) fn list() -> Vec<ActionType> {
    let descriptions = [
        "Gives a ticket for DoPut or delete-dataset, to go in x-flight-ticket-bin: \
         {\"dataset\": \"a/b\", \"mode\": \"write\"}.",
        "Gives an endpoint with a later expiration_time: RenewFlightEndpointRequest.",
        "Cancels the tickets of a FlightInfo: CancelFlightInfoRequest.",
    ];
    let action = |(name, description): (&str, &str)| ActionType {
        r#type: name.to_owned(),
        description: description.to_owned(),
    };
    NAMES.into_iter().zip(descriptions).map(action).collect()
}
