//! A message whose body lies in a file still, and is read part by part while it is sent.
//!
//! A body of some megabytes that is read whole has left the processor's cache by the time its
//! first byte is sent. A part of it that is read, sent and read over by the next one has not.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use flight_wire::{ALIGNMENT, Kind, Message};

use crate::access::{self, FileAccess};
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

    /// The next bytes of the body, at most [`BODY_PART_BYTES`]; none at the end. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is no longer what it was.
    pub fn next_part(&mut self) -> Result<Vec<Buffer>, FileError> {
        self.read(self.part_bytes())
    }

    /// The same if all of it is in memory; `None` if the disk has to be waited for.
    ///
    /// # Errors
    ///
    /// As [`next_part`](Self::next_part).
    pub fn next_resident_part(&mut self) -> Result<Option<Vec<Buffer>>, FileError> {
        let unchanged = |access: &FileAccess| Ok(access.is_plainly_unchanged());
        self.read_by(self.part_bytes(), FileAccess::fill_resident, unchanged)
    }

    /// All parts are about as large, so that they share the same memory.
    fn part_bytes(&self) -> u64 {
        let bytes = (self.body_bytes as u64).max(1);
        bytes.div_ceil(bytes.div_ceil(BODY_PART_BYTES)).next_multiple_of(ALIGNMENT as u64)
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

    /// All of its body, aligned as Arrow's arrays want it, and none of it taken.
    pub(super) fn body(&self) -> Result<Buffer, FileError> {
        let mut memory = access::memory(self.body_bytes)?;
        let mut rest = memory.as_mut_slice();
        for segment in &self.segments {
            let (bytes, behind) = rest.split_at_mut(segment.bytes() as usize);
            rest = behind;
            match segment {
                Segment::Memory(buffer) => bytes.copy_from_slice(buffer),
                Segment::Stored(range) => self.access.fill(bytes, range.start)?,
            }
        }
        self.access.check_unchanged()?;
        Ok(memory.freeze())
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
        let fill = |access: &FileAccess, bytes: &mut [u8], offset| {
            access.fill(bytes, offset).map(|()| true)
        };
        let unchanged = |access: &FileAccess| access.check_unchanged().map(|()| true);
        Ok(self.read_by(bytes_max, fill, unchanged)?.unwrap_or_default())
    }

    /// The next `bytes_max` bytes, what the file has of them in one piece of memory; `None`, and
    /// nothing taken, when `fill` could not, or `unchanged` cannot tell.
    fn read_by(
        &mut self,
        bytes_max: u64,
        fill: impl Fn(&FileAccess, &mut [u8], u64) -> Result<bool, FileError>,
        unchanged: impl Fn(&FileAccess) -> Result<bool, FileError>,
    ) -> Result<Option<Vec<Buffer>>, FileError> {
        let taken = self.take(bytes_max);
        let stored = taken.iter().filter(|segment| matches!(segment, Segment::Stored(_)));
        let mut memory = access::memory(stored.map(Segment::bytes).sum::<u64>() as usize)?;
        let (mut rest, mut whole) = (memory.as_mut_slice(), true);
        for segment in &taken {
            let Segment::Stored(range) = segment else { continue };
            let (bytes, behind) = rest.split_at_mut((range.end - range.start) as usize);
            rest = behind;
            whole = whole && fill(&self.access, bytes, range.start)?;
        }
        if !whole || !unchanged(&self.access)? {
            taken.into_iter().rev().for_each(|segment| self.segments.push_front(segment));
            return Ok(None);
        }
        let (memory, mut at) = (memory.freeze(), 0);
        let part = taken.into_iter().map(|segment| match segment {
            Segment::Memory(buffer) => buffer,
            Segment::Stored(range) => {
                let bytes = (range.end - range.start) as usize;
                at += bytes;
                memory.slice_with_length(at - bytes, bytes)
            }
        });
        Ok(Some(part.collect()))
    }

    /// The segments of the next `bytes_max` bytes.
    fn take(&mut self, bytes_max: u64) -> Vec<Segment> {
        let (mut taken, mut room) = (Vec::new(), bytes_max);
        while room > 0 {
            let Some(segment) = self.segments.pop_front() else { break };
            let (now, later) = segment.split_at(room);
            if let Some(later) = later {
                self.segments.push_front(later);
            }
            room -= now.bytes();
            taken.push(now);
        }
        taken
    }
}

impl Segment {
    /// Some bytes of a file: at once where it is mapped, and else left there.
    pub(super) fn of(access: &FileAccess, offset: u64, length: u64) -> Result<Self, FileError> {
        match access.is_mapped() {
            true => access.bytes_of(offset, length).map(Self::Memory),
            false => Ok(Self::Stored(offset..offset.saturating_add(length))),
        }
    }

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
