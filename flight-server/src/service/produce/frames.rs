//! Rows turned into frames.

use std::collections::VecDeque;
use std::time::Instant;

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
            return Ok(self.next_at_its_time());
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

    /// Makes the next batch of a paced stream, and tells when [`next`](Self::next) is to be asked
    /// for it; `None` at once. Blocks on the disk.
    pub(super) fn prepare(&mut self) -> Result<Option<Instant>, Status> {
        let Some(pace) = &self.pace else { return Ok(None) };
        let due = pace.nearly_due();
        if self.ready.front().is_some_and(|message| message.kind == Kind::Schema) {
            return Ok(None);
        }
        while !self.ready.iter().any(|message| matches!(message.kind, Kind::Batch { .. })) {
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
        Ok(Some(due))
    }

    /// The batch that was prepared, with what it needs before it, once it is due; the schema by
    /// itself, at once.
    fn next_at_its_time(&mut self) -> Option<Frame> {
        let mut frame = Frame::default();
        while let Some(message) = self.ready.pop_front() {
            self.count(message.kind);
            match (message.kind, &mut self.pace) {
                (Kind::Batch { .. }, Some(pace)) => {
                    frame.append(Frame::new(message, &pace.wait().to_bytes(), None));
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
        (frame.bytes() > 0).then_some(frame)
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

    /// Whether batches leave at times of their own.
    pub(super) fn are_paced(&self) -> bool {
        self.pace.is_some()
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use flight_wire::protocol::PaceRequest;

    use super::*;

    struct Batches(std::vec::IntoIter<RecordBatch>);

    impl Iterator for Batches {
        type Item = Result<Piece, FileError>;

        fn next(&mut self) -> Option<Self::Item> {
            self.0.next().map(|batch| Ok(Piece::Batch(batch)))
        }
    }

    impl Rows for Batches {}

    #[test]
    fn a_paced_stream_waits_for_batches_alone() {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
        let schema = batch.schema();
        let rows = Box::new(Batches(vec![batch; 2].into_iter()));
        let explain: Explain = Box::new(|error| Status::internal(error.to_string()));
        let request: PaceRequest = "rate=1000; arrival=uniform; seed=1".parse().unwrap();
        let frames = Frames::new(&schema, rows, explain, EncodeOptions::default(), false).unwrap();
        let mut frames = frames.paced(Pace::new(request)).unwrap();
        let mut due = Vec::new();
        loop {
            due.push(frames.prepare().unwrap());
            assert_eq!(frames.prepare().unwrap(), *due.last().unwrap(), "a batch has one time");
            if frames.next().unwrap().is_none() {
                break;
            }
        }
        let [None, Some(first), Some(second), None] = due[..] else { panic!("{due:?}") };
        assert_eq!(second - first, std::time::Duration::from_millis(1));
    }
}
