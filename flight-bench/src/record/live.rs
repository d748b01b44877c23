//! Counters that the progress display reads while a run goes on.
//!
//! A worker writes only its own, with relaxed atomics on a cache line of its own, so that being
//! watched costs the run nothing that can be measured.

use std::sync::atomic::{AtomicU64, Ordering};

/// What one worker thread has moved since it began, warm-up included.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Live {
    bytes: AtomicU64,
    batches: AtomicU64,
}

impl Live {
    /// For the worker alone: nobody else writes, and an atomic addition would cost as much as
    /// recording the rest.
    pub(crate) fn add(&self, bytes: u64) {
        let more = |counter: &AtomicU64, amount| {
            let sum = counter.load(Ordering::Relaxed).wrapping_add(amount);
            counter.store(sum, Ordering::Relaxed);
        };
        more(&self.bytes, bytes);
        more(&self.batches, 1);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }
}
