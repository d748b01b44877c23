//! A message whose body lies in a file still, and is read part by part while it is sent.
//!
//! A body of some megabytes that is read whole has left the processor's cache by the time its
//! first byte is sent. A part of it that is read, sent and read over by the next one has not.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use flight_wire::{Kind, Message};

use crate::access::FileAccess;
use crate::dataset::Piece;
use crate::error::FileError;
use crate::limits::BODY_PART_BYTES;

/// A message, and where its body comes from.
#[derive(Debug)]
pub struct StoredMessage {
    pub kind: Kind,
    pub header: Buffer,
    pub body_bytes: usize,
    segments: VecDeque<Segment>,
    access: Arc<FileAccess>,
}

/// Some bytes of a body.
#[derive(Debug, Clone)]
pub(super) enum Segment {
    Memory(Buffer),
    /// Of the file.
    Stored(Range<u64>),
}

impl StoredMessage {
    pub(super) fn new(
        kind: Kind,
        header: Buffer,
        segments: impl Into<VecDeque<Segment>>,
        access: &Arc<FileAccess>,
    ) -> Self {
        let segments = segments.into();
        let bytes: u64 = segments.iter().map(Segment::bytes).sum();
        let access = Arc::clone(access);
        Self { kind, header, body_bytes: bytes as usize, segments, access }
    }

    /// The next bytes of the body, [`BODY_PART_BYTES`] of them if there are as many; none at the
    /// end. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is no longer what it was.
    pub fn next_part(&mut self) -> Result<Vec<Buffer>, FileError> {
        self.read(BODY_PART_BYTES)
    }

    /// The same if all of it is in memory; `None` if the disk has to be waited for.
    ///
    /// # Errors
    ///
    /// As [`next_part`](Self::next_part).
    pub fn next_resident_part(&mut self) -> Result<Option<Vec<Buffer>>, FileError> {
        self.read_by(BODY_PART_BYTES, FileAccess::read_resident)
    }

    /// Whether all of the body was given.
    pub fn is_over(&self) -> bool {
        self.segments.is_empty()
    }

    /// All of it in memory.
    ///
    /// # Errors
    ///
    /// As [`next_part`](Self::next_part).
    pub fn into_message(mut self) -> Result<Message, FileError> {
        let body = self.read(u64::MAX)?;
        let Self { kind, header, body_bytes, .. } = self;
        Ok(Message { kind, header, body, body_bytes })
    }

    /// In the form that costs least to send.
    pub(super) fn into_piece(self) -> Result<Piece, FileError> {
        let stored = |segment: &Segment| matches!(segment, Segment::Stored(_));
        if self.body_bytes as u64 <= BODY_PART_BYTES || !self.segments.iter().any(stored) {
            return self.into_message().map(Piece::Message);
        }
        Ok(Piece::Stored(self))
    }

    fn read(&mut self, bytes_max: u64) -> Result<Vec<Buffer>, FileError> {
        let read =
            |access: &FileAccess, offset, length| access.read_unwatched(offset, length).map(Some);
        Ok(self.read_by(bytes_max, read)?.unwrap_or_default())
    }

    /// Reads up to `bytes_max` bytes; what was read of them is kept when one read gives `None`.
    fn read_by(
        &mut self,
        bytes_max: u64,
        read: impl Fn(&FileAccess, u64, u64) -> Result<Option<Buffer>, FileError>,
    ) -> Result<Option<Vec<Buffer>>, FileError> {
        let (mut part, mut room, mut whole) = (Vec::new(), bytes_max, true);
        while room > 0 && whole {
            let Some(segment) = self.segments.pop_front() else { break };
            let (now, later) = segment.split_at(room);
            if let Some(later) = later {
                self.segments.push_front(later);
            }
            room -= now.bytes();
            match now {
                Segment::Memory(buffer) => part.push(buffer),
                Segment::Stored(range) => {
                    match read(&self.access, range.start, range.end - range.start)? {
                        Some(buffer) => part.push(buffer),
                        None => {
                            self.segments.push_front(Segment::Stored(range));
                            whole = false;
                        }
                    }
                }
            }
        }
        self.access.check_unchanged()?;
        if whole {
            return Ok(Some(part));
        }
        part.into_iter().rev().for_each(|read| self.segments.push_front(Segment::Memory(read)));
        Ok(None)
    }
}

impl Segment {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Memory(buffer) => buffer.len() as u64,
            Self::Stored(range) => range.end - range.start,
        }
    }

    /// The first `count` bytes, and what is left of it.
    fn split_at(self, count: u64) -> (Self, Option<Self>) {
        if self.bytes() <= count {
            return (self, None);
        }
        match self {
            Self::Memory(buffer) => {
                let (now, later) =
                    (buffer.slice_with_length(0, count as usize), buffer.slice(count as usize));
                (Self::Memory(now), Some(Self::Memory(later)))
            }
            Self::Stored(Range { start, end }) => {
                let middle = start + count;
                (Self::Stored(start..middle), Some(Self::Stored(middle..end)))
            }
        }
    }
}
