//! A window cut into equal parts: whether what was measured was steady while it was measured.

use std::time::Duration;

use super::Transfer;

/// Parts of a window.
pub(crate) const SLICES: usize = 20;

/// What happened in each part of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Slices([Slice; SLICES]);

/// What happened in one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) batches: u64,
    pub(crate) logical_bytes: u64,
    /// How late things were sent, in an open loop: the sum, in nanoseconds, and of how many.
    pub(crate) lag_ns: u64,
    pub(crate) sent: u64,
}

impl Slices {
    pub(crate) fn moved(&mut self, slice: usize, amount: Transfer) {
        let slice = &mut self.0[slice];
        slice.batches += amount.batches;
        slice.logical_bytes += amount.logical_bytes;
    }

    pub(crate) fn late(&mut self, slice: usize, late: Duration) {
        let slice = &mut self.0[slice];
        let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        slice.lag_ns = slice.lag_ns.saturating_add(nanos);
        slice.sent += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.batches = mine.batches.saturating_add(theirs.batches);
            mine.logical_bytes = mine.logical_bytes.saturating_add(theirs.logical_bytes);
            mine.lag_ns = mine.lag_ns.saturating_add(theirs.lag_ns);
            mine.sent = mine.sent.saturating_add(theirs.sent);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slice> {
        self.0.iter()
    }

    /// Those of a run that was kept; of a window that was cut otherwise there are none.
    pub(crate) fn of(slices: impl IntoIterator<Item = Slice>) -> Option<Self> {
        let slices: Vec<Slice> = slices.into_iter().collect();
        slices.try_into().ok().map(Self)
    }
}

impl Slice {
    /// How late a thing was sent on average, in nanoseconds.
    #[allow(dead_code)]
    pub(crate) fn mean_lag_ns(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.lag_ns as f64 / self.sent as f64)
    }
}
