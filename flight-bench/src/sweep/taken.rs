//! Whether an open loop took in what it was offered, and how much it has to be offered.
//!
//! How many arrivals a window has is known only on average. Times that are drawn (Poisson) differ by
//! chance, as the counts of such a process do; a metronome has one less in a window at most.

use flight_stats::poisson_at_most;

use crate::config::{Arrival, Config, Work};
use crate::limits::{CHANCE_MIN, OFFERED_DEVIATIONS, SLO_ACHIEVED_MIN};
use crate::report::{Results, is_saturated};

/// How the arrivals of a window are spread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrivals {
    how: Arrival,
    /// Metronomes that tick beside each other; each may have one less in a window than on average.
    schedules: usize,
}

impl Arrivals {
    /// Of an open loop; a closed one has none.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let how = config.pace?.arrival;
        let schedules = match config.work {
            // The server keeps one for each stream.
            Work::Get(_) => config.load.streams,
            _ => config.load.threads,
        };
        Some(Self { how, schedules })
    }

    /// Whether `count` is less than [`SLO_ACHIEVED_MIN`] of what was to be expected, by more than
    /// chance explains.
    fn falls_short(self, count: u64, expected: f64) -> bool {
        let least = SLO_ACHIEVED_MIN * expected;
        match self.how {
            Arrival::Poisson => poisson_at_most(count, least) < CHANCE_MIN,
            Arrival::Uniform => (count as f64) < least - self.schedules as f64,
        }
    }

    /// How many a window is to be offered on average, so that it has `needed` of them.
    pub(super) fn offered_for(self, needed: f64) -> f64 {
        match self.how {
            Arrival::Poisson => needed + OFFERED_DEVIATIONS * needed.sqrt(),
            Arrival::Uniform => needed + self.schedules as f64,
        }
    }

    /// Repeats that did not take in what was offered at `rate`: latencies of what was sent say
    /// little then.
    pub(super) fn behind(self, results: &Results, rate: f64) -> usize {
        // The first is of all that is offered: in a mix its parts follow.
        let Some(variant) = results.variants.first() else { return 0 };
        let is_behind = |one: &&crate::report::Measured| {
            let count = variant.workload.count(&one.repeat.recording.counts.transfer);
            let expected = rate * one.repeat.elapsed.as_secs_f64();
            is_saturated(rate, one) || self.falls_short(count, expected)
        };
        variant.measured.iter().filter(is_behind).count()
    }
}

#[cfg(test)]
mod tests {
    use Arrival::{Poisson, Uniform};

    use super::*;

    /// The most that still falls short of what was expected; none where nothing does.
    fn most_that_falls_short(how: Arrival, schedules: usize, expected: f64) -> Option<u64> {
        let arrivals = Arrivals { how, schedules };
        let short: Vec<u64> = (0..=expected as u64)
            .take_while(|count| arrivals.falls_short(*count, expected))
            .collect();
        assert!(!arrivals.falls_short(expected as u64, expected), "all of {expected}");
        short.last().copied()
    }

    #[test]
    fn drawn_arrivals_fall_short_where_chance_would_hardly_ever_be_so_low() {
        let check = |expected, want| {
            assert_eq!(most_that_falls_short(Poisson, 4, expected), want, "of {expected}");
        };
        // Of 95 %: fewer than one window in a thousand has so few.
        check(10_000.0, Some(9_199));
        check(100.0, Some(65));
        check(20.0, Some(6));
        check(9.0, Some(0));
        // Seven are so few that none at all may be chance.
        check(7.0, None);
    }

    #[test]
    fn a_metronome_is_given_a_tick_a_schedule_and_no_chance() {
        let check = |schedules, expected, want| {
            let got = most_that_falls_short(Uniform, schedules, expected);
            assert_eq!(got, want, "{schedules} schedules of {expected}");
        };
        check(1, 10_000.0, Some(9_498));
        check(1, 100.0, Some(93));
        check(4, 100.0, Some(90));
        check(1, 9.0, Some(7));
        check(1, 3.0, Some(1));
        check(8, 8.0, None);
    }

    #[test]
    fn what_is_offered_for_a_number_of_events_brings_that_many() {
        for needed in [20.0, 100.0, 1_000.0, 10_000.0] {
            let drawn = Arrivals { how: Poisson, schedules: 2 }.offered_for(needed);
            assert!(poisson_at_most(needed as u64 - 1, drawn) < CHANCE_MIN, "{needed} of {drawn}");
            assert!(drawn < 2.0 * needed, "{needed} of {drawn}");
            let even = Arrivals { how: Uniform, schedules: 2 }.offered_for(needed);
            assert_eq!(even, needed + 2.0);
        }
    }
}
