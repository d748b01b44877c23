//! Whole files through the public interface: written, read, cut, flipped, changed under a reader,
//! and the public test files.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its case has failed")]

mod ahead;
mod cases;
mod changed;
mod columns;
mod corpus;
mod damage;
mod dictionaries;
mod feather;
mod handmade;
mod parquet_pages;
mod pieces;
mod round_trip;
mod support;
