//! The IPC stream format: messages, each with its length before it, up to an end marker or the end.
//!
//! Format: <https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>. Opening a
//! stream reads its headers and seeks over the bodies, so that a truncated one is found before a
//! row of it is served.

use arrow_ipc::MessageHeader;

use super::{Entry, entry_kind, parse_message};
use crate::access::FileAccess;
use crate::error::{FileError, within};
use crate::limits::ReadLimits;

const CONTINUATION: [u8; 4] = [0xFF; 4];

/// Reads the schema message's header, and where the messages after it are.
pub(super) fn read(
    access: &FileAccess,
    limits: &ReadLimits,
) -> Result<(Vec<u8>, Vec<Entry>), FileError> {
    let mut walk = Walk { access, limits, offset: 0 };
    let Some((schema, body_bytes)) = walk.next()?.map(|found| (found.header, found.body_bytes))
    else {
        return Err(FileError::damaged("it is an Arrow IPC stream without a schema"));
    };
    if parse_message(&schema)?.header_type() != MessageHeader::Schema || body_bytes != 0 {
        return Err(FileError::damaged("its first message is not a schema"));
    }
    let mut entries = Vec::new();
    while let Some(found) = walk.next()? {
        within("the number of messages", entries.len() as u64 + 1, limits.blocks as u64)?;
        entries.push(Entry {
            kind: entry_kind(&parse_message(&found.header)?, limits)?,
            header_offset: found.header_offset,
            header_bytes: found.header.len() as u64,
            body_offset: found.body_offset,
            body_bytes: found.body_bytes,
        });
    }
    Ok((schema, entries))
}

struct Walk<'a> {
    access: &'a FileAccess,
    limits: &'a ReadLimits,
    offset: u64,
}

struct Found {
    header: Vec<u8>,
    header_offset: u64,
    body_offset: u64,
    body_bytes: u64,
}

impl Walk<'_> {
    /// The next message; `None` at the end marker and at the end of the file.
    fn next(&mut self) -> Result<Option<Found>, FileError> {
        let left = self.access.bytes() - self.offset;
        if left == 0 {
            return Ok(None);
        }
        let prefix = self.access.read(self.offset, left.min(8))?;
        // Before Arrow 0.15 there was no continuation marker.
        let skip = if prefix.starts_with(&CONTINUATION) { 4 } else { 0 };
        let Some(length) = prefix.get(skip..).and_then(|rest| rest.first_chunk::<4>()) else {
            return Err(self.cut_off());
        };
        let length = i32::from_le_bytes(*length);
        if length == 0 {
            return Ok(None);
        }
        let header_offset = self.offset + skip as u64 + 4;
        let header_bytes = u64::try_from(length).map_err(|_| {
            let at = self.offset;
            FileError::damaged(format!("the message at offset {at} claims {length} bytes"))
        })?;
        let body_offset = header_offset + header_bytes;
        if body_offset > self.access.bytes() {
            return Err(self.cut_off());
        }
        let limit = self.limits.message_header_bytes;
        within("the bytes of a message's header", header_bytes, limit)?;
        let header = self.access.read(header_offset, header_bytes)?;
        let body_bytes = parse_message(&header)?.bodyLength();
        let body_bytes = u64::try_from(body_bytes).map_err(|_| {
            FileError::damaged(format!("a message claims a body of {body_bytes} bytes"))
        })?;
        let end = body_offset.checked_add(body_bytes).filter(|end| *end <= self.access.bytes());
        self.offset = end.ok_or_else(|| self.cut_off())?;
        Ok(Some(Found { header, header_offset, body_offset, body_bytes }))
    }

    fn cut_off(&self) -> FileError {
        FileError::damaged(format!(
            "it is cut off: the message at offset {} goes on beyond its {} bytes",
            self.offset,
            self.access.bytes()
        ))
    }
}
