//! A Parquet footer's bytes, checked before the parquet crate makes structures of them.
//!
//! That crate descends a schema as deep as it claims to nest (a stack overflow cannot be caught),
//! sizes vectors by claimed numbers of children, and reads encrypted columns as if they were plain.

use super::thrift::{BINARY, Compact, FieldHead, I32, LIST, STRUCT, ThriftError};
use crate::access::FileAccess;
use crate::error::{FileError, within};
use crate::limits::{PARQUET_GROUPS_PER_LEVEL, ReadLimits};

const MAGIC: &[u8] = b"PAR1";
const MAGIC_ENCRYPTED: &[u8] = b"PARE";
/// The footer's length and the closing magic.
const TAIL_BYTES: u64 = 8;

/// Reads and checks the footer. Also gives its offset, where the data ends.
pub(super) fn read(access: &FileAccess, limits: &ReadLimits) -> Result<(Vec<u8>, u64), FileError> {
    let bytes = access.bytes();
    let least = MAGIC.len() as u64 + TAIL_BYTES;
    if bytes < least {
        return Err(FileError::damaged(format!("it is {bytes} bytes, too short for Parquet")));
    }
    let tail = access.read(bytes - TAIL_BYTES, TAIL_BYTES)?;
    let (length, magic) = tail.split_first_chunk::<4>().expect("TAIL_BYTES are eight");
    if magic == MAGIC_ENCRYPTED {
        return Err(FileError::Encrypted);
    }
    if magic != MAGIC {
        return Err(FileError::damaged(
            "it does not end with PAR1, so it is cut off or not Parquet",
        ));
    }
    let length = u64::from(u32::from_le_bytes(*length));
    let offset = (bytes - TAIL_BYTES).checked_sub(length).filter(|at| *at >= MAGIC.len() as u64);
    let Some(offset) = offset else {
        return Err(FileError::damaged(format!("its footer claims {length} bytes of {bytes}")));
    };
    within("the footer's bytes", length, limits.footer_bytes)?;
    let footer = access.read(offset, length)?;
    check(&footer, limits)?;
    Ok((footer, offset))
}

/// `FileMetaData` of parquet.thrift.
fn check(footer: &[u8], limits: &ReadLimits) -> Result<(), FileError> {
    let mut chunks = 0;
    Compact::new(footer).structure(|head, from| match (head.id, head.kind) {
        (2, LIST) => schema(from, limits).map(|()| true),
        (4, LIST) => {
            let (kind, count) = from.list()?;
            within("the number of row groups", count as u64, limits.blocks as u64)?;
            for _ in 0..count {
                chunks += row_group(kind, from)?;
                within("the number of column chunks", chunks, limits.column_chunks as u64)?;
            }
            Ok(true)
        }
        // `encryption_algorithm`: a plain footer over encrypted columns.
        (8, _) => Err(FileError::Encrypted),
        _ => Ok(false),
    })
}

