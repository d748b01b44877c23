//! Files and handshakes, good and bad, each with the sentence that a person reads.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod agreement;
mod check;
mod clients;
mod encrypted;
mod ends;
mod files;
mod folder;
mod key_forms;
mod refusals;
mod revocations;
mod servers;
mod strangers;
mod streams;
mod successors;
