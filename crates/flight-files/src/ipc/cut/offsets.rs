//! Offsets of text, lists and list views, and what they select.

use std::ops::Range;

use arrow_buffer::Buffer;

use super::{Cutter, Stop, integer, integers, times};
use crate::access;
use crate::error::FileError;

impl Cutter<'_> {
    /// Text or bytes with offsets of `width` bytes.
    pub(super) fn text(&mut self, width: usize, rows: &Range<u64>) -> Result<(), Stop> {
        let bytes = self.offsets(width, rows)?;
        let buffer = self.buffer()?;
        self.pass(&buffer, bytes)
    }

    /// Pushes the offsets of these rows, beginning at zero; what they select.
    pub(super) fn offsets(&mut self, width: usize, rows: &Range<u64>) -> Result<Range<u64>, Stop> {
        let buffer = self.buffer()?;
        if rows.is_empty() {
            // An array without values may lack even the first offset.
            self.push(integers([0].into_iter(), width));
            return Ok(0..0);
        }
        let part = times(rows.start, width as u64)?..times(rows.end + 1, width as u64)?;
        let offsets = self.take(&buffer, part)?;
        let count = (rows.end - rows.start) as usize;
        let (first, last) = (integer(&offsets, width, 0)?, integer(&offsets, width, count)?);
        if first > last {
            let what = format!("its offsets run backwards, from {first} to {last}");
            return Err(FileError::damaged(what).into());
        }
        self.push(if first == 0 { offsets } else { less(&offsets, width, first)? });
        Ok(first..last)
    }

    /// Pushes the offsets and sizes of list views; the children that they select.
    pub(super) fn list_views(
        &mut self,
        width: usize,
        rows: &Range<u64>,
    ) -> Result<Range<u64>, Stop> {
        let part = times(rows.start, width as u64)?..times(rows.end, width as u64)?;
        let buffer = self.buffer()?;
        let offsets = self.take(&buffer, part.clone())?;
        let buffer = self.buffer()?;
        let sizes = self.take(&buffer, part)?;
        let mut lists = Vec::with_capacity((rows.end - rows.start) as usize);
        let mut selected: Option<Range<u64>> = None;
        for row in 0..(rows.end - rows.start) as usize {
            let size = integer(&sizes, width, row)?;
            // Where an empty list lies does not matter, and it may lie anywhere.
            let start = if size == 0 { 0 } else { integer(&offsets, width, row)? };
            let list = start..start.saturating_add(size);
            if size > 0 {
                let so_far = selected.get_or_insert_with(|| list.clone());
                *so_far = so_far.start.min(list.start)..so_far.end.max(list.end);
            }
            lists.push(list);
        }
        let selected = selected.unwrap_or(0..0);
        let starts = lists.iter().map(|list| list.start.saturating_sub(selected.start));
        self.push(integers(starts, width));
        self.push(sizes);
        Ok(selected)
    }
}

/// `offsets` less `first`, which none of a checked array is below.
fn less(offsets: &[u8], width: usize, first: u64) -> Result<Buffer, FileError> {
    // A large part of what a text column is sent as: fresh memory for it would cost page faults.
    let mut memory = access::memory(offsets.len())?;
    let out = memory.as_mut_slice();
    if width == 4 {
        let first = first as i32;
        let pairs = out.as_chunks_mut::<4>().0.iter_mut().zip(offsets.as_chunks::<4>().0);
        pairs.for_each(|(out, raw)| {
            *out = i32::from_le_bytes(*raw).wrapping_sub(first).to_le_bytes();
        });
    } else {
        let first = first as i64;
        let pairs = out.as_chunks_mut::<8>().0.iter_mut().zip(offsets.as_chunks::<8>().0);
        pairs.for_each(|(out, raw)| {
            *out = i64::from_le_bytes(*raw).wrapping_sub(first).to_le_bytes();
        });
    }
    Ok(memory.freeze())
}
