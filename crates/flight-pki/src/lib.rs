//! Issues development certificates: an authority, servers and clients under it, X.509 v3.
//!
//! [`issue`] writes a set of files, [`issue_bad`] one of certificates that are to be refused, and
//! [`Authority`] issues in memory, deliberately bad ones included ([`Flaw`]), for the tests of other
//! crates. The clock is an argument. No file is read: whether a pair will do for a connection is
//! decided in `flight-tls`.

mod authority;
mod bad;
mod client;
mod error;
mod files;
mod form;
mod given;
mod host;
mod key;
pub mod limits;
mod plan;
mod revocation;
mod validity;
mod version1;

pub use authority::{Authority, Flaw, Issued, ca_as_server, self_signed};
pub use bad::{Bad, ByServer, issue_bad};
pub use client::ClientName;
pub use error::PkiError;
pub use files::Written;
pub use form::{KeyForm, Password};
pub use given::GivenAuthority;
pub use host::Host;
pub use key::KeyKind;
pub use plan::{Only, Plan, SignedBy, issue, leftovers};
pub use validity::{Life, Validity};
