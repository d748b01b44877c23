//! How many bytes a page's values are once decoded, told before they are.
//!
//! A page of a few bytes can name one value of a megabyte a million times (dictionary), or extend
//! it a million times (DELTA_BYTE_ARRAY). The measure is exact where the simple bound would be far
//! off, and never below what the decoder will write.

use std::sync::Arc;

use parquet::basic::{Encoding, Type};
use parquet::schema::types::ColumnDescriptor;

use super::delta;
use super::hybrid::{Run, Runs};
use crate::error::FileError;

/// Bytes that a value takes beside its own: its offset or its view, doubled for a growing buffer.
const VALUE_OVERHEAD_BYTES: u64 = 16;
/// Above this a dictionary page's keys are looked up one by one.
const EXACT_ABOVE_BYTES: u64 = 16 << 20;

/// What is known of a leaf column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// As errors name it.
    pub(super) name: String,
    pub(super) physical: Type,
    /// Of a FIXED_LEN_BYTE_ARRAY, in bytes.
    pub(super) type_length: u64,
    pub(super) definition_max: i16,
    pub(super) repetition_max: i16,
}

/// The bytes of a page's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) total: u64,
    pub(super) longest: u64,
}

/// The lengths of a dictionary's values.
#[derive(Debug)]
pub(super) struct Dictionary {
    lengths: Vec<u32>,
    longest: u64,
}

impl Column {
    pub(super) fn of(descriptor: &ColumnDescriptor) -> Result<Arc<Self>, FileError> {
        let mut column = Self {
            name: descriptor.path().string(),
            physical: descriptor.physical_type(),
            type_length: 0,
            definition_max: descriptor.max_def_level(),
            repetition_max: descriptor.max_rep_level(),
        };
        if column.physical == Type::FIXED_LEN_BYTE_ARRAY {
            let length = u64::try_from(descriptor.type_length());
            column.type_length = length.map_err(|_| column.damaged("its type has no length"))?;
        }
        Ok(Arc::new(column))
    }

    /// An error that names this column.
    pub(super) fn damaged(&self, what: &str) -> FileError {
        FileError::damaged(what).in_column(&self.name)
    }

    /// Bytes of a value of fixed width in the widest type that it may be read as.
    fn fixed_width(&self) -> Option<u64> {
        match self.physical {
            Type::BYTE_ARRAY => None,
            Type::FIXED_LEN_BYTE_ARRAY => Some(self.type_length.max(32)),
            _ => Some(16),
        }
    }
}

impl Dictionary {
    /// Reads the lengths in a dictionary page of `count` plainly encoded values.
    pub(super) fn read(column: &Column, page: &[u8], count: u64) -> Result<Self, FileError> {
        let too_short = || column.damaged("its dictionary page holds less values than it claims");
        if let Some(longest) = column.fixed_width() {
            let width = match column.physical {
                Type::INT32 | Type::FLOAT => 4,
                Type::INT64 | Type::DOUBLE => 8,
                Type::INT96 => 12,
                Type::FIXED_LEN_BYTE_ARRAY => column.type_length.max(1),
                _ => return Err(column.damaged("it has a dictionary of Booleans")),
            };
            if count.saturating_mul(width) > page.len() as u64 {
                return Err(too_short());
            }
            return Ok(Self { lengths: Vec::new(), longest });
        }
        // Each length takes four bytes, so that this reserves no more than the page's own size.
        if count.saturating_mul(4) > page.len() as u64 {
            return Err(too_short());
        }
        let mut lengths = Vec::with_capacity(count as usize);
        let mut rest = page;
        for _ in 0..count {
            let (length, values) = rest.split_first_chunk::<4>().ok_or_else(too_short)?;
            let length = u32::from_le_bytes(*length);
            rest = values.get(length as usize..).ok_or_else(too_short)?;
            lengths.push(length);
        }
        let longest = u64::from(lengths.iter().copied().max().unwrap_or(0));
        Ok(Self { lengths, longest })
    }
}

/// Measures the values of a data page of up to `count` values; `data` is the page past its levels.
pub(super) fn measure(
    column: &Column,
    encoding: Encoding,
    data: &[u8],
    count: u64,
    dictionary: Option<&Dictionary>,
) -> Result<Measure, FileError> {
    let lie = || column.damaged("a delta-encoded page contradicts itself");
    let held = data.len() as u64;
    let bytes = match encoding {
        Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
            let Some(dictionary) = dictionary else {
                return Err(column.damaged("a page refers to a dictionary that is not there"));
            };
            keyed(column, data, count, dictionary)?
        }
        Encoding::DELTA_BYTE_ARRAY => {
            let values = delta::measure_byte_arrays(data, count).ok_or_else(lie)?;
            Measure { total: values.total, longest: values.longest }
        }
        Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY
            if !delta::claims_at_most(data, count) =>
        {
            return Err(lie());
        }
        _ => match column.fixed_width() {
            Some(width) => Measure { total: count.saturating_mul(width), longest: width },
            // Lengths and values together are what the page holds.
            None => Measure { total: held, longest: held },
        },
    };
    Ok(Measure {
        total: bytes.total.saturating_add(count * VALUE_OVERHEAD_BYTES),
        longest: bytes.longest.saturating_add(VALUE_OVERHEAD_BYTES),
    })
}

