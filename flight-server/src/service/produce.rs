//! Rows turned into frames, ahead of the socket, and handed to it.

use std::collections::VecDeque;
use std::time::Duration;

use flight_files::Piece;
use flight_net::FrameSender;
use flight_net::server::CallContext;
use flight_wire::{Checksum, EncodeOptions, Encoder, Frame, Kind, Message};
use tonic::Status;

use super::metrics::Call;
use super::status::{IntoStatus, trailers};

/// Small messages are sent together until they make up this much: a write and a wake-up of the
/// reader for each would cost more than they carry.
const GROUP_BYTES: usize = 1 << 20;

/// Where a stream's rows come from.
pub(super) type Pieces = Box<dyn Iterator<Item = Result<Piece, Status>> + Send>;

/// A stream's frames, made one group at a time.
pub(super) struct Frames {
    pieces: Pieces,
    encoder: Encoder,
    checksum: bool,
    /// Encoded and not yet in a group; the schema at first.
    ready: VecDeque<Message>,
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
        options: EncodeOptions,
        checksum: bool,
    ) -> Result<Self, Status> {
        let encoder = Encoder::new(schema, options).map_err(IntoStatus::into_status)?;
        // The schema is sent at once, before the first row is read: it comes even with no rows.
        let ready = [encoder.schema()].into();
        Ok(Self { pieces, encoder, checksum, ready, counted: (0, 0) })
    }

    /// The next group of messages; `None` after the last. Blocks on the disk.
    fn next(&mut self) -> Result<Option<Frame>, Status> {
        self.counted = (0, 0);
        let mut frame = Frame::default();
        while frame.bytes() < GROUP_BYTES {
            if let Some(message) = self.ready.pop_front() {
                let schema = message.kind == Kind::Schema;
                self.add(&mut frame, message);
                if schema {
                    break;
                }
                continue;
            }
            let Some(piece) = self.pieces.next() else { break };
            match piece? {
                Piece::Message(message) => self.ready.push_back(message),
                Piece::Batch(batch) => {
                    let messages = self.encoder.encode(&batch).map_err(IntoStatus::into_status)?;
                    self.ready.extend(messages);
                }
            }
        }
        Ok((frame.bytes() > 0).then_some(frame))
    }

    fn add(&mut self, frame: &mut Frame, message: Message) {
        if let Kind::Batch { rows } = message.kind {
            self.counted.0 += 1;
            self.counted.1 += rows as u64;
        }
        let metadata = if self.checksum {
            let body = message.body.iter().map(|buffer| buffer.as_slice());
            Checksum::of(&message.header, body).to_string()
        } else {
            String::new()
        };
        frame.append(Frame::new(message, metadata.as_bytes(), None));
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
    let status = loop {
        let made = tokio::task::spawn_blocking(move || {
            let made = frames.next();
            (frames, made)
        });
        let Ok((kept, made)) = made.await else {
            break Status::internal("the server failed on this call");
        };
        frames = kept;
        let frame = match made {
            Ok(Some(frame)) => frame,
            Ok(None) => break Status::ok(""),
            Err(status) => break status,
        };
        if past(context.deadline) {
            break Status::deadline_exceeded("the deadline has passed");
        }
        let ((batches, rows), bytes) = (frames.counted, frame.bytes() as u64);
        match tokio::time::timeout(stall, deliver(context.deadline, &sender, frame)).await {
            Ok(Delivery::Done) => call.sent(bytes, batches, rows),
            Ok(Delivery::Gone) => {
                call.finish(&Status::cancelled("the client went away"));
                return;
            }
            Ok(Delivery::Late) => break Status::deadline_exceeded("the deadline has passed"),
            Err(_) => {
                // A reader that takes nothing takes no trailers either: the stream is reset (CANCEL)
                // when the sender is dropped.
                call.finish(&Status::deadline_exceeded(format!("nothing was read for {stall:?}")));
                return;
            }
        }
    };
    call.finish(&status);
    sender.end(Some(trailers(&status))).await;
}

enum Delivery {
    Done,
    Gone,
    Late,
}

async fn deliver(
    deadline: Option<tokio::time::Instant>,
    sender: &FrameSender,
    frame: Frame,
) -> Delivery {
    let sent = sender.send(frame);
    let sent = match deadline {
        None => Ok(sent.await),
        Some(deadline) => tokio::time::timeout_at(deadline, sent).await,
    };
    match sent {
        Ok(true) => Delivery::Done,
        Ok(false) => Delivery::Gone,
        Err(_) => Delivery::Late,
    }
}

fn past(deadline: Option<tokio::time::Instant>) -> bool {
    deadline.is_some_and(|deadline| deadline <= tokio::time::Instant::now())
}
