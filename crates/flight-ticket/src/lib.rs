//! Signed tickets: what a client may do, to what, until when, under a MAC or a signature.
//!
//! Sans-IO: the keys, the clock and the randomness are arguments. Who may have a ticket is decided
//! elsewhere, and so is what the tail of one means.

mod claims;
mod encoded;
pub mod fuzzing;
pub mod limits;
mod refusal;
mod spent;
mod verify;

pub use claims::{Claims, Right, Rights, Rows};
pub use encoded::issue;
pub use refusal::Refusal;
pub use spent::{Spent, SpentError};
pub use verify::{Presented, VerifiedTicket};
