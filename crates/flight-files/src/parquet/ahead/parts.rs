//! What of one scan is decoded, is being decoded, and may be decoded next.
//!
//! No threads and no locks: who decodes asks for a [`Job`], runs it, and brings it back. Decoded
//! batches and the pages of open readers count against the scan's bytes; only the batch that the
//! reader of the scan waits for is decoded whatever it costs, so that the scan always goes on.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};

use arrow_array::RecordBatch;
use flight_wire::BufferPool;

use super::pool::DecodeOptions;
use crate::error::{FileError, unwinding};
use crate::limits::{PARQUET_PAGE_BYTES, PARQUET_PARTS_MAX, PARQUET_READERS_MAX};
use crate::parquet::dictionaries::Dictionaries;
use crate::parquet::projection::Projection;
use crate::parquet::scan::ParquetScan;

/// One scan's parts in the order of their rows.
pub(super) struct Parts {
    projection: Arc<Projection>,
    /// Rows that were not taken yet.
    untaken: Range<u64>,
    /// Rows that belong to no part yet: the last of them.
    unclaimed: Range<u64>,
    /// Whether nothing is decoded until a batch is asked for.
    parked: bool,
    /// The next part's.
    next_id: u64,
    /// Of the row group that was cut last; the readers of its parts hold them, and pay for them.
    dictionaries: Weak<Dictionaries>,
    options: DecodeOptions,
    parts: VecDeque<Part>,
    /// What the parts cost together.
    bytes: u64,
}

/// Rows of one row group, read by one reader.
struct Part {
    /// Jobs are known by it.
    id: u64,
    state: State,
    /// Each with its bytes.
    batches: VecDeque<(RecordBatch, u64)>,
    /// What stands in the way after those batches.
    error: Option<FileError>,
    /// Bytes that its reader holds.
    held: u64,
    /// Bytes that its next batch is expected to take.
    batch_bytes: u64,
}

enum State {
    Waiting(Box<ParquetScan>),
    /// A job has its reader, and the bytes of its next batch are set aside.
    Running,
    Done,
}

/// A batch to decode.
pub(super) struct Job {
    part: u64,
    scan: Box<ParquetScan>,
}

/// A job that was run.
pub(super) struct Outcome {
    job: Job,
    result: Result<Option<RecordBatch>, FileError>,
    bytes: u64,
    held: u64,
}

/// Memory of a scan that was parked, freed when it is dropped.
pub(super) struct Parked {
    parts: VecDeque<Part>,
    /// Where the pages of their readers go.
    memory: BufferPool,
}

impl Drop for Parked {
    fn drop(&mut self) {
        self.parts.clear();
        self.memory.clear();
    }
}

/// What is there for the reader of a scan.
pub(super) enum Taken {
    Batch(RecordBatch),
    Failed(FileError),
    End,
}

impl Job {
    /// Decodes. A decoder that panics is the file's fault, and an error.
    pub(super) fn run(mut self) -> Outcome {
        let result = unwinding(|| self.scan.next_batch());
        let result = result.unwrap_or_else(|_| Err(FileError::damaged("it cannot be decoded")));
        let bytes = match &result {
            Ok(Some(batch)) => batch.get_array_memory_size() as u64,
            _ => 0,
        };
        let held = self.scan.held_bytes();
        Outcome { job: self, result, bytes, held }
    }
}

