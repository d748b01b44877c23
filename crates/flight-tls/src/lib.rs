//! What a secure connection means: whose certificate, whom to trust, which versions and ciphers.
//!
//! Files are read and judged here, before anything listens or connects: each fault is one sentence
//! that names the file and the way out ([`TlsError`]). A failed handshake is put into a sentence by
//! [`explain()`] and [`explain_accept`]. An [`Engine`] does the work: rustls over aws-lc-rs or ring, or
//! OpenSSL; all mean the same by the same options
//! (docs/decisions/0010).
//! Sockets, time limits and what happens after the handshake are left to `flight-net`.

mod authorities;
mod certificate;
mod chain;
mod client;
mod content;
mod describe;
mod engine;
mod error;
mod explain;
mod group;
mod identity;
mod key;
pub mod limits;
mod look;
mod names;
mod negotiated;
#[cfg(feature = "openssl")]
mod openssl_engine;
mod password;
mod pem;
mod revocation;
mod rustls_engine;
mod server;
mod stream;
mod successor;
mod suite;
mod verdict;

pub use certificate::Certificate;
pub use client::{ClientOptions, ClientTls, Trust, client_config};
pub use content::Content;
pub use describe::{CertificateFacts, KeyFacts, moment, read_certificates, read_private_key};
pub use engine::Engine;
pub use error::{Purpose, TlsError, Wanted};
pub use explain::{explain, explain_accept};
pub use group::Group;
pub use identity::{ClientIdentity, ServerIdentity};
pub use key::KeyOf;
pub use look::{Agreed, Look, look};
pub use names::{ClientNames, Name};
pub use negotiated::Negotiated;
pub use password::KeyPassword;
pub use server::{ClientAuth, ServerOptions, ServerTls};
pub use stream::TlsStream;
pub use suite::{CipherSuite, TlsVersion};
pub use verdict::{Verdict, client_verdict, server_verdict, serving_verdict};
