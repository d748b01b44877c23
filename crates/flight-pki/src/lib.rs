//! Issues development certificates: an authority, servers and clients under it, X.509 v3.
//!
//! [`issue`] writes a set of files, [`Authority`] issues in memory, deliberately bad ones included
//! ([`Flaw`]), for the tests of other crates. The clock is an argument. Nothing is read back:
//! whether a pair of files will do for a connection is decided in `flight-tls`.

mod authority;
mod error;
mod host;
mod key;
pub mod limits;
mod plan;
mod revocation;
mod validity;

pub use authority::{Authority, Flaw, Issued, ca_as_server, self_signed};
pub use error::PkiError;
pub use host::Host;
pub use key::KeyKind;
pub use plan::{Plan, Written, issue, leftovers};
pub use validity::Validity;
