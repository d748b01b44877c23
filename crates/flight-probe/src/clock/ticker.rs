//! `Instant`s of one thread, by the cheapest clock that can be trusted.
//!
//! The counter is scaled by what was measured once, which is off by some parts in a million. Such a
//! ticker therefore looks at the kernel's clock again and again, so that its times can be compared
//! with those of `Instant::now()` elsewhere, however long it runs.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::{Clock, Cost, Kind, Source, measure};

/// How long the counter alone is followed: ten parts in a million of it are 100 ns.
const FOLLOWED_NS: u64 = 10_000_000;
/// Both clocks are read at one time if no more than this lies between two readings of the counter.
const TOGETHER_NS: u64 = 1_000;
/// A thread may be preempted between the readings; hardly ever so often.
const READINGS: usize = 4;

/// Tells the time to one thread, and never runs backwards there.
#[derive(Debug)]
pub struct Ticker {
    /// What counts beside the kernel's clock, if anything.
    counter: Option<quanta::Clock>,
    origin: Instant,
    /// Where the counter stood at `base_ns`.
    base: Cell<u64>,
    /// From the origin on, as is `last_ns`: what was told last.
    base_ns: Cell<u64>,
    last_ns: Cell<u64>,
}

impl Ticker {
    /// A ticker by the source of `clock`, which agrees with `Instant::now()` from now on.
    #[must_use]
    pub fn of(clock: &Clock) -> Self {
        let counter = match &clock.source {
            Source::Tsc { counter, .. } => Some(counter.clone()),
            Source::Instant { .. } => None,
        };
        let nought = || Cell::new(0);
        let origin = Instant::now();
        let (base, base_ns, last_ns) = (nought(), nought(), nought());
        let ticker = Self { counter, origin, base, base_ns, last_ns };
        if let Some(counter) = &ticker.counter {
            ticker.look(counter);
        }
        ticker
    }

    /// The time, as `Instant::now()` would tell it.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Instant {
        let Some(counter) = &self.counter else { return Instant::now() };
        let mut since_ns = counter.delta_as_nanos(self.base.get(), counter.raw());
        if since_ns > FOLLOWED_NS {
            since_ns = self.look(counter);
        }
        // A counter that is fast is set back when the kernel's clock is looked at.
        let now_ns = (self.base_ns.get() + since_ns).max(self.last_ns.get());
        self.last_ns.set(now_ns);
        self.origin + Duration::from_nanos(now_ns)
    }

    #[must_use]
    pub fn kind(&self) -> Kind {
        if self.counter.is_some() { Kind::Tsc } else { Kind::Instant }
    }

    /// What a call costs; takes a few milliseconds.
    #[must_use]
    pub fn cost(&self) -> Cost {
        measure(|| self.now().saturating_duration_since(self.origin).as_nanos() as u64)
    }

    /// Sets counter and kernel's clock side by side; how long ago that was.
    #[cold]
    fn look(&self, counter: &quanta::Clock) -> u64 {
        let mut best_ns = u64::MAX;
        for _ in 0..READINGS {
            let before = counter.raw();
            let now_ns = self.origin.elapsed().as_nanos() as u64;
            let after = counter.raw();
            let apart_ns = counter.delta_as_nanos(before, after);
            if apart_ns < best_ns {
                best_ns = apart_ns;
                self.base.set(before);
                // Read in the middle, as far as one can tell.
                self.base_ns.set(now_ns.saturating_sub(apart_ns / 2));
            }
            if apart_ns <= TOGETHER_NS {
                break;
            }
        }
        counter.delta_as_nanos(self.base.get(), counter.raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all clocks of this host; the counter also where `best` would refuse it, if there is one.
    fn tickers() -> Vec<Ticker> {
        let mut clocks = vec![Clock::best(), Clock::standard()];
        if cfg!(target_arch = "x86_64") && Clock::best().kind() == Kind::Tsc {
            clocks.push(Clock::tsc());
        }
        clocks.iter().map(Ticker::of).collect()
    }

    #[test]
    fn a_ticker_never_runs_backwards_even_where_it_is_set_right() {
        for ticker in tickers() {
            let mut last = ticker.now();
            let start = last;
            // Long enough for several looks at the kernel's clock.
            while last - start < Duration::from_nanos(FOLLOWED_NS * 8) {
                let now = ticker.now();
                assert!(last <= now, "{ticker:?}");
                last = now;
            }
        }
    }

    #[test]
    fn a_ticker_that_is_ahead_waits_for_the_kernels_clock() {
        let ticker = Ticker::of(&Clock::best());
        let Some(counter) = &ticker.counter else { return };
        // As if the counter had run a second too fast.
        let ahead_ns = ticker.origin.elapsed().as_nanos() as u64 + 1_000_000_000;
        ticker.last_ns.set(ahead_ns);
        ticker.look(counter);
        let now = ticker.now();
        assert_eq!(now, ticker.origin + Duration::from_nanos(ahead_ns), "it stands still");
        assert!(ticker.base_ns.get() < ahead_ns, "and goes on from the right time");
    }

    #[test]
    fn a_ticker_agrees_with_instant_for_as_long_as_it_runs() {
        for ticker in tickers() {
            let start = Instant::now();
            // The ticker's time lies between two readings of the other clock, give or take what it
            // drifts and how long a busy host may hold the thread up while it is set right.
            let slack = Duration::from_millis(10);
            while start.elapsed() < Duration::from_millis(300) {
                let before = Instant::now();
                let now = ticker.now();
                let after = Instant::now();
                assert!(before <= now + slack, "late by {:?}: {ticker:?}", before - now);
                assert!(now <= after + slack, "early by {:?}: {ticker:?}", now - after);
            }
        }
    }

    #[test]
    fn a_ticker_has_the_source_of_its_clock_and_a_cost() {
        for clock in [Clock::best(), Clock::standard()] {
            let ticker = Ticker::of(&clock);
            assert_eq!(ticker.kind(), clock.kind());
            let cost = ticker.cost();
            assert!(cost.call_ns.is_finite() && cost.call_ns > 0.0, "{cost:?}");
        }
        // Where the counter is refused, so it goes on with the standard library's.
        assert!(Ticker::of(&Clock::standard()).counter.is_none());
    }
}
