//! Unpacked dictionary pages of one row group, shared by all that read ranges of its rows.
//!
//! Every range begins with its columns' dictionaries, which can be a third of a column chunk.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::measure::Dictionary;

/// Dictionary pages of a row group, by leaf column.
#[derive(Debug)]
pub(super) struct Dictionaries {
    by_leaf: Vec<OnceLock<SharedDictionary>>,
}

/// A dictionary page that was checked and unpacked.
#[derive(Debug, Clone)]
pub(super) struct SharedDictionary {
    /// Where the page ends in the file: a chunk that has several takes part with its first.
    pub(super) end: u64,
    pub(super) page: Bytes,
    pub(super) lengths: Arc<Dictionary>,
}

impl Dictionaries {
    /// For a file of `leaves` leaf columns.
    pub(super) fn new(leaves: usize) -> Arc<Self> {
        let by_leaf = std::iter::repeat_with(OnceLock::new).take(leaves).collect();
        Arc::new(Self { by_leaf })
    }

    /// The page of `leaf` that ends at `end`, if someone has unpacked it.
    pub(super) fn find(&self, leaf: usize, end: u64) -> Option<SharedDictionary> {
        self.by_leaf[leaf].get().filter(|shared| shared.end == end).cloned()
    }

    /// Keeps a page of `leaf`, unless there is one already.
    pub(super) fn keep(&self, leaf: usize, shared: SharedDictionary) {
        let _ = self.by_leaf[leaf].set(shared);
    }
}

#[cfg(test)]
mod tests {
    use parquet::basic::Type;

    use super::*;
    use crate::parquet::measure::Column;

    #[test]
    fn a_page_is_found_by_its_column_and_its_place() {
        let (name, physical) = ("c".to_owned(), Type::INT32);
        let column =
            Column { name, physical, type_length: 0, definition_max: 0, repetition_max: 0 };
        let lengths = Arc::new(Dictionary::read(&column, &[7; 8], 2).unwrap());
        let shared = |byte: u8| {
            let (page, lengths) = (Bytes::from(vec![byte; 8]), Arc::clone(&lengths));
            SharedDictionary { end: 100, page, lengths }
        };
        let dictionaries = Dictionaries::new(2);
        assert!(dictionaries.find(1, 100).is_none());
        dictionaries.keep(1, shared(7));
        dictionaries.keep(1, shared(8));
        assert_eq!(dictionaries.find(1, 100).unwrap().page, [7; 8].as_slice());
        assert!(dictionaries.find(1, 200).is_none());
        assert!(dictionaries.find(0, 100).is_none());
    }
}
