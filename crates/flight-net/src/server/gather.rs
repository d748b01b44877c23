//! Small writes of a connection, gathered into large ones.
//!
//! h2 writes and flushes each DATA frame by itself, and most peers take frames of 16 KiB only: a
//! system call and a wake-up of the reader for each cost more than the bytes. So what h2 writes in
//! small pieces is copied together, and goes out when there is much of it or when the connection
//! has nothing more to do for now, which is when its task has been polled. Large frames, which our
//! own clients take, pass without a copy.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::{GATHERED_BYTES, GATHERED_WRITE_BYTES};

/// Memory that a connection keeps when nothing waits.
const IDLE_BYTES: usize = 16 << 10;

/// The stream under a connection; a clone stays with whoever polls the connection.
pub(super) struct Gather<S>(Arc<Mutex<Gathered<S>>>);

struct Gathered<S> {
    stream: S,
    /// Written by h2 and not yet to the stream: what `sent` leaves of `waiting`.
    waiting: Vec<u8>,
    sent: usize,
    /// Why a write between two polls failed: what reading and writing answer from then on.
    failed: Option<io::ErrorKind>,
}

impl<S> Clone for Gather<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> Gather<S> {
    pub(super) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Gathered { stream, waiting: Vec::new(), sent: 0, failed: None })))
    }

    /// One task uses both ends in turn, so nobody ever waits here.
    fn gathered(&self) -> MutexGuard<'_, Gathered<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Gather<S> {
    /// Polls `connection`, and then writes what it left here.
    pub(super) async fn drive<T>(&self, mut connection: Pin<&mut impl Future<Output = T>>) -> T {
        std::future::poll_fn(|cx| {
            let outcome = connection.as_mut().poll(cx);
            if outcome.is_pending() {
                let mut gathered = self.gathered();
                if gathered.failed.is_none()
                    && let Poll::Ready(Err(error)) = gathered.poll_drain(cx)
                {
                    gathered.failed = Some(error.kind());
                    cx.waker().wake_by_ref(); // The connection learns it from its next read.
                }
            }
            outcome
        })
        .await
    }
}

