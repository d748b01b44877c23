//! Whole files through the public interface: written, read, cut, flipped, changed under a reader,
//! and the public test files.

mod cases;
mod changed;
mod corpus;
mod damage;
mod dictionaries;
mod handmade;
mod parquet_pages;
mod round_trip;
mod support;
