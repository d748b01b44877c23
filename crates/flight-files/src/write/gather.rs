//! A file written from buffers where they lie, many by one system call.
//!
//! Buffers are shared, not copied, until enough of them wait for a large write. Short pieces
//! (headers, padding) are copied beside each other, which is cheaper than a slice of their own.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};

use arrow_buffer::Buffer;

use crate::limits::WRITE_BUFFER_BYTES;

/// Pieces up to this size are copied.
const COPIED_BYTES_MAX: usize = 512;

#[derive(Debug)]
pub(super) struct GatherWriter {
    file: File,
    waiting: Vec<Piece>,
    /// The bytes of all [`Piece::Copied`], in their order.
    copied: Vec<u8>,
    waiting_bytes: usize,
    /// Bytes of the file, those that wait counted.
    bytes: u64,
}

#[derive(Debug)]
enum Piece {
    /// So many of the copied bytes.
    Copied(usize),
    Shared(Buffer),
}

impl GatherWriter {
    pub(super) fn new(file: File) -> Self {
        Self { file, waiting: Vec::new(), copied: Vec::new(), waiting_bytes: 0, bytes: 0 }
    }

    /// Bytes of the file, once all is written.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a copy of `bytes`.
    pub(super) fn copy(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
        match self.waiting.last_mut() {
            Some(Piece::Copied(length)) => *length += bytes.len(),
            _ => self.waiting.push(Piece::Copied(bytes.len())),
        }
        self.count(bytes.len());
    }

    /// Appends `buffer`, which is kept until it is written.
    pub(super) fn share(&mut self, buffer: Buffer) {
        if buffer.len() <= COPIED_BYTES_MAX {
            return self.copy(&buffer);
        }
        self.count(buffer.len());
        self.waiting.push(Piece::Shared(buffer));
    }

    fn count(&mut self, bytes: usize) {
        self.waiting_bytes += bytes;
        self.bytes += bytes as u64;
    }

    /// Writes what waits if that is enough for a large write.
    ///
    /// # Errors
    ///
    /// The disk's. What was written by then is unknown: the file is lost.
    pub(super) fn flush_if_large(&mut self) -> io::Result<()> {
        if self.waiting_bytes < WRITE_BUFFER_BYTES {
            return Ok(());
        }
        self.flush()
    }

    /// Writes what waits, and lets go of its buffers.
    ///
    /// # Errors
    ///
    /// Those of [`flush_if_large`](Self::flush_if_large).
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let mut copied = self.copied.as_slice();
        let slices = self.waiting.iter().map(|piece| match piece {
            Piece::Shared(buffer) => IoSlice::new(buffer),
            Piece::Copied(length) => {
                let (slice, rest) = copied.split_at(*length);
                copied = rest;
                IoSlice::new(slice)
            }
        });
        write_all_vectored(&mut self.file, &mut slices.collect::<Vec<_>>())?;
        self.waiting.clear();
        self.copied.clear();
        self.waiting_bytes = 0;
        Ok(())
    }

    /// The file with all in it.
    ///
    /// # Errors
    ///
    /// Those of [`flush_if_large`](Self::flush_if_large).
    pub(super) fn finish(mut self) -> io::Result<File> {
        self.flush()?;
        Ok(self.file)
    }
}

/// `Write::write_all_vectored`, which is not stable yet. The standard library cuts what it passes
/// to the system at the number of slices that the system takes.
fn write_all_vectored(out: &mut impl Write, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0); // past empty ones at the front
    while !slices.is_empty() {
        match out.write_vectored(slices) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;

    /// Takes at most so many bytes of a call, and is interrupted before each.
    struct Slow {
        taken: Vec<u8>,
        bytes_max: usize,
        interrupted: bool,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.interrupted = !self.interrupted;
            if self.interrupted {
                return Err(ErrorKind::Interrupted.into());
            }
            let taken = bytes.len().min(self.bytes_max);
            self.taken.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn check(bytes_max: usize, parts: &[&[u8]]) -> io::Result<()> {
        let mut out = Slow { taken: Vec::new(), bytes_max, interrupted: false };
        let mut slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
        write_all_vectored(&mut out, &mut slices)?;
        assert_eq!(out.taken, parts.concat(), "{bytes_max} bytes a call");
        Ok(())
    }

    #[test]
    fn short_and_interrupted_writes_go_on_where_they_stopped() {
        for bytes_max in [1, 2, 3, 7, 100] {
            check(bytes_max, &[b"abc", b"", b"defgh", b"i"]).unwrap();
        }
        check(1, &[b"", b""]).unwrap();
        check(1, &[]).unwrap();
    }

    #[test]
    fn a_write_that_takes_nothing_is_an_error() {
        assert_eq!(check(0, &[b"a"]).unwrap_err().kind(), ErrorKind::WriteZero);
    }

    #[test]
    fn pieces_of_every_size_keep_their_order() {
        let mut out = GatherWriter::new(tempfile::tempfile().unwrap());
        let mut expected = Vec::new();
        // More slices than one system call takes, and more bytes than wait.
        for index in 0..3000usize {
            let piece = vec![index as u8; index * 7 % 1500];
            expected.extend_from_slice(&piece);
            match index % 3 {
                0 => out.copy(&piece),
                _ => out.share(Buffer::from(piece)),
            }
            out.flush_if_large().unwrap();
            assert!(out.waiting_bytes < WRITE_BUFFER_BYTES);
        }
        assert_eq!(out.bytes(), expected.len() as u64);
        let mut file = out.finish().unwrap();
        let mut found = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut found).unwrap();
        assert!(found == expected, "{} bytes of {}", found.len(), expected.len());
    }

    #[test]
    fn long_pieces_are_not_copied_and_let_go_of_when_written() {
        let mut out = GatherWriter::new(tempfile::tempfile().unwrap());
        let buffer = Buffer::from(vec![7; COPIED_BYTES_MAX + 1]);
        out.share(buffer.clone());
        assert!(out.copied.is_empty());
        assert_eq!(buffer.strong_count(), 2);
        out.flush().unwrap();
        assert_eq!(buffer.strong_count(), 1);
    }
}