/// A page of keys: one byte with their width, then the keys.
fn keyed(
    column: &Column,
    data: &[u8],
    count: u64,
    dictionary: &Dictionary,
) -> Result<Measure, FileError> {
    let bound = count.saturating_mul(dictionary.longest);
    let Measure { mut total, longest } = Measure { total: bound, longest: dictionary.longest };
    if bound > EXACT_ABOVE_BYTES && column.fixed_width().is_none() {
        let wide = || column.damaged("its dictionary keys are wider than 32 bits");
        let (width, keys) = data.split_first().unwrap_or((&0, &[]));
        total = looked_up(Runs::new(keys, u32::from(*width)).ok_or_else(wide)?, count, dictionary);
    }
    Ok(Measure { total, longest })
}

fn looked_up(runs: Runs<'_>, count: u64, dictionary: &Dictionary) -> u64 {
    // A key outside the dictionary is the decoder's to refuse.
    let length = |key: u32| u64::from(dictionary.lengths.get(key as usize).copied().unwrap_or(0));
    let (mut left, mut total) = (count, 0u64);
    for run in runs {
        match run {
            Run::Repeated { value, count } => {
                let count = count.min(left);
                total = total.saturating_add(count.saturating_mul(length(value)));
                left -= count;
            }
            Run::Packed { values } => {
                let count = (values.len() as u64).min(left);
                let lengths = (0..count as usize).map(|at| length(values.get(at)));
                total = lengths.fold(total, u64::saturating_add);
                left -= count;
            }
        }
        if left == 0 {
            break;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(physical: Type) -> Column {
        let name = "c".to_owned();
        Column { name, physical, type_length: 7, definition_max: 0, repetition_max: 0 }
    }

    fn plain(values: &[&str]) -> Vec<u8> {
        let one = |v: &&str| [&(v.len() as u32).to_le_bytes(), v.as_bytes()].concat();
        values.iter().flat_map(one).collect()
    }

    #[test]
    fn a_dictionary_must_hold_what_it_claims() {
        let strings = column(Type::BYTE_ARRAY);
        let page = plain(&["a", "", "long"]);
        assert_eq!(Dictionary::read(&strings, &page, 3).unwrap().lengths, [1, 0, 4]);
        for (page, count) in [(&page[..], 4), (&page[..page.len() - 1], 3), (&page, 1 << 40)] {
            let error = Dictionary::read(&strings, page, count).unwrap_err().to_string();
            assert!(error.contains("column \"c\""), "{error}");
        }
        assert!(Dictionary::read(&column(Type::INT64), &[0; 16], 2).is_ok());
        assert!(Dictionary::read(&column(Type::INT64), &[0; 16], 3).is_err());
        assert!(Dictionary::read(&column(Type::BOOLEAN), &[0; 16], 3).is_err());
    }

    #[test]
    fn keys_of_large_values_are_looked_up_one_by_one() {
        let column = column(Type::BYTE_ARRAY);
        let large = "x".repeat(1 << 20);
        let dictionary = Dictionary::read(&column, &plain(&["y", &large]), 2).unwrap();
        // 1 000 keys of "y", then 4 of the large value, in one bit each.
        let data = [1, 0xD0, 0x0F, 0, 8, 1];
        let measured =
            measure(&column, Encoding::RLE_DICTIONARY, &data, 1004, Some(&dictionary)).unwrap();
        assert_eq!(measured.total, 1000 + (4 << 20) + 1004 * VALUE_OVERHEAD_BYTES);
        assert_eq!(measured.longest, (1 << 20) + VALUE_OVERHEAD_BYTES);
    }

    #[test]
    fn keys_without_a_dictionary_are_damage() {
        let column = column(Type::BYTE_ARRAY);
        assert!(measure(&column, Encoding::PLAIN_DICTIONARY, &[1, 2, 0], 1, None).is_err());
    }

    #[test]
    fn values_of_fixed_width_are_counted() {
        let measured = measure(&column(Type::INT32), Encoding::PLAIN, &[0; 400], 100, None);
        assert_eq!(measured.unwrap().total, 100 * (16 + VALUE_OVERHEAD_BYTES));
    }
}
