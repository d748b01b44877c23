//! Record and dictionary batches: rows, field nodes, buffers and what compressed ones claim.

use arrow_ipc::RecordBatch;

use super::{GuardError, limit};
use crate::limits::DecodeLimits;

/// The length prefix of a compressed buffer that is in fact stored as it is (Message.fbs,
/// BodyCompressionMethod).
const STORED: i64 = -1;

/// Everything that the header alone tells of a body of `body_bytes` bytes.
pub(super) fn check(
    batch: &RecordBatch<'_>,
    body_bytes: u64,
    limits: &DecodeLimits,
) -> Result<(), GuardError> {
    rows("the number of rows", batch.length(), limits)?;
    let nodes = batch.nodes().map(|n| n.iter()).into_iter().flatten();
    for (index, node) in nodes.enumerate() {
        rows(&format!("the length of field node {index}"), node.length(), limits)?;
        if node.null_count() < 0 || node.null_count() > node.length() {
            let what = format!("the null count of field node {index}");
            return Err(GuardError::Impossible { what, value: node.null_count() });
        }
    }
    for count in batch.variadicBufferCounts().into_iter().flatten() {
        let buffers = batch.buffers().map_or(0, |b| b.len());
        if count < 0 || count as u64 > buffers as u64 {
            let what = "the number of variadic buffers".to_owned();
            return Err(GuardError::Impossible { what, value: count });
        }
    }
    buffers(batch, body_bytes)
}

fn rows(what: &str, value: i64, limits: &DecodeLimits) -> Result<(), GuardError> {
    let Ok(count) = u64::try_from(value) else {
        return Err(GuardError::Impossible { what: what.to_owned(), value });
    };
    limit("rows", what, count, limits.rows)
}

fn buffers(batch: &RecordBatch<'_>, body_bytes: u64) -> Result<(), GuardError> {
    let buffers = batch.buffers().map(|b| b.iter()).into_iter().flatten();
    for (index, buffer) in buffers.enumerate() {
        let (offset, length) = (buffer.offset(), buffer.length());
        let range = u64::try_from(offset).ok().zip(u64::try_from(length).ok());
        let end = range.and_then(|(offset, length)| offset.checked_add(length));
        if end.is_none_or(|end| end > body_bytes) {
            return Err(GuardError::Buffer { index, offset, length, body: body_bytes });
        }
    }
    Ok(())
}

/// What compressed buffers, which [`check`] found within `body`, claim to unpack to.
pub(super) fn check_claims(
    batch: &RecordBatch<'_>,
    body: &[u8],
    limits: &DecodeLimits,
) -> Result<(), GuardError> {
    if batch.compression().is_none() {
        return Ok(());
    }
    let mut decompressed = 0u64;
    let buffers = batch.buffers().map(|b| b.iter()).into_iter().flatten();
    for (index, buffer) in buffers.enumerate().filter(|(_, buffer)| buffer.length() > 0) {
        let bytes = usize::try_from(buffer.offset()).ok().and_then(|offset| body.get(offset..));
        let prefix = bytes.and_then(|bytes| bytes.first_chunk::<8>());
        let prefix = prefix.filter(|prefix| buffer.length() >= prefix.len() as i64);
        let Some(prefix) = prefix else {
            return Err(GuardError::Prefix { index, length: buffer.length() });
        };
        let claim = i64::from_le_bytes(*prefix);
        if claim < STORED {
            let what = format!("the decompressed length of buffer {index}");
            return Err(GuardError::Impossible { what, value: claim });
        }
        let claim = u64::try_from(claim).unwrap_or(buffer.length().unsigned_abs());
        decompressed = decompressed.saturating_add(claim);
        limit("batch_bytes", "the decompressed body", decompressed, limits.batch_bytes)?;
    }
    Ok(())
}
