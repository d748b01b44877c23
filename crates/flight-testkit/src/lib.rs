//! What the tests of several crates share: seeded random batches, the public test files, and real
//! server processes.
//!
//! Dev only. It knows Arrow and processes but none of our crates, so that every one of them may
//! use it in its tests. Being test code, it panics with a full sentence instead of returning errors.

pub mod arrays;
pub mod batches;
mod corpus;
mod fuzz;
pub mod measured;
mod process;
mod same;
pub mod schemas;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub use corpus::corpus;
pub use fuzz::FuzzTarget;
pub use process::{ServerCommand, ServerProcess, program};
pub use same::assert_same_rows;

/// The generator behind every random value here: the same seed gives the same values on every
/// machine and in every release, so a failing case is named by its seed.
pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// `cases` of a property, times the environment variable `FLIGHT_CASES` for the long tests.
pub fn cases(cases: u32) -> u32 {
    let times = std::env::var("FLIGHT_CASES").ok().and_then(|times| times.parse().ok());
    cases * times.unwrap_or(1)
}
