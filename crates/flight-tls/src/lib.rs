//! What a secure connection means: whose certificate, whom to trust, which versions and ciphers.
//!
//! Files are read and judged here, before anything listens or connects: each fault is one sentence
//! that names the file and the way out ([`TlsError`]). A failed handshake is put into a sentence by
//! [`explain()`] and [`explain_accept`]. The engine is rustls over aws-lc-rs; its provider is passed
//! everywhere, since the process-wide default panics once two are compiled in.
//! Sockets, time limits and what happens after the handshake are left to `flight-net`.

mod chain;
mod client;
mod error;
mod explain;
mod identity;
pub mod limits;
mod negotiated;
mod pem;
mod server;
mod suite;
mod verifier;

pub use client::{ClientOptions, ClientTls, Trust, client_config};
pub use error::{Purpose, TlsError, Wanted};
pub use explain::{explain, explain_accept};
pub use identity::{ClientIdentity, ServerIdentity};
pub use negotiated::{Negotiated, negotiated};
pub use server::{ServerOptions, accept, server_config};
pub use suite::{CipherSuite, TlsVersion};
/// An encrypted connection, seen from the client.
pub use tokio_rustls::client::TlsStream as ClientStream;
/// An encrypted connection, seen from the server.
pub use tokio_rustls::server::TlsStream as ServerStream;
