//! Where a data page's levels end and its values begin.

use parquet::basic::Encoding;

use super::header::DataV2;
use super::hybrid;
use super::measure::Column;

/// What stands before a page's values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Levels<'a> {
    /// The repetition level of the first value: 0 where it begins a row. `None` without levels.
    pub(super) first_repetition: Option<u32>,
    /// The page past its levels.
    pub(super) values: &'a [u8],
}

/// Bits of a level up to `max`.
pub(super) fn levels_width(max: i16) -> u32 {
    16 - max.leading_zeros()
}

impl<'a> Levels<'a> {
    /// Of an unpacked V1 page: each kind of level with its length before it.
    pub(super) fn of_v1(
        column: &Column,
        page: &'a [u8],
        values: u64,
        definition: Encoding,
        repetition: Encoding,
    ) -> Option<Self> {
        let width = levels_width(column.repetition_max);
        let (levels, rest) = split(page, width, values, repetition)?;
        let first_repetition = match repetition {
            Encoding::RLE => hybrid::first(levels, width),
            // The deprecated bit-packed form begins with its highest bits.
            _ => levels.first().map(|byte| u32::from(*byte) >> 8u32.saturating_sub(width)),
        };
        let first_repetition = first_repetition.filter(|_| width > 0);
        let (_, values) = split(rest, levels_width(column.definition_max), values, definition)?;
        Some(Self { first_repetition, values })
    }

    /// Of an unpacked V2 page: the header has the lengths.
    pub(super) fn of_v2(column: &Column, page: &'a [u8], header: &DataV2) -> Option<Self> {
        let (levels, rest) =
            page.split_at_checked(usize::try_from(header.repetition_bytes).ok()?)?;
        let values = rest.get(usize::try_from(header.definition_bytes).ok()?..)?;
        let width = levels_width(column.repetition_max);
        let first_repetition = if width > 0 { hybrid::first(levels, width) } else { None };
        Some(Self { first_repetition, values })
    }
}

/// Levels of `width` bits at the start of `page`, and the rest.
fn split(page: &[u8], width: u32, values: u64, encoding: Encoding) -> Option<(&[u8], &[u8])> {
    if width == 0 {
        return Some((&[], page));
    }
    if encoding == Encoding::RLE {
        let (length, rest) = page.split_first_chunk::<4>()?;
        return rest.split_at_checked(u32::from_le_bytes(*length) as usize);
    }
    let bytes = (values * u64::from(width)).div_ceil(8);
    page.split_at_checked(usize::try_from(bytes).ok()?)
}

#[cfg(test)]
mod tests {
    use parquet::basic::Type;

    use super::*;

    fn column(definition_max: i16, repetition_max: i16) -> Column {
        let name = "c".to_owned();
        Column { name, physical: Type::INT32, type_length: 0, definition_max, repetition_max }
    }

    fn check(column: &Column, page: &[u8], expected: Option<(Option<u32>, &[u8])>) {
        let levels = Levels::of_v1(column, page, 8, Encoding::RLE, Encoding::RLE);
        assert_eq!(levels.map(|l| (l.first_repetition, l.values)), expected, "{page:?}");
    }

    #[test]
    fn widths_follow_the_highest_level() {
        assert_eq!([0, 1, 2, 3, 4, i16::MAX].map(levels_width), [0, 1, 2, 2, 3, 15]);
    }

    #[test]
    fn values_begin_past_the_levels() {
        check(&column(0, 0), &[7, 8], Some((None, &[7, 8])));
        check(&column(1, 0), &[2, 0, 0, 0, 16, 1, 7, 8], Some((None, &[7, 8])));
        let both = [2, 0, 0, 0, 16, 1, 2, 0, 0, 0, 16, 3, 7];
        check(&column(3, 1), &both, Some((Some(1), &[7])));
    }

    #[test]
    fn cut_levels_are_found() {
        check(&column(1, 0), &[2, 0, 0], None);
        check(&column(1, 0), &[9, 0, 0, 0, 16, 1], None);
        check(&column(1, 0), &[255, 255, 255, 255, 16, 1], None);
    }
}
