//! What delta-encoded pages claim, checked without decoding them into memory.
//!
//! The parquet crate sizes vectors by the number of values in such a page, and takes a
//! DELTA_BYTE_ARRAY prefix that is longer than the value before it for a shorter one: wrong data.
//! Encodings: <https://github.com/apache/parquet-format/blob/master/Encodings.md>.

/// Bytes that the values of a DELTA_BYTE_ARRAY page are once they are written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteArrays {
    pub(super) total: u64,
    pub(super) longest: u64,
}

/// Whether DELTA_BINARY_PACKED data claims at most `most` values.
pub(super) fn claims_at_most(data: &[u8], most: u64) -> bool {
    Header::read(&mut Cursor { data, position: 0 }).is_some_and(|header| header.count <= most)
}

/// Measures DELTA_BYTE_ARRAY data: lengths of shared prefixes, lengths of suffixes, suffixes.
/// `None` when it contradicts itself or claims over `most` values.
pub(super) fn measure_byte_arrays(data: &[u8], most: u64) -> Option<ByteArrays> {
    let mut prefixes = Lengths::new(Cursor { data, position: 0 }, most)?;
    // The suffixes' lengths start where those of the prefixes end.
    let suffixes_at = prefixes.clone().end()?;
    let mut suffixes = Lengths::new(Cursor { data, position: suffixes_at }, most)?;
    if prefixes.left != suffixes.left {
        return None;
    }
    let mut measured = ByteArrays { total: 0, longest: 0 };
    let (mut before, mut suffix_bytes) = (0u64, 0u64);
    for _ in 0..prefixes.left {
        let (prefix, suffix) = (prefixes.next()?, suffixes.next()?);
        if prefix > before {
            return None;
        }
        before = prefix + suffix;
        suffix_bytes += suffix;
        measured.total += before;
        measured.longest = measured.longest.max(before);
    }
    let held = (data.len() - suffixes.end()?) as u64;
    (suffix_bytes <= held).then_some(measured)
}

#[derive(Debug, Clone)]
struct Cursor<'a> {
    data: &'a [u8],
    position: usize,
}

impl Cursor<'_> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.data.get(self.position)?;
            self.position += 1;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The `index`th value of `width` bits, counted from the current position.
    fn bits(&self, index: u64, width: u32) -> Option<u64> {
        let bit = index * u64::from(width);
        let byte = self.position + (bit / 8) as usize;
        let mut word = [0; 16];
        let rest = self.data.get(byte..)?;
        let taken = rest.len().min(16);
        word[..taken].copy_from_slice(&rest[..taken]);
        let value = u128::from_le_bytes(word) >> (bit % 8);
        Some((value & ((1 << width) - 1)) as u64)
    }
}

#[derive(Debug, Clone, Copy)]
struct Header {
    values_per_miniblock: u64,
    miniblocks: u64,
    count: u64,
    first: i64,
}

impl Header {
    fn read(from: &mut Cursor<'_>) -> Option<Self> {
        let block = from.varint()?;
        let miniblocks = from.varint()?;
        let count = from.varint()?;
        let first = from.zigzag()?;
        // As the format demands; a larger block than a page has values would only be padding.
        let fits = (1..=1 << 31).contains(&block) && block.is_multiple_of(128);
        if !fits || miniblocks == 0 || miniblocks > block || !block.is_multiple_of(miniblocks) {
            return None;
        }
        let values_per_miniblock = block / miniblocks;
        values_per_miniblock.is_multiple_of(32).then_some(Self {
            values_per_miniblock,
            miniblocks,
            count,
            first,
        })
    }
}

/// The lengths that DELTA_BINARY_PACKED data holds, one by one.
#[derive(Debug, Clone)]
struct Lengths<'a> {
    cursor: Cursor<'a>,
    header: Header,
    /// Values that [`Self::next`] still gives.
    left: u64,
    value: i64,
    started: bool,
    least_delta: i64,
    /// Widths of the miniblocks that are left of the current block, from this position on.
    widths: std::ops::Range<usize>,
    /// Of the current miniblock.
    width: u32,
    index: u64,
}

impl<'a> Lengths<'a> {
    fn new(mut cursor: Cursor<'a>, most: u64) -> Option<Self> {
        let header = Header::read(&mut cursor)?;
        (header.count <= most).then_some(Self {
            cursor,
            header,
            left: header.count,
            value: header.first,
            started: false,
            least_delta: 0,
            widths: 0..0,
            width: 0,
            index: header.values_per_miniblock,
        })
    }

