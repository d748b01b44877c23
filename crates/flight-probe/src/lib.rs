//! What a measurement stands on: what processes used, what host they ran on, how noisy it was, what
//! the clock costs, what the kernel knows of a connection, and what limited the rate.
//!
//! Everything is read as an ordinary user, and nothing is changed. What cannot be read is `None`,
//! never a guess. Linux only. What to measure, and how to print it, is decided in `flight-bench`.

pub mod clock;
pub mod doctor;
mod error;
mod files;
pub mod host;
mod limits;
pub mod noise;
pub mod process;
pub mod tcp;
pub mod verdict;

pub use error::ProbeError;
pub use limits::{SPIN_CORES_MAX, THREADS_MAX};
