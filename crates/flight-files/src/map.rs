//! A file mapped into memory.
//!
//! A mapped file that somebody overwrites changes under its readers, and one that somebody cuts
//! reads as zeros from then on ([`guard`]). Either is found afterwards, by whoever looks at the file
//! again or asks [`Mapping::is_lost`]; until then nothing may rest on the bytes being what they were
//! when they were checked.

#![allow(
    unsafe_code,
    reason = "mapping a file cannot be proven safe by a compiler; see `Mapping::of`"
)]

mod guard;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use memmap2::{Advice, Mmap};

use self::guard::Guard;

/// The file is brought into memory by pieces of this size.
const CHUNK_BYTES: usize = 1 << 20;

/// The whole of a file, read-only.
#[derive(Debug, Clone)]
pub(crate) struct Mapping(Arc<Mapped>);

#[derive(Debug)]
struct Mapped {
    /// Dropped before the memory is.
    guard: Guard,
    memory: Mmap,
    /// A bit for each chunk that was brought into memory: asking again costs a look at each page.
    populated: Box<[AtomicU64]>,
}

impl Mapping {
    /// Maps `file`.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the memory is only read, as bytes, for which every value is valid; no reference
        // to it is ever taken for anything but `[u8]`. The bytes may change while such a reference
        // lives, if somebody writes to the file. All that reads them hands them on, copies them, or
        // passes them to a decoder whose result is dropped; every number taken from them that
        // selects other bytes is copied before it is checked. If the file is cut, the guard puts
        // zeros in place of what is gone.
        let memory = unsafe { Mmap::map(file)? };
        let guard = Guard::of(&memory)?;
        let chunks = memory.len().div_ceil(CHUNK_BYTES);
        let populated = (0..chunks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self(Arc::new(Mapped { guard, memory, populated })))
    }

    /// Whether some of the file was gone when it was read. What was read since may be zeros.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.guard.is_lost()
    }

    /// All bytes; what is sliced from them keeps the mapping.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }

    /// Brings a part of the file into memory, so that whoever reads it next does not wait for the
    /// disk. A part that is gone is an error.
    ///
    /// Once: what the system takes back under pressure, the reader waits for.
    pub(crate) fn populate(&self, part: Range<usize>) -> io::Result<()> {
        if part.is_empty() {
            return Ok(());
        }
        let Mapped { memory, populated, .. } = &*self.0;
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
