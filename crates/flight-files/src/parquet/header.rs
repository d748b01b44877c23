//! Page headers.

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::Page;

use super::thrift::{Compact, FieldHead, I32, STRUCT, ThriftError};

/// A page's header, every number of which is still a claim.
#[derive(Debug, Clone)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    /// Bytes of the header itself.
    pub(super) header_bytes: usize,
    pub(super) packed_bytes: i32,
    pub(super) unpacked_bytes: i32,
    pub(super) crc: Option<i32>,
}

#[derive(Debug, Clone)]
pub(super) enum PageKind {
    Data {
        values: i32,
        encoding: Encoding,
        definition: Encoding,
        repetition: Encoding,
    },
    DataV2(DataV2),
    Dictionary {
        values: i32,
        encoding: Encoding,
        sorted: bool,
    },
    /// Never written by anyone; readers pass over it.
    Index,
}

#[derive(Debug, Clone)]
pub(super) struct DataV2 {
    pub(super) values: i32,
    pub(super) nulls: i32,
    pub(super) rows: i32,
    pub(super) encoding: Encoding,
    pub(super) definition_bytes: i32,
    pub(super) repetition_bytes: i32,
    pub(super) compressed: bool,
}

impl DataV2 {
    /// The page of this header, as the parquet crate takes it.
    pub(super) fn page(&self, buf: Bytes) -> Page {
        Page::DataPageV2 {
            buf,
            num_values: self.values as u32,
            encoding: self.encoding,
            num_nulls: self.nulls as u32,
            num_rows: self.rows as u32,
            def_levels_byte_len: self.definition_bytes as u32,
            rep_levels_byte_len: self.repetition_bytes as u32,
            is_compressed: self.compressed,
            statistics: None,
        }
    }
}

/// The numbers of whichever of the page headers' structures is there, by field.
#[derive(Debug, Default)]
struct Numbers {
    fields: [Option<i32>; 7],
    boolean: Option<bool>,
}

/// `PageHeader` of parquet.thrift, at the start of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Result<PageHeader, ThriftError> {
    let mut common = [None; 5];
    let (mut data, mut dictionary, mut data_v2) = (None, None, None);
    let mut from = Compact::new(bytes);
    from.structure(|head, from| match (head.id, head.kind) {
        (id @ 1..=4, I32) => {
            common[id as usize] = Some(from.i32()?);
            Ok::<_, ThriftError>(true)
        }
        (5, STRUCT) => numbers(from, &mut data),
        (7, STRUCT) => numbers(from, &mut dictionary),
        (8, STRUCT) => numbers(from, &mut data_v2),
        _ => Ok(false),
    })?;
    let [_, Some(kind), Some(unpacked_bytes), Some(packed_bytes), crc] = common else {
        return Err(ThriftError::Malformed);
    };
    let kind = match (kind, data, dictionary, data_v2) {
        (0, Some(data), _, _) => PageKind::Data {
            values: data.number(1)?,
            encoding: encoding(data.number(2)?)?,
            definition: encoding(data.number(3)?)?,
            repetition: encoding(data.number(4)?)?,
        },
        (1, ..) => PageKind::Index,
        (2, _, Some(dictionary), _) => PageKind::Dictionary {
            values: dictionary.number(1)?,
            encoding: encoding(dictionary.number(2)?)?,
            sorted: dictionary.boolean.unwrap_or(false),
        },
        (3, _, _, Some(data)) => PageKind::DataV2(DataV2 {
            values: data.number(1)?,
            nulls: data.number(2)?,
            rows: data.number(3)?,
            encoding: encoding(data.number(4)?)?,
            definition_bytes: data.number(5)?,
            repetition_bytes: data.number(6)?,
            compressed: data.boolean.unwrap_or(true),
        }),
        _ => return Err(ThriftError::Malformed),
    };
    Ok(PageHeader { kind, header_bytes: from.position(), packed_bytes, unpacked_bytes, crc })
}

fn numbers(from: &mut Compact<'_>, into: &mut Option<Numbers>) -> Result<bool, ThriftError> {
    let mut numbers = Numbers::default();
    from.structure(|head: FieldHead, from| {
        if let Some(value) = Compact::boolean(head) {
            numbers.boolean = Some(value);
            return Ok(true);
        }
        let slot = usize::try_from(head.id).ok().and_then(|id| numbers.fields.get_mut(id));
        match slot {
            Some(slot) if head.kind == I32 => *slot = Some(from.i32()?),
            _ => return Ok::<_, ThriftError>(false),
        }
        Ok(true)
    })?;
    *into = Some(numbers);
    Ok(true)
}

impl Numbers {
    fn number(&self, id: usize) -> Result<i32, ThriftError> {
        self.fields[id].ok_or(ThriftError::Malformed)
    }
}

fn encoding(number: i32) -> Result<Encoding, ThriftError> {
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated, reason = "old files have it as the encoding of their levels")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        10 => Encoding::ALP,
        _ => return Err(ThriftError::Malformed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A V2 page of 4 values in 2 rows, as the reader of a list's second page meets it.
    const V2: [u8; 22] = [
        0x15, 6, 0x15, 44, 0x15, 44, 0x5C, 0x15, 8, 0x15, 0, 0x15, 2, 0x15, 0, 0x15, 4, 0x15, 8,
        0x12, 0, 0,
    ];

    #[test]
    fn a_v2_header_is_read() {
        let header = parse(&V2).unwrap();
        assert_eq!((header.header_bytes, header.packed_bytes, header.unpacked_bytes), (22, 22, 22));
        let PageKind::DataV2(page) = header.kind else { panic!("{header:?}") };
        assert_eq!((page.values, page.nulls, page.rows), (4, 0, 1));
        assert_eq!((page.definition_bytes, page.repetition_bytes), (2, 4));
        assert!(!page.compressed);
    }

    #[test]
    fn a_cut_header_asks_for_more() {
        for end in 0..V2.len() {
            assert_eq!(parse(&V2[..end]).unwrap_err(), ThriftError::Short, "{end}");
        }
    }

    #[test]
    fn a_header_without_its_page_is_malformed() {
        assert_eq!(parse(&[0x15, 0, 0x15, 8, 0x15, 8, 0]).unwrap_err(), ThriftError::Malformed);
        assert_eq!(parse(&[0]).unwrap_err(), ThriftError::Malformed);
    }
}
