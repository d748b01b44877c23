//! The real server over real sockets: its life, its uploads under fire, its folder under change.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unreachable_pub, reason = "modules of one test program")]

mod certs;
mod changing;
mod churn;
mod client;
mod durability;
mod equality;
mod lifecycle;
mod memory;
mod messages;
mod paced;
mod raw;
mod rotating;
mod rotation;
mod rotation_load;
mod served;
mod stalls;
mod ticket_keys;
mod tickets;
