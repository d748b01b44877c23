//! The span of time that counts.
//!
//! All threads share one window. It is set once every stream runs, so that the whole of it is
//! under full load; a batch counts when its completion lies inside. What is in flight when it
//! closes is credited nowhere, and the time to drain it is measured nowhere.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Half-open, `[opens, closes)`; until it is set, nothing lies inside.
#[derive(Debug)]
pub(crate) struct Window {
    origin: Instant,
    opens_ns: AtomicU64,
    closes_ns: AtomicU64,
}

impl Window {
    pub(crate) fn unset(origin: Instant) -> Self {
        Self { origin, opens_ns: AtomicU64::new(u64::MAX), closes_ns: AtomicU64::new(u64::MAX) }
    }

    /// Sets the window; `closes` is absent when the run ends by itself.
    pub(crate) fn set(&self, opens: Instant, closes: Option<Instant>) {
        // The end is written first, so that no thread can see a window without its end: it would
        // count what comes too late. `contains` reads in the opposite order.
        self.closes_ns
            .store(closes.map_or(u64::MAX, |at| self.since_origin(at)), Ordering::Relaxed);
        self.opens_ns.store(self.since_origin(opens), Ordering::Release);
    }

    /// Whether a time lies before it, as all do until it is set.
    pub(crate) fn is_ahead_of(&self, at: Instant) -> bool {
        self.since_origin(at) < self.opens_ns.load(Ordering::Acquire)
    }

    pub(crate) fn contains(&self, at: Instant) -> bool {
        let at = self.since_origin(at);
        self.opens_ns.load(Ordering::Acquire) <= at && at < self.closes_ns.load(Ordering::Relaxed)
    }

    /// In which of so many equal parts of the window a time lies; `None` outside, and in a window
    /// without an end.
    pub(crate) fn slice(&self, at: Instant, slices: usize) -> Option<usize> {
        let (at, opens) = (self.since_origin(at), self.opens_ns.load(Ordering::Acquire));
        let closes = self.closes_ns.load(Ordering::Relaxed);
        if closes == u64::MAX || at < opens || at >= closes {
            return None;
        }
        // Exact for windows of less than 29 years; a division of 128 bits costs more than reading
        // the time.
        let share = (at - opens).saturating_mul(slices as u64) / (closes - opens);
        Some((share as usize).min(slices - 1))
    }

    fn since_origin(&self, at: Instant) -> u64 {
        let elapsed: Duration = at.saturating_duration_since(self.origin);
        let whole = elapsed.as_secs().saturating_mul(1_000_000_000);
        whole.saturating_add(u64::from(elapsed.subsec_nanos())).min(u64::MAX - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_its_first_moment_and_not_its_last() {
        check(Some((100, Some(200))), &[100, 150, 199], &[0, 99, 200, 201]);
    }

    #[test]
    fn nothing_counts_before_the_window_is_set() {
        check(None, &[], &[0, 100, 10_000]);
    }

    #[test]
    fn a_run_that_ends_by_itself_has_an_open_end() {
        check(Some((100, None)), &[100, 1_000_000], &[99]);
    }

    #[test]
    fn a_window_is_cut_into_equal_parts() {
        let origin = Instant::now();
        let at = |ms: u64| origin + Duration::from_millis(ms);
        let window = Window::unset(origin);
        assert_eq!(window.slice(at(150), 20), None, "it is not open");
        window.set(at(100), Some(at(200)));
        let slices = [99, 100, 104, 105, 199, 200].map(|ms| window.slice(at(ms), 20));
        assert_eq!(slices, [None, Some(0), Some(0), Some(1), Some(19), None]);
        let endless = Window::unset(origin);
        endless.set(at(100), None);
        assert_eq!(endless.slice(at(150), 20), None);
    }

    fn check(span_ms: Option<(u64, Option<u64>)>, inside: &[u64], outside: &[u64]) {
        let origin = Instant::now();
        let at = |ms: u64| origin + Duration::from_millis(ms);
        let window = Window::unset(origin);
        if let Some((opens, closes)) = span_ms {
            window.set(at(opens), closes.map(at));
        }
        for ms in inside {
            assert!(window.contains(at(*ms)), "{ms} ms lies inside {span_ms:?}");
        }
        for ms in outside {
            assert!(!window.contains(at(*ms)), "{ms} ms lies outside {span_ms:?}");
        }
    }
}
