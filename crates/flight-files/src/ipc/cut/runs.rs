//! Run-end encoding: the runs that some rows lie in.

use std::ops::Range;

use arrow_buffer::Buffer;
use arrow_ipc::FieldNode;
use arrow_schema::DataType;

use super::{Cutter, Stop, integer, integers, times};
use crate::error::FileError;

impl Cutter<'_> {
    pub(super) fn runs(
        &mut self,
        ends: &DataType,
        values: &DataType,
        rows: &Range<u64>,
    ) -> Result<(), Stop> {
        let Some(width) = ends.primitive_width() else {
            return Err(FileError::damaged("run ends are no integers").into());
        };
        let node = self.block.nodes.get(self.at.node);
        let (count, _) = *node.ok_or_else(|| FileError::damaged("a batch lacks run ends"))?;
        self.at.node += 1;
        self.buffer()?; // their validity bitmap: run ends have no nulls
        let buffer = self.buffer()?;
        let runs = match rows.is_empty() {
            true => 0..0,
            false => {
                let first = self.run_after(&buffer, width, count, rows.start + 1)?;
                first..self.run_after(&buffer, width, count, rows.end)? + 1
            }
        };
        if runs.end > count {
            let what = format!("its runs end before row {}", rows.end);
            return Err(FileError::damaged(what).into());
        }
        let part = times(runs.start, width as u64)?..times(runs.end, width as u64)?;
        let stored = self.take(&buffer, part)?;
        let length = (runs.end - runs.start) as usize;
        let cut = (0..length).map(|run| integer(&stored, width, run));
        let cut = cut.map(|end| Ok(end?.clamp(rows.start, rows.end) - rows.start));
        let cut = cut.collect::<Result<Vec<u64>, Stop>>()?;
        self.header.nodes.push(FieldNode::new(length as i64, 0));
        self.push(Buffer::default());
        self.push(integers(cut.into_iter(), width));
        self.array_of(count, values, runs)
    }

    /// The first run that ends at `row` or after it, by bisection: run ends ascend.
    fn run_after(
        &self,
        buffer: &Range<u64>,
        width: usize,
        count: u64,
        row: u64,
    ) -> Result<u64, Stop> {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            let part = times(middle, width as u64)?..times(middle + 1, width as u64)?;
            let end = integer(&self.take(buffer, part)?, width, 0)?;
            if end < row {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}
