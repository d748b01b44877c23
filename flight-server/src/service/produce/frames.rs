//! Rows turned into frames.

use std::collections::VecDeque;

use flight_files::{FileError, Piece, PieceReader, StoredMessage};
use flight_wire::{Checksum, EncodeOptions, Encoder, Frame, Kind, Message};
use tonic::Status;

use super::pace::Pace;
use crate::service::status::IntoStatus;

/// Small messages are sent together until they make up this much: a write and a wake-up of the
/// reader for each would cost more than they carry.
const GROUP_BYTES: usize = 1 << 20;

/// Where a stream's rows come from.
pub(in crate::service) trait Rows:
    Iterator<Item = Result<Piece, FileError>> + Send
{
    /// Gives up memory that can be had again, since nobody reads at present.
    fn park(&mut self) {}

    /// Whether rows are made ahead of being asked for, so that nothing else has to wait ready.
    fn are_made_ahead(&self) -> bool {
        false
    }

    /// Whether what becomes of the source may show in what was not sent yet.
    fn shares_source(&self) -> bool {
        false
    }

    /// Whether the source still is what it was; asked once all was sent.
    fn check_source(&self) -> Result<(), FileError> {
        Ok(())
    }
}

impl Rows for PieceReader {
    fn park(&mut self) {
        Self::park(self);
    }

    fn are_made_ahead(&self) -> bool {
        self.decodes_ahead()
    }

    fn shares_source(&self) -> bool {
        self.shares_file()
    }

    fn check_source(&self) -> Result<(), FileError> {
        self.check_unchanged()
    }
}

/// What to tell a client of a file that cannot be read.
pub(in crate::service) type Explain = Box<dyn Fn(&FileError) -> Status + Send>;

/// A stream's frames, made one group at a time.
pub(in crate::service) struct Frames {
    rows: Box<dyn Rows>,
    explain: Explain,
    encoder: Encoder,
    checksum: bool,
    /// Encoded and not yet in a group; the schema at first.
    ready: VecDeque<Message>,
    /// Begun, and still to be read.
    begun: Option<StoredMessage>,
    /// Batches and rows in the group made last.
    counted: (u64, u64),
    /// When batches leave, each by itself; without it as soon as there is room for them.
    pace: Option<Pace>,
}

impl Frames {
    /// # Errors
    ///
    /// `UNIMPLEMENTED` for a schema that Arrow IPC cannot carry.
    pub(in crate::service) fn new(
        schema: &arrow_schema::Schema,
        rows: Box<dyn Rows>,
        explain: Explain,
        options: EncodeOptions,
        checksum: bool,
    ) -> Result<Self, Status> {
        let encoder = Encoder::new(schema, options).map_err(IntoStatus::into_status)?;
        // The schema is sent at once, before the first row is read: it comes even with no rows.
        let ready = [encoder.schema()].into();
        let (begun, counted, pace) = (None, (0, 0), None);
        Ok(Self { rows, explain, encoder, checksum, ready, begun, counted, pace })
    }

    /// The same rows, at their times.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` where checksums were asked for: both are `app_metadata`.
    pub(in crate::service) fn paced(mut self, pace: Pace) -> Result<Self, Status> {
        if self.checksum {
            let refused = "a stream has either flight-pace or checksums; ask for one of them";
            return Err(Status::invalid_argument(refused));
        }
        self.pace = Some(pace);
        Ok(self)
    }

    /// The next group of messages, or part of one; `None` after the last. Blocks on the disk.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Status> {
        self.counted = (0, 0);
        if self.pace.is_some() {
            return self.next_at_its_time();
        }
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
            let Some(piece) = self.rows.next() else { break };
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

    /// The next batch, with what it needs before it, once it is due; the schema by itself, at once.
    fn next_at_its_time(&mut self) -> Result<Option<Frame>, Status> {
        let is_schema = |message: &Message| message.kind == Kind::Schema;
        let stamp = match (&mut self.pace, self.ready.front()) {
            (Some(pace), front) if !front.is_some_and(is_schema) => Some(pace.wait()),
            _ => None,
        };
        let mut frame = Frame::default();
        while let Some(message) = self.next_message()? {
            self.count(message.kind);
            match (message.kind, stamp) {
                (Kind::Batch { .. }, Some(stamp)) => {
                    frame.append(Frame::new(message, &stamp.to_bytes(), None));
                    break;
                }
                (kind, _) => {
                    frame.append(Frame::new(message, b"", None));
                    if kind == Kind::Schema {
                        break;
                    }
                }
            }
        }
        Ok((frame.bytes() > 0).then_some(frame))
    }

    /// The next message, whole.
    fn next_message(&mut self) -> Result<Option<Message>, Status> {
        while self.ready.is_empty() {
            let Some(piece) = self.rows.next() else { return Ok(None) };
            match piece.map_err(|error| (self.explain)(&error))? {
                Piece::Message(message) => self.ready.push_back(message),
                Piece::Stored(message) => {
                    let message = message.into_message();
                    self.ready.push_back(message.map_err(|error| (self.explain)(&error))?);
                }
                Piece::Batch(batch) => {
                    let messages = self.encoder.encode(&batch).map_err(IntoStatus::into_status)?;
                    self.ready.extend(messages);
                }
            }
        }
        Ok(self.ready.pop_front())
    }

    /// The next part of a message that was begun, if it is in memory: then no thread that may block
    /// has to be asked for it.
    pub(super) fn next_resident(&mut self) -> Result<Option<Frame>, Status> {
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

    /// Batches and rows in the frame that was made last.
    pub(super) fn counted(&self) -> (u64, u64) {
        self.counted
    }

    /// Whether the next frame is a part of a body that was begun.
    pub(super) fn are_amid_body(&self) -> bool {
        self.begun.is_some()
    }

    /// Gives up memory that can be had again, since nobody reads at present.
    pub(super) fn park(&mut self) {
        self.rows.park();
    }

    /// Whether what they are made of is made ahead of being asked for.
    pub(super) fn are_made_ahead(&self) -> bool {
        self.rows.are_made_ahead()
    }

    /// Whether frames share memory with what they are made of.
    pub(super) fn share_source(&self) -> bool {
        self.rows.shares_source()
    }

    /// Whether that still is what it was.
    pub(super) fn check_source(&self) -> Result<(), Status> {
        self.rows.check_source().map_err(|error| (self.explain)(&error))
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
