//! Dense unions: each row's child, and where in it.

use std::ops::Range;

use arrow_schema::UnionFields;

use super::{Cutter, Stop, integer, integers, times};
use crate::error::FileError;

const OFFSET_BYTES: usize = 4;

impl Cutter<'_> {
    pub(super) fn dense_union(
        &mut self,
        children: &UnionFields,
        rows: &Range<u64>,
    ) -> Result<(), Stop> {
        let buffer = self.buffer()?;
        let types = self.take(&buffer, rows.clone())?;
        let buffer = self.buffer()?;
        let width = OFFSET_BYTES as u64;
        let part = times(rows.start, width)?..times(rows.end, width)?;
        let offsets = self.take(&buffer, part)?;

        let mut of_type = [None; 128];
        for (child, (id, _)) in children.iter().enumerate() {
            if let Some(slot) = usize::try_from(id).ok().and_then(|id| of_type.get_mut(id)) {
                *slot = Some(child);
            }
        }
        let mut places = Vec::with_capacity(types.len());
        let mut selected: Vec<Option<Range<u64>>> = vec![None; children.len()];
        for (row, id) in types.iter().enumerate() {
            let child = of_type.get(usize::from(*id)).copied().flatten();
            let child = child.ok_or_else(|| {
                FileError::damaged(format!("a row is of type {id}, which its union lacks"))
            })?;
            let at = integer(&offsets, OFFSET_BYTES, row)?;
            let so_far = selected[child].get_or_insert(at..at);
            *so_far = so_far.start.min(at)..so_far.end.max(at + 1);
            places.push((child, at));
        }
        let selected: Vec<_> = selected.into_iter().map(|rows| rows.unwrap_or(0..0)).collect();
        let offsets = places.iter().map(|(child, at)| at - selected[*child].start);
        let offsets = integers(offsets, OFFSET_BYTES);
        self.push(types);
        self.push(offsets);
        for ((_, child), rows) in children.iter().zip(selected) {
            self.array(child.data_type(), rows)?;
        }
        Ok(())
    }
}