impl<S> Gathered<S> {
    fn check(&self) -> io::Result<()> {
        self.failed.map_or(Ok(()), |kind| Err(kind.into()))
    }
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    /// Writes all that waits, to where the peer can see it.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_waiting(cx))?;
        if self.waiting.capacity() > IDLE_BYTES {
            // A connection that waits for its peer may do so for minutes, beside a thousand others.
            self.waiting = Vec::new();
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_write_waiting(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.waiting.len() {
            let rest = &self.waiting[self.sent..];
            match ready!(Pin::new(&mut self.stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
        self.waiting.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    fn poll_write_all(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        if bytes >= GATHERED_WRITE_BYTES {
            ready!(self.poll_write_waiting(cx))?;
            let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
            return match written {
                Poll::Ready(Err(error)) if error.raw_os_error() == Some(libc::EFAULT) => {
                    // The kernel found no memory behind a piece, which was to be that of a mapped
                    // file that has been cut. Whoever mapped it answers to those who read it here.
                    touch(pieces);
                    Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
                }
                written => written,
            };
        }
        if self.waiting.len() - self.sent + bytes > GATHERED_BYTES {
            ready!(self.poll_write_waiting(cx))?;
        }
        if self.sent > GATHERED_BYTES {
            self.waiting.drain(..self.sent);
            self.sent = 0;
        }
        if bytes > IDLE_BYTES / 4 && self.waiting.capacity() < GATHERED_BYTES {
            self.waiting.reserve_exact(GATHERED_BYTES);
        }
        for piece in pieces {
            self.waiting.extend_from_slice(piece);
        }
        Poll::Ready(Ok(bytes))
    }
}

/// Reads a byte of every page of these pieces.
fn touch(pieces: &[IoSlice<'_>]) {
    const PAGE_BYTES: usize = 4096;
    for piece in pieces {
        let pages = piece.iter().step_by(PAGE_BYTES).chain(piece.last());
        std::hint::black_box(pages.fold(0, |sum, byte| sum ^ byte));
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gather<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut gathered = self.gathered();
        gathered.check()?;
        Pin::new(&mut gathered.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gather<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.gathered().poll_write_all(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.gathered().poll_write_all(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.gathered().stream.is_write_vectored()
    }

    /// Nothing is done for h2's flush after each frame; [`drive`](Gather::drive) does it.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut gathered = self.gathered();
        gathered.check()?;
        ready!(gathered.poll_drain(cx))?;
        Pin::new(&mut gathered.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// What arrives of `sizes` written one after another, each flushed, through a pipe of `room`
    /// bytes.
    async fn check(sizes: &[usize], room: usize) {
        let (near, mut far) = tokio::io::duplex(room);
        let gather = Gather::new(near);
        let bytes = |index: usize, size: usize| vec![index as u8; size];
        let expected: Vec<u8> =
            sizes.iter().enumerate().flat_map(|(index, size)| bytes(index, *size)).collect();
        let mut writing = gather.clone();
        let connection = async move {
            for (index, size) in sizes.iter().enumerate() {
                writing.write_all(&bytes(index, *size)).await.unwrap();
                writing.flush().await.unwrap();
            }
            // As a connection that waits for its peer.
            let mut answer = [0];
            writing.read_exact(&mut answer).await.unwrap();
            writing.shutdown().await.unwrap();
        };
        let peer = async {
            let mut got = vec![0; expected.len()];
            far.read_exact(&mut got).await.unwrap();
            far.write_all(&[1]).await.unwrap();
            let mut rest = Vec::new();
            far.read_to_end(&mut rest).await.unwrap();
            (got, rest)
        };
        let connection = std::pin::pin!(connection);
        let ((), (got, rest)) = tokio::join!(gather.drive(connection), peer);
        assert!(got == expected && rest.is_empty(), "{sizes:?}");
    }

    #[tokio::test]
    async fn everything_arrives_in_order_before_the_connection_waits() {
        let small = vec![16 << 10; 100];
        let mixed = [9, 16 << 10, 1 << 20, 3, 200 << 10, 1, 1, 64 << 10, 500 << 10, 17];
        for room in [1 << 10, 64 << 10, 8 << 20] {
            check(&[], room).await;
            check(&[1], room).await;
            check(&small, room).await;
            check(&mixed, room).await;
        }
    }

    #[tokio::test]
    async fn small_writes_go_out_together() {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let gather = Gather::new(near);
        let mut writing = gather.clone();
        let connection = async move {
            for _ in 0..8 {
                writing.write_all(&[7; 1000]).await.unwrap();
                writing.flush().await.unwrap();
            }
            std::future::pending::<()>().await;
        };
        let connection = std::pin::pin!(connection);
        let peer = async {
            let mut got = vec![0; 1 << 16];
            far.read(&mut got).await.unwrap()
        };
        let read = tokio::select! {
            biased;
            () = gather.drive(connection) => 0,
            read = peer => read,
        };
        assert_eq!(read, 8000, "one read takes what eight writes gave");
    }

    #[tokio::test]
    async fn a_failed_write_ends_a_connection_that_only_reads() {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        // The peer takes no more bytes and sends none either: reading alone would wait for ever.
        far.shutdown(std::net::Shutdown::Read).unwrap();
        let gather = Gather::new(tokio::net::UnixStream::from_std(near).unwrap());
        let mut stream = gather.clone();
        let connection = async move {
            stream.write_all(&[7; 10]).await.unwrap();
            stream.read_u8().await.unwrap_err().kind()
        };
        let connection = std::pin::pin!(connection);
        assert_eq!(gather.drive(connection).await, io::ErrorKind::BrokenPipe);
        drop(far);
    }

    #[tokio::test]
    async fn a_peer_that_is_gone_is_an_error_of_the_next_write() {
        let (near, far) = tokio::io::duplex(1 << 10);
        drop(far);
        let mut writing = Gather::new(near);
        writing.write_all(&[7; 10]).await.unwrap();
        assert!(writing.shutdown().await.is_err());
        assert!(writing.write_all(&vec![7; 1 << 20]).await.is_err());
    }
}
