//! Which calls of a connection are open, and for how long none has been.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// Counts a connection's calls, each from its request to the end of its answer.
#[derive(Debug, Clone)]
pub(super) struct Activity(Arc<watch::Sender<usize>>);

/// An open call; dropped when its answer has ended, however it ends.
#[derive(Debug)]
pub(crate) struct OpenCall(Activity);

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    pub(super) fn begin(&self) -> OpenCall {
        self.0.send_modify(|open| *open += 1);
        OpenCall(self.clone())
    }

    /// Resolves when no call came within `first`, or none was open for `idle`.
    pub(super) async fn expired(&self, first: Duration, idle: Duration) {
        let mut open = self.0.subscribe();
        if tokio::time::timeout(first, open.wait_for(|open| *open > 0)).await.is_err() {
            return;
        }
        self.idle_for(idle).await;
    }

    /// Resolves when no call was open for `time`.
    pub(super) async fn idle_for(&self, time: Duration) {
        let mut open = self.0.subscribe();
        loop {
            if open.wait_for(|open| *open == 0).await.is_err() {
                return;
            }
            if tokio::time::timeout(time, open.wait_for(|open| *open > 0)).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.0.0.send_modify(|open| *open -= 1);
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
}
