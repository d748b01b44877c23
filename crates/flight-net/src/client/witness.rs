//! Keeps what the socket said when it failed: HTTP/2 passes on no more than its text.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Why a TLS stream failed, in words, once it has.
#[derive(Debug, Clone, Default)]
pub(super) struct Testimony(Arc<OnceLock<String>>);

impl Testimony {
    pub(super) fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// A stream whose first TLS failure is kept.
pub(super) struct Witnessed<S> {
    stream: S,
    testimony: Testimony,
}

impl<S> Witnessed<S> {
    pub(super) fn new(stream: S) -> (Self, Testimony) {
        let testimony = Testimony::default();
        (Self { stream, testimony: testimony.clone() }, testimony)
    }

    pub(super) fn get_ref(&self) -> &S {
        &self.stream
    }

    fn heard<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &outcome
            && let Some(why) = flight_tls::explain(error)
        {
            // The first failure is the cause; later ones follow from it.
            let _ = self.testimony.0.set(why);
        }
        outcome
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Witnessed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.heard(outcome)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Witnessed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.heard(outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        self.heard(outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.heard(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.heard(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
