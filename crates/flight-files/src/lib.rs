//! Feather, Arrow IPC streams and Parquet, read and written as record batches.
//!
//! No naming and no durability: callers hand in open files and sync what was written
//! (`flight-store`). Every reader checks before it sizes anything by what a file claims, and what
//! it gives is right or an error. A file is read through the descriptor it was opened with, and
//! never by name, so that a name which now means another file cannot mix two versions.
//!
//! * [`DatasetFile`] is an open and checked file; [`DatasetFile::scan`] reads rows of it, and
//!   [`DatasetFile::pieces`] gives them in the form that costs least to send;
//! * [`DecodePool`] decodes Parquet on several threads, ahead of who reads it;
//! * [`BatchWriter`] writes batches to a new file;
//! * [`Version`] tells two states of a file apart.

mod access;
mod dataset;
mod error;
mod format;
mod ipc;
pub mod limits;
mod map;
mod parquet;
mod version;
mod write;

pub use dataset::{BatchReader, DatasetFile, Piece, PieceReader, Scan};
pub use error::FileError;
pub use format::{Codec, Format};
pub use ipc::StoredMessage;
pub use limits::ReadLimits;
pub use parquet::{DecodeOptions, DecodePool};
pub use version::Version;
pub use write::{BatchWriter, WriteOptions, Written};
