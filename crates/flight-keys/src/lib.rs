//! Keys that sign: made, kept in a ring, rotated, revoked, and sealed into a file.
//!
//! What is signed is not known here. The clock is an argument everywhere; randomness enters where a
//! key is generated and where a file is sealed. What holds a secret has no `Debug` that shows it,
//! and its memory is overwritten when it goes.

mod algorithm;
mod bytes;
mod encoded;
mod error;
mod file;
mod id;
mod key;
pub mod limits;
mod ring;
mod root;
mod schedule;
mod sealed;
mod store;

pub use algorithm::Algorithm;
pub use bytes::{fingerprint, random};
pub use error::KeyError;
pub use id::KeyId;
pub use key::{Key, Lifetime};
pub use ring::{KeyFacts, KeyRefusal, KeyRing, KeyState};
pub use root::RootKey;
pub use schedule::{Schedule, ScheduleError};
pub use store::KeyStore;
