//! Text and bytes by views: what the views of some rows point at, and no more.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow_buffer::Buffer;

use super::{Cutter, Stop, times};
use crate::error::FileError;

/// Bytes of a view: length, then the value itself or a prefix, a buffer's number and an offset.
const VIEW_BYTES: usize = 16;
/// Longer values lie in a data buffer.
const INLINE_BYTES: u32 = 12;
/// Values that lie this many times further apart than they are long are gathered.
const SPREAD_MAX: u64 = 2;

/// The data buffers of a column, in the header's list. There may be a million that no view uses.
#[derive(Debug, Clone, Copy)]
struct Data {
    first: usize,
    count: u64,
}

/// What the views use of one data buffer.
#[derive(Debug)]
struct Used {
    range: Range<u64>,
    /// Bytes of the values, those that several views share counted each time.
    bytes: u64,
}

impl Cutter<'_> {
    pub(super) fn views(&mut self, rows: &Range<u64>) -> Result<(), Stop> {
        let buffer = self.buffer()?;
        let part = times(rows.start, VIEW_BYTES as u64)?..times(rows.end, VIEW_BYTES as u64)?;
        let stored = self.body.copy(self.place(&buffer, part)?)?;
        let count = self.block.layout.variadic.get(self.at.variadic).copied().unwrap_or(0);
        self.at.variadic += 1;
        let data = Data { first: self.at.buffer, count: count.unsigned_abs() };
        self.at.buffer = self.at.buffer.saturating_add(data.count as usize);
        let used = self.used(&stored, data)?;
        if used.is_empty() {
            // All values are inline.
            self.push(stored);
            self.header.variadic.push(0);
            return Ok(());
        }
        let apart: u64 = used.values().map(|used| used.range.end - used.range.start).sum();
        let bytes: u64 = used.values().map(|used| used.bytes).sum();
        if apart > SPREAD_MAX * bytes {
            return self.gather(&stored, data, bytes);
        }
        self.check_room(apart)?;
        let mut numbers = BTreeMap::new();
        let mut parts = Vec::new();
        for (number, Used { range, .. }) in used {
            numbers.insert(number, (parts.len() as u32, range.start as u32));
            let buffer = self.data_buffer(data, number)?;
            parts.push(self.take(&buffer, range)?);
        }
        let views = rewritten(&stored, |number, offset| {
            let (number, start) = numbers[&number];
            (number, offset - start)
        });
        self.push(views);
        self.header.variadic.push(parts.len() as i64);
        parts.into_iter().for_each(|part| self.push(part));
        Ok(())
    }

    /// Where data buffer `number` of a column lies.
    fn data_buffer(&self, data: Data, number: u32) -> Result<Range<u64>, Stop> {
        let at = data.first.checked_add(number as usize);
        let buffer = at.filter(|_| u64::from(number) < data.count);
        let buffer = buffer.and_then(|at| self.block.buffers.get(at)).cloned();
        let lacking = || FileError::damaged(format!("a view points at data buffer {number}"));
        buffer.ok_or_else(|| lacking().into())
    }

    /// What the views use of each data buffer that they use.
    fn used(&self, views: &[u8], data: Data) -> Result<BTreeMap<u32, Used>, Stop> {
        let mut used: BTreeMap<u32, Used> = BTreeMap::new();
        for (length, number, offset) in long(views) {
            let value = u64::from(offset)..u64::from(offset) + u64::from(length);
            let buffer = self.data_buffer(data, number)?;
            if value.end > buffer.end - buffer.start {
                let what = format!("a view points past the end of data buffer {number}");
                return Err(FileError::damaged(what).into());
            }
            let first = || Used { range: value.clone(), bytes: 0 };
            let slot = used.entry(number).or_insert_with(first);
            slot.range = slot.range.start.min(value.start)..slot.range.end.max(value.end);
            slot.bytes += u64::from(length);
        }
        Ok(used)
    }

    /// Copies the values, which lie far apart, into one buffer.
    fn gather(&mut self, views: &[u8], data: Data, bytes: u64) -> Result<(), Stop> {
        self.check_room(bytes)?;
        let mut gathered = Vec::with_capacity(bytes as usize);
        let mut starts = Vec::new();
        for (length, number, offset) in long(views) {
            starts.push(gathered.len() as u32);
            let value = u64::from(offset)..u64::from(offset) + u64::from(length);
            let buffer = self.data_buffer(data, number)?;
            gathered.extend_from_slice(&self.take(&buffer, value)?);
        }
        let mut starts = starts.into_iter();
        let views = rewritten(views, |_, _| (0, starts.next().expect("one for each long view")));
        self.push(views);
        self.header.variadic.push(1);
        self.push(Buffer::from_vec(gathered));
        Ok(())
    }
}

/// Length, buffer's number and offset of each view that has them.
fn long(views: &[u8]) -> impl Iterator<Item = (u32, u32, u32)> {
    let views = views.as_chunks::<VIEW_BYTES>().0.iter();
    views.map(|view| (word(view, 0), word(view, 8), word(view, 12))).filter(is_long)
}

fn is_long((length, ..): &(u32, u32, u32)) -> bool {
    *length > INLINE_BYTES
}

fn word(view: &[u8; VIEW_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]])
}

/// The views with another buffer's number and offset where they have them.
fn rewritten(views: &[u8], mut of: impl FnMut(u32, u32) -> (u32, u32)) -> Buffer {
    let views = views.as_chunks::<VIEW_BYTES>().0.iter();
    let views = views.map(|view| {
        let mut view = *view;
        let (number, offset) = (word(&view, 8), word(&view, 12));
        if is_long(&(word(&view, 0), number, offset)) {
            let (number, offset) = of(number, offset);
            view[8..12].copy_from_slice(&number.to_le_bytes());
            view[12..].copy_from_slice(&offset.to_le_bytes());
        }
        u128::from_le_bytes(view)
    });
    Buffer::from_vec(views.collect::<Vec<u128>>())
}
