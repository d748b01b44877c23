//! gRPC messages of `FlightData` read from whatever pieces arrive, each body copied once.
//!
//! The body goes straight into an aligned buffer of its own, which a batch then shares; the other
//! fields are slices of what arrived. Nothing is allocated by a length that passes a limit.

use std::collections::VecDeque;

use arrow_buffer::{Buffer, MutableBuffer};
use bytes::{Buf, Bytes, BytesMut};

use crate::frame::GRPC_PREFIX_BYTES;
use crate::limits::{APP_METADATA_BYTES_MAX, HEADER_BYTES_MAX};

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
    Body { body: MutableBuffer, missing: usize },
}

impl MessageReader {
    pub fn new(message_bytes_max: usize) -> Self {
        Self {
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
                State::Body { body, missing } => {
                    self.remaining -= self.input.drain_into(body, missing);
                    if *missing > 0 {
                        return Ok(Received::Starved);
                    }
                    self.message.body = std::mem::take(body).into();
                    self.state = State::Fields;
                }
            }
        }
    }

    /// Checks that the stream may end here.
    ///
    /// # Errors
    ///
    /// [`ReceiveError::Cut`] within a message.
    pub fn finish(&self) -> Result<(), ReceiveError> {
        let between = matches!(self.state, State::Prefix) && self.input.len == 0;
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
            // Within `message_bytes_max`, and reserved by whoever saw the message begin; pages are
            // taken as data comes.
            let body = MutableBuffer::with_capacity(length);
            self.state = State::Body { body, missing: length };
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
        if self.input.len < head + length {
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
        if self.input.len < bytes {
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

/// Bytes of a protobuf varint at most.
const VARINT_BYTES_MAX: usize = 10;

/// Bytes that arrived and are not consumed.
#[derive(Debug, Default)]
struct Input {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl Input {
    fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.len += bytes.len();
            self.pieces.push_back(bytes);
        }
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.pieces.iter().flat_map(|piece| piece.iter().copied())
    }

    fn peek<const N: usize>(&self) -> Option<[u8; N]> {
        if self.len < N {
            return None;
        }
        let mut out = [0; N];
        for (slot, byte) in out.iter_mut().zip(self.bytes()) {
            *slot = byte;
        }
        Some(out)
    }

    /// The varint `skip` bytes ahead and its length; it must end within `limit` bytes from here.
    fn varint(&self, skip: usize, limit: usize) -> Result<Option<(u64, usize)>, ReceiveError> {
        let mut value = 0u64;
        for (index, byte) in self.bytes().skip(skip).take(VARINT_BYTES_MAX).enumerate() {
            if skip + index >= limit {
                return Err(ReceiveError::Malformed("the message ends within a field"));
            }
            value |= u64::from(byte & 0x7f).checked_shl(7 * index as u32).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(Some((value, index + 1)));
            }
        }
        if self.len >= skip + VARINT_BYTES_MAX {
            return Err(ReceiveError::Malformed("a varint of more than 10 bytes"));
        }
        if self.len >= limit {
            return Err(ReceiveError::Malformed("the message ends within a field"));
        }
        Ok(None)
    }

    fn advance(&mut self, mut count: usize) {
        self.len -= count;
        while count > 0 {
            let first = self.pieces.front_mut().expect("`len` counts the bytes of all pieces");
            if first.len() > count {
                first.advance(count);
                return;
            }
            count -= first.len();
            self.pieces.pop_front();
        }
    }

    /// Takes `count` bytes, as a slice of what arrived where they lie in one piece.
    fn take(&mut self, count: usize) -> Bytes {
        if let Some(first) = self.pieces.front_mut()
            && first.len() > count
        {
            self.len -= count;
            return first.split_to(count);
        }
        if self.pieces.front().is_some_and(|first| first.len() == count) {
            self.len -= count;
            return self.pieces.pop_front().expect("just seen");
        }
        let mut out = BytesMut::with_capacity(count);
        while out.len() < count {
            let first = self.pieces.front().expect("the caller checked `len`");
            let part = first.len().min(count - out.len());
            out.extend_from_slice(&first[..part]);
            self.advance(part);
        }
        out.freeze()
    }

    /// Moves what there is of `missing` bytes into `body`.
    fn drain_into(&mut self, body: &mut MutableBuffer, missing: &mut usize) -> usize {
        let mut moved = 0;
        while *missing > 0
            && let Some(first) = self.pieces.front()
        {
            let part = first.len().min(*missing);
            body.extend_from_slice(&first[..part]);
            self.advance(part);
            *missing -= part;
            moved += part;
        }
        moved
    }
}
