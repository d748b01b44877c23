//! What a secure connection means: whose certificate, whom to trust, which versions and ciphers.
//!
//! Files are read and judged here, before anything listens or connects: each fault is one sentence
//! that names the file and the way out ([`TlsError`]). A failed handshake is put into a sentence by
//! [`explain()`] and [`explain_accept`]. An [`Engine`] does the work: rustls over aws-lc-rs or ring, or
//! OpenSSL; all mean the same by the same options.
//! Sockets, time limits and what happens after the handshake are left to `flight-net`.

mod authorities;
mod certificate;
mod chain;
mod client;
mod content;
mod engine;
mod error;
mod explain;
mod group;
mod identity;
mod key;
pub mod limits;
mod names;
mod negotiated;
#[cfg(feature = "openssl")]
mod openssl_engine;
mod pem;
mod revocation;
mod rustls_engine;
mod server;
mod stream;
mod successor;
mod suite;

pub use certificate::Certificate;
pub use client::{ClientOptions, ClientTls, Trust, client_config};
pub use content::Content;
pub use engine::Engine;
pub use error::{Purpose, TlsError, Wanted};
pub use explain::{explain, explain_accept};
pub use group::Group;
pub use identity::{ClientIdentity, ServerIdentity};
pub use key::KeyOf;
pub use names::{ClientNames, Name};
pub use negotiated::Negotiated;
pub use server::{ClientAuth, ServerOptions, ServerTls};
pub use stream::TlsStream;
pub use suite::{CipherSuite, TlsVersion};
