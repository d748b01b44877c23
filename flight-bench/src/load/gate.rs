//! What the threads of a repeat tell each other: who runs, when the window opens, and the end.
//!
//! Used at the borders of a run only; inside the window, streams look at the clock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use flight_net::client::Sockets;
use tokio::sync::watch;

use crate::record::Window;

/// Shared by the conductor of a repeat and its streams.
pub(super) struct Gate {
    streams: usize,
    window: Arc<Window>,
    span: OnceLock<Span>,
    phase: watch::Sender<Phase>,
    reported: Tally,
    started: AtomicUsize,
    done: Tally,
    /// Of the connections that are measured.
    sockets: Sockets,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    opens: Instant,
    closes: Option<Instant>,
    /// When streams that end by themselves stop sending.
    stop_sending: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    Over,
}

/// A count that can be waited for.
struct Tally(watch::Sender<usize>);

impl Gate {
    pub(super) fn new(streams: usize) -> Self {
        Self {
            streams,
            window: Arc::new(Window::unset(Instant::now())),
            span: OnceLock::new(),
            phase: watch::Sender::new(Phase::Starting),
            reported: Tally(watch::Sender::new(0)),
            started: AtomicUsize::new(0),
            done: Tally(watch::Sender::new(0)),
            sockets: Sockets::default(),
        }
    }

    pub(super) fn sockets(&self) -> &Sockets {
        &self.sockets
    }

    pub(super) fn window(&self) -> Arc<Window> {
        Arc::clone(&self.window)
    }

    /// A stream says, once, that it runs or that it could not start.
    pub(super) fn report(&self, started: bool) {
        if started {
            self.started.fetch_add(1, Ordering::Relaxed);
        }
        self.reported.add();
    }

    /// A stream says, once, that it has moved all it had to.
    pub(super) fn stream_done(&self) {
        self.done.add();
    }

    pub(super) async fn all_reported(&self) {
        self.reported.reach(self.streams).await;
    }

    pub(super) async fn all_done(&self) {
        self.done.reach(self.streams).await;
    }

    pub(super) fn started_streams(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    pub(super) fn unreported_streams(&self) -> usize {
        self.streams - self.reported.count()
    }

    pub(super) fn open(
        &self,
        opens: Instant,
        closes: Option<Instant>,
        stop_sending: Option<Instant>,
    ) {
        self.window.set(opens, closes);
        // Opened once a repeat; a second call would change nothing.
        let _ = self.span.set(Span { opens, closes, stop_sending });
        self.phase.send_replace(Phase::Running);
    }

    /// Ends the repeat: what still runs is cancelled, or ends by itself soon.
    pub(super) fn close(&self, at: Instant) {
        if let Some(span) = self.span.get() {
            // An interrupt closes the window early.
            self.window.set(span.opens, Some(span.closes.map_or(at, |closes| closes.min(at))));
        }
        self.phase.send_replace(Phase::Over);
    }

    /// Waits until the clock runs.
    pub(super) async fn running(&self) {
        let mut phase = self.phase.subscribe();
        // The sender lives in `self`, so that waiting cannot fail.
        let _ = phase.wait_for(|phase| *phase != Phase::Starting).await;
    }

    /// Waits for the end of the repeat.
    pub(super) async fn over(&self) {
        let mut phase = self.phase.subscribe();
        let _ = phase.wait_for(|phase| *phase == Phase::Over).await;
    }

    pub(super) fn is_over(&self) -> bool {
        *self.phase.borrow() == Phase::Over
    }

    pub(super) fn opened(&self) -> Option<Instant> {
        self.span.get().map(|span| span.opens)
    }

    pub(super) fn closes(&self) -> Option<Instant> {
        self.span.get().and_then(|span| span.closes)
    }

    pub(super) fn stop_sending(&self) -> Option<Instant> {
        self.span.get().and_then(|span| span.stop_sending)
    }
}

impl Tally {
    fn add(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    fn count(&self) -> usize {
        *self.0.borrow()
    }

    async fn reach(&self, count: usize) {
        let mut counts = self.0.subscribe();
        let _ = counts.wait_for(|now| *now >= count).await;
    }
}

/// Ctrl-C, seen by everything that waits.
#[derive(Clone)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// An interrupt that comes when `signal` does, and who makes it come.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    pub(crate) async fn wait(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|came| *came).await.is_err() {
            // Nobody can interrupt any more.
            std::future::pending::<()>().await;
        }
    }
}
