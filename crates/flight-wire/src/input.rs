//! Bytes that arrived in pieces and are consumed in others.
//!
//! What the bytes mean is left to `receive`.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

use crate::receive::ReceiveError;

/// Bytes of a protobuf varint at most.
const VARINT_BYTES_MAX: usize = 10;

/// Bytes that arrived and are not consumed.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl Input {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.len += bytes.len();
            self.pieces.push_back(bytes);
        }
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.pieces.iter().flat_map(|piece| piece.iter().copied())
    }

    pub(crate) fn peek<const N: usize>(&self) -> Option<[u8; N]> {
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
    pub(crate) fn varint(
        &self,
        skip: usize,
        limit: usize,
    ) -> Result<Option<(u64, usize)>, ReceiveError> {
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

    pub(crate) fn advance(&mut self, mut count: usize) {
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
    pub(crate) fn take(&mut self, count: usize) -> Bytes {
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

    /// Copies what there is into `target`, up to its length; how much that was.
    pub(crate) fn copy_into(&mut self, target: &mut [u8]) -> usize {
        let mut copied = 0;
        while copied < target.len()
            && let Some(first) = self.pieces.front()
        {
            let part = first.len().min(target.len() - copied);
            target[copied..copied + part].copy_from_slice(&first[..part]);
            self.advance(part);
            copied += part;
        }
        copied
    }
}
