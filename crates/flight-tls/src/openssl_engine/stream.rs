//! A connection of OpenSSL whose failures are told in the words of rustls.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use openssl::ssl::SslRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_openssl::SslStream;

use super::gathered::Gathered;
use super::{failure, raw};

pub(crate) struct Stream<S> {
    stream: SslStream<Gathered<S>>,
    /// Whether the peer was told that nothing follows.
    closing: bool,
    /// Whether reading has failed: after that no end is a good one.
    failed: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream<S> {
    /// A connection whose handshake is done, once its last words are out.
    pub(super) async fn begun(stream: SslStream<Gathered<S>>) -> Self {
        let mut begun = Self { stream, closing: false, failed: false };
        // A peer that has gone meanwhile, as one that only looks, is told of by what comes next.
        let _ = poll_fn(|cx| begun.stream.get_mut().poll_drain(cx)).await;
        begun
    }
}

impl<S> Stream<S> {
    pub(crate) fn ssl(&self) -> &SslRef {
        self.stream.ssl()
    }

    pub(crate) fn get_ref(&self) -> &Gathered<S> {
        self.stream.get_ref()
    }
}

fn told<T>(done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
    done.map_err(failure::of_io)
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.failed {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        let before = buf.filled().len();
        let read = ready!(told(Pin::new(&mut self.stream).poll_read(cx, buf)));
        let ended = buf.filled().len() == before && buf.remaining() > 0;
        let read = match read {
            Ok(()) if ended && !raw::peer_has_closed(self.ssl()) => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            read => read,
        };
        self.failed = read.is_err();
        Poll::Ready(read)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        told(Pin::new(&mut self.stream).poll_write(cx, buf))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(told(Pin::new(&mut self.stream).poll_flush(cx)))?;
        self.stream.get_mut().poll_drain(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.closing {
            // With room for it, the goodbye goes out at once.
            ready!(self.as_mut().poll_flush(cx))?;
            self.closing = true;
            return told(Pin::new(&mut self.stream).poll_shutdown(cx));
        }
        // Said again, it would wait for the peer's, and take data that comes before that amiss.
        Pin::new(&mut self.stream).get_pin_mut().poll_shutdown(cx)
    }
}
