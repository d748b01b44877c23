//! The threads that decode, and the scans that they serve in turn.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::parts::{Job, Outcome, Parts, Taken};
use crate::limits::{DECODE_POOL_BYTES, PARQUET_PART_BYTES, PARQUET_READERS_MAX};

/// How many threads decode, and what they may hold.
#[derive(Debug, Clone)]
pub struct DecodeOptions {
    pub threads: NonZeroUsize,
    /// Bytes that all scans may hold ahead of their readers together.
    pub bytes: u64,
    /// Bytes that one scan may hold ahead of its reader.
    pub scan_bytes: u64,
    /// Decoded bytes of the parts that a large row group is cut into. One thread cuts none.
    pub part_bytes: u64,
}

impl DecodeOptions {
    /// What suits this many threads: a scan holds a part for each that may decode of it at once,
    /// and one more. The less it holds, the more of it is still in a cache when it is taken.
    pub fn for_threads(threads: NonZeroUsize) -> Self {
        let readers = threads.get().min(PARQUET_READERS_MAX) as u64;
        let (bytes, part_bytes) = (DECODE_POOL_BYTES, PARQUET_PART_BYTES);
        Self { threads, bytes, scan_bytes: part_bytes * (readers + 1), part_bytes }
    }
}

impl Default for DecodeOptions {
    /// A thread for each core that this process may use.
    fn default() -> Self {
        Self::for_threads(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }
}

/// A fixed number of threads that decode Parquet for any number of scans.
///
/// The scans are served in turn, a batch each. A scan whose batches nobody takes stops once it
/// holds its bytes. However little room there is, the batch that a reader waits for is decoded.
/// Scans hold the pool: its threads end with the last.
#[derive(Debug)]
pub struct DecodePool {
    shared: Arc<Shared>,
    options: DecodeOptions,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Each thread's, told when there may be something for it to decode.
    work: Vec<Condvar>,
    bytes_max: u64,
}

#[derive(Default)]
struct State {
    scans: HashMap<u64, Scan>,
    /// The order in which scans are served.
    turns: VecDeque<u64>,
    next_id: u64,
    /// What all scans cost together.
    bytes: u64,
    /// Threads that wait for work. The one that had some last is woken first: memory that an
    /// allocator keeps for a thread stays with as few of them as do the work.
    idle: Vec<usize>,
    stopped: bool,
}

struct Scan {
    parts: Parts,
    ready: Arc<Condvar>,
}

impl DecodePool {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// When the system has no more threads.
    pub fn new(options: DecodeOptions) -> std::io::Result<Arc<Self>> {
        let work = std::iter::repeat_with(Condvar::new).take(options.threads.get()).collect();
        let state = Mutex::default();
        let shared = Arc::new(Shared { state, work, bytes_max: options.bytes });
        // Dropped on an error, which ends the threads that were started.
        let pool = Self { shared, options };
        for index in 0..pool.options.threads.get() {
            let shared = Arc::clone(&pool.shared);
            let thread = std::thread::Builder::new().name(format!("decode-{index}"));
            thread.spawn(move || shared.work(index))?;
        }
        Ok(Arc::new(pool))
    }

    pub(super) fn options(&self) -> &DecodeOptions {
        &self.options
    }

    /// Bytes of decoded batches that nobody took yet, of open readers' pages, and of what is being
    /// decoded.
    pub fn bytes(&self) -> u64 {
        self.shared.lock().bytes
    }

    pub(super) fn add(&self, parts: Parts, ready: Arc<Condvar>) -> u64 {
        let mut state = self.shared.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.scans.insert(id, Scan { parts, ready });
        state.turns.push_back(id);
        self.shared.wake(&mut state);
        id
    }

    /// Waits for what comes next in a scan.
    pub(super) fn take(&self, id: u64, ready: &Condvar) -> Taken {
        let mut state = self.shared.lock();
        loop {
            let taken = state.of(id, Parts::take).expect("a scan is removed by its drop");
            // There is room for another batch now, or need of one.
            self.shared.wake(&mut state);
            if let Some(taken) = taken {
                return taken;
            }
            state = ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives up what is decoded of a scan, until something of it is taken again.
    pub(super) fn park(&self, id: u64) {
        let mut state = self.shared.lock();
        let parked = state.of(id, Parts::park);
        // Other scans may use the room.
        self.shared.wake(&mut state);
        drop(state);
        drop(parked); // Batches are given back without the lock.
    }

    pub(super) fn remove(&self, id: u64) {
        let mut state = self.shared.lock();
        state.turns.retain(|turn| *turn != id);
        let removed = state.scans.remove(&id);
        state.bytes -= removed.as_ref().map_or(0, |scan| scan.parts.bytes());
        // Other scans may use the room.
        self.shared.wake(&mut state);
        drop(state);
        drop(removed); // Batches are given back without the lock.
    }
}

impl Drop for DecodePool {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.work.iter().for_each(Condvar::notify_one);
    }
}

impl Shared {
    /// A thread's life.
    fn work(&self, thread: usize) {
        while let Some((id, job)) = self.next_job(thread) {
            let outcome = job.run();
            let unwanted = self.lock().finish(id, outcome);
            drop(unwanted);
        }
    }

