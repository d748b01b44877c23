//! A file mapped into memory.
//!
//! For files that are only ever replaced by rename, where the operator promises so. A mapped file
//! that somebody truncates kills the process on the next touch (SIGBUS), and one that is
//! overwritten changes under its readers, so whoever maps a file must have that promise;
//! everything else is read with `pread`.

#![allow(
    unsafe_code,
    reason = "mapping a file cannot be proven safe by a compiler; see `Mapping::of`"
)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use memmap2::{Advice, Mmap};

/// The file is brought into memory by pieces of this size.
const CHUNK_BYTES: usize = 1 << 20;

/// The whole of a file, read-only.
#[derive(Debug, Clone)]
pub(crate) struct Mapping(Arc<Mapped>);

#[derive(Debug)]
struct Mapped {
    memory: Mmap,
    /// A bit for each chunk that was brought into memory: asking again costs a look at each page.
    populated: Box<[AtomicU64]>,
}

impl Mapping {
    /// Maps `file`, of which the caller knows that nobody truncates it or writes to it in place.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the memory is only read, as bytes, for which every value is valid; no reference
        // to it is ever taken for anything but `[u8]`. That the bytes do not change while such a
        // reference lives is the promise that callers need. If it is broken by a write, readers
        // see other bytes, and every index computed from them is checked; if it is broken by a
        // truncation, the kernel ends the process.
        let memory = unsafe { Mmap::map(file)? };
        let chunks = memory.len().div_ceil(CHUNK_BYTES);
        let populated = (0..chunks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self(Arc::new(Mapped { memory, populated })))
    }

    /// All bytes; what is sliced from them keeps the mapping.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }

    /// Brings a part of the file into memory, so that whoever reads it next does not wait for the
    /// disk. A part that is gone is an error here, and not yet the end of the process.
    ///
    /// Once: what the system takes back under pressure, the reader waits for.
    pub(crate) fn populate(&self, part: Range<usize>) -> io::Result<()> {
        if part.is_empty() {
            return Ok(());
        }
        let Mapped { memory, populated } = &*self.0;
        for chunk in part.start / CHUNK_BYTES..part.end.div_ceil(CHUNK_BYTES) {
            let (word, bit) = (&populated[chunk / 64], 1 << (chunk % 64));
            if word.load(Ordering::Relaxed) & bit != 0 {
                continue;
            }
            let start = chunk * CHUNK_BYTES;
            let length = CHUNK_BYTES.min(memory.len() - start);
            match memory.advise_range(Advice::PopulateRead, start, length) {
                // A kernel before Linux 5.14 does not know how; then the reader waits.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                other => other?,
            }
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0.memory
    }
}
