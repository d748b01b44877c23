//! Flight messages and record batches, each turned into the other.
//!
//! Sans-IO: bytes come in and go out as arguments, so that the same code serves both ends, files
//! and tests. Sockets are `flight-net`'s, files are `flight-files`', names are `flight-store`'s.
//!
//! * [`Encoder`] turns batches into messages that share the arrays' own buffers, and keeps them
//!   within a limit; [`MessageEncoder`] does without a limit, as files want it;
//! * [`frame`](mod@frame) writes them as gRPC messages of `FlightData`;
//! * [`MessageReader`] reads such messages back from whatever pieces arrive;
//! * [`BatchDecoder`] turns messages into batches, behind the [`guard`] against hostile ones;
//! * [`protocol`] holds every command, ticket and action body of ours.

mod checksum;
mod decoder;
mod encoder;
pub mod frame;
pub mod guard;
mod input;
pub mod limits;
mod logical;
mod messages;
mod narrow;
mod plain;
mod pool;
pub mod protocol;
mod receive;
mod schema_message;

pub use checksum::Checksum;
pub use decoder::{BatchDecoder, DecodeError, Decoded};
pub use encoder::{Compression, EncodeError, EncodeOptions, Encoder, even_rows};
pub use frame::{Chunks, Frame};
pub use limits::DecodeLimits;
pub use logical::logical_bytes;
pub use messages::{ALIGNMENT, Extension, Kind, MESSAGE_PREFIX_BYTES, Message, MessageEncoder};
pub use pool::{BufferPool, PooledBuffer};
pub use receive::{FlightMessage, MessageReader, ReceiveError, Received};
pub use schema_message::schema_message;
