//! The catalogue of a folder of datasets, and durable uploads into it.
//!
//! A dataset is one Feather, Arrow IPC stream or Parquet file below the root folder; its name is
//! its path without the extension. Everything is resolved from a descriptor of the root, so that
//! no name, link or rename makes the store open a file outside it. An upload is visible and on
//! stable storage when [`Upload::commit`] returns, or it never was there.
//!
//! How a file is read and written as batches is `flight-files`' business; who may do what, and
//! how much at once, is the server's. Calls block on the disk: call them from threads that may.
//! Linux only (`openat2`, `renameat2`, 5.6 or newer).

mod catalogue;
mod delete;
mod entries;
mod error;
mod extension;
mod faults;
pub mod limits;
mod locks;
mod name;
mod root;
mod scan;
mod staging;
mod store;
mod target;
mod upload;
mod walk;

#[cfg(test)]
mod failing_disk;

pub use catalogue::{Dataset, DatasetInfo, Part};
pub use error::StoreError;
pub use name::DatasetName;
pub use scan::{Problem, ScanReport};
pub use store::{Store, StoreOptions};
pub use upload::{Begun, Mode, Stored, Upload, UploadRequest};
