//! Which calls of a connection are open, and for how long none has been.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Counts a connection's calls, each from its request to the end of its answer.
#[derive(Debug, Clone)]
pub(super) struct Activity(Arc<watch::Sender<Calls>>);

#[derive(Debug, Default, Clone, Copy)]
struct Calls {
    open: usize,
    /// Open calls that nobody answers any more.
    given_up: usize,
    /// Calls so far: one that was short shows in no other number.
    begun: u64,
    /// Given-up calls that have ended.
    recovered: u64,
}

impl Calls {
    fn are_answered(self) -> bool {
        self.open > self.given_up
    }
}

/// An open call; dropped when its answer has ended, however it ends.
#[derive(Debug)]
pub(crate) struct OpenCall {
    activity: Activity,
    given_up: Arc<AtomicBool>,
}

/// Tells that nobody answers a call any more.
#[derive(Debug)]
pub(crate) struct GiveUp {
    activity: Activity,
    given_up: Arc<AtomicBool>,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::default())
    }

    pub(super) fn begin(&self) -> OpenCall {
        self.0.send_modify(|calls| {
            calls.open += 1;
            calls.begun += 1;
        });
        OpenCall { activity: self.clone(), given_up: Arc::default() }
    }

    /// Resolves when no call came within `first`, or none was answered for `idle`.
    pub(super) async fn expired(&self, first: Duration, idle: Duration) {
        let mut calls = self.0.subscribe();
        if timeout(first, calls.wait_for(|calls| calls.begun > 0)).await.is_err() {
            return;
        }
        self.idle_for(idle).await;
    }

    /// Resolves when no call was answered for `time`.
    pub(super) async fn idle_for(&self, time: Duration) {
        let mut calls = self.0.subscribe();
        loop {
            let Ok(begun) = calls.wait_for(|calls| !calls.are_answered()).await.map(|c| c.begun)
            else {
                return;
            };
            let another = calls.wait_for(|calls| calls.begun != begun);
            if timeout(time, another).await.is_err() {
                return;
            }
        }
    }

    /// Resolves when calls that were given up have stayed open for `time`, all of them.
    pub(super) async fn stuck_for(&self, time: Duration) {
        let mut calls = self.0.subscribe();
        loop {
            let Ok(before) = calls.wait_for(|calls| calls.given_up > 0).await.map(|c| c.recovered)
            else {
                return;
            };
            let recovers = calls.wait_for(|calls| calls.recovered != before);
            if timeout(time, recovers).await.is_err() {
                return;
            }
        }
    }
}

impl OpenCall {
    pub(crate) fn give_up(&self) -> GiveUp {
        GiveUp { activity: self.activity.clone(), given_up: Arc::clone(&self.given_up) }
    }
}

impl GiveUp {
    pub(crate) fn now(&self) {
        self.activity.0.send_if_modified(|calls| {
            // Not of a call that has ended meanwhile, nor twice.
            let first = !self.given_up.swap(true, Ordering::AcqRel);
            calls.given_up += usize::from(first);
            first
        });
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.activity.0.send_modify(|calls| {
            calls.open -= 1;
            if self.given_up.swap(true, Ordering::AcqRel) {
                calls.given_up -= 1;
                calls.recovered += 1;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_secs(300);

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_call_expires_after_the_first_time() {
        let began = tokio::time::Instant::now();
        Activity::new().expired(FIRST, IDLE).await;
        assert_eq!(began.elapsed().as_secs(), FIRST.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_call_keeps_its_connection_and_the_idle_time_counts_from_its_end() {
        let (activity, began) = (Activity::new(), tokio::time::Instant::now());
        let call = activity.begin();
        let ends = async {
            tokio::time::sleep(Duration::from_secs(1000)).await;
            drop(call);
        };
        tokio::join!(activity.expired(FIRST, IDLE), ends);
        assert_eq!(began.elapsed().as_secs(), 1300);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_was_given_up_keeps_no_connection() {
        let (activity, began) = (Activity::new(), tokio::time::Instant::now());
        let call = activity.begin();
        call.give_up().now();
        call.give_up().now();
        activity.stuck_for(IDLE).await;
        assert_eq!(began.elapsed(), IDLE);
        activity.expired(FIRST, IDLE).await;
        assert_eq!(began.elapsed(), IDLE * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_stuck_while_calls_that_are_given_up_end() {
        let activity = Activity::new();
        let late = {
            let call = activity.begin();
            call.give_up().now();
            call.give_up()
        };
        // Of a call that is over.
        late.now();
        let _answered = activity.begin();
        assert!(timeout(IDLE, activity.stuck_for(FIRST)).await.is_err());
        assert!(timeout(IDLE, activity.idle_for(FIRST)).await.is_err());
    }
}
