//! A connection of OpenSSL whose failures are told in the words of rustls.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use openssl::ssl::SslRef;
use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};
use tokio_openssl::SslStream;

use super::{failure, raw};

pub(crate) struct Stream<S> {
    stream: SslStream<BufWriter<S>>,
    /// Whether the peer was told that nothing follows.
    closing: bool,
}

impl<S> Stream<S> {
    pub(super) fn new(stream: SslStream<BufWriter<S>>) -> Self {
        Self { stream, closing: false }
    }

    pub(crate) fn ssl(&self) -> &SslRef {
        self.stream.ssl()
    }

    pub(crate) fn get_ref(&self) -> &BufWriter<S> {
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
        let before = buf.filled().len();
        ready!(told(Pin::new(&mut self.stream).poll_read(cx, buf)))?;
        let ended = buf.filled().len() == before && buf.remaining() > 0;
        if ended && !raw::peer_has_closed(self.ssl()) {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        Poll::Ready(Ok(()))
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
        told(Pin::new(&mut self.stream).poll_flush(cx))
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
