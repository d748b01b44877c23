//! gRPC messages of `FlightData`, as pieces that a socket can write without copying.
//!
//! Layout: `0u8 | length u32 BE | FlightData`, and `FlightData` (Flight.proto) is protobuf:
//! `flight_descriptor = 1`, `data_header = 2`, `app_metadata = 3`, `data_body = 1000`.

use std::collections::VecDeque;
use std::io::IoSlice;

use arrow_buffer::Buffer;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::messages::Message;
use crate::receive::FlightMessage;

/// Bytes of the gRPC prefix: a flag (1 = compressed) and the length.
pub const GRPC_PREFIX_BYTES: usize = 5;
pub(crate) const TAG_DESCRIPTOR: u8 = 0x0a;
pub(crate) const TAG_HEADER: u8 = 0x12;
pub(crate) const TAG_APP_METADATA: u8 = 0x1a;
/// Field 1000, length-delimited, as a two-byte varint.
pub(crate) const TAG_BODY: [u8; 2] = [0xc2, 0x3e];
/// Buffers up to this size are copied beside their neighbours: cheaper than a slice of their own in
/// a vectored write, of which h2 passes on 16 at a time.
const COALESCE_BYTES: usize = 256;

/// A gRPC message, in pieces.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    pieces: VecDeque<Bytes>,
    bytes: usize,
}

impl Frame {
    /// Frames `message`; `descriptor` is an encoded `FlightDescriptor`, set on an upload's first
    /// message alone.
    pub fn new(message: Message, app_metadata: &[u8], descriptor: Option<&[u8]>) -> Self {
        let head = head(&message.header, message.body_bytes, app_metadata, descriptor);
        let bytes = head.len() + message.body_bytes;
        Self { pieces: pieces(head, message.body), bytes }
    }

    /// A message as it was received, without its descriptor, to be sent on.
    pub fn again(message: &FlightMessage) -> Self {
        let body = message.body.clone();
        let head = head(&message.header, body.len(), &message.app_metadata, None);
        let bytes = head.len() + body.len();
        Self { pieces: pieces(head, vec![body]), bytes }
    }

    /// A message up to its body of `body_bytes` bytes, which follows in [parts](Self::add_part).
    pub fn head(header: &[u8], body_bytes: usize) -> Self {
        let head = head(header, body_bytes, b"", None).freeze();
        Self { bytes: head.len(), pieces: [head].into() }
    }

    /// Adds the next part of a body.
    pub fn add_part(&mut self, part: Vec<Buffer>) {
        self.bytes += part.iter().map(Buffer::len).sum::<usize>();
        self.pieces.append(&mut pieces(BytesMut::new(), part));
    }

    /// Keeps `held` until the frame's last byte has been written, or will not be.
    pub fn holding(&mut self, held: impl Send + Sync + 'static) {
        if let Some(last) = self.pieces.pop_back() {
            self.pieces.push_back(Bytes::from_owner(Holding { bytes: last, _held: held }));
        }
    }

    /// A `FlightData` that carries `app_metadata` alone, as Flight allows in uploads and exchanges.
    pub fn metadata_only(app_metadata: &[u8]) -> Self {
        Self::of_field(TAG_APP_METADATA, app_metadata)
    }

    /// A `PutResult { bytes app_metadata = 1 }`.
    pub fn put_result(app_metadata: &[u8]) -> Self {
        Self::of_field(TAG_DESCRIPTOR, app_metadata)
    }

    /// A message of one field.
    fn of_field(tag: u8, bytes: &[u8]) -> Self {
        let length = field_bytes(1, bytes.len());
        let mut head = BytesMut::with_capacity(GRPC_PREFIX_BYTES + length);
        head.put_u8(0);
        head.put_u32(u32::try_from(length).expect("app_metadata is bounded far below 4 GiB"));
        put_field(&mut head, &[tag], bytes);
        Self { pieces: [head.freeze()].into(), bytes: GRPC_PREFIX_BYTES + length }
    }

    /// Bytes on the stream, prefix included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds `other` behind this frame, so that both go out in one write.
    pub fn append(&mut self, mut other: Self) {
        self.pieces.append(&mut other.pieces);
        self.bytes += other.bytes;
    }

