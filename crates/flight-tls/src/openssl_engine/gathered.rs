//! What OpenSSL writes, gathered: it hands each record of 16 KiB to its socket by itself.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are gathered before they have to go.
const GATHERED_BYTES: usize = 256 << 10;

/// A socket below OpenSSL. What was written goes out when there is much of it, when it is
/// [drained](Self::poll_drain), and before anything is read.
///
/// To OpenSSL a flush is done at once: it takes one that has to wait for a failure.
pub(crate) struct Gathered<S> {
    stream: S,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are out.
    out: usize,
}

impl<S> Gathered<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, buffer: Vec::new(), out: 0 }
    }

    pub(crate) fn get_ref(&self) -> &S {
        &self.stream
    }
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    /// Writes out what was gathered.
    pub(super) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.out < self.buffer.len() {
            let rest = &self.buffer[self.out..];
            match ready!(Pin::new(&mut self.stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.out += written,
            }
        }
        // A connection that is silent keeps no memory.
        (self.buffer, self.out) = (Vec::new(), 0);
        Pin::new(&mut self.stream).poll_flush(cx)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // The peer may wait for it; if it does not go out now, this task is woken when it can.
        if let Poll::Ready(drained) = self.poll_drain(cx) {
            drained?;
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.buffer.len() + buf.len() > GATHERED_BYTES {
            ready!(self.poll_drain(cx))?;
        }
        self.buffer.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What fails here fails again when it is drained, or written to.
        let _ = self.poll_drain(cx);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