    /// Waits for a batch to decode; `None` once the pool is gone.
    fn next_job(&self, thread: usize) -> Option<(u64, Job)> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.next_job(self.bytes_max) {
                // Where there was one there may be another, for another thread.
                self.wake(&mut state);
                return Some(job);
            }
            state.idle.push(thread);
            let waits = |state: &mut State| state.idle.contains(&thread) && !state.stopped;
            let woken = self.work[thread].wait_while(state, waits);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends a thread that waits to look for work.
    fn wake(&self, state: &mut State) {
        if let Some(thread) = state.idle.pop() {
            self.work[thread].notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Decoders, which may panic, run without the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A job of the first scan, from the one whose turn it is on, that has one.
    fn next_job(&mut self, bytes_max: u64) -> Option<(u64, Job)> {
        for _ in 0..self.turns.len() {
            let id = self.turns.pop_front()?;
            self.turns.push_back(id);
            let room = bytes_max.saturating_sub(self.bytes);
            if let Some(job) = self.of(id, |parts| parts.next_job(room)).flatten() {
                return Some((id, job));
            }
        }
        None
    }

    /// Hands an outcome to its scan; gives it back where nobody wants it any more.
    fn finish(&mut self, id: u64, outcome: Outcome) -> Option<Outcome> {
        let Some(scan) = self.scans.get(&id) else { return Some(outcome) };
        scan.ready.notify_one();
        self.of(id, |parts| parts.finish(outcome)).flatten()
    }

    /// Does something with a scan's parts and keeps the sum of bytes right.
    fn of<T>(&mut self, id: u64, work: impl FnOnce(&mut Parts) -> T) -> Option<T> {
        let parts = &mut self.scans.get_mut(&id)?.parts;
        let before = parts.bytes();
        let result = work(parts);
        self.bytes = self.bytes - before + parts.bytes();
        Some(result)
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scans, bytes, .. } = self;
        f.debug_struct("State").field("scans", &scans.len()).field("bytes", bytes).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{options, sample};
    use super::*;

    fn state(scans: u64) -> State {
        let mut state = State::default();
        for id in 0..scans {
            let parts = sample(9_000, &options(4, 800_000));
            state.scans.insert(id, Scan { parts, ready: Arc::default() });
            state.turns.push_back(id);
        }
        state
    }

    fn turn(state: &mut State, bytes_max: u64) -> Option<u64> {
        let (id, job) = state.next_job(bytes_max)?;
        assert!(state.finish(id, job.run()).is_none());
        Some(id)
    }

    #[test]
    fn scans_are_served_in_turn() {
        let mut state = state(3);
        let turns: Vec<_> = (0..7).map(|_| turn(&mut state, u64::MAX).unwrap()).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn a_scan_that_is_full_is_passed_over() {
        let mut state = state(1);
        while turn(&mut state, u64::MAX).is_some() {}
        let parts = sample(9_000, &options(4, 800_000));
        state.scans.insert(1, Scan { parts, ready: Arc::default() });
        state.turns.push_back(1);
        assert_eq!(turn(&mut state, u64::MAX), Some(1));
        assert_eq!(turn(&mut state, u64::MAX), Some(1));
    }

    #[test]
    fn scans_together_stop_at_the_bytes_of_the_pool_with_a_batch_for_each() {
        let mut state = state(4);
        let mut served: Vec<_> = std::iter::from_fn(|| turn(&mut state, 0)).collect();
        assert_eq!(served, [0, 1, 2, 3]);
        let bytes: u64 = state.scans.values().map(|scan| scan.parts.bytes()).sum();
        assert_eq!(state.bytes, bytes);
        served.extend(std::iter::from_fn(|| turn(&mut state, 1_500_000)));
        assert!(served.len() > 8, "{served:?}");
        assert!(state.bytes <= 1_600_000, "{}", state.bytes);
    }

    #[test]
    fn what_a_removed_scan_was_having_decoded_is_handed_back() {
        let mut state = state(1);
        let (id, job) = state.next_job(u64::MAX).unwrap();
        state.scans.clear();
        assert!(state.finish(id, job.run()).is_some());
    }
}
