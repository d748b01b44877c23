//! Which columns of which blocks have passed a decoder, so that they need not again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each column of each entry; memory is taken for entries that were read.
#[derive(Debug, Default)]
pub(super) struct Checked(Vec<OnceLock<Box<[AtomicU64]>>>);

impl Checked {
    pub(super) fn new(entries: usize) -> Self {
        Self((0..entries).map(|_| OnceLock::new()).collect())
    }

    /// Whether all rows of all these columns of an entry have passed.
    pub(super) fn has(&self, entry: usize, columns: &[usize]) -> bool {
        let Some(words) = self.0[entry].get() else { return false };
        columns.iter().all(|column| {
            let word = words.get(column / 64).map_or(0, |word| word.load(Ordering::Relaxed));
            word & (1 << (column % 64)) != 0
        })
    }

    /// Notes that they have; the schema has `count` columns.
    pub(super) fn add(&self, entry: usize, columns: &[usize], count: usize) {
        // A schema without columns has something to note, too: that the header is sound.
        let words = (0..count / 64 + 1).map(|_| AtomicU64::new(0));
        let words = self.0[entry].get_or_init(|| words.collect());
        for column in columns {
            words[column / 64].fetch_or(1 << (column % 64), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_noted_by_themselves() {
        let checked = Checked::new(2);
        assert!(!checked.has(0, &[]) && !checked.has(0, &[0]));
        checked.add(0, &[3, 64, 129], 130);
        assert!(checked.has(0, &[129, 3, 64]) && checked.has(0, &[]));
        assert!(!checked.has(0, &[3, 4]) && !checked.has(1, &[3]));
        checked.add(1, &[], 0);
        assert!(checked.has(1, &[]));
    }
}