    /// The next length; `None` when it is negative, beyond 32 bits, or the data ends.
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        if self.started {
            if self.index == self.header.values_per_miniblock {
                self.next_miniblock()?;
            }
            let delta = self.cursor.bits(self.index, self.width)? as i64;
            self.index += 1;
            self.value = self.value.wrapping_add(self.least_delta).wrapping_add(delta);
        }
        self.started = true;
        u64::try_from(i32::try_from(self.value).ok()?).ok()
    }

    /// Where the data ends, past the padding of its last miniblock.
    fn end(mut self) -> Option<usize> {
        while self.left > 0 {
            self.next()?;
        }
        self.finish_miniblock();
        Some(self.cursor.position.min(self.cursor.data.len()))
    }

    fn next_miniblock(&mut self) -> Option<()> {
        self.finish_miniblock();
        if self.widths.is_empty() {
            self.least_delta = self.cursor.zigzag()?;
            let start = self.cursor.position;
            self.widths = start..start + usize::try_from(self.header.miniblocks).ok()?;
            self.cursor.position = self.widths.end;
        }
        self.width = u32::from(*self.cursor.data.get(self.widths.next()?)?);
        self.index = 0;
        (self.width <= 64).then_some(())
    }

    /// Passes the bytes of the current miniblock, padding included; there is none at the start.
    fn finish_miniblock(&mut self) {
        let bytes = self.header.values_per_miniblock * u64::from(self.width) / 8;
        self.cursor.position = self.cursor.position.saturating_add(bytes as usize);
        self.width = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value > 127 {
            bytes.push(value as u8 | 128);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    /// DELTA_BINARY_PACKED in blocks of 128, four miniblocks each, deltas of 16 bits.
    fn pack(values: &[i64]) -> Vec<u8> {
        let zigzag = |v: i64| varint(((v << 1) ^ (v >> 63)) as u64);
        let mut bytes = [varint(128), varint(4), varint(values.len() as u64)].concat();
        bytes.extend(zigzag(values.first().copied().unwrap_or(0)));
        let deltas: Vec<i64> = values.windows(2).map(|w| w[1] - w[0]).collect();
        for block in deltas.chunks(128) {
            let least = block.iter().copied().min().unwrap();
            bytes.extend(zigzag(least));
            let miniblocks: Vec<&[i64]> = block.chunks(32).collect();
            bytes.extend((0..4).map(|i| if i < miniblocks.len() { 16 } else { 0 }));
            for miniblock in miniblocks {
                let padded = miniblock.iter().map(|d| (d - least) as u16);
                let padded = padded.chain(std::iter::repeat(0)).take(32);
                bytes.extend(padded.flat_map(u16::to_le_bytes));
            }
        }
        bytes
    }

    fn byte_arrays(prefixes: &[i64], suffixes: &[i64], held: usize) -> Vec<u8> {
        [pack(prefixes), pack(suffixes), vec![b'x'; held]].concat()
    }

    #[test]
    fn lengths_add_up_across_blocks() {
        for count in [0, 1, 2, 32, 33, 34, 128, 129, 130, 500] {
            let prefixes: Vec<i64> = (0..count).map(|i| if i == 0 { 0 } else { i % 3 }).collect();
            let suffixes: Vec<i64> = (0..count).map(|i| 3 + i % 50).collect();
            let held = suffixes.iter().sum::<i64>() as usize;
            let whole = prefixes.iter().zip(&suffixes).map(|(p, s)| (p + s) as u64);
            let expected =
                ByteArrays { total: whole.clone().sum(), longest: whole.max().unwrap_or(0) };
            let data = byte_arrays(&prefixes, &suffixes, held);
            assert_eq!(measure_byte_arrays(&data, count as u64), Some(expected), "{count}");
            if held > 0 {
                let cut = &data[..data.len() - 1];
                assert_eq!(measure_byte_arrays(cut, count as u64), None, "{count} cut");
                assert_eq!(measure_byte_arrays(&data, count as u64 - 1), None, "{count} less");
            }
        }
    }

    #[test]
    fn a_prefix_longer_than_the_value_before_it_is_refused() {
        assert!(measure_byte_arrays(&byte_arrays(&[0, 2], &[2, 1], 3), 2).is_some());
        assert_eq!(measure_byte_arrays(&byte_arrays(&[0, 3], &[2, 1], 3), 2), None);
        assert_eq!(measure_byte_arrays(&byte_arrays(&[1], &[2], 2), 2), None);
    }

    #[test]
    fn negative_lengths_and_unequal_counts_are_refused() {
        assert_eq!(measure_byte_arrays(&byte_arrays(&[0, 0], &[2, -1], 3), 2), None);
        assert_eq!(measure_byte_arrays(&byte_arrays(&[0], &[2, 1], 3), 2), None);
    }

    #[test]
    fn forged_counts_are_refused() {
        assert!(claims_at_most(&pack(&[1, 2, 3]), 3));
        assert!(!claims_at_most(&pack(&[1, 2, 3]), 2));
        let forged = [varint(128), varint(4), varint(1 << 40), varint(0)].concat();
        assert!(!claims_at_most(&forged, 1 << 31));
        for header in [[0, 4], [100, 4], [128, 0], [128, 3], [128, 8]] {
            let bytes = [varint(header[0]), varint(header[1]), varint(1), varint(0)].concat();
            assert!(!claims_at_most(&bytes, 1), "{header:?}");
        }
    }
}
