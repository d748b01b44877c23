//! The names of the latencies that are measured, and what each runs from and to.
//!
//! There is never a bare "latency": waiting for a stream, a round trip and a commit are different
//! things.

/// A latency, recorded in nanoseconds of a monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metric {
    Connect,
    GetInfo,
    GetFirstBatch,
    GetWait,
    GetStream,
    GetDelivery,
    GetResponse,
    GetLag,
    PutFirstAck,
    PutAck,
    PutWriteWait,
    PutCommit,
    PutResponse,
    PutLag,
    UnaryService,
    UnaryResponse,
    UnaryLag,
    ConnectSocket,
    ConnectTls,
    ConnectHttp2,
    ConnectFirstCall,
    ConnectReady,
    ConnectResponse,
    ConnectLag,
    ExchangeRoundTrip,
    ExchangeResponse,
    ExchangeLag,
    MixedService,
    MixedResponse,
    MixedLag,
}

impl Metric {
    pub(crate) const ALL: [Self; 30] = [
        Self::Connect,
        Self::GetInfo,
        Self::GetFirstBatch,
        Self::GetWait,
        Self::GetStream,
        Self::GetDelivery,
        Self::GetResponse,
        Self::GetLag,
        Self::PutFirstAck,
        Self::PutAck,
        Self::PutWriteWait,
        Self::PutCommit,
        Self::PutResponse,
        Self::PutLag,
        Self::UnaryService,
        Self::UnaryResponse,
        Self::UnaryLag,
        Self::ConnectSocket,
        Self::ConnectTls,
        Self::ConnectHttp2,
        Self::ConnectFirstCall,
        Self::ConnectReady,
        Self::ConnectResponse,
        Self::ConnectLag,
        Self::ExchangeRoundTrip,
        Self::ExchangeResponse,
        Self::ExchangeLag,
        Self::MixedService,
        Self::MixedResponse,
        Self::MixedLag,
    ];

    /// The stable id under which it stands in reports.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::GetInfo => "get.info",
            Self::GetFirstBatch => "get.ttfb",
            Self::GetWait => "get.wait",
            Self::GetStream => "get.stream",
            Self::GetDelivery => "get.delivery",
            Self::GetResponse => "get.response",
            Self::GetLag => "get.lag",
            Self::PutFirstAck => "put.first_ack",
            Self::PutAck => "put.ack",
            Self::PutWriteWait => "put.write_wait",
            Self::PutCommit => "put.commit",
            Self::PutResponse => "put.response",
            Self::PutLag => "put.lag",
            Self::UnaryService => "unary.service",
            Self::UnaryResponse => "unary.response",
            Self::UnaryLag => "unary.lag",
            Self::ConnectSocket => "tls.socket",
            Self::ConnectTls => "tls.handshake",
            Self::ConnectHttp2 => "tls.http2",
            Self::ConnectFirstCall => "tls.first_call",
            Self::ConnectReady => "tls.ready",
            Self::ConnectResponse => "tls.response",
            Self::ConnectLag => "tls.lag",
            Self::ExchangeRoundTrip => "exchange.rtt",
            Self::ExchangeResponse => "exchange.response",
            Self::ExchangeLag => "exchange.lag",
            Self::MixedService => "mixed.service",
            Self::MixedResponse => "mixed.response",
            Self::MixedLag => "mixed.lag",
        }
    }

    /// The first part of its id: what it is a latency of.
    pub(crate) fn of(self) -> &'static str {
        self.id().split_once('.').map_or(self.id(), |(of, _)| of)
    }

    /// From where to where it runs.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Connect => {
                "socket to ready HTTP/2 connection, TLS included; those before the window count too"
            }
            Self::GetInfo => "GetFlightInfo called to its answer: every pass asks its query anew",
            Self::GetFirstBatch => "DoGet called to first batch decoded",
            Self::GetWait => "blocked until the next batch came (not a latency)",
            Self::GetStream => "DoGet called to end of stream",
            Self::GetDelivery => "begun by the server to batch decoded",
            Self::GetResponse => "due by the server's schedule to batch decoded",
            Self::GetLag => "due by the server's schedule to when it was begun",
            Self::PutFirstAck => "DoPut called to first acknowledgement",
            Self::PutAck => "batch handed over to its acknowledgement",
            Self::PutWriteWait => "blocked while the transport took the batch",
            Self::PutCommit => "end of upload sent to the server's final answer",
            Self::PutResponse => "intended time of the batch to its acknowledgement",
            Self::PutLag
            | Self::UnaryLag
            | Self::ConnectLag
            | Self::ExchangeLag
            | Self::MixedLag => "intended time to when it was sent",
            Self::MixedService => {
                "operation begun to its end: all read, committed, back or answered"
            }
            Self::MixedResponse => "intended time of the operation to that end",
            Self::UnaryService => "call sent to its answer",
            Self::UnaryResponse => "intended time of the call to its answer",
            Self::ExchangeRoundTrip => "batch sent to its echo decoded",
            Self::ExchangeResponse => "intended time of the batch to its echo decoded",
            Self::ConnectSocket => "name looked up and TCP connected",
            Self::ConnectTls => "TLS handshake, after the socket is connected",
            Self::ConnectHttp2 => "HTTP/2 begun to the server's acknowledgement of our settings",
            Self::ConnectFirstCall => "first call sent to its answer, after that",
            Self::ConnectReady => "connection begun to the answer of its first call",
            Self::ConnectResponse => "intended time of the connection to that answer",
        }
    }

    /// Whether it is the time from when something was due to its end, which an open loop is asked for.
    pub(crate) fn is_response(self) -> bool {
        matches!(
            self,
            Self::GetResponse
                | Self::PutResponse
                | Self::UnaryResponse
                | Self::ConnectResponse
                | Self::ExchangeResponse
                | Self::MixedResponse
        )
    }

    /// Whether it is recorded in an open loop alone: once for each thing that was due.
    pub(crate) fn is_of_open_loop(self) -> bool {
        matches!(
            self,
            Self::GetDelivery
                | Self::GetResponse
                | Self::GetLag
                | Self::PutResponse
                | Self::PutLag
                | Self::UnaryResponse
                | Self::UnaryLag
                | Self::ConnectResponse
                | Self::ConnectLag
                | Self::ExchangeResponse
                | Self::ExchangeLag
                | Self::MixedResponse
                | Self::MixedLag
        )
    }

    /// Whether it is recorded outside the window too: streams connect before it opens.
    pub(crate) fn counts_outside_window(self) -> bool {
        self == Self::Connect
    }
}
