//! Streams of batches over every transport of the client: orderly, refused, broken off, hostile.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocations;
mod calls;
mod hostile;
mod mutated;
mod peer;
mod peers;
mod pools;
mod support;
