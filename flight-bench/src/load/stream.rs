//! What every stream has, whichever way its batches go: its place in the run, and its failures.

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock;
use super::gate::Gate;
use super::link::Link;
use super::pace::Pacer;
use super::paced::Paced;
use crate::limits::{FAILURES_IN_A_ROW_MAX, FAILURES_OF_A_MIX_MAX, RETRY_FIRST, RETRY_LAST};
use crate::record::{Failure, Recorder};

pub(super) struct Stream {
    pub(super) id: usize,
    /// Its place among the streams of its thread.
    pub(super) slot: usize,
    pub(super) link: Rc<Link>,
    pub(super) gate: Arc<Gate>,
    /// In an open loop of DoGet, which the server paces.
    pub(super) paced: Option<Paced>,
    /// In any other open loop.
    pacer: Option<Rc<Pacer>>,
    recorder: Rc<RefCell<Recorder>>,
    reported: Cell<bool>,
    opened: Cell<bool>,
    /// An upload was sent whole, and the server's last word on it is still to come.
    committing: Cell<bool>,
    failures_in_a_row: Cell<u32>,
    /// The part of a mix that it is in the middle of.
    part: Cell<Option<usize>>,
}

impl Stream {
    pub(super) fn new(
        id: usize,
        slot: usize,
        link: Rc<Link>,
        recorder: Rc<RefCell<Recorder>>,
        gate: Arc<Gate>,
        pacer: Option<Rc<Pacer>>,
        paced: Option<Paced>,
    ) -> Self {
        let no = || Cell::new(false);
        let failures_in_a_row = Cell::new(0);
        let (reported, opened, committing) = (no(), no(), no());
        Self {
            id,
            slot,
            link,
            gate,
            paced,
            pacer,
            recorder,
            reported,
            opened,
            committing,
            failures_in_a_row,
            part: Cell::new(None),
        }
    }

    /// Waits for the time of the next call or batch, in an open loop; when that was to be. Operations
    /// of a mix are paced as a whole.
    pub(super) async fn next_arrival(&self) -> Option<Instant> {
        match &self.pacer {
            Some(pacer) if self.part.get().is_none() => {
                // Ready: at a low rate, its first turn may be far away.
                self.report(true);
                Some(pacer.next().await)
            }
            _ => None,
        }
    }

    /// Begins an operation of a mix, or ends it.
    pub(super) fn turn_to(&self, part: Option<usize>) {
        self.part.set(part);
    }

    /// The thread's recorder; never held across an await.
    pub(super) fn recorder(&self) -> RefMut<'_, Recorder> {
        let mut recorder = self.recorder.borrow_mut();
        // Other streams of the thread may be in the middle of other parts.
        recorder.turn_to(self.part.get());
        recorder
    }

    pub(super) fn shared_recorder(&self) -> &RefCell<Recorder> {
        &self.recorder
    }

    /// Connects before the clock starts, and waits for the clock.
    pub(super) async fn wait_for_the_clock(&self) {
        self.wait_for_the_clock_at(None).await;
    }

    /// The same for streams that begin at a place of a plan.
    pub(super) async fn wait_for_the_clock_at(&self, place: Option<usize>) {
        let connect = async || self.link.connection_to(place, &self.recorder).await.map(drop);
        self.wait_once(connect).await;
    }

    /// The same for streams of calls without batches.
    pub(super) async fn wait_for_the_clock_of_calls(&self) {
        self.wait_once(async || self.link.lend(&self.recorder).await.map(drop)).await;
    }

    /// Connects as `connect` does, and waits for the clock.
    pub(super) async fn wait_once(&self, connect: impl AsyncFn() -> Result<(), Failure>) {
        loop {
            match connect().await {
                Ok(()) => break self.started(),
                Err(failure) => {
                    if !self.failed(failure).await {
                        break;
                    }
                }
            }
        }
        self.gate.running().await;
    }

    /// Says that the stream runs; the first call counts.
    pub(super) fn started(&self) {
        self.failures_in_a_row.set(0);
        self.report(true);
    }

    /// Notes that a call is made, and counts all but the first; those of a mix are counted themselves.
    pub(super) fn opening(&self, at: Instant) {
        if self.opened.replace(true) && self.part.get().is_none() {
            self.recorder().reopened(at);
        }
    }

    /// Counts a failure and waits before the next attempt, longer each time. `false` when a stream
    /// that has a fixed amount to move should give up.
    pub(super) async fn failed(&self, failure: Failure) -> bool {
        let failures = self.failures_in_a_row.get() + 1;
        self.failures_in_a_row.set(failures);
        let transient = failure.is_transient();
        // Of a mix, another operation may well go: it is neither put off for long nor given up.
        let of_mix = self.part.get().is_some() && !transient;
        let most = if of_mix { FAILURES_OF_A_MIX_MAX } else { FAILURES_IN_A_ROW_MAX };
        // A server that restarts between two repeats is waited for.
        if failures >= most || !transient && !of_mix {
            self.report(false);
        }
        self.recorder().failed(failure, clock::now());
        let doubled = RETRY_FIRST.saturating_mul(1 << failures.min(16));
        tokio::time::sleep(if of_mix { RETRY_FIRST } else { doubled.min(RETRY_LAST) }).await;
        failures < most
    }

    pub(super) fn committing(&self, committing: bool) {
        self.committing.set(committing);
    }

    /// Resolves when the run is over and the stream is to be cut off where it is. An upload that was
    /// sent whole is not: the server stores it in any case, and nobody could delete it before.
    pub(super) async fn cut_off(&self) {
        self.gate.over().await;
        if self.committing.get() {
            std::future::pending::<()>().await;
        }
    }

    /// The stream has nothing more to do.
    pub(super) fn finished(&self) {
        // A source without a single batch ends without having started.
        self.report(true);
        self.recorder().done(self.slot, clock::now());
        self.gate.stream_done();
    }

    pub(super) fn first(&self, took: Duration) {
        self.recorder().first(self.slot, took);
    }

    fn report(&self, started: bool) {
        if !self.reported.replace(true) {
            self.gate.report(started);
        }
    }
}
