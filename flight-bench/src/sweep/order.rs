//! The order in which the settings of a sweep are measured.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The settings of a round in their order. Two rounds belong together: the first is drawn by the
/// seed, the second is its mirror, so that a drift over both hits all settings alike.
pub(crate) fn order_of(round: usize, settings: usize, seed: u64) -> Vec<usize> {
    let pair = (round / 2) as u64;
    let mut order: Vec<usize> = (0..settings).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed.wrapping_add(pair)));
    if !round.is_multiple_of(2) {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_measures_every_setting_once() {
        for round in 0..6 {
            let mut order = order_of(round, 9, 42);
            order.sort_unstable();
            assert_eq!(order, (0..9).collect::<Vec<_>>(), "round {round}");
        }
    }

    #[test]
    fn over_two_rounds_every_setting_has_the_same_place_on_average() {
        for pair in 0..4 {
            let places = |round: usize| {
                let order = order_of(round, 7, 3);
                (0..7).map(move |one| order.iter().position(|at| *at == one).expect("in it"))
            };
            let sums: Vec<usize> =
                places(2 * pair).zip(places(2 * pair + 1)).map(|(a, b)| a + b).collect();
            assert_eq!(sums, [6; 7], "pair {pair}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_order_again_and_other_rounds_and_seeds_another() {
        assert_eq!(order_of(4, 20, 42), order_of(4, 20, 42));
        assert_ne!(order_of(0, 20, 42), order_of(2, 20, 42));
        assert_ne!(order_of(0, 20, 42), order_of(0, 20, 43));
        assert_eq!(order_of(0, 1, 42), [0]);
    }
}
