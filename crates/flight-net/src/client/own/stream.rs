//! One call on the connection: what came for its reader, and what its writer handed over.
//!
//! Bookkeeping alone; frames are read and written by `session`.

use std::collections::VecDeque;
use std::task::Waker;

use bytes::Bytes;
use flight_wire::{Chunks, FlightMessage, MessageReader, ReceiveError, Received};
use tonic::{Code, Status};

use super::headers::Fields;

/// A window that we granted the peer.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    size: u32,
    left: u32,
    used: u32,
}

impl ReceiveWindow {
    pub(crate) fn new(size: u32) -> Self {
        Self { size, left: size, used: 0 }
    }

    /// Counts bytes that came; `false` when they are more than was granted.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let Some(left) = self.left.checked_sub(bytes) else { return false };
        self.left = left;
        self.used += bytes;
        true
    }

    /// What to grant anew: all that came, once that is a quarter of the window.
    pub(crate) fn grant(&mut self) -> Option<u32> {
        if self.used == 0 || self.used < self.size / 4 {
            return None;
        }
        self.left += self.used;
        Some(std::mem::take(&mut self.used))
    }
}

/// A call.
pub(crate) struct Stream {
    pub(crate) inbound: Inbound,
    pub(crate) outbound: Outbound,
    /// Whether its HEADERS were sent; before that the peer knows nothing of it.
    pub(crate) opened: bool,
    /// The peer has sent its last frame on it.
    pub(crate) remote_closed: bool,
    /// We reset it: what still comes is ignored.
    pub(crate) reset: bool,
    /// Ends of it that somebody holds.
    pub(crate) handles: u8,
}

/// The answer.
pub(crate) struct Inbound {
    pub(crate) reader: MessageReader,
    pub(crate) window: ReceiveWindow,
    messages: VecDeque<FlightMessage>,
    queued_bytes: usize,
    /// Whether the answer began, or why it will not.
    pub(crate) head: Option<Result<(), Status>>,
    /// How the answer ended.
    pub(crate) end: Option<Result<(), Status>>,
    pub(crate) waker: Option<Waker>,
    /// Interim answers (1xx) that came.
    pub(crate) interim: usize,
}

/// The request's body.
#[derive(Default)]
pub(crate) struct Outbound {
    pub(crate) chunks: VecDeque<Chunks>,
    pub(crate) bytes: usize,
    /// May go below zero when the peer lowers its setting (RFC 9113, 6.9.2).
    pub(crate) window: i64,
    /// The last of it was handed over.
    pub(crate) finished: bool,
    /// Nothing more is sent: the last frame was, or the stream was reset.
    pub(crate) closed: bool,
    /// It waits for its turn to be written.
    pub(crate) scheduled: bool,
    pub(crate) waker: Option<Waker>,
}

impl Inbound {
    pub(crate) fn new(message_bytes_max: usize, window_bytes: u32) -> Self {
        Self {
            reader: MessageReader::new(message_bytes_max),
            window: ReceiveWindow::new(window_bytes),
            messages: VecDeque::new(),
            queued_bytes: 0,
            head: None,
            end: None,
            waker: None,
            interim: 0,
        }
    }

    /// What to grant the peer: nothing while much waits for the reader, so that a slow one costs at
    /// most a window and a half. A message longer than the window is granted as it comes.
    pub(crate) fn grant(&mut self) -> Option<u32> {
        if self.queued_bytes > self.window.size as usize / 2 || self.end.is_some() {
            return None;
        }
        self.window.grant()
    }

    /// Moves whole messages to the reader's queue; whether there was one.
    ///
    /// # Errors
    ///
    /// Bytes that are no Flight messages.
    pub(crate) fn deliver(&mut self) -> Result<bool, ReceiveError> {
        let mut any = false;
        loop {
            match self.reader.next()? {
                Received::Message(message) => {
                    self.queued_bytes += message.bytes;
                    self.messages.push_back(message);
                    any = true;
                }
                Received::Begun(_) => {}
                Received::Starved => return Ok(any),
            }
        }
    }

    pub(crate) fn pop(&mut self) -> Option<FlightMessage> {
        let message = self.messages.pop_front()?;
        self.queued_bytes -= message.bytes;
        Some(message)
    }

    /// Takes the answer's first headers.
    pub(crate) fn begin(&mut self, fields: &Fields) {
        let status = Status::from_header_map(&fields.headers);
        let http = fields.status.unwrap_or_default();
        let outcome = match status {
            Some(status) if status.code() != Code::Ok => Err(status),
            _ if http != 200 => {
                let named = http::StatusCode::from_u16(http);
                let named = named.map_or_else(|_| http.to_string(), |status| status.to_string());
                Err(Status::unavailable(format!("the server answered HTTP {named}")))
            }
            // A status of OK in the headers is the whole answer.
            Some(_) => {
                self.end(Ok(()));
                Ok(())
            }
            None => Ok(()),
        };
        if let Err(status) = outcome {
            self.end(Err(status));
        } else {
            self.head.get_or_insert(Ok(()));
        }
    }

    /// Takes the trailers.
    pub(crate) fn finish(&mut self, fields: &Fields) {
        let status = Status::from_header_map(&fields.headers)
            .unwrap_or_else(|| Status::unknown("the trailers hold no grpc-status"));
        let end = match (status.code(), self.reader.finish()) {
            (Code::Ok, Ok(())) => Ok(()),
            (Code::Ok, Err(cut)) => Err(Status::internal(cut.to_string())),
            _ => Err(status),
        };
        self.end(end);
    }

    /// Ends the answer; the first reason stays.
    pub(crate) fn end(&mut self, end: Result<(), Status>) {
        self.head.get_or_insert_with(|| end.clone());
        self.end.get_or_insert(end);
    }
}

impl Outbound {
    pub(crate) fn push(&mut self, chunks: Chunks, bytes: usize) {
        self.chunks.push_back(chunks);
        self.bytes += bytes;
    }

    /// Whether a frame is owed, be it the empty last one.
    pub(crate) fn wants_to_send(&self) -> bool {
        !self.closed && (self.bytes > 0 || self.finished)
    }

    /// Takes `count` bytes in pieces.
    pub(crate) fn take(&mut self, mut count: usize, mut sink: impl FnMut(Bytes)) {
        self.bytes -= count;
        while count > 0 {
            let first = self.chunks.front_mut().expect("`bytes` counts those of all chunks");
            match first.take_piece(count) {
                Some(piece) => {
                    count -= piece.len();
                    sink(piece);
                }
                None => drop(self.chunks.pop_front()),
            }
        }
    }

    /// Gives up what was handed over: nobody wants it.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.chunks.clear();
        self.bytes = 0;
    }
}

impl Stream {
    /// Wakes whoever waits for either end.
    pub(crate) fn wake(&mut self) {
        for waker in [self.inbound.waker.take(), self.outbound.waker.take()] {
            waker.into_iter().for_each(Waker::wake);
        }
    }
}
