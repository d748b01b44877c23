//! What of which blocks has passed a decoder, so that it need not again.
//!
//! Two things are noted, and neither follows from the other's note: that all of a block was decoded
//! as it is stored, and that all rows of a column were decoded, be it as they are cut, by a header
//! of ours. A cut header says less than the stored one, and may be right where that one lies.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::CHECKED_WORDS_MAX;

/// Bits for each entry, in memory that is taken when the entry is read.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Empty where they would be too many: then everything is decoded each time.
    entries: Vec<OnceLock<Box<[AtomicU64]>>>,
    columns: usize,
}

impl Checked {
    pub(super) fn new(entries: usize, columns: usize) -> Self {
        let words = word_count(columns).saturating_mul(entries);
        let noted = if words <= CHECKED_WORDS_MAX { entries } else { 0 };
        Self { entries: (0..noted).map(|_| OnceLock::new()).collect(), columns }
    }

    /// Whether all of an entry has passed as it is stored. What is cut of it is sound then, too.
    pub(super) fn has_whole(&self, entry: usize) -> bool {
        self.has_bit(entry, self.columns)
    }

    pub(super) fn add_whole(&self, entry: usize) {
        self.add_bit(entry, self.columns);
    }

    /// Whether somebody tried to check all of an entry, and could not, or it would not be noted.
    pub(super) fn was_tried(&self, entry: usize) -> bool {
        self.entries.get(entry).is_none() || self.has_bit(entry, self.columns + 1)
    }

    pub(super) fn add_tried(&self, entry: usize) {
        self.add_bit(entry, self.columns + 1);
    }

    /// Whether all rows of all these columns of an entry have passed.
    pub(super) fn has(&self, entry: usize, columns: &[usize]) -> bool {
        self.has_whole(entry) || columns.iter().all(|column| self.has_bit(entry, *column))
    }

    pub(super) fn add(&self, entry: usize, columns: &[usize]) {
        columns.iter().for_each(|column| self.add_bit(entry, *column));
    }

    fn has_bit(&self, entry: usize, bit: usize) -> bool {
        let words = self.entries.get(entry).and_then(OnceLock::get);
        let word = words.map_or(0, |words| words[bit / 64].load(Ordering::Relaxed));
        word & (1 << (bit % 64)) != 0
    }

    fn add_bit(&self, entry: usize, bit: usize) {
        let Some(words) = self.entries.get(entry) else { return };
        let none = || (0..word_count(self.columns)).map(|_| AtomicU64::new(0)).collect();
        words.get_or_init(none)[bit / 64].fetch_or(1 << (bit % 64), Ordering::Relaxed);
    }
}

/// A bit for each column, one for all of the entry, and one for the attempt at it.
fn word_count(columns: usize) -> usize {
    (columns + 2).div_ceil(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_noted_by_themselves() {
        let checked = Checked::new(2, 130);
        assert!(!checked.has(0, &[0]));
        checked.add(0, &[3, 64, 129]);
        assert!(checked.has(0, &[129, 3, 64]));
        assert!(!checked.has(0, &[3, 4]) && !checked.has(1, &[3]));
    }

    #[test]
    fn all_columns_are_not_the_whole_but_the_whole_is_all_columns() {
        for columns in [0, 1, 63, 64, 65] {
            let all: Vec<_> = (0..columns).collect();
            let checked = Checked::new(2, columns);
            checked.add(0, &all);
            assert!(!checked.has_whole(0), "{columns}");
            checked.add_whole(1);
            assert!(checked.has_whole(1) && checked.has(1, &all), "{columns}");
        }
    }

    #[test]
    fn too_many_are_not_noted() {
        let checked = Checked::new(CHECKED_WORDS_MAX, 64);
        checked.add_whole(7);
        assert!(!checked.has_whole(7));
    }
}
