//! gRPC messages of `FlightData` read from whatever pieces arrive, each body copied at most once.
//!
//! The body goes straight into an aligned, recycled buffer of its own, which a batch then shares;
//! the other fields are slices of what arrived. Whoever reads from a socket itself may read into
//! that buffer ([`MessageReader::body_space`]), which saves the copy. Nothing is allocated by a
//! length that passes a limit.

use std::sync::LazyLock;

use arrow_buffer::Buffer;
use bytes::Bytes;

use crate::frame::GRPC_PREFIX_BYTES;
use crate::input::Input;
use crate::limits::{APP_METADATA_BYTES_MAX, HEADER_BYTES_MAX, RECEIVE_POOL_BYTES};
use crate::pool::{BufferPool, PooledBuffer};

/// One pool for the whole process, so that the memory that waits for bodies has one bound, however
/// many streams there are.
static POOL: LazyLock<BufferPool> = LazyLock::new(|| BufferPool::new(RECEIVE_POOL_BYTES));

/// Why the bytes are not a stream of `FlightData`. The peer is at fault in every case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    #[error(
        "a message of {bytes} bytes is more than the {max} that are taken; send smaller batches"
    )]
    TooLarge { bytes: u64, max: usize },
    #[error(
        "the message is compressed by gRPC, which is not supported; compress the Arrow buffers"
    )]
    Compressed,
    #[error("{field} of {bytes} bytes is more than the {max} that are taken")]
    FieldTooLarge { field: &'static str, bytes: u64, max: usize },
    #[error("the message is not a valid FlightData: {0}")]
    Malformed(&'static str),
    /// This machine is at fault.
    #[error("there is no memory for a body of {bytes} bytes; send smaller batches")]
    NoMemory { bytes: usize },
    #[error("the stream ended in the middle of a message")]
    Cut,
}

/// A `FlightData` message (Flight.proto).
#[derive(Debug, Clone, Default)]
pub struct FlightMessage {
    /// An encoded `FlightDescriptor`; on an upload's first message.
    pub descriptor: Option<Bytes>,
    /// A flatbuffer `Message`; empty on a message that carries `app_metadata` alone.
    pub header: Bytes,
    pub app_metadata: Bytes,
    pub body: Buffer,
    /// Bytes of the whole message.
    pub bytes: usize,
}

/// What [`MessageReader::next`] came upon.
#[derive(Debug)]
pub enum Received {
    /// A message of so many bytes begins: time to reserve them.
    Begun(usize),
    Message(FlightMessage),
    /// More bytes have to be pushed first.
    Starved,
}

/// Reads messages from pushed bytes.
#[derive(Debug)]
pub struct MessageReader {
    pool: BufferPool,
    input: Input,
    message_bytes_max: usize,
    state: State,
    /// Bytes of the current message that are not consumed yet.
    remaining: usize,
    message: FlightMessage,
}

#[derive(Debug)]
enum State {
    Prefix,
    Fields,
    Body { body: PooledBuffer, filled: usize },
}

impl MessageReader {
    /// A reader that takes messages up to `message_bytes_max`; memory comes from the process's pool
    /// of [`RECEIVE_POOL_BYTES`].
    pub fn new(message_bytes_max: usize) -> Self {
        Self::with_pool(message_bytes_max, POOL.clone())
    }

    /// The same with memory of `pool`.
    pub fn with_pool(message_bytes_max: usize, pool: BufferPool) -> Self {
        Self {
            pool,
            input: Input::default(),
            message_bytes_max,
            state: State::Prefix,
            remaining: 0,
            message: FlightMessage::default(),
        }
    }

    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: Bytes) {
        self.input.push(bytes);
    }

    /// The next event.
    ///
    /// # Errors
    ///
    /// A message over a limit or of another form; the stream cannot go on after it.
    #[expect(clippy::should_implement_trait, reason = "not an iterator: it starves and goes on")]
    pub fn next(&mut self) -> Result<Received, ReceiveError> {
        loop {
            match &mut self.state {
                State::Prefix => {
                    let Some(bytes) = self.prefix()? else { return Ok(Received::Starved) };
                    self.state = State::Fields;
                    return Ok(Received::Begun(bytes));
                }
                State::Fields if self.remaining == 0 => {
                    self.state = State::Prefix;
                    return Ok(Received::Message(std::mem::take(&mut self.message)));
                }
                State::Fields => {
                    if !self.field()? {
                        return Ok(Received::Starved);
                    }
                }
                State::Body { body, filled } => {
                    let copied = self.input.copy_into(&mut body.as_mut_slice()[*filled..]);
                    *filled += copied;
                    self.remaining -= copied;
                    if *filled < body.as_ref().len() {
                        return Ok(Received::Starved);
                    }
                    let full = std::mem::replace(&mut self.state, State::Fields);
                    if let State::Body { body, .. } = full {
                        self.message.body = body.freeze();
                    }
                }
            }
        }
    }

    /// The part of the current body that has not arrived, to be read into in place of
    /// [`push`](Self::push); `None` when something else comes next.
    pub fn body_space(&mut self) -> Option<&mut [u8]> {
        match &mut self.state {
            State::Body { body, filled } if self.input.is_empty() => {
                let space = &mut body.as_mut_slice()[*filled..];
                (!space.is_empty()).then_some(space)
            }
            _ => None,
        }
    }

    /// The first `count` bytes of [`body_space`](Self::body_space) hold what arrived.
    ///
    /// # Panics
    ///
    /// When there was no such space: a fault of the caller.
    pub fn filled(&mut self, count: usize) {
        let space = self.body_space().map_or(0, |space| space.len());
        assert!(count <= space, "{count} bytes were read into a space of {space}");
        if let State::Body { filled, .. } = &mut self.state {
            *filled += count;
            self.remaining -= count;
        }
    }

    /// Checks that the stream may end here.
    ///
    /// # Errors
    ///
    /// [`ReceiveError::Cut`] within a message.
    pub fn finish(&self) -> Result<(), ReceiveError> {
        let between = matches!(self.state, State::Prefix) && self.input.is_empty();
        if between { Ok(()) } else { Err(ReceiveError::Cut) }
    }

    fn prefix(&mut self) -> Result<Option<usize>, ReceiveError> {
        let Some(prefix) = self.input.peek::<GRPC_PREFIX_BYTES>() else { return Ok(None) };
        let [flag, length @ ..] = prefix;
        let bytes = u32::from_be_bytes(length);
        if flag != 0 {
            return Err(ReceiveError::Compressed);
        }
        let max = self.message_bytes_max;
        let length = usize::try_from(bytes).ok().filter(|bytes| *bytes <= max);
        let Some(length) = length else {
            return Err(ReceiveError::TooLarge { bytes: u64::from(bytes), max });
        };
        self.input.advance(GRPC_PREFIX_BYTES);
        self.remaining = length;
        self.message.bytes = length;
        Ok(Some(length))
    }

    /// Consumes one field, or the head of the body; `false` when it has not arrived yet.
    fn field(&mut self) -> Result<bool, ReceiveError> {
        let Some((tag, tag_bytes)) = self.input.varint(0, self.remaining)? else {
            return Ok(false);
        };
        let (number, wire_type) = (tag >> 3, tag & 7);
        match wire_type {
            LENGTH_DELIMITED => {}
            VARINT => {
                let Some((_, bytes)) = self.input.varint(tag_bytes, self.remaining)? else {
                    return Ok(false);
                };
                return self.skip(tag_bytes + bytes);
            }
            FIXED64 => return self.skip(tag_bytes + 8),
            FIXED32 => return self.skip(tag_bytes + 4),
            _ => return Err(ReceiveError::Malformed("a field of an unknown wire type")),
        }
        let Some((length, length_bytes)) = self.input.varint(tag_bytes, self.remaining)? else {
            return Ok(false);
        };
        let head = tag_bytes + length_bytes;
        let length = usize::try_from(length).ok().filter(|l| *l <= self.remaining - head);
        let length = length.ok_or(ReceiveError::Malformed("a field is longer than its message"))?;
        if number == BODY {
            self.input.advance(head);
            self.remaining -= head;
            // Within `message_bytes_max`, and reserved by whoever saw the message begin; pages of
            // fresh memory are taken as data comes.
            let no_memory = ReceiveError::NoMemory { bytes: length };
            let body = self.pool.take(length).ok_or(no_memory)?;
            self.state = State::Body { body, filled: 0 };
            return Ok(true);
        }
        let (field, max) = match number {
            DESCRIPTOR => ("the descriptor", HEADER_BYTES_MAX),
            HEADER => ("data_header", HEADER_BYTES_MAX),
            APP_METADATA => ("app_metadata", APP_METADATA_BYTES_MAX),
            _ => ("an unknown field", HEADER_BYTES_MAX),
        };
        if length > max {
            return Err(ReceiveError::FieldTooLarge { field, bytes: length as u64, max });
        }
        if self.input.len() < head + length {
            return Ok(false);
        }
        self.input.advance(head);
        let bytes = self.input.take(length);
        self.remaining -= head + length;
        match number {
            DESCRIPTOR => self.message.descriptor = Some(bytes),
            HEADER => self.message.header = bytes,
            APP_METADATA => self.message.app_metadata = bytes,
            _ => {}
        }
        Ok(true)
    }

    fn skip(&mut self, bytes: usize) -> Result<bool, ReceiveError> {
        if bytes > self.remaining {
            return Err(ReceiveError::Malformed("a field is longer than its message"));
        }
        if self.input.len() < bytes {
            return Ok(false);
        }
        self.input.advance(bytes);
        self.remaining -= bytes;
        Ok(true)
    }
}

// Protobuf wire types and the field numbers of FlightData.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;
const FIXED32: u64 = 5;
const DESCRIPTOR: u64 = 1;
const HEADER: u64 = 2;
const APP_METADATA: u64 = 3;
const BODY: u64 = 1000;
