//! Why a connection ended, in words.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tonic::Status;

use super::witness::Testimony;

/// How long a failed call waits for its connection's own reason, which comes a moment later.
const REASON_WITHIN: Duration = Duration::from_millis(200);
const CLOSED: &str = "the server closed the connection";

/// What the task of a connection leaves behind for its calls.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    why: watch::Receiver<Option<Arc<str>>>,
    words: Words,
}

/// How failures of one connection are put into words.
#[derive(Debug, Clone)]
pub(super) struct Words {
    pub(super) secure: bool,
    /// What TLS said, if it failed.
    pub(super) testimony: Testimony,
    /// Whether any call was ever answered.
    pub(super) answered: Arc<AtomicBool>,
}

impl Broken {
    /// The calls' end, and the end for the connection's task.
    pub(super) fn new(words: Words) -> (Self, watch::Sender<Option<Arc<str>>>) {
        let (sender, why) = watch::channel(None);
        (Self { why, words }, sender)
    }

    /// Notes that the server answers calls: it speaks what we speak.
    pub(super) fn answered(&self) {
        self.words.answered.store(true, Ordering::Relaxed);
    }

    /// The status of a call that failed with `error`.
    pub(super) async fn status(&mut self, error: &hyper::Error) -> Status {
        let words = self.words.of(Some(error));
        self.or(Status::unavailable(words)).await
    }

    /// Why the connection ended; `status` where it lives, or its task is gone without a word.
    pub(super) async fn or(&mut self, status: Status) -> Status {
        let ended = self.why.wait_for(Option::is_some);
        match tokio::time::timeout(REASON_WITHIN, ended).await {
            Ok(Ok(why)) => Status::unavailable(why.as_deref().unwrap_or(CLOSED)),
            _ => status,
        }
    }
}

impl Words {
    /// The end of a connection: `None` when it was orderly.
    pub(super) fn of(&self, error: Option<&hyper::Error>) -> String {
        self.saying(error.map_or_else(|| CLOSED.to_owned(), with_causes))
    }

    /// What TLS said, if it failed; `text` and the way out if not.
    pub(super) fn saying(&self, mut text: String) -> String {
        if let Some(why) = self.testimony.get() {
            return why.to_owned();
        }
        if !self.secure && !self.answered.load(Ordering::Relaxed) {
            text.push_str("; if the server serves TLS, use grpc+tls:// in place of grpc://");
        }
        text
    }
}

fn with_causes(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
