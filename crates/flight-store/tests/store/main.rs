//! The store as its callers see it: real folders, several stores and processes over one of them.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod catalogue;
mod fixture;
mod links;
mod names;
mod processes;
mod races;
mod repeated;
mod uploads;
