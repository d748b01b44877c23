//! What the random draws of a repeat begin with: another number in each, or the intervals of the
//! figures would leave out what the draw does to them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Between the seeds of two rounds. Those of a round's threads, streams and schedules lie between.
const ROUNDS_APART: u64 = 1 << 48;

/// A number that is told, and what it becomes in each round.
#[derive(Debug)]
pub(crate) struct Seed {
    base: u64,
    round: AtomicU64,
}

impl Seed {
    /// That of round 0 is `base` itself.
    pub(crate) fn new(base: u64) -> Self {
        Self { base, round: AtomicU64::new(0) }
    }

    /// What is drawn from now on is drawn for this round; every side of a comparison draws the same.
    pub(crate) fn turn_to(&self, round: u64) {
        self.round.store(round, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.base.wrapping_add(self.round.load(Relaxed).wrapping_mul(ROUNDS_APART))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_a_seed_of_its_own_and_the_same_when_it_is_run_again() {
        let seeds = || {
            let seed = Seed::new(42);
            [0, 1, 2, 1].map(|round| {
                seed.turn_to(round);
                seed.get()
            })
        };
        let [first, second, third, again] = seeds();
        assert_eq!(first, 42);
        assert!(first != second && second != third && first != third);
        assert_eq!(again, second);
        assert_eq!(seeds(), [first, second, third, again]);
    }
}
