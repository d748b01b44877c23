//! The IPC file format: magic, messages, footer, length of the footer, magic.
//!
//! Format: <https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format>. The footer is read
//! here and not by `arrow-ipc`'s `FileReader`, which sizes buffers by what blocks claim.

use arrow_ipc::{Block, Footer, MessageHeader};
use flatbuffers::VerifierOptions;

use super::{Entry, EntryKind, entry_kind, parse_message};
use crate::access::FileAccess;
use crate::error::{FileError, within};
use crate::format::CREATED_BY;
use crate::limits::ReadLimits;

const MAGIC: &[u8] = b"ARROW1";
const MAGIC_V1: &[u8] = b"FEA1";
const CONTINUATION: [u8; 4] = [0xFF; 4];
/// The footer's length and the closing magic.
const TAIL_BYTES: u64 = 4 + MAGIC.len() as u64;
/// The opening magic, padded to 8 bytes.
const HEAD_BYTES: u64 = 8;

/// Reads the footer's bytes and where its messages are: all dictionaries, then all batches.
pub(super) fn read(
    access: &FileAccess,
    limits: &ReadLimits,
) -> Result<(Vec<u8>, Vec<Entry>), FileError> {
    let (footer, footer_offset) = read_footer(access, limits)?;
    let parsed = parse(&footer)?;
    let dictionaries = parsed.dictionaries().map(|v| v.iter()).into_iter().flatten();
    let batches = parsed.recordBatches().map(|v| v.iter()).into_iter().flatten();
    let count = dictionaries.clone().count() + batches.clone().count();
    within("the number of messages", count as u64, limits.blocks as u64)?;

    let mut entries = Vec::with_capacity(count);
    let mut left = footer_offset;
    for (block, expected) in dictionaries
        .map(|block| (block, MessageHeader::DictionaryBatch))
        .chain(batches.map(|block| (block, MessageHeader::RecordBatch)))
    {
        let block = Range::of(block, footer_offset)?;
        // Blocks that share bytes would let a small file be read at endless cost.
        let rest = left.checked_sub(block.header_bytes + block.body_bytes);
        left = rest.ok_or_else(|| FileError::damaged("blocks of its footer overlap"))?;
        if let Some(entry) = read_entry(access, &block, expected, limits)? {
            entries.push(entry);
        }
    }
    Ok((footer, entries))
}

/// Parses a footer that [`read`] gave.
pub(super) fn parse(footer: &[u8]) -> Result<Footer<'_>, FileError> {
    // Room for limits.columns fields that all have metadata; the flatbuffer is bounded by its size.
    let options = VerifierOptions { max_tables: 16 << 20, ..VerifierOptions::default() };
    arrow_ipc::root_as_footer_with_opts(&options, footer)
        .map_err(|error| FileError::damaged(format!("its footer is not a flatbuffer: {error}")))
}

/// What a footer that [`read`] gave names as the file's writer.
pub(super) fn writer(footer: &[u8]) -> Option<String> {
    let footer = parse(footer).ok()?;
    let mut pairs = footer.custom_metadata()?.iter();
    let pair = pairs.find(|pair| pair.key() == Some(CREATED_BY))?;
    pair.value().map(str::to_owned)
}

fn read_footer(access: &FileAccess, limits: &ReadLimits) -> Result<(Vec<u8>, u64), FileError> {
    let bytes = access.bytes();
    let head = access.read(0, bytes.min(HEAD_BYTES))?;
    if head.starts_with(MAGIC_V1) {
        return Err(FileError::FeatherV1);
    }
    if head.starts_with(&CONTINUATION) {
        return Err(FileError::not_supported(
            "it holds an Arrow IPC stream, not a file; give it the extension .arrows",
        ));
    }
    if !head.starts_with(MAGIC) {
        return Err(FileError::damaged("it does not begin with ARROW1"));
    }
    if bytes < HEAD_BYTES + TAIL_BYTES {
        return Err(FileError::damaged(format!("it is cut off after {bytes} bytes")));
    }
    let tail = access.read(bytes - TAIL_BYTES, TAIL_BYTES)?;
    let (length, magic) = tail.split_first_chunk::<4>().expect("TAIL_BYTES are more than four");
    if magic != MAGIC {
        return Err(FileError::damaged("it does not end with ARROW1, so it is cut off"));
    }
    let length = i32::from_le_bytes(*length);
    let offset = u64::try_from(length).ok().and_then(|length| {
        (bytes - TAIL_BYTES).checked_sub(length).filter(|offset| *offset >= HEAD_BYTES)
    });
    let Some(offset) = offset else {
        return Err(FileError::damaged(format!("its footer claims {length} bytes of {bytes}")));
    };
    let length = bytes - TAIL_BYTES - offset;
    within("the footer's bytes", length, limits.footer_bytes)?;
    Ok((access.read(offset, length)?, offset))
}

/// A block whose range lies before the footer.
struct Range {
    offset: u64,
    header_bytes: u64,
    body_bytes: u64,
}

impl Range {
    fn of(block: &Block, footer_offset: u64) -> Result<Self, FileError> {
        let (offset, header, body) = (block.offset(), block.metaDataLength(), block.bodyLength());
        let range = || {
            let range = Self {
                offset: u64::try_from(offset).ok()?,
                header_bytes: u64::try_from(header).ok()?,
                body_bytes: u64::try_from(body).ok()?,
            };
            let body = range.offset.checked_add(range.header_bytes)?;
            (body.checked_add(range.body_bytes)? <= footer_offset).then_some(range)
        };
        range().ok_or_else(|| {
            FileError::damaged(format!(
                "a block (offset {offset}, header {header}, body {body} bytes) lies outside its \
                 {footer_offset} bytes of data"
            ))
        })
    }
}

fn read_entry(
    access: &FileAccess,
    block: &Range,
    expected: MessageHeader,
    limits: &ReadLimits,
) -> Result<Option<Entry>, FileError> {
    within("the bytes of a message's header", block.header_bytes, limits.message_header_bytes)?;
    let bytes = access.read(block.offset, block.header_bytes)?;
    let (prefix, header) = flatbuffer(&bytes).ok_or_else(|| {
        FileError::damaged(format!("the header at offset {} is cut off", block.offset))
    })?;
    let message = parse_message(header)?;
    if message.header_type() == MessageHeader::NONE {
        return Ok(None); // Allowed by the format's schema; holds nothing.
    }
    let kind = entry_kind(&message, limits)?;
    let listed_as_dictionary = expected == MessageHeader::DictionaryBatch;
    if (kind == EntryKind::Dictionary) != listed_as_dictionary {
        return Err(FileError::damaged(
            "its footer lists a dictionary as a batch or a batch as one",
        ));
    }
    Ok(Some(Entry {
        kind,
        header_offset: block.offset + prefix,
        header_bytes: header.len() as u64,
        body_offset: block.offset + block.header_bytes,
        body_bytes: block.body_bytes,
    }))
}

/// The flatbuffer in a block's header and the bytes of the prefix before it: a length, which since
/// Arrow 0.15 follows a continuation marker.
fn flatbuffer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let prefix = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
    let length = bytes.get(prefix - 4..prefix)?.first_chunk::<4>()?;
    let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
    Some((prefix as u64, bytes.get(prefix..prefix.checked_add(length)?)?))
}
