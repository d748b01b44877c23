//! A connection of OpenSSL whose failures are told in the words of rustls.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use openssl::ssl::SslRef;
use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};
use tokio_openssl::SslStream;

use super::failure;

pub(crate) struct Stream<S>(SslStream<BufWriter<S>>);

impl<S> Stream<S> {
    pub(super) fn new(stream: SslStream<BufWriter<S>>) -> Self {
        Self(stream)
    }

    pub(super) fn ssl(&self) -> &SslRef {
        self.0.ssl()
    }

    pub(crate) fn get_ref(&self) -> &BufWriter<S> {
        self.0.get_ref()
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
        told(Pin::new(&mut self.0).poll_read(cx, buf))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        told(Pin::new(&mut self.0).poll_write(cx, buf))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        told(Pin::new(&mut self.0).poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        told(Pin::new(&mut self.0).poll_shutdown(cx))
    }
}
