//! Sockets and HTTP/2: where Flight calls enter the server and leave a client.
//!
//! * [`Endpoint`]: the URIs of Flight (`grpc://`, `grpc+tls://`, `grpc+unix://`);
//! * [`client`]: one connection, used for generated clients and for streams of Flight messages;
//! * [`server`]: the accept loop with its caps and timeouts, and the drain.
//!
//! What a secure connection means is `flight-tls`', what a message holds `flight-wire`'s, what a
//! call does the server's.

mod body;
pub mod client;
mod clock;
mod endpoint;
pub mod limits;
pub mod server;
mod socket;

pub use body::{Body, BodyError, FrameSender, Room};
pub use clock::MachineClock;
pub use endpoint::{DEFAULT_PORT, Endpoint, EndpointError};

/// Paths of the Flight calls that carry batches.
pub mod paths {
    pub const DO_GET: &str = "/arrow.flight.protocol.FlightService/DoGet";
    pub const DO_PUT: &str = "/arrow.flight.protocol.FlightService/DoPut";
    pub const DO_EXCHANGE: &str = "/arrow.flight.protocol.FlightService/DoExchange";
    /// Prefix of the standard health service.
    pub const HEALTH: &str = "/grpc.health.v1.Health/";
}
