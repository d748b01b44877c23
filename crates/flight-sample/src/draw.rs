//! Draws from ChaCha8 in integer arithmetic, so that every machine draws the same.
//!
//! `rand`'s own ranges and distributions may change with a release, and its log-normal calls the
//! system's `exp`, whose last bit differs between processors.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers that only the seed decides.
pub(crate) struct Draw(ChaCha8Rng);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Any 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in [0, 1), a multiple of 2^-53.
    pub(crate) fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `bound`, uniform but for one part in 2^32.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let scaled = u64::from(self.0.next_u32()) * u64::from(bound);
        u32::try_from(scaled >> 32).expect("the high half of a product of two 32-bit numbers")
    }

    /// True `per_mille` times in a thousand.
    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1_000) < per_mille
    }

    /// One of the values, by weights that add up to 1 000.
    pub(crate) fn weighted<T: Copy>(&mut self, choices: &[(u32, T)]) -> T {
        debug_assert_eq!(choices.iter().map(|(weight, _)| weight).sum::<u32>(), 1_000);
        let mut pick = self.below(1_000);
        for &(weight, value) in choices {
            if pick < weight {
                return value;
            }
            pick -= weight;
        }
        choices[choices.len() - 1].1
    }

    /// A value of the distribution whose quantiles, evenly spaced, these are; straight lines
    /// between them.
    pub(crate) fn quantile(&mut self, quantiles: &[i64]) -> i64 {
        const STEPS: u32 = 1 << 12;
        let steps = (quantiles.len() - 1) as u32 * STEPS;
        let at = self.below(steps);
        let index = (at / STEPS) as usize;
        let within = i64::from(at % STEPS);
        let (low, high) = (quantiles[index], quantiles[index + 1]);
        low + (high - low) * within / i64::from(STEPS)
    }
}
