//! The accept loop: sockets, caps, handshakes, HTTP/2, and the drain.
//!
//! Everything that a peer may do before its first call is bounded here: how many connections, how
//! many of one address, how long a handshake. A bad or silent peer never delays another.

mod accept;
pub(crate) mod activity;
mod context;
mod gather;
mod linger;
mod listen;
mod pulse;

pub use accept::{Counters, Handler, Server};
pub use context::{CallContext, Deadline, Peer};
pub use listen::{BindError, Listener};
