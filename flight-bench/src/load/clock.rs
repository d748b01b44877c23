//! The time in hot loops: by the cheapest clock that can be trusted, chosen once a process.
//!
//! A worker thread begins with a ticker of its own; a thread without one reads `Instant`. Their times
//! can be compared: see `flight_probe::clock::Ticker`.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::OnceLock;
use std::time::Instant;

use flight_probe::clock::{Clock, Kind, Ticker};
use serde::{Deserialize, Serialize};

/// What tells the time in measured loops, and what a call costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClockInUse {
    pub(crate) kind: Kind,
    /// Why it is of this kind, in words.
    pub(crate) why: Cow<'static, str>,
    pub(crate) call_ns: f64,
}

struct Chosen {
    clock: Clock,
    in_use: ClockInUse,
}

static CHOSEN: OnceLock<Chosen> = OnceLock::new();

thread_local! {
    static TICKER: OnceCell<Ticker> = const { OnceCell::new() };
}

/// The clock that worker threads read. The first call takes up to 200 ms: it is made before any
/// window.
pub(crate) fn in_use() -> ClockInUse {
    chosen().in_use.clone()
}

fn chosen() -> &'static Chosen {
    CHOSEN.get_or_init(|| {
        let clock = Clock::best();
        let call_ns = Ticker::of(&clock).cost().call_ns;
        let in_use = ClockInUse { kind: clock.kind(), why: clock.why().into(), call_ns };
        Chosen { clock, in_use }
    })
}

/// A ticker by the clock that worker threads read.
pub(crate) fn ticker() -> Ticker {
    Ticker::of(&chosen().clock)
}

/// From now on this thread reads the clock that was chosen.
pub(super) fn begin_on_this_thread() {
    TICKER.with(|cell| {
        cell.get_or_init(ticker);
    });
}

/// The time.
#[inline]
pub(super) fn now() -> Instant {
    TICKER.with(|cell| match cell.get() {
        Some(ticker) => ticker.now(),
        None => Instant::now(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_began_reads_the_clock_that_was_chosen_and_another_instant() {
        let has_ticker = || TICKER.with(|cell| cell.get().map(Ticker::kind));
        let other = std::thread::spawn(move || {
            begin_on_this_thread();
            let (before, after) = (now(), now());
            assert!(before <= after);
            has_ticker()
        });
        assert_eq!(other.join().expect("no panic"), Some(in_use().kind));
        assert_eq!(has_ticker(), None);
        let (before, now, after) = (Instant::now(), now(), Instant::now());
        assert!(before <= now && now <= after);
    }

    #[test]
    fn the_clock_in_use_is_chosen_once_and_told_with_its_cost() {
        let (one, other) = (in_use(), in_use());
        assert_eq!(one, other);
        assert!(one.call_ns.is_finite() && one.call_ns > 0.0);
        assert!(!one.why.is_empty());
    }
}
