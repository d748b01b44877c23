//! The check that every message from a file or a peer passes before a decoder sees it.
//!
//! Decoders of `arrow-ipc` size vectors by what a message claims (a 336-byte message with a forged
//! LZ4 length prefix makes it ask for 32 GiB, and the process aborts), read big-endian data as if
//! it were little-endian (apache/arrow-rs#5301), and index past a body. All of that is found here
//! by arithmetic alone: nothing is allocated by a claim, nothing is decompressed.
//!
//! What only decoded arrays can tell (the rows a dictionary or a run stands for) is
//! [`crate::logical_bytes`]'s.

mod batch;
mod schema;

use arrow_ipc::{Message, MessageHeader, MetadataVersion};

pub use schema::check_schema;

use crate::limits::DecodeLimits;

/// Why a message was refused. The peer or the file is at fault in every case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    #[error("the message's header is not a valid flatbuffer: {0}")]
    Header(String),
    #[error(
        "the message holds {0}, which is not read here; send a schema, dictionaries and record batches"
    )]
    Kind(String),
    #[error(
        "the message's metadata version is V{0}; versions V4 and V5 (Arrow 0.8 and later) are read"
    )]
    Version(i16),
    #[error("the data is big-endian; only little-endian Arrow data is read")]
    BigEndian,
    #[error("{what} is {value}, more than the limit {name} = {max}")]
    Limit { name: &'static str, what: String, value: u64, max: u64 },
    #[error("{what} is {value}, which cannot be")]
    Impossible { what: String, value: i64 },
    #[error(
        "buffer {index} (offset {offset}, length {length}) lies outside the body of {body} bytes"
    )]
    Buffer { index: usize, offset: i64, length: i64, body: u64 },
    #[error("compressed buffer {index} is {length} bytes, too short for its 8-byte length prefix")]
    Prefix { index: usize, length: i64 },
}

/// Fails when `value` exceeds `max`, the limit called `name`.
fn limit(name: &'static str, what: &str, value: u64, max: u64) -> Result<(), GuardError> {
    if value > max {
        return Err(GuardError::Limit { name, what: what.to_owned(), value, max });
    }
    Ok(())
}

/// Parses `header`, a flatbuffer `Message` without length prefix, and checks it against `limits`
/// and the `body` that came with it.
///
/// # Errors
///
/// Anything but a schema, a dictionary batch or a record batch; every claim that the body cannot
/// hold or that passes a limit.
pub fn check<'a>(
    header: &'a [u8],
    body: &[u8],
    limits: &DecodeLimits,
) -> Result<Message<'a>, GuardError> {
    let message = check_header(header, body.len() as u64, limits)?;
    let dictionary = message.header_as_dictionary_batch().and_then(|d| d.data());
    if let Some(batch) = dictionary.or_else(|| message.header_as_record_batch()) {
        batch::check_claims(&batch, body, limits)?;
    }
    Ok(message)
}

/// The same for a body of which only the length is known: all but what compressed buffers claim.
///
/// # Errors
///
/// As [`check`], with that exception.
pub fn check_header<'a>(
    header: &'a [u8],
    body_bytes: u64,
    limits: &DecodeLimits,
) -> Result<Message<'a>, GuardError> {
    let message = arrow_ipc::root_as_message(header).map_err(|e| {
        // Flatbuffer errors are traces of many lines; the first says what is wrong.
        GuardError::Header(e.to_string().lines().next().unwrap_or_default().to_owned())
    })?;
    if !(MetadataVersion::V4..=MetadataVersion::V5).contains(&message.version()) {
        // As it is named: V1 is 0. A peer may claim any number.
        return Err(GuardError::Version(message.version().0.saturating_add(1)));
    }
    match message.header_type() {
        MessageHeader::Schema => {
            let schema = message.header_as_schema().ok_or_else(|| empty("schema"))?;
            check_schema(&schema, limits)?;
        }
        MessageHeader::DictionaryBatch => {
            let batch = message.header_as_dictionary_batch().and_then(|d| d.data());
            batch::check(&batch.ok_or_else(|| empty("dictionary"))?, body_bytes, limits)?;
        }
        MessageHeader::RecordBatch => {
            let batch = message.header_as_record_batch().ok_or_else(|| empty("record batch"))?;
            batch::check(&batch, body_bytes, limits)?;
        }
        other => {
            let name = other.variant_name().unwrap_or("an unknown kind of message");
            return Err(GuardError::Kind(name.to_owned()));
        }
    }
    Ok(message)
}

fn empty(what: &str) -> GuardError {
    GuardError::Header(format!("the {what} is missing"))
}
