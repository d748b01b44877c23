//! The hybrid of run-length and bit-packed encoding of levels and dictionary keys.
//!
//! Encoding: <https://github.com/apache/parquet-format/blob/master/Encodings.md#RLE>.

/// Runs of values of `width` bits.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    data: &'a [u8],
    width: u32,
}

/// Values that are stored together.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Run<'a> {
    Repeated { value: u32, count: u64 },
    Packed { values: Packed<'a> },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Packed<'a> {
    bytes: &'a [u8],
    width: u32,
    count: usize,
}

impl<'a> Runs<'a> {
    /// `None` for a width of over 32 bits.
    pub(super) fn new(data: &'a [u8], width: u32) -> Option<Self> {
        (width <= 32).then_some(Self { data, width })
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    /// The next run; `None` where the data ends or is cut off.
    fn next(&mut self) -> Option<Run<'a>> {
        let head = self.varint()?;
        if head & 1 == 0 {
            let bytes = (self.width as usize).div_ceil(8);
            let (value, rest) = self.data.split_at_checked(bytes)?;
            self.data = rest;
            let mut word = [0; 4];
            word[..bytes].copy_from_slice(value);
            return Some(Run::Repeated { value: u32::from_le_bytes(word), count: head >> 1 });
        }
        // Groups of eight values; the last group may be cut short at the page's end.
        let claimed = (head >> 1).saturating_mul(u64::from(self.width));
        let bytes = usize::try_from(claimed).unwrap_or(usize::MAX).min(self.data.len());
        let (packed, rest) = self.data.split_at(bytes);
        self.data = rest;
        let count = match self.width {
            0 => usize::try_from((head >> 1).saturating_mul(8)).unwrap_or(usize::MAX),
            width => bytes * 8 / width as usize,
        };
        Some(Run::Packed { values: Packed { bytes: packed, width: self.width, count } })
    }
}

impl Runs<'_> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.data.split_first()?;
            self.data = rest;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

impl Packed<'_> {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The value at `index`, which is below [`Self::len`].
    pub(super) fn get(&self, index: usize) -> u32 {
        let bit = index * self.width as usize;
        let mut word = [0; 8];
        let rest = &self.bytes[bit / 8..];
        let taken = rest.len().min(8);
        word[..taken].copy_from_slice(&rest[..taken]);
        let mask = (1u64 << self.width) - 1;
        ((u64::from_le_bytes(word) >> (bit % 8)) & mask) as u32
    }
}

/// The first value, if there is one.
pub(super) fn first(data: &[u8], width: u32) -> Option<u32> {
    match Runs::new(data, width)?.next()? {
        Run::Repeated { value, count } => (count > 0).then_some(value),
        Run::Packed { values } => (values.len() > 0).then(|| values.get(0)),
    }
}

/// How many of the first `most` values are `wanted`.
pub(super) fn count(data: &[u8], width: u32, wanted: u32, most: u64) -> u64 {
    let (mut found, mut left) = (0, most);
    for run in Runs::new(data, width).into_iter().flatten() {
        let taken = match run {
            Run::Repeated { value, count } => {
                let taken = count.min(left);
                found += if value == wanted { taken } else { 0 };
                taken
            }
            Run::Packed { values } => {
                let taken = (values.len() as u64).min(left);
                let values = (0..taken as usize).map(|at| values.get(at));
                found += values.filter(|value| *value == wanted).count() as u64;
                taken
            }
        };
        left -= taken;
        if left == 0 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(data: &[u8], width: u32, expected: &[u32]) {
        let mut values = Vec::new();
        for run in Runs::new(data, width).unwrap() {
            match run {
                Run::Repeated { value, count } => {
                    values.extend(std::iter::repeat_n(value, count as usize));
                }
                Run::Packed { values: packed } => {
                    values.extend((0..packed.len()).map(|i| packed.get(i)));
                }
            }
        }
        assert_eq!(values, expected, "{data:?} of {width} bits");
        assert_eq!(first(data, width), expected.first().copied());
    }

    #[test]
    fn runs_and_groups_are_read() {
        check(&[4 << 1, 7], 3, &[7; 4]);
        // The example of the format's text: 0 to 7 in 3 bits.
        check(&[0x03, 0x88, 0xC6, 0xFA], 3, &[0, 1, 2, 3, 4, 5, 6, 7]);
        check(&[2 << 1, 1, 0x03, 0b1010_0101], 1, &[1, 1, 1, 0, 1, 0, 0, 1, 0, 1]);
        check(&[2 << 1, 0x34, 0x12], 13, &[0x1234; 2]);
        check(&[0x03], 0, &[0; 8]);
    }

    #[test]
    fn values_are_counted_up_to_a_bound() {
        let data = [2 << 1, 1, 0x03, 0b1010_0101];
        assert_eq!([0, 2, 4, 10, 99].map(|most| count(&data, 1, 1, most)), [0, 2, 3, 6, 6]);
        assert_eq!(count(&data, 1, 0, 10), 4);
        assert_eq!(count(&data, 33, 0, 10), 0);
    }

    #[test]
    fn cut_data_ends_early() {
        check(&[], 3, &[]);
        check(&[4 << 1], 3, &[]);
        check(&[0x80], 3, &[]);
        check(&[0x03, 0x88], 3, &[0, 1]);
    }
}
