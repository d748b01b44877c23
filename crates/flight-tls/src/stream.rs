//! An encrypted connection, whichever engine encrypts it.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use aws_lc_rs::digest::{SHA256, digest};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::engine::Engine;
use crate::key::KeyOf;
use crate::names::ClientNames;
use crate::negotiated::Negotiated;
#[cfg(feature = "openssl")]
use crate::openssl_engine;
use crate::rustls_engine;

/// An encrypted connection over `S`, after its handshake.
///
/// What was written may wait here until it is flushed. An end of `S` without the peer's
/// `close_notify` is an error of reading, since anybody on the way could have caused it.
pub struct TlsStream<S> {
    inner: Inner<S>,
    negotiated: Negotiated,
}

// Boxed, each read would follow a pointer more; there are as many as connections.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Inner<S> {
    Rustls(tokio_rustls::TlsStream<S>),
    #[cfg(feature = "openssl")]
    OpenSsl(openssl_engine::Stream<S>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream<S> {
    /// `key` is that of the server's certificate, where this end is the server.
    pub(crate) fn new(engine: Engine, inner: Inner<S>, key: Option<KeyOf>) -> io::Result<Self> {
        let negotiated = match &inner {
            Inner::Rustls(stream) => {
                let is_server = matches!(stream, tokio_rustls::TlsStream::Server(_));
                rustls_engine::negotiated(engine, stream.get_ref().1, is_server, key)
            }
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => openssl_engine::negotiated(stream, key),
        };
        let unknown = || io::Error::other("the engine does not tell what was negotiated");
        Ok(Self { inner, negotiated: negotiated.ok_or_else(unknown)? })
    }

    /// What the two ends agreed on.
    pub fn negotiated(&self) -> Negotiated {
        self.negotiated
    }

    /// What is below.
    pub fn get_ref(&self) -> &S {
        match &self.inner {
            Inner::Rustls(stream) => stream.get_ref().0,
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => stream.get_ref().get_ref(),
        }
    }

    /// Who the client is, by the certificate that the handshake verified. `None` where it showed
    /// none, or where this end is the client.
    pub fn client_names(&self) -> Option<ClientNames> {
        ClientNames::of_certificate(&self.client_certificate()?)
    }

    /// SHA-256 of the certificate (DER) by which the handshake verified the client. `None` where it
    /// showed none, or where this end is the client.
    pub fn client_fingerprint(&self) -> Option<[u8; 32]> {
        let digest = digest(&SHA256, &self.client_certificate()?);
        digest.as_ref().try_into().ok()
    }

    fn client_certificate(&self) -> Option<Vec<u8>> {
        let is_server = match &self.inner {
            Inner::Rustls(stream) => matches!(stream, tokio_rustls::TlsStream::Server(_)),
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => stream.ssl().is_server(),
        };
        let shown = if is_server { self.peer_certificates() } else { Vec::new() };
        shown.into_iter().next()
    }

    /// The certificates that the peer showed (DER), its own first; empty where it showed none.
    pub fn peer_certificates(&self) -> Vec<Vec<u8>> {
        match &self.inner {
            Inner::Rustls(stream) => {
                let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
                shown.iter().map(|der| der.to_vec()).collect()
            }
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => openssl_engine::peer_certificates(stream),
        }
    }
}

impl<S> fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsStream").field("negotiated", &self.negotiated).finish_non_exhaustive()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Rustls(stream) => Pin::new(stream).poll_read(cx, buf),
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            Inner::Rustls(stream) => Pin::new(stream).poll_write(cx, buf),
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            Inner::Rustls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.inner {
            Inner::Rustls(stream) => stream.is_write_vectored(),
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Rustls(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Rustls(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(feature = "openssl")]
            Inner::OpenSsl(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
