//! The protocol of Arrow's own benchmark, `arrow-flight-benchmark`.
//!
//! From apache/arrow: cpp/src/arrow/flight/perf.proto, package `arrow.flight.perf`.

use prost::Message;

use super::ProtocolError;

/// `FlightDescriptor.cmd` of GetFlightInfo: the streams to generate.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Perf {
    /// An encapsulated schema; Arrow's own client leaves it empty, Java's server wants it.
    #[prost(bytes = "bytes", tag = "1")]
    pub schema: bytes::Bytes,
    #[prost(int32, tag = "2")]
    pub stream_count: i32,
    #[prost(int64, tag = "3")]
    pub records_per_stream: i64,
    #[prost(int32, tag = "4")]
    pub records_per_batch: i32,
}

/// `Ticket.ticket` of DoGet: one of those streams.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Token {
    #[prost(message, required, tag = "1")]
    pub definition: Perf,
    /// First record, inclusive.
    #[prost(int64, tag = "2")]
    pub start: i64,
    /// Last record, exclusive.
    #[prost(int64, tag = "3")]
    pub end: i64,
}

impl Perf {
    /// # Errors
    ///
    /// What is not a `Perf` message.
    pub fn parse(command: &[u8]) -> Result<Self, ProtocolError> {
        Self::decode(command).map_err(|error| ProtocolError::Protobuf(error.to_string()))
    }
}

impl Token {
    /// # Errors
    ///
    /// What is not a `Token` message.
    pub fn parse(ticket: &[u8]) -> Result<Self, ProtocolError> {
        Self::decode(ticket).map_err(|error| ProtocolError::Protobuf(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_that_arrows_client_sends() {
        let perf = Perf {
            stream_count: 2,
            records_per_stream: 20,
            records_per_batch: 8,
            ..Perf::default()
        };
        assert_eq!(perf.encode_to_vec(), [0x10, 2, 0x18, 20, 0x20, 8]);
        assert_eq!(Perf::parse(&perf.encode_to_vec()), Ok(perf));
    }

    #[test]
    fn what_is_not_protobuf_is_refused() {
        let error = Perf::parse(b"\xff").unwrap_err().to_string();
        assert!(error.starts_with("cannot parse protobuf"), "{error}");
    }
}