impl Parts {
    pub(super) fn new(
        projection: Arc<Projection>,
        rows: Range<u64>,
        options: DecodeOptions,
    ) -> Self {
        Self {
            projection,
            untaken: rows.clone(),
            unclaimed: rows,
            parked: false,
            next_id: 0,
            dictionaries: Weak::new(),
            options,
            parts: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Bytes of batches that wait, of readers, and of what is being decoded.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next batch to decode, where there is one that costs no more than `room`.
    pub(super) fn next_job(&mut self, room: u64) -> Option<Job> {
        if self.parked {
            return None;
        }
        let room = room.min(self.options.scan_bytes.saturating_sub(self.bytes));
        let (mut readers, mut startable) = (0, None);
        for (index, part) in self.parts.iter().enumerate() {
            readers += usize::from(!matches!(part.state, State::Done));
            let awaited = index == 0 && part.batches.is_empty();
            let affordable = awaited || part.batch_bytes <= room;
            if startable.is_none() && affordable && matches!(part.state, State::Waiting(_)) {
                startable = Some(index);
            }
        }
        let index = match startable {
            Some(index) => index,
            None if readers < self.options.threads.get().min(PARQUET_READERS_MAX) => {
                self.open_part(room)?
            }
            None => return None,
        };
        let part = &mut self.parts[index];
        let State::Waiting(scan) = std::mem::replace(&mut part.state, State::Running) else {
            unreachable!("only a part that waits was chosen");
        };
        self.bytes += part.batch_bytes;
        Some(Job { part: part.id, scan })
    }

    /// Takes a job back, or returns it where nobody waits for it any more: a part before its own
    /// has failed meanwhile, or the scan was parked.
    pub(super) fn finish(&mut self, outcome: Outcome) -> Option<Outcome> {
        let id = outcome.job.part;
        let Some(index) = self.parts.iter().position(|part| part.id == id) else {
            return Some(outcome);
        };
        let Outcome { job: Job { mut scan, .. }, result, bytes, held } = outcome;
        let is_last = index + 1 == self.parts.len();
        let part = &mut self.parts[index];
        self.bytes = self.bytes - part.batch_bytes - part.held + bytes + held;
        part.held = held;
        let more = match result {
            Ok(Some(batch)) => {
                part.batches.push_back((batch, bytes));
                part.batch_bytes = bytes;
                scan.remaining() > 0
                    || (is_last
                        && extend(&self.projection, &mut scan, &mut self.unclaimed, &self.options))
            }
            Ok(None) => false,
            Err(error) => {
                part.error = Some(error);
                self.unclaimed = 0..0;
                let after: Vec<_> = self.parts.drain(index + 1..).collect();
                after.iter().for_each(|part| self.bytes -= part.cost());
                false
            }
        };
        let part = &mut self.parts[index];
        if more {
            part.state = State::Waiting(scan);
        } else {
            part.state = State::Done;
            self.bytes -= std::mem::take(&mut part.held);
        }
        self.drop_empty();
        None
    }

    /// What comes next, or `None` where it is still to be decoded.
    pub(super) fn take(&mut self) -> Option<Taken> {
        self.parked = false;
        let Some(first) = self.parts.front_mut() else {
            return self.unclaimed.is_empty().then_some(Taken::End);
        };
        if let Some((batch, bytes)) = first.batches.pop_front() {
            self.bytes -= bytes;
            self.untaken.start += batch.num_rows() as u64;
            self.drop_empty();
            return Some(Taken::Batch(batch));
        }
        let error = first.error.take()?;
        self.parts.clear();
        self.untaken = 0..0;
        self.bytes = 0;
        Some(Taken::Failed(error))
    }

    /// Gives up all that was decoded and not taken, for the caller to drop. It is decoded again
    /// once a batch is asked for.
    pub(super) fn park(&mut self) -> Parked {
        self.parked = true;
        self.unclaimed = self.untaken.clone();
        self.dictionaries = Weak::new();
        self.bytes = 0;
        let parts = std::mem::take(&mut self.parts);
        Parked { parts, memory: self.projection.memory.clone() }
    }

    /// Drops the first parts as long as nothing is left of them.
    fn drop_empty(&mut self) {
        let is_empty = |part: &Part| {
            matches!(part.state, State::Done) && part.batches.is_empty() && part.error.is_none()
        };
        while self.parts.front().is_some_and(is_empty) {
            self.parts.pop_front();
        }
    }

    /// Makes a part of the next rows, where it costs no more than `room`; gives its index.
    fn open_part(&mut self, room: u64) -> Option<usize> {
        if self.unclaimed.is_empty() || self.parts.len() >= PARQUET_PARTS_MAX {
            return None;
        }
        let projection = &self.projection;
        let file = &projection.file;
        let group = &file.groups[file.group_of(self.unclaimed.start)];
        let batch_rows = projection.usual_batch_rows(group);
        let batch_bytes = projection.bytes_of(group, batch_rows);
        let held = projection.page_bytes(group, PARQUET_PAGE_BYTES);
        if !self.parts.is_empty() && batch_bytes.saturating_add(held) > room {
            return None;
        }
        let rows = next_rows(projection, &self.unclaimed, &self.options);
        let (first_row, reach) = (rows.start, self.unclaimed.end);
        let shared = self.dictionaries.upgrade().filter(|_| first_row > group.first_row);
        let dictionaries = shared.unwrap_or_else(|| {
            Dictionaries::new(file.metadata.file_metadata().schema_descr().num_columns())
        });
        self.dictionaries = Arc::downgrade(&dictionaries);
        self.unclaimed.start = rows.end;
        let scan = ParquetScan::part(Arc::clone(projection), rows, reach, dictionaries);
        let state = State::Waiting(Box::new(scan));
        let (batches, error) = (VecDeque::new(), None);
        self.bytes += held;
        let id = self.next_id;
        self.next_id += 1;
        self.parts.push_back(Part { id, state, batches, error, held, batch_bytes });
        Some(self.parts.len() - 1)
    }
}

/// What tests look at.
#[cfg(test)]
impl Parts {
    /// Bytes of what is there, counted anew; nothing is being decoded.
    pub(super) fn held_in_memory(&self) -> u64 {
        let of = |part: &Part| {
            let batches =
                part.batches.iter().map(|(batch, _)| batch.get_array_memory_size() as u64);
            let reader = match &part.state {
                State::Waiting(scan) => scan.held_bytes(),
                State::Running => panic!("a part is being decoded"),
                State::Done => 0,
            };
            batches.sum::<u64>() + reader
        };
        self.parts.iter().map(of).sum()
    }

    /// How many parts are there.
    pub(super) fn count(&self) -> usize {
        self.parts.len()
    }
}

impl Part {
    fn cost(&self) -> u64 {
        let running = if matches!(self.state, State::Running) { self.batch_bytes } else { 0 };
        self.held + running + self.batches.iter().map(|(_, bytes)| bytes).sum::<u64>()
    }
}

/// Lets `scan` go on with the rows after its own: its reader is open there, and costs nothing more.
fn extend(
    projection: &Projection,
    scan: &mut ParquetScan,
    unclaimed: &mut Range<u64>,
    options: &DecodeOptions,
) -> bool {
    let (file, next) = (&projection.file, unclaimed.start);
    if unclaimed.is_empty() || file.groups[file.group_of(next)].first_row == next {
        return false;
    }
    unclaimed.start = next_rows(projection, unclaimed, options).end;
    scan.extend(unclaimed.start);
    true
}

/// The first of the `unclaimed` rows that make a part: whole batches, so that one ends where the
/// part does.
fn next_rows(
    projection: &Projection,
    unclaimed: &Range<u64>,
    options: &DecodeOptions,
) -> Range<u64> {
    let file = &projection.file;
    let group = &file.groups[file.group_of(unclaimed.start)];
    let end = (group.first_row + group.rows).min(unclaimed.end);
    // Rows within lists can be passed over only by decoding them, and one reader needs no parts.
    if options.threads.get() == 1 || !projection.can_skip(group) {
        return unclaimed.start..end;
    }
    let batch_rows = projection.usual_batch_rows(group);
    let batches = options.part_bytes / projection.bytes_of(group, batch_rows).max(1);
    let rows = batch_rows.saturating_mul(batches.max(1));
    // A part opens pages and dictionaries anew: half of one is not worth it.
    let is_most = (end - unclaimed.start) / 3 < rows / 2;
    unclaimed.start..if is_most { end } else { unclaimed.start + rows }
}
