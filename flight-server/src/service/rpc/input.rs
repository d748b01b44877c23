//! An upload's messages, each within its share of the memory budget.

use std::time::Duration;

use flight_wire::limits::RECEIVE_MESSAGE_BYTES_MAX;
use flight_wire::{FlightMessage, MessageReader, Received};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tonic::Status;

use crate::service::budget::{Budget, Share};
use crate::service::status::IntoStatus;

/// A message and the memory that it holds.
pub(super) struct Reserved {
    pub(super) message: FlightMessage,
    pub(super) share: Option<Share>,
}

/// The messages of an upload's body.
pub(super) struct Input {
    body: Incoming,
    reader: MessageReader,
    budget: Budget,
    /// How long the client may send nothing, or a message may wait for memory.
    stall: Duration,
    /// Of the message that is being read.
    share: Option<Share>,
    /// Bytes of a message that has begun and has no share yet.
    begun: Option<usize>,
}

impl Input {
    pub(super) fn new(body: Incoming, budget: Budget, stall: Duration) -> Self {
        let reader = MessageReader::new(RECEIVE_MESSAGE_BYTES_MAX);
        Self { body, reader, budget, stall, share: None, begun: None }
    }

    /// The next message; `None` once the client has ended the upload. A call that was dropped
    /// before it ended has lost nothing.
    ///
    /// # Errors
    ///
    /// What is no Flight message, and `CANCELLED` when the client or its connection went away.
    pub(super) async fn next(&mut self) -> Result<Option<Reserved>, Status> {
        loop {
            if let Some(bytes) = self.begun {
                self.share = Some(self.reserve(bytes).await?);
                self.begun = None;
            }
            if let Some(message) = self.ready()? {
                return Ok(Some(message));
            }
            if self.begun.is_some() {
                continue;
            }
            let Ok(frame) = tokio::time::timeout(self.stall, self.body.frame()).await else {
                let stall = self.stall;
                return Err(Status::deadline_exceeded(format!("nothing was sent for {stall:?}")));
            };
            match frame {
                // A reset without an error reads like the end, and is none.
                None if !self.body.is_end_stream() => {
                    return Err(Status::cancelled("the upload was cut"));
                }
                None => {
                    self.reader.finish().map_err(IntoStatus::into_status)?;
                    return Ok(None);
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.reader.push(data);
                    }
                }
                Some(Err(error)) => {
                    return Err(Status::cancelled(format!("the upload was cut: {error}")));
                }
            }
        }
    }

    /// Waits for memory, no longer than a client may stall.
    async fn reserve(&self, bytes: usize) -> Result<Share, Status> {
        match tokio::time::timeout(self.stall, self.budget.share(bytes)).await {
            Ok(share) => Ok(share),
            Err(_) => Err(Status::resource_exhausted(format!(
                "other uploads hold the memory for this one's message of {bytes} bytes \
                 (--upload-memory); upload again later, or in smaller batches"
            ))),
        }
    }

    /// The next message if it has arrived and there is memory for it.
    ///
    /// # Errors
    ///
    /// What is no Flight message.
    pub(super) fn ready(&mut self) -> Result<Option<Reserved>, Status> {
        while self.begun.is_none() {
            match self.reader.next().map_err(IntoStatus::into_status)? {
                Received::Message(message) => {
                    return Ok(Some(Reserved { message, share: self.share.take() }));
                }
                Received::Starved => return Ok(None),
                Received::Begun(bytes) => match self.budget.try_share(bytes) {
                    Some(share) => self.share = Some(share),
                    None => self.begun = Some(bytes),
                },
            }
        }
        Ok(None)
    }
}
