//! Tickets of rows, in both forms: in the clear, and signed.

use std::sync::Arc;

use arrow_flight::{FlightEndpoint, Ticket as FlightTicket};
use flight_ticket::{Refusal, Right, Rows};
use flight_wire::protocol::Ticket;
use tonic::Status;

use super::{Caller, Grant, Issued, Tickets};
use crate::service::Flight;
use crate::service::status::IntoStatus;

/// Endpoints for tickets, which are signed where the server signs.
///
/// # Errors
///
/// As [`Tickets::issue`].
pub(in crate::service) async fn endpoints(
    flight: &Arc<Flight>,
    tickets: Vec<Ticket>,
    caller: &Caller,
) -> Result<Vec<FlightEndpoint>, Status> {
    if flight.tickets.as_ref().is_some_and(Tickets::signs_slowly) {
        let caller = caller.clone();
        return flight.blocking(move |flight| flight.endpoints(&tickets, &caller)).await;
    }
    flight.endpoints(&tickets, caller)
}

impl Flight {
    /// The same, on this thread.
    pub(in crate::service) fn endpoints(
        &self,
        tickets: &[Ticket],
        caller: &Caller,
    ) -> Result<Vec<FlightEndpoint>, Status> {
        let Some(signer) = &self.tickets else {
            let plain = |ticket: &Ticket| FlightEndpoint {
                ticket: Some(FlightTicket { ticket: ticket.encode().into() }),
                ..FlightEndpoint::default()
            };
            return Ok(tickets.iter().map(plain).collect());
        };
        let signed = |ticket: &Ticket| {
            let issued = signer.issue(reading(ticket), caller)?;
            Ok(issued.within(FlightEndpoint::default()))
        };
        tickets.iter().map(signed).collect()
    }

    /// The rows that a ticket is for, which it was issued for where the server signs.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for what is no ticket, `PERMISSION_DENIED` for one that was not signed, or
    /// not for this.
    pub(in crate::service) fn rows_of(
        &self,
        ticket: &[u8],
        caller: &Caller,
    ) -> Result<Ticket, Status> {
        let Some(signer) = &self.tickets else {
            return Ticket::parse(ticket).map_err(IntoStatus::into_status);
        };
        let verified = signer.spend(ticket, Right::Read, None, caller)?;
        let claims = verified.claims();
        let Rows::Rows { first: first_row, count: rows } = claims.rows else {
            return Err(signer.refuse(Refusal::Range, caller));
        };
        let whole = Ticket::whole(claims.dataset.clone(), claims.version);
        let part = Ticket { first_row, rows, ..whole };
        part.with_sending(&claims.tail).map_err(IntoStatus::into_status)
    }
}

/// What a ticket for rows permits.
fn reading(ticket: &Ticket) -> Grant {
    Grant {
        right: Right::Read,
        once: false,
        dataset: ticket.dataset.clone(),
        version: ticket.version,
        rows: Rows::Rows { first: ticket.first_row, count: ticket.rows },
        bytes_max: None,
        tail: ticket.encode_sending(),
    }
}

impl Issued {
    /// An endpoint with this ticket, and everything else as it was.
    pub(in crate::service) fn within(self, mut endpoint: FlightEndpoint) -> FlightEndpoint {
        endpoint.ticket = Some(FlightTicket { ticket: self.ticket.into() });
        let expiration = endpoint.expiration_time.insert(Default::default());
        expiration.seconds = i64::try_from(self.expires_ms / 1000).unwrap_or(i64::MAX);
        expiration.nanos = (self.expires_ms % 1000 * 1_000_000) as i32;
        endpoint
    }
}
