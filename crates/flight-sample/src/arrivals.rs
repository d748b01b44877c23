//! The times of an open loop: drawn beforehand, whatever is served meanwhile.

use std::time::{Duration, Instant};

use crate::draw::Draw;

/// Longer than anything that is measured.
const GAP_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// How the gaps between arrivals are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// As of many independent clients together: the gaps of a Poisson process are exponential.
    Poisson,
    /// As of a metronome.
    Uniform,
}

/// Arrivals in their order, without an end.
pub struct Schedule {
    next: Instant,
    mean: Duration,
    arrival: Arrival,
    draw: Draw,
}

impl Schedule {
    /// Arrivals from `start` on, `per_second` of them on average.
    pub fn new(start: Instant, per_second: f64, arrival: Arrival, seed: u64) -> Self {
        // A rate of next to nothing has a gap that no duration holds.
        let mean = Duration::try_from_secs_f64(1.0 / per_second).unwrap_or(GAP_MAX);
        Self { next: start, mean: mean.min(GAP_MAX), arrival, draw: Draw::new(seed) }
    }

    /// When the next is due; the one after it is next then.
    pub fn advance(&mut self) -> Instant {
        let gap = match self.arrival {
            Arrival::Uniform => self.mean,
            // The inverse of the exponential distribution, of a number in (0, 1].
            Arrival::Poisson => self.mean.mul_f64(-(1.0 - self.draw.share()).ln()),
        };
        let at = self.next;
        self.next += gap;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(arrival: Arrival, seed: u64, count: usize) -> Vec<f64> {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, 1_000.0, arrival, seed);
        let times: Vec<f64> =
            (0..=count).map(|_| (schedule.advance() - start).as_secs_f64() * 1e3).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn uniform_arrivals_are_evenly_apart() {
        assert!(gaps(Arrival::Uniform, 1, 1_000).iter().all(|gap| (gap - 1.0).abs() < 1e-3));
    }

    #[test]
    fn poisson_arrivals_have_exponential_gaps() {
        let gaps = gaps(Arrival::Poisson, 1, 100_000);
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        // P(gap > x) = exp(-x).
        for (longer_than, share) in [(0.1, 0.9048), (1.0, 0.3679), (3.0, 0.0498)] {
            let found = gaps.iter().filter(|gap| **gap > longer_than).count() as f64;
            let found = found / gaps.len() as f64;
            assert!((found - share).abs() < 0.01, "{found} of gaps over {longer_than}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_arrivals_again_and_another_does_not() {
        assert_eq!(gaps(Arrival::Poisson, 7, 50), gaps(Arrival::Poisson, 7, 50));
        assert_ne!(gaps(Arrival::Poisson, 7, 50), gaps(Arrival::Poisson, 8, 50));
    }
}
