//! Feather, Arrow IPC streams and Parquet, read and written as record batches.
//!
//! No naming and no durability: callers hand in open files and sync what was written
//! (`flight-store`). Every reader checks before it sizes anything by what a file claims.
