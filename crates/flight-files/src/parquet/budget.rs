//! The bytes that decoding one batch may take, shared by the pages of all its columns.
//!
//! Every page says what it costs before it is handed to the decoder. A batch that would cost too
//! much is stopped there, and asked for again with fewer rows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::measure::Measure;
use crate::error::FileError;

/// What a batch has cost so far.
#[derive(Debug)]
pub(super) struct Budget {
    max: u64,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    /// Rows that the batch is asked for.
    rows: u64,
    bytes: u64,
    /// What the page that each column is in costs a batch: it is paid again by the next one.
    current: Vec<u64>,
    /// Bytes of the page and the dictionary that each column is in.
    held: Vec<u64>,
    /// Why a page was not handed out.
    refusal: Option<Refusal>,
}

/// Why a batch was stopped.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It would cost this many bytes.
    OverBudget(u64),
    Error(FileError),
}

impl Budget {
    /// For batches of `rows` rows of a file with `columns` leaf columns.
    pub(super) fn new(max: u64, columns: usize, rows: u64) -> Self {
        let spent =
            Spent { rows, current: vec![0; columns], held: vec![0; columns], ..Spent::default() };
        Self { max, spent: Mutex::new(spent) }
    }

    /// Begins the next batch.
    pub(super) fn begin(&self) {
        let mut spent = self.lock();
        spent.bytes = spent.current.iter().sum();
    }

    /// Asks whether a page of `held` bytes may be unpacked at all.
    pub(super) fn may_hold(&self, held: u64) -> Result<(), Refusal> {
        let bytes = self.lock().bytes.saturating_add(held);
        if bytes > self.max { Err(Refusal::OverBudget(bytes)) } else { Ok(()) }
    }

    /// Accounts for a page of `column` that holds `held` bytes and whose values are `values`.
    /// `one_a_row` tells that a row has at most one value.
    pub(super) fn spend(
        &self,
        column: usize,
        held: u64,
        values: Measure,
        one_a_row: bool,
    ) -> Result<(), Refusal> {
        let mut spent = self.lock();
        let decoded = match one_a_row {
            true => values.total.min(spent.rows.saturating_mul(values.longest)),
            false => values.total,
        };
        let cost = held.saturating_add(decoded);
        spent.bytes = spent.bytes.saturating_add(cost);
        spent.current[column] = cost;
        spent.held[column] = held;
        if spent.bytes > self.max { Err(Refusal::OverBudget(spent.bytes)) } else { Ok(()) }
    }

    /// Bytes of the pages and dictionaries that are held between two batches.
    pub(super) fn held_bytes(&self) -> u64 {
        self.lock().held.iter().sum()
    }

    /// Keeps why a page was not handed out, for whoever asked for the batch.
    pub(super) fn refuse(&self, refusal: Refusal) {
        self.lock().refusal.get_or_insert(refusal);
    }

    pub(super) fn take_refusal(&self) -> Option<Refusal> {
        self.lock().refusal.take()
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        // Nothing in here can be left half done by a panic.
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<FileError> for Refusal {
    fn from(error: FileError) -> Self {
        Self::Error(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Measure = Measure { total: 1000, longest: 10 };

    #[test]
    fn a_page_costs_what_the_rows_of_a_batch_can_take_of_it() {
        let budget = Budget::new(100, 2, 5);
        assert!(budget.spend(0, 20, PAGE, true).is_ok());
        assert!(matches!(budget.spend(1, 20, PAGE, false), Err(Refusal::OverBudget(1090))));
    }

    #[test]
    fn the_page_that_a_column_is_in_is_paid_by_every_batch() {
        let budget = Budget::new(100, 1, 5);
        assert!(budget.spend(0, 50, PAGE, true).is_ok());
        budget.begin();
        assert!(budget.may_hold(1).is_err());
        assert_eq!(budget.held_bytes(), 50);
    }

    #[test]
    fn the_first_refusal_is_kept() {
        let budget = Budget::new(100, 1, 5);
        budget.refuse(Refusal::OverBudget(7));
        budget.refuse(FileError::Changed.into());
        assert!(matches!(budget.take_refusal(), Some(Refusal::OverBudget(7))));
        assert!(budget.take_refusal().is_none());
    }
}
