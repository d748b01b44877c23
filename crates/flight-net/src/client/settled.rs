//! Notes when the server has acknowledged our settings: both ends then know those of the other
//! (RFC 9113, 3.4: its own are the first that it sends), and HTTP/2 is set up.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

/// Of a frame's header (RFC 9113, 4.1).
const HEADER_BYTES: usize = 9;
/// The type of SETTINGS, and its flag ACK (RFC 9113, 6.5).
const SETTINGS: u8 = 0x4;
const ACK: u8 = 0x1;

/// How long HTTP/2 took, once it is set up.
pub(super) type Told = watch::Receiver<Option<Duration>>;

/// A stream of frames that is read up to the acknowledgement, and passed on as it is.
pub(super) struct Settling<S> {
    stream: S,
    frames: Frames,
    began: Instant,
    /// Absent once it has told.
    tell: Option<watch::Sender<Option<Duration>>>,
}

impl<S> Settling<S> {
    pub(super) fn new(stream: S) -> (Self, Told) {
        let (tell, told) = watch::channel(None);
        let tell = Some(tell);
        (Self { stream, frames: Frames::default(), began: Instant::now(), tell }, told)
    }
}

/// Where a reader of frames is.
#[derive(Debug, Default)]
struct Frames {
    header: [u8; HEADER_BYTES],
    /// Bytes of the header that are there.
    have: usize,
    /// Bytes of the payload that are still to come.
    payload_left: usize,
}

impl Frames {
    /// Whether the acknowledgement is among what was read now.
    fn acknowledge(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let skipped = self.payload_left.min(bytes.len());
            self.payload_left -= skipped;
            bytes = &bytes[skipped..];
            let taken = (HEADER_BYTES - self.have).min(bytes.len());
            self.header[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
            self.have += taken;
            bytes = &bytes[taken..];
            if self.have == HEADER_BYTES {
                let [a, b, c, kind, flags, ..] = self.header;
                self.payload_left = u32::from_be_bytes([0, a, b, c]) as usize;
                self.have = 0;
                if kind == SETTINGS && flags & ACK != 0 {
                    return true;
                }
            }
        }
        false
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Settling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buf);
        if self.tell.is_some() && self.frames.acknowledge(&buf.filled()[before..]) {
            let took = self.began.elapsed();
            // Nobody has to listen.
            let _ = self.tell.take().map(|tell| tell.send(Some(took)));
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Settling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SETTINGS with one setting, WINDOW_UPDATE, and the acknowledgement.
    const FRAMES: &[u8] = &[
        0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4, // an identifier and a value
        0, 0, 4, 8, 1, 0, 0, 0, 0, 0, 1, 0, 0, // its flag means nothing
        0, 0, 0, 4, 1, 0, 0, 0, 0,
    ];

    #[test]
    fn the_acknowledgement_is_found_however_the_bytes_come() {
        for size in 1..=FRAMES.len() {
            let mut frames = Frames::default();
            let found: Vec<bool> =
                FRAMES.chunks(size).map(|bytes| frames.acknowledge(bytes)).collect();
            let last = found.len() - 1;
            assert_eq!(found.iter().position(|found| *found), Some(last), "{size} at once");
        }
        let mut frames = Frames::default();
        assert!(!frames.acknowledge(&FRAMES[..FRAMES.len() - 9]), "settings alone are none");
    }
}