    pub fn into_chunks(self) -> Chunks {
        Chunks(self.pieces)
    }
}

/// Bytes with something that is given up after them.
struct Holding<T> {
    bytes: Bytes,
    _held: T,
}

impl<T> AsRef<[u8]> for Holding<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A gRPC message up to its body.
fn head(
    header: &[u8],
    body_bytes: usize,
    app_metadata: &[u8],
    descriptor: Option<&[u8]>,
) -> BytesMut {
    let descriptor_bytes = descriptor.map_or(0, |d| field_bytes(1, d.len()));
    let length = descriptor_bytes + flight_data_bytes(header.len(), body_bytes, app_metadata.len());
    let mut head = BytesMut::with_capacity(64 + length - body_bytes);
    head.put_u8(0);
    head.put_u32(u32::try_from(length).expect("the encoder keeps messages below 2 GiB"));
    if let Some(descriptor) = descriptor {
        put_field(&mut head, &[TAG_DESCRIPTOR], descriptor);
    }
    put_field(&mut head, &[TAG_HEADER], header);
    if !app_metadata.is_empty() {
        put_field(&mut head, &[TAG_APP_METADATA], app_metadata);
    }
    if body_bytes > 0 {
        head.put_slice(&TAG_BODY);
        put_varint(&mut head, body_bytes);
    }
    head
}

/// Bytes of a `FlightData` message with these fields and no descriptor.
pub fn flight_data_bytes(header: usize, body: usize, app_metadata: usize) -> usize {
    let metadata = if app_metadata == 0 { 0 } else { field_bytes(1, app_metadata) };
    let body = if body == 0 { 0 } else { field_bytes(2, body) };
    field_bytes(1, header) + metadata + body
}

fn field_bytes(tag: usize, length: usize) -> usize {
    tag + varint_bytes(length) + length
}

fn varint_bytes(value: usize) -> usize {
    (usize::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

fn put_varint(out: &mut BytesMut, mut value: usize) {
    while value >= 0x80 {
        out.put_u8((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

fn put_field(out: &mut BytesMut, tag: &[u8], bytes: &[u8]) {
    out.put_slice(tag);
    put_varint(out, bytes.len());
    out.put_slice(bytes);
}

/// The head and the body's buffers, small ones joined to what stands before them.
fn pieces(mut head: BytesMut, body: Vec<Buffer>) -> VecDeque<Bytes> {
    let mut pieces = VecDeque::new();
    for buffer in body {
        if buffer.len() <= COALESCE_BYTES {
            head.put_slice(&buffer);
            continue;
        }
        if !head.is_empty() {
            pieces.push_back(head.split().freeze());
        }
        pieces.push_back(Bytes::from_owner(buffer));
    }
    if !head.is_empty() {
        pieces.push_back(head.freeze());
    }
    pieces
}

/// Bytes in several pieces, given to a vectored write as they lie.
#[derive(Debug, Clone, Default)]
pub struct Chunks(VecDeque<Bytes>);

impl From<Bytes> for Chunks {
    fn from(bytes: Bytes) -> Self {
        Self(if bytes.is_empty() { VecDeque::new() } else { [bytes].into() })
    }
}

impl Buf for Chunks {
    fn remaining(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.0.front().map_or(&[], |piece| piece)
    }

    fn chunks_vectored<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        let mut count = 0;
        for (slot, piece) in out.iter_mut().zip(&self.0) {
            *slot = IoSlice::new(piece);
            count += 1;
        }
        count
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let first = self.0.front_mut().expect("advance stays within remaining()");
            if first.len() > count {
                first.advance(count);
                return;
            }
            count -= first.len();
            self.0.pop_front();
        }
    }
}

impl Chunks {
    /// Takes the next piece, or as much of it as `bytes_max` allows, without copying; `None` at the
    /// end.
    pub fn take_piece(&mut self, bytes_max: usize) -> Option<Bytes> {
        let first = self.0.front_mut()?;
        if first.len() > bytes_max {
            return Some(first.split_to(bytes_max));
        }
        self.0.pop_front()
    }
}