/// The flattened tree of `SchemaElement`s: how many, how deep, and that every child is there.
fn schema(from: &mut Compact<'_>, limits: &ReadLimits) -> Result<(), FileError> {
    let (kind, count) = from.list()?;
    // Lists and maps are groups of one child, so there are up to three elements a column.
    let most = limits.columns.saturating_mul(PARQUET_GROUPS_PER_LEVEL) as u64 + 1;
    within("the number of schema elements", count as u64, most)?;
    let deepest = limits.depth * PARQUET_GROUPS_PER_LEVEL + 1;
    // How many children each open group still waits for.
    let mut open: Vec<u64> = Vec::new();
    for index in 0..count {
        if index > 0 {
            let waiting = open.last_mut();
            let waiting = waiting.ok_or_else(|| FileError::damaged("its schema has two roots"))?;
            *waiting -= 1;
        }
        let children = children(kind, from)?;
        if children > (count - index - 1) as u64 {
            return Err(FileError::damaged(format!(
                "a group of its schema claims {children} children of {count} elements"
            )));
        }
        open.push(children);
        within("the nesting of its schema", open.len() as u64, deepest as u64)?;
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    if !open.is_empty() {
        return Err(FileError::damaged("its schema lacks children that it claims"));
    }
    Ok(())
}

/// `SchemaElement.num_children`.
fn children(kind: u8, from: &mut Compact<'_>) -> Result<u64, FileError> {
    if kind != STRUCT {
        return Err(malformed());
    }
    let mut children = 0;
    from.structure(|head, from| match (head.id, head.kind) {
        (5, I32) => {
            let claim = from.i32()?;
            children = u64::try_from(claim).map_err(|_| {
                FileError::damaged(format!("a group of its schema claims {claim} children"))
            })?;
            Ok(true)
        }
        _ => Ok::<_, FileError>(false),
    })?;
    Ok(children)
}

/// `RowGroup`; gives the number of its column chunks.
fn row_group(kind: u8, from: &mut Compact<'_>) -> Result<u64, FileError> {
    if kind != STRUCT {
        return Err(malformed());
    }
    let mut chunks = 0;
    from.structure(|head, from| match (head.id, head.kind) {
        (1, LIST) => {
            let (kind, count) = from.list()?;
            chunks = count as u64;
            for _ in 0..count {
                column_chunk(kind, from)?;
            }
            Ok(true)
        }
        _ => Ok::<_, FileError>(false),
    })?;
    Ok(chunks)
}

/// `ColumnChunk`: nothing of it may be encrypted.
fn column_chunk(kind: u8, from: &mut Compact<'_>) -> Result<(), FileError> {
    if kind != STRUCT {
        return Err(malformed());
    }
    from.structure(|head, _| match head {
        FieldHead { id: 8, .. } | FieldHead { id: 9, kind: BINARY } => Err(FileError::Encrypted),
        _ => Ok(false),
    })
}

fn malformed() -> FileError {
    FileError::damaged("its footer is not the Thrift structure of a Parquet file")
}

impl From<ThriftError> for FileError {
    fn from(_: ThriftError) -> Self {
        malformed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer that holds only a schema, of elements that have this many children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x29, 0xFC];
        bytes.extend(varint(children.len()));
        for n in children {
            bytes.extend([0x48, 1, b'n', 0x15, n << 1, 0]);
        }
        bytes.push(0);
        bytes
    }

    fn varint(mut n: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while n > 127 {
            bytes.push(n as u8 | 128);
            n >>= 7;
        }
        bytes.push(n as u8);
        bytes
    }

    fn check_schema(children: &[u8], expected: &str) {
        let limits = ReadLimits { columns: 100, depth: 4, ..ReadLimits::default() };
        let result = check(&footer(children), &limits);
        let text = result.map_or_else(|error| error.to_string(), |()| "fine".to_owned());
        assert!(text.contains(expected), "{children:?}: {text:?} lacks {expected:?}");
    }

    #[test]
    fn trees_that_hold_together_are_fine() {
        check_schema(&[0], "fine");
        check_schema(&[2, 0, 0], "fine");
        check_schema(&[2, 1, 1, 0, 0], "fine");
    }

    #[test]
    fn trees_that_do_not_are_refused() {
        check_schema(&[2, 0], "claims 2 children of 2 elements");
        check_schema(&[1, 1, 1], "claims 1 children of 3 elements");
        check_schema(&[0, 0], "two roots");
        check_schema(&[60], "claims 60 children");
    }

    #[test]
    fn depth_and_width_have_limits() {
        let chain: Vec<u8> = [vec![1; 20], vec![0]].concat();
        check_schema(&chain, "the nesting of its schema would be 14, more than the limit of 13");
        check_schema(&[0; 400], "the number of schema elements would be 400");
    }

    #[test]
    fn encrypted_columns_are_found_under_a_plain_footer() {
        // Field 8 of the file's metadata; field 8 of a column chunk.
        for footer in [vec![0x8C, 0, 0], vec![0x49, 0x1C, 0x19, 0x1C, 0x8C, 0, 0, 0, 0]] {
            assert!(matches!(check(&footer, &ReadLimits::default()), Err(FileError::Encrypted)));
        }
    }
}
