//! Who is calling, and what they may do.
//!
//! A file of hashed tokens says who is known by which ([`Tokens`]); checking a header against it
//! makes a [`Caller`]. A table says who may do what with which datasets ([`Policy`]).
//! No input or output: texts, the clock and randomness are arguments. Reading files, and what a
//! refused peer is told, are left to the application.

mod bearer;
mod caller;
mod error;
pub mod limits;
mod pattern;
mod policy;
mod principal;
mod tokens;

pub use bearer::BearerToken;
pub use caller::Caller;
pub use error::{AuthError, Refusal};
pub use pattern::DatasetPattern;
pub use policy::{Policy, Right};
pub use principal::Principal;
pub use tokens::{TokenEntry, Tokens};
