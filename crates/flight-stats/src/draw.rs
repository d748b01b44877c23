//! Seeded chance, the same in every release.

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

    /// A standard normal number (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Above 0 and below 1, so that it has a logarithm.
    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_the_tails_of_the_normal_distribution() {
        let mut draw = Draw::new(1);
        let numbers: Vec<f64> = (0..100_000).map(|_| draw.normal()).collect();
        let share = |beyond: f64| {
            let count = numbers.iter().filter(|n| **n > beyond).count();
            count as f64 / numbers.len() as f64
        };
        for (beyond, want) in [(-1.0, 0.841), (0.0, 0.5), (1.0, 0.159), (1.96, 0.025)] {
            let got = share(beyond);
            assert!((got - want).abs() < 0.005, "{got} lie beyond {beyond}, not {want}");
        }
    }

    #[test]
    fn a_seed_decides_every_number() {
        assert_eq!(Draw::new(7).bits(), Draw::new(7).bits());
        assert_ne!(Draw::new(7).bits(), Draw::new(8).bits());
    }
}
