//! Every command, ticket and action body that the two programs exchange.
//!
//! Documented for users in docs/protocol.md. Descriptors and tickets are opaque to Flight itself;
//! these are the forms that flight-server reads.

mod delete;
mod issue;
mod pace;
mod perf;
mod put;
mod request;
mod ticket;

pub use delete::DeleteRequest;
pub use issue::{IssueMode, IssueRequest, TICKET_HEADER};
pub use pace::{EmitStamp, PACE_HEADER, PaceRequest};
pub use perf::{Perf, Token};
pub use put::{PutMode, PutRequest, PutSummary, StoreCodec, StoreFormat};
pub use request::{ChecksumKind, ColumnRef, DatasetPath, GetRequest, WireCompression};
pub use ticket::Ticket;

/// Actions of flight-server.
pub mod actions {
    /// Answers `ok` while the server takes calls.
    pub const HEALTHCHECK: &str = "healthcheck";
    /// Echoes its body; the no-op of benchmarks. Arrow's perf protocol expects `ok` for none.
    pub const PING: &str = "ping";
    /// Deletes a dataset: `{"dataset": …}`.
    pub const DELETE_DATASET: &str = "delete-dataset";
    /// Gives a ticket to upload or delete: [`IssueRequest`](super::IssueRequest).
    pub const TICKET_ISSUE: &str = "ticket.issue";
    /// Flight's own: an endpoint with a later `expiration_time`.
    pub const RENEW_FLIGHT_ENDPOINT: &str = "RenewFlightEndpoint";
    /// Flight's own: the tickets of a FlightInfo are not taken any more.
    pub const CANCEL_FLIGHT_INFO: &str = "CancelFlightInfo";
}

/// Why a command, a ticket or an action's body was not understood. The client is at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    #[error("the command is {bytes} bytes, more than the {max} that are read")]
    TooLong { bytes: usize, max: usize },
    #[error("the JSON command is not understood: {0}")]
    Json(String),
    #[error("{key} is {value}; it must be between {min} and {max}")]
    Range { key: &'static str, value: u64, min: u64, max: u64 },
    #[error("upload_id must be 1 to {max} printable ASCII characters")]
    UploadId { max: usize },
    #[error("cannot parse protobuf: {0}")]
    Protobuf(String),
    #[error(
        "flight-pace is not understood; write rate=1000; arrival=poisson; seed=42, 1 to 1e7 a second"
    )]
    Pace,
    #[error("the ticket was not issued by this server; call GetFlightInfo for one")]
    Ticket,
}

/// Parses a JSON command of bounded length; an unknown key is named.
fn parse_json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, ProtocolError> {
    let max = crate::limits::COMMAND_BYTES_MAX;
    if bytes.len() > max {
        return Err(ProtocolError::TooLong { bytes: bytes.len(), max });
    }
    serde_json::from_slice(bytes)
        .map_err(|error| ProtocolError::Json(error.to_string().chars().take(400).collect()))
}

/// Fails when `value`, given for `key`, lies outside `min..=max`.
fn in_range(key: &'static str, value: u64, min: u64, max: u64) -> Result<(), ProtocolError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(ProtocolError::Range { key, value, min, max })
}
