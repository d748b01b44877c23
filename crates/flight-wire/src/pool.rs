//! Recycled memory for the bodies of messages.
//!
//! A body of some megabytes in fresh memory costs a page fault for each 4 KiB, several times what
//! the copy into it costs. So memory comes back here when the last batch that shares it is gone,
//! and serves the next body of about that size.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_buffer::{Buffer, MutableBuffer};
use bytes::Bytes;

/// Smaller memory is not kept: the allocator is as fast, and there can be very much of it.
const KEPT_BYTES_MIN: usize = 16 << 10;
/// Memory is taken in steps of this part of its size, so that bodies that differ a little share it.
const STEPS: usize = 8;

/// Memory that is kept for the next body; clones share it.
#[derive(Debug, Clone)]
pub struct BufferPool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    kept_bytes_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// What came back last is at the end, and the likeliest to be in a cache still.
    buffers: Vec<MutableBuffer>,
    bytes: usize,
}

impl BufferPool {
    /// A pool that keeps at most `kept_bytes_max` bytes of memory that nobody uses.
    pub fn new(kept_bytes_max: usize) -> Self {
        Self { shared: Arc::new(Shared { kept_bytes_max, kept: Mutex::default() }) }
    }

    /// Memory of `len` bytes, aligned as Arrow's arrays want it. What it holds is left from
    /// earlier use. `None` when the system has no memory for it.
    pub fn take(&self, len: usize) -> Option<PooledBuffer> {
        let reused = if len < KEPT_BYTES_MIN { None } else { self.shared.reuse(len) };
        let memory = match reused {
            Some(memory) => memory,
            None => MutableBuffer::try_from_len_zeroed(stepped(len)?).ok()?,
        };
        Some(PooledBuffer { memory, len, pool: Arc::clone(&self.shared) })
    }

    /// Frees what is kept; what is in use comes back as before.
    pub fn clear(&self) {
        let kept = std::mem::take(&mut *self.shared.kept());
        drop(kept); // without the lock
    }
}

impl Shared {
    /// The memory that came back last of those that fit `len` without wasting more than half.
    fn reuse(&self, len: usize) -> Option<MutableBuffer> {
        let fits = |memory: &MutableBuffer| memory.len() >= len && memory.len() / 2 <= len;
        let mut kept = self.kept();
        let at = kept.buffers.iter().rposition(fits)?;
        let memory = kept.buffers.remove(at);
        kept.bytes -= memory.len();
        Some(memory)
    }

    fn give_back(&self, memory: MutableBuffer) {
        if memory.len() < KEPT_BYTES_MIN {
            return;
        }
        let mut freed = Vec::new(); // and dropped once the lock is free
        let mut kept = self.kept();
        kept.bytes += memory.len();
        kept.buffers.push(memory);
        while kept.bytes > self.kept_bytes_max {
            // The oldest first: sizes that nobody asks for any more do not stay.
            let oldest = kept.buffers.remove(0);
            kept.bytes -= oldest.len();
            freed.push(oldest);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is taken for `len` bytes; `None` beyond what can be counted.
fn stepped(len: usize) -> Option<usize> {
    if len < KEPT_BYTES_MIN {
        return Some(len);
    }
    len.checked_next_multiple_of((1 << len.ilog2()) / STEPS)
}

/// Memory of a pool, to be filled.
#[derive(Debug)]
pub struct PooledBuffer {
    /// Always initialised over its whole length, which is at least `len`.
    memory: MutableBuffer,
    len: usize,
    pool: Arc<Shared>,
}

impl PooledBuffer {
    /// All `len` bytes that were asked for.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory.as_slice_mut()[..self.len]
    }

    /// A buffer of these bytes; the memory goes back to the pool with the last slice of it.
    pub fn freeze(self) -> Buffer {
        Buffer::from(Bytes::from_owner(self))
    }
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.memory.as_slice()[..self.len]
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(pool: &BufferPool, len: usize) -> PooledBuffer {
        pool.take(len).unwrap()
    }

    #[test]
    fn memory_is_used_again_once_the_last_slice_is_gone() {
        let pool = BufferPool::new(1 << 20);
        let mut memory = take(&pool, 100_000);
        memory.as_mut_slice().fill(7);
        let at = memory.as_ref().as_ptr();
        let whole = memory.freeze();
        let slice = whole.slice_with_length(10, 20);
        drop(whole);
        assert_ne!(take(&pool, 100_000).as_ref().as_ptr(), at, "a slice holds it still");
        assert_eq!(slice.as_slice(), [7; 20]);
        let before = take(&pool, 1 << 20); // takes what the line above gave back out of the way
        drop(slice);
        assert_eq!(take(&pool, 90_000).as_ref().as_ptr(), at);
        drop(before);
    }

    #[test]
    fn memory_is_aligned_for_every_type() {
        let pool = BufferPool::new(1 << 20);
        for len in [0, 1, 63, 65_536, 65_537, 3_000_000] {
            let memory = take(&pool, len);
            assert_eq!(memory.as_ref().len(), len);
            assert_eq!(memory.as_ref().as_ptr().align_offset(64), 0, "{len}");
        }
    }

    #[test]
    fn no_more_is_kept_than_the_pool_may() {
        let pool = BufferPool::new(256 << 10);
        let all: Vec<_> = (0..8).map(|_| take(&pool, 64 << 10)).collect();
        drop(all);
        assert_eq!(pool.shared.kept().bytes, 256 << 10);
        drop(take(&pool, 1 << 20));
        assert_eq!(pool.shared.kept().bytes, 0, "what alone is over the bound is not kept");
    }

    #[test]
    fn a_cleared_pool_keeps_nothing_but_what_comes_back_later() {
        let pool = BufferPool::new(1 << 20);
        let in_use = take(&pool, 200_000);
        drop(take(&pool, 100_000));
        pool.clear();
        assert_eq!(pool.shared.kept().bytes, 0);
        drop(in_use);
        assert!(pool.shared.kept().bytes >= 200_000);
    }

    #[test]
    fn a_small_body_does_not_hold_large_memory() {
        let pool = BufferPool::new(8 << 20);
        drop(take(&pool, 4 << 20));
        assert_eq!(take(&pool, 1 << 20).memory.len(), 1 << 20);
    }

    #[test]
    fn little_more_is_taken_than_asked_for() {
        let pool = BufferPool::new(1 << 20);
        for len in [0, 1, 7_000, 16_384, 16_385, 100_000, 1 << 20, 3_333_333] {
            assert!(take(&pool, len).memory.len() <= len + len / STEPS, "{len}");
        }
        drop(take(&pool, 7_000));
        assert!(pool.shared.kept().buffers.iter().all(|kept| kept.len() >= KEPT_BYTES_MIN));
    }

    #[test]
    fn what_no_memory_can_hold_is_no_panic() {
        assert!(BufferPool::new(0).take(usize::MAX).is_none());
        assert!(BufferPool::new(0).take(isize::MAX as usize - (1 << 20)).is_none());
    }
}
