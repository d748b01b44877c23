//! The span of time that counts.
//!
//! All threads share one window. It is set once every stream runs, so that the whole of it is
//! under full load; a batch counts when its completion lies inside. What is in flight when it
//! closes is credited nowhere, and the time to drain it is measured nowhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::SLICES;

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
        // count what comes too late. `View` reads in the opposite order.
        self.closes_ns
            .store(closes.map_or(u64::MAX, |at| self.since_origin(at)), Ordering::Relaxed);
        self.opens_ns.store(self.since_origin(opens), Ordering::Release);
    }

    /// Whether a time lies before it, as all do until it is set.
    pub(crate) fn is_ahead_of(&self, at: Instant) -> bool {
        self.since_origin(at) < self.opens_ns.load(Ordering::Acquire)
    }

    #[inline]
    fn since_origin(&self, at: Instant) -> u64 {
        let elapsed: Duration = at.saturating_duration_since(self.origin);
        let whole = elapsed.as_secs().saturating_mul(1_000_000_000);
        whole.saturating_add(u64::from(elapsed.subsec_nanos())).min(u64::MAX - 1)
    }
}

/// A window as one thread looks at it, mostly at times that follow each other.
#[derive(Debug)]
pub(super) struct View {
    window: Arc<Window>,
    /// The time that was asked for last, since most are asked for again at once.
    asked: Option<Instant>,
    place: Place,
    part: Part,
}

/// Where a time lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) since_origin_ns: u64,
    pub(super) is_inside: bool,
    /// Which of [`SLICES`] equal parts of the window it is in; `None` outside, and in a window
    /// without an end.
    pub(super) slice: Option<usize>,
}

/// One part of a window, `[from_ns, until_ns)`, or the whole of one without an end.
#[derive(Debug, Clone, Copy)]
struct Part {
    opens_ns: u64,
    closes_ns: u64,
    from_ns: u64,
    until_ns: u64,
    slice: Option<usize>,
}

impl View {
    pub(super) fn new(window: Arc<Window>) -> Self {
        let place = Place { since_origin_ns: 0, is_inside: false, slice: None };
        let none = u64::MAX;
        let part =
            Part { opens_ns: none, closes_ns: none, from_ns: none, until_ns: 0, slice: None };
        Self { window, asked: None, place, part }
    }

    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    #[inline]
    pub(super) fn place(&mut self, at: Instant) -> Place {
        if self.asked != Some(at) {
            self.asked = Some(at);
            self.place = self.found(at);
        }
        self.place
    }

    #[inline]
    fn found(&mut self, at: Instant) -> Place {
        let at_ns = self.window.since_origin(at);
        let opens_ns = self.window.opens_ns.load(Ordering::Acquire);
        let closes_ns = self.window.closes_ns.load(Ordering::Relaxed);
        let part = &self.part;
        let is_known = part.opens_ns == opens_ns && part.closes_ns == closes_ns;
        if !(is_known && part.from_ns <= at_ns && at_ns < part.until_ns) {
            if at_ns < opens_ns || at_ns >= closes_ns {
                return Place { since_origin_ns: at_ns, is_inside: false, slice: None };
            }
            self.part = Part::of(opens_ns, closes_ns, at_ns);
        }
        Place { since_origin_ns: at_ns, is_inside: true, slice: self.part.slice }
    }
}

impl Part {
    /// That of a time inside. A division costs as much as reading the time: it is made once a part.
    #[cold]
    fn of(opens_ns: u64, closes_ns: u64, at_ns: u64) -> Self {
        if closes_ns == u64::MAX {
            let (from_ns, until_ns) = (opens_ns, closes_ns);
            return Self { opens_ns, closes_ns, from_ns, until_ns, slice: None };
        }
        let (length, slices) = (u128::from(closes_ns - opens_ns), SLICES as u128);
        let slice = u128::from(at_ns - opens_ns) * slices / length;
        // Below the length of the window, which is a u64.
        let begins = |slice: u128| opens_ns + (slice * length).div_ceil(slices) as u64;
        Self {
            opens_ns,
            closes_ns,
            from_ns: begins(slice),
            until_ns: begins(slice + 1),
            slice: Some(slice as usize),
        }
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
        let window = Arc::new(Window::unset(origin));
        let mut view = View::new(Arc::clone(&window));
        assert_eq!(view.place(at(150)).slice, None, "it is not open");
        window.set(at(100), Some(at(200)));
        let slices = [99, 100, 104, 105, 199, 200].map(|ms| view.place(at(ms)).slice);
        assert_eq!(slices, [None, Some(0), Some(0), Some(1), Some(19), None]);
        window.set(at(100), None);
        let place = view.place(at(150));
        assert_eq!((place.is_inside, place.slice), (true, None), "it has no end");
    }

    #[test]
    fn a_view_says_of_every_time_what_the_window_says() {
        let origin = Instant::now();
        let at = |ns: u64| origin + Duration::from_nanos(ns);
        // A length that no number of parts divides; the last begins before it is to close.
        for (opens, closes) in [(1_000, 2_003), (1_000, 1_007), (5, 1 << 40)] {
            let window = Arc::new(Window::unset(origin));
            window.set(at(opens), Some(at(closes)));
            let mut view = View::new(Arc::clone(&window));
            let length = closes - opens;
            // In their order and against it, so that what is kept is of use and is not.
            let times = (0..=2_200).map(|step| opens.saturating_sub(3) + length * step / 2_000);
            let times: Vec<u64> = times.collect();
            for ns in times.iter().chain(times.iter().rev()).copied() {
                let place = view.place(at(ns));
                let inside = (opens..closes).contains(&ns);
                assert_eq!(place.is_inside, inside, "{ns} of {opens}..{closes}");
                let slice = inside.then(|| ((ns - opens) * SLICES as u64 / length) as usize);
                assert_eq!(place.slice, slice, "{ns} of {opens}..{closes}");
                assert_eq!(place.since_origin_ns, ns);
            }
        }
    }

    #[test]
    fn a_view_follows_a_window_that_closes_early() {
        let origin = Instant::now();
        let at = |ms: u64| origin + Duration::from_millis(ms);
        let window = Arc::new(Window::unset(origin));
        window.set(at(100), Some(at(300)));
        let mut view = View::new(Arc::clone(&window));
        assert_eq!(view.place(at(150)).slice, Some(5));
        window.set(at(100), Some(at(160)));
        assert_eq!(view.place(at(151)).slice, Some(17));
        assert!(!view.place(at(161)).is_inside, "it was in the part that was looked at last");
    }

    fn check(span_ms: Option<(u64, Option<u64>)>, inside: &[u64], outside: &[u64]) {
        let origin = Instant::now();
        let at = |ms: u64| origin + Duration::from_millis(ms);
        let window = Window::unset(origin);
        if let Some((opens, closes)) = span_ms {
            window.set(at(opens), closes.map(at));
        }
        let mut view = View::new(Arc::new(window));
        for ms in inside {
            assert!(view.place(at(*ms)).is_inside, "{ms} ms lies inside {span_ms:?}");
        }
        for ms in outside {
            assert!(!view.place(at(*ms)).is_inside, "{ms} ms lies outside {span_ms:?}");
        }
    }
}
