//! The server's side: what it shows, whom it asks for a certificate, and the handshake.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::server::WebPkiClientVerifier;
use rustls::sign::SingleCertAndKey;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use crate::ServerStream;
use crate::chain;
use crate::error::{TlsError, during_handshake};
use crate::identity::ServerIdentity;
use crate::limits::TLS_WRITE_BYTES;
use crate::pem;
use crate::suite::{self, CipherSuite, TlsVersion};

/// HTTP/2 over TLS, in the negotiation of protocols (RFC 9113, 3.2).
pub(crate) const ALPN_HTTP2: &[u8] = b"h2";

/// What may be chosen about a server's connections.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions<'a> {
    /// Authorities (PEM, one or more) of which a client must show a certificate; `None`: clients
    /// are not asked for one.
    pub client_ca: Option<&'a Path>,
    /// The oldest version that is spoken.
    pub min_version: TlsVersion,
    /// Cipher suites, most preferred first; empty: all, AES-128-GCM first.
    pub ciphers: Vec<CipherSuite>,
}

/// Puts together what all connections of a server share.
///
/// The server's order of cipher suites decides. A client that offers protocols (ALPN) must offer
/// `h2`; one that offers none is taken too.
///
/// # Errors
/// When the file of authorities will not do, or the ciphers leave no version.
pub fn server_config(
    identity: &ServerIdentity,
    options: ServerOptions<'_>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let ServerOptions { client_ca, min_version, ciphers } = options;
    let versions = suite::versions(min_version, &ciphers)?;
    let engine = Arc::new(suite::engine(&ciphers));
    let shown = SingleCertAndKey::from(identity.certified_key(&engine)?);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&engine))
        .with_protocol_versions(versions)?;
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let authorities = Arc::new(authorities(file)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(authorities, engine);
            builder.with_client_cert_verifier(verifier.build()?)
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(shown));
    config.ignore_client_order = true;
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    Ok(Arc::new(config))
}

/// The handshake with one client. It takes as long as the client likes: the caller sets the limit.
///
/// # Errors
/// [`explain_accept`](crate::explain_accept) puts them into a sentence.
pub async fn accept<S>(config: &Arc<ServerConfig>, stream: S) -> io::Result<ServerStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let accepted = TlsAcceptor::from(Arc::clone(config))
        .accept_with(stream, |tls| tls.set_buffer_limit(Some(TLS_WRITE_BYTES)))
        .await;
    accepted.map_err(|error| during_handshake(error, TlsError::ClientClosed))
}

/// Every certificate of `file` as an authority.
pub(crate) fn authorities(file: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for (index, der) in pem::certificates(file)?.into_iter().enumerate() {
        let position = index + 1;
        chain::parse(&der, file, position)?;
        roots.add(der).map_err(|error| TlsError::BadCertificate {
            file: file.to_owned(),
            position,
            reason: error.to_string(),
        })?;
    }
    Ok(roots)
}
