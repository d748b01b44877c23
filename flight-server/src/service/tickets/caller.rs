//! Who calls, and the ticket that comes with a call's metadata.

use std::sync::Arc;

use flight_net::server::{CallContext, Peer};
use flight_ticket::limits::SUBJECT_BYTES_MAX;
use flight_wire::protocol::TICKET_HEADER;
use http::HeaderMap;
use tonic::metadata::MetadataMap;

/// The other end of a call.
#[derive(Debug, Clone)]
pub(in crate::service) struct Caller {
    pub(in crate::service) peer: Arc<Peer>,
    /// Of `x-flight-ticket-bin`; empty where there is none, or one that is no base64.
    pub(in crate::service) ticket: Vec<u8>,
}

impl Caller {
    pub(in crate::service) fn new(context: &CallContext, headers: &HeaderMap) -> Self {
        Self { peer: Arc::clone(&context.peer), ticket: ticket(headers).unwrap_or_default() }
    }

    /// Whom a ticket is issued to, as its certificate names it first; empty where nobody is known.
    pub(super) fn subject(&self) -> String {
        let name = self.peer.client.as_ref().and_then(|names| names.all().first());
        let mut subject = name.map(ToString::to_string).unwrap_or_default();
        while SUBJECT_BYTES_MAX < subject.len() {
            subject.pop();
        }
        subject
    }
}

fn ticket(headers: &HeaderMap) -> Option<Vec<u8>> {
    let mut alone = HeaderMap::with_capacity(1);
    alone.insert(TICKET_HEADER, headers.get(TICKET_HEADER)?.clone());
    let metadata = MetadataMap::from_headers(alone);
    Some(metadata.get_bin(TICKET_HEADER)?.to_bytes().ok()?.to_vec())
}
