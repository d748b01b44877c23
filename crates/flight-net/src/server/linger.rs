//! Closing a socket without losing what was just written to it.
//!
//! A socket that is closed with bytes unread, or that bytes reach after it was closed, resets its
//! connection, and the kernel throws away what it has not sent yet. An HTTP/2 peer sends to the
//! end: window updates for the very answer that it still reads. So the write side is closed first,
//! and what comes is read and dropped until the peer has closed its side too (RFC 9112, section
//! 9.6, tells the same of HTTP/1.1).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A peer that neither sends nor closes for this long is not waited for.
const SILENCE: Duration = Duration::from_secs(3);
/// Nor is one that sends on and on.
const LONGEST: Duration = Duration::from_secs(30);

/// A socket whose shutdown ends when the peer has closed its side.
pub(super) struct Linger<S> {
    stream: S,
    closing: Option<Closing>,
}

struct Closing {
    deadline: Instant,
    silence: Pin<Box<Sleep>>,
}

impl<S> Linger<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, closing: None }
    }
}

impl<S: AsyncRead + Unpin> Linger<S> {
    /// Resolves once the peer has closed its side, or is not to be waited for.
    fn poll_closed(&mut self, closing: &mut Closing, cx: &mut Context<'_>) -> Poll<()> {
        let mut dropped = [0; 4096];
        loop {
            if closing.silence.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let mut buf = ReadBuf::new(&mut dropped);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf));
            if read.is_err() || buf.filled().is_empty() {
                return Poll::Ready(());
            }
            let until = (Instant::now() + SILENCE).min(closing.deadline);
            closing.silence.as_mut().reset(until);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Linger<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Linger<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
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

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut closing = if let Some(closing) = self.closing.take() {
            closing
        } else {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            let now = Instant::now();
            let silence = Box::pin(tokio::time::sleep_until(now + SILENCE));
            Closing { deadline: now + LONGEST, silence }
        };
        let closed = self.poll_closed(&mut closing, cx);
        self.closing = Some(closing);
        closed.map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(listener.accept(), TcpStream::connect(address));
        (near.unwrap().0, far.unwrap())
    }

    /// Fills what the kernel holds of a connection to its brim.
    async fn fill(stream: &TcpStream) -> usize {
        let mut bytes = 0;
        stream.writable().await.unwrap();
        while let Ok(written) = stream.try_write(&[7; 64 << 10]) {
            bytes += written;
        }
        bytes
    }

    #[tokio::test]
    async fn a_peer_that_sends_while_it_reads_gets_every_byte() {
        let (near, mut far) = connected().await;
        let bytes = fill(&near).await;
        far.write_all(b"never read by the server").await.unwrap();
        near.readable().await.unwrap();
        let closing = tokio::spawn(async move { Linger::new(near).shutdown().await });
        let mut got = vec![0; bytes];
        for part in got.chunks_mut(64 << 10) {
            far.read_exact(part).await.unwrap();
            far.write_all(b"window update").await.unwrap();
        }
        assert_eq!(far.read(&mut [0]).await.unwrap(), 0, "the end, and no reset");
        drop(far);
        closing.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_close_without_a_shutdown_loses_bytes() {
        let (near, mut far) = connected().await;
        let bytes = fill(&near).await;
        far.write_all(b"never read by the server").await.unwrap();
        near.readable().await.unwrap();
        drop(near);
        assert!(far.read_exact(&mut vec![0; bytes]).await.is_err(), "what the linger is for");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_is_not_waited_for() {
        let (near, far) = tokio::io::duplex(10);
        let began = Instant::now();
        Linger::new(near).shutdown().await.unwrap();
        assert_eq!(began.elapsed().as_secs(), SILENCE.as_secs());
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn nor_is_a_peer_that_sends_for_ever() {
        let (near, mut far) = tokio::io::duplex(10);
        let began = Instant::now();
        let mut linger = Linger::new(near);
        let chatter = async {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                far.write_all(b"ping").await.unwrap();
            }
        };
        tokio::select! {
            () = chatter => {}
            closed = linger.shutdown() => closed.unwrap(),
        }
        assert_eq!(began.elapsed().as_secs(), LONGEST.as_secs());
    }
}
