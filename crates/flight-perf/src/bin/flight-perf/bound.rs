//! What the machine can do at all, measured on one core: copying memory, reading and writing files
//! where the measured ones lie, and sealing records.
//!
//! With raw TCP, which is an arm of its own, these bound every row.

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use flight_perf::sets::{SetName, WorkingSet};

use serde::{Deserialize, Serialize};

use crate::statistics::{Median, median};

/// Plaintext of a TLS record (RFC 8446, 5.1).
const RECORD_BYTES: usize = 16 << 10;
const REPEATS: usize = 5;
/// Bytes read at once, which stay in a second-level cache.
const READ_BYTES: usize = 384 << 10;

/// Bytes a second; a line of JSON between the process that measures and the one that reports.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Limits {
    pub(crate) memcpy: Median,
    /// From a file into memory that is used again and again.
    pub(crate) read: Median,
    /// Into a new file, which is removed.
    pub(crate) write: Median,
    pub(crate) seal: Median,
    pub(crate) open: Median,
}

/// Measures for about `seconds` each, where this process runs, with files in `folder`.
///
/// # Errors
///
/// The working set or the key cannot be made.
pub(crate) fn measure(seconds: f64, folder: &Path) -> Result<Limits> {
    let bodies = WorkingSet::generate(SetName::Taxi).bodies()?;
    let largest = bodies.iter().map(bytes::Bytes::len).max().unwrap_or(0);
    // Two batches' worth of memory in turn, as a receiver recycles it.
    let mut sink = [vec![0u8; largest], vec![0u8; largest]];
    let mut turn = 0;
    let mut source = bodies.iter().cycle();
    let copy = || {
        let body = source.next().map_or(&[][..], |body| body.as_ref());
        turn ^= 1;
        sink[turn][..body.len()].copy_from_slice(body);
        black_box(&sink[turn]);
        body.len()
    };
    let key = |bytes: &[u8]| {
        let key = UnboundKey::new(&AES_128_GCM, bytes);
        key.map(LessSafeKey::new).map_err(|_| anyhow!("16 bytes make no key of AES-128"))
    };
    let key = key(&[7; 16])?;
    let mut record = vec![0u8; RECORD_BYTES];
    let nonce = || Nonce::assume_unique_for_key([0; NONCE_LEN]);
    let tag = key
        .seal_in_place_separate_tag(nonce(), Aad::empty(), &mut record)
        .map_err(|_| anyhow!("a record could not be sealed"))?;
    let sealed = [record.as_slice(), tag.as_ref()].concat();
    let mut buffer = sealed.clone();
    // The nonce is used again: what is sealed here never leaves this function.
    let seal = || {
        let sealed = key.seal_in_place_separate_tag(nonce(), Aad::empty(), &mut record);
        usize::from(black_box(sealed).is_ok()) * RECORD_BYTES
    };
    let open = || {
        buffer.copy_from_slice(&sealed);
        let opened = key.open_in_place(nonce(), Aad::empty(), &mut buffer);
        usize::from(black_box(opened).is_ok()) * RECORD_BYTES
    };
    let (mut offset, mut part) = (0, vec![0u8; READ_BYTES]);
    let file = filled(&bodies, folder)?;
    let read = || {
        let count = file.read_at(&mut part, offset).unwrap_or(0);
        offset = if count < READ_BYTES { 0 } else { offset + count as u64 };
        black_box(&part);
        count
    };
    let write =
        || filled(&bodies, folder).map_or(0, |_| bodies.iter().map(bytes::Bytes::len).sum());
    Ok(Limits {
        memcpy: rate(seconds, 16, copy)?,
        read: rate(seconds, 16, read)?,
        write: rate(seconds, 1, write)?,
        seal: rate(seconds, 16, seal)?,
        open: rate(seconds, 16, open)?,
    })
}

/// A file of all bodies, which goes with its handle.
fn filled(bodies: &[bytes::Bytes], folder: &Path) -> std::io::Result<File> {
    let mut file = tempfile::tempfile_in(folder)?;
    bodies.iter().try_for_each(|body| file.write_all(body))?;
    Ok(file)
}

/// Does `step` for `seconds` in all, `steps` of them between two looks at the clock; the median of a few rates of the bytes that it says it did.
fn rate(seconds: f64, steps: usize, mut step: impl FnMut() -> usize) -> Result<Median> {
    let each = Duration::from_secs_f64(seconds / REPEATS as f64);
    let mut one = || {
        let started = Instant::now();
        let mut bytes = 0;
        while started.elapsed() < each {
            bytes += (0..steps).map(|_| step()).sum::<usize>();
        }
        bytes as f64 / started.elapsed().as_secs_f64()
    };
    let rates: Vec<f64> = (0..REPEATS).map(|_| one()).collect();
    median(&rates).filter(|rate| rate.value > 0.0).ok_or_else(|| anyhow!("nothing was done"))
}
