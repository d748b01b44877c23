//! When bytes last moved over a connection.
//!
//! A call's answer is over for us once HTTP/2 has taken it, while its bytes may still be on their
//! way; only the socket knows whether they move.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Shared by a connection's stream and whoever waits for it to fall silent.
#[derive(Debug, Clone)]
pub(super) struct Pulse {
    began: Instant,
    last_ms: Arc<AtomicU64>,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), last_ms: Arc::default() }
    }

    fn beat(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(now, Ordering::Relaxed);
    }

    /// How long no byte has moved.
    pub(super) fn silent_for(&self) -> Duration {
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        self.began.elapsed().saturating_sub(last)
    }
}

/// A stream with a pulse.
pub(super) struct Pulsing<S> {
    pub(super) stream: S,
    pub(super) pulse: Pulse,
}

impl<S> Pulsing<S> {
    fn felt(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(outcome, Poll::Ready(Ok(bytes)) if bytes > 0) {
            self.pulse.beat();
        }
        outcome
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Pulsing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.pulse.beat();
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Pulsing<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.felt(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.felt(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
