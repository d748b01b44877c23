//! Record and dictionary batches: rows, field nodes, buffers and what compressed ones claim.

use arrow_ipc::RecordBatch;

use super::{GuardError, limit};
use crate::limits::DecodeLimits;

/// The length prefix of a compressed buffer that is in fact stored as it is (Message.fbs,
/// BodyCompressionMethod).
const STORED: i64 = -1;

pub(super) fn check(
    batch: &RecordBatch<'_>,
    body: &[u8],
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
    buffers(batch, body, limits)
}

fn rows(what: &str, value: i64, limits: &DecodeLimits) -> Result<(), GuardError> {
    let Ok(count) = u64::try_from(value) else {
        return Err(GuardError::Impossible { what: what.to_owned(), value });
    };
    limit("rows", what, count, limits.rows)
}

fn buffers(batch: &RecordBatch<'_>, body: &[u8], limits: &DecodeLimits) -> Result<(), GuardError> {
    let compressed = batch.compression().is_some();
    let mut decompressed = 0u64;
    let buffers = batch.buffers().map(|b| b.iter()).into_iter().flatten();
    for (index, buffer) in buffers.enumerate() {
        let (offset, length) = (buffer.offset(), buffer.length());
        let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        let bytes = range
            .and_then(|(offset, length)| Some(offset..offset.checked_add(length)?))
            .and_then(|range| body.get(range));
        let Some(bytes) = bytes else {
            return Err(GuardError::Buffer { index, offset, length, body: body.len() as u64 });
        };
        if compressed && !bytes.is_empty() {
            let Some(prefix) = bytes.first_chunk::<8>() else {
                return Err(GuardError::Prefix { index, length });
            };
            let claim = i64::from_le_bytes(*prefix);
            if claim < STORED {
                let what = format!("the decompressed length of buffer {index}");
                return Err(GuardError::Impossible { what, value: claim });
            }
            let claim = u64::try_from(claim).unwrap_or(bytes.len() as u64);
            decompressed = decompressed.saturating_add(claim);
            limit("batch_bytes", "the decompressed body", decompressed, limits.batch_bytes)?;
        }
    }
    Ok(())
}
