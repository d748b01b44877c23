//! Rows turned into frames, ahead of the socket, and handed to it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use flight_files::{FileError, Piece, StoredMessage};
use flight_net::FrameSender;
use flight_net::server::CallContext;
use flight_wire::{Checksum, EncodeOptions, Encoder, Frame, Kind, Message};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::Status;

use super::metrics::Call;
use super::status::{IntoStatus, trailers};

/// Small messages are sent together until they make up this much: a write and a wake-up of the
/// reader for each would cost more than they carry.
const GROUP_BYTES: usize = 1 << 20;
/// Parts of a body that wait for the socket, beside the one that its head goes with: more would
/// leave the cache before they are sent.
const PARTS_AHEAD: usize = 2;

/// Where a stream's rows come from.
pub(super) type Pieces = Box<dyn Iterator<Item = Result<Piece, FileError>> + Send>;
/// What to tell a client of a file that cannot be read.
pub(super) type Explain = Box<dyn Fn(&FileError) -> Status + Send>;

/// A stream's frames, made one group at a time.
pub(super) struct Frames {
    pieces: Pieces,
    explain: Explain,
    encoder: Encoder,
    checksum: bool,
    /// Encoded and not yet in a group; the schema at first.
    ready: VecDeque<Message>,
    /// Begun, and still to be read.
    begun: Option<StoredMessage>,
    /// Batches and rows in the group made last.
    counted: (u64, u64),
}

impl Frames {
    /// # Errors
    ///
    /// `UNIMPLEMENTED` for a schema that Arrow IPC cannot carry.
    pub(super) fn new(
        schema: &arrow_schema::Schema,
        pieces: Pieces,
        explain: Explain,
        options: EncodeOptions,
        checksum: bool,
    ) -> Result<Self, Status> {
        let encoder = Encoder::new(schema, options).map_err(IntoStatus::into_status)?;
        // The schema is sent at once, before the first row is read: it comes even with no rows.
        let ready = [encoder.schema()].into();
        Ok(Self { pieces, explain, encoder, checksum, ready, begun: None, counted: (0, 0) })
    }

    /// The next group of messages, or part of one; `None` after the last. Blocks on the disk.
    fn next(&mut self) -> Result<Option<Frame>, Status> {
        self.counted = (0, 0);
        let mut frame = Frame::default();
        while frame.bytes() < GROUP_BYTES {
            if let Some(stored) = &mut self.begun {
                let part = stored.next_part().map_err(|error| (self.explain)(&error))?;
                if stored.is_over() {
                    self.begun = None;
                }
                frame.add_part(part);
                break;
            }
            if let Some(message) = self.ready.pop_front() {
                let schema = message.kind == Kind::Schema;
                self.add(&mut frame, message);
                if schema {
                    break;
                }
                continue;
            }
            let Some(piece) = self.pieces.next() else { break };
            match piece.map_err(|error| (self.explain)(&error))? {
                Piece::Message(message) => self.ready.push_back(message),
                Piece::Stored(message) if self.checksum => {
                    let message = message.into_message();
                    self.ready.push_back(message.map_err(|error| (self.explain)(&error))?);
                }
                Piece::Stored(message) => {
                    self.count(message.kind);
                    frame.append(Frame::head(&message.header, message.body_bytes));
                    self.begun = Some(message);
                }
                Piece::Batch(batch) => {
                    let messages = self.encoder.encode(&batch).map_err(IntoStatus::into_status)?;
                    self.ready.extend(messages);
                }
            }
        }
        Ok((frame.bytes() > 0).then_some(frame))
    }

    /// The next part of a message that was begun, if it is in memory: then no thread that may block
    /// has to be asked for it.
    fn next_resident(&mut self) -> Result<Option<Frame>, Status> {
        let Some(stored) = &mut self.begun else { return Ok(None) };
        let part = stored.next_resident_part().map_err(|error| (self.explain)(&error))?;
        let Some(part) = part else { return Ok(None) };
        if stored.is_over() {
            self.begun = None;
        }
        self.counted = (0, 0);
        let mut frame = Frame::default();
        frame.add_part(part);
        Ok(Some(frame))
    }

    fn add(&mut self, frame: &mut Frame, message: Message) {
        self.count(message.kind);
        let metadata = if self.checksum {
            let body = message.body.iter().map(|buffer| buffer.as_slice());
            Checksum::of(&message.header, body).to_string()
        } else {
            String::new()
        };
        frame.append(Frame::new(message, metadata.as_bytes(), None));
    }

    fn count(&mut self, kind: Kind) {
        if let Kind::Batch { rows } = kind {
            self.counted.0 += 1;
            self.counted.1 += rows as u64;
        }
    }
}

/// Sends all frames and the trailers; ends early when the reader goes, stalls, or is out of time.
pub(super) async fn send(
    mut frames: Frames,
    sender: FrameSender,
    context: CallContext,
    stall: Duration,
    mut call: Call,
) {
    let parts = Arc::new(Semaphore::new(PARTS_AHEAD));
    let status = loop {
        // Room first, so that a stalled reader holds what waits for it and nothing more.
        let room = async {
            let part = match frames.begun {
                // It never closes.
                Some(_) => Arc::clone(&parts).acquire_owned().await.ok(),
                None => None,
            };
            sender.room().await.map(|room| (room, part))
        };
        let (room, part) = match wait_for(context.deadline, stall, room).await {
            Wait::Over(Some(room)) => room,
            Wait::Over(None) => {
                call.finish(&Status::cancelled("the client went away"));
                return;
            }
            Wait::PastDeadline => break Status::deadline_exceeded("the deadline has passed"),
            Wait::Stalled => {
                // A reader that takes nothing takes no trailers either: the stream is reset (CANCEL)
                // when the sender is dropped.
                call.finish(&Status::deadline_exceeded(format!("nothing was read for {stall:?}")));
                return;
            }
        };
        let made = match frames.next_resident() {
            Ok(None) => {
                let made = tokio::task::spawn_blocking(move || {
                    let made = frames.next();
                    (frames, made)
                });
                let Ok((kept, made)) = made.await else {
                    break Status::internal("the server failed on this call");
                };
                frames = kept;
                made
            }
            made => made,
        };
        let mut frame = match made {
            Ok(Some(frame)) => frame,
            Ok(None) => break Status::ok(""),
            Err(status) => break status,
        };
        let ((batches, rows), bytes) = (frames.counted, frame.bytes() as u64);
        if let Some(part) = part {
            frame.holding(part);
        }
        room.send(frame);
        call.sent(bytes, batches, rows);
    };
    call.finish(&status);
    let ended = tokio::time::timeout(stall, sender.end(Some(trailers(&status))));
    // A reader that does not take the trailers either loses the stream.
    let _ = ended.await;
}

/// How waiting for a reader ended.
enum Wait<T> {
    Over(T),
    PastDeadline,
    Stalled,
}

async fn wait_for<T>(
    deadline: Option<Instant>,
    stall: Duration,
    work: impl Future<Output = T>,
) -> Wait<T> {
    let now = Instant::now();
    let stalled = now + stall;
    let until = deadline.map_or(stalled, |deadline| deadline.min(stalled));
    match tokio::time::timeout_at(until, work).await {
        Ok(done) if deadline.is_none_or(|deadline| now < deadline) => Wait::Over(done),
        Err(_) if until == stalled => Wait::Stalled,
        _ => Wait::PastDeadline,
    }
}
