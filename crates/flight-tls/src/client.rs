//! The client's side: whom it trusts, what it shows when asked, and the handshake.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use x509_parser::prelude::X509Version;

use crate::ClientStream;
use crate::chain;
use crate::error::{TlsError, during_handshake};
use crate::identity::ClientIdentity;
use crate::limits::TLS_WRITE_BYTES;
use crate::pem;
use crate::server::{ALPN_HTTP2, authorities};
use crate::suite::{self, CipherSuite, TlsVersion};
use crate::verifier::{Accepted, SignatureVerifier};

/// Which servers a client talks to. In each case the server must prove that it holds the key of the
/// certificate that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Servers certified by an authority that this machine trusts, under their right name.
    SystemRoots,
    /// Servers certified by an authority in this PEM file, under their right name.
    Roots(PathBuf),
    /// Servers that show exactly one of the certificates in this PEM file, whatever its name, dates
    /// and authority.
    Pin(PathBuf),
    /// Any server: whoever sits between can read and change everything.
    Insecure,
}

/// What may be chosen about a client's connections.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// Cipher suites, most preferred first; empty: all, AES-128-GCM first.
    pub ciphers: Vec<CipherSuite>,
    /// The oldest version that is spoken.
    pub min_version: TlsVersion,
    /// The name that the server's certificate must hold, instead of the host connected to.
    pub server_name: Option<String>,
    /// Make every handshake a full one, though the server offers to resume sessions.
    pub no_resumption: bool,
}

/// What all TLS connections of a client share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ClientTls {
    pub config: Arc<ClientConfig>,
    /// See [`ClientOptions::server_name`].
    pub server_name: Option<ServerName<'static>>,
    /// True when any server is talked to, so that reports can say so.
    pub insecure: bool,
}

/// Puts together what all connections of a client share.
///
/// # Errors
/// When a file will not do, this machine trusts no authority, the name is none, or the ciphers
/// leave no version.
pub fn client_config(
    trust: Trust,
    identity: Option<ClientIdentity>,
    options: ClientOptions,
) -> Result<ClientTls, TlsError> {
    let ClientOptions { ciphers, min_version, server_name, no_resumption } = options;
    let versions = suite::versions(min_version, &ciphers)?;
    let engine = suite::engine(&ciphers);
    let shown = identity.map(|identity| identity.certified_key(&engine)).transpose()?;
    let algorithms = engine.signature_verification_algorithms;
    let builder =
        ClientConfig::builder_with_provider(Arc::new(engine)).with_protocol_versions(versions)?;
    let insecure = trust == Trust::Insecure;
    let accepting = |accepted| Arc::new(SignatureVerifier { accepted, algorithms });
    let builder = match trust {
        Trust::SystemRoots => builder.with_root_certificates(system_authorities()?),
        Trust::Roots(file) => builder.with_root_certificates(authorities(&file)?),
        Trust::Pin(file) => builder
            .dangerous()
            .with_custom_certificate_verifier(accepting(Accepted::OneOf(pins(&file)?))),
        Trust::Insecure => {
            builder.dangerous().with_custom_certificate_verifier(accepting(Accepted::Any))
        }
    };
    let mut config = match shown {
        None => builder.with_no_client_auth(),
        Some(shown) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(shown))),
    };
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    if no_resumption {
        config.resumption = Resumption::disabled();
    }
    let server_name = server_name.map(parse_server_name).transpose()?;
    Ok(ClientTls { config: Arc::new(config), server_name, insecure })
}

impl ClientTls {
    /// The handshake with the server at `host` (a DNS name or an IP address without brackets). It
    /// takes as long as the server likes: the caller sets the limit.
    ///
    /// # Errors
    /// [`explain()`](crate::explain()) puts them into a sentence.
    pub async fn connect<S>(&self, host: &str, stream: S) -> io::Result<ClientStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => parse_server_name(host.to_owned())
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?,
        };
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let connected = connector
            .connect_with(name, stream, |tls| tls.set_buffer_limit(Some(TLS_WRITE_BYTES)))
            .await;
        connected.map_err(|error| during_handshake(error, TlsError::ServerClosed))
    }
}

fn parse_server_name(name: String) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(name.clone()).map_err(|_| TlsError::ServerName { name })
}

fn pins(file: &Path) -> Result<Vec<rustls_pki_types::CertificateDer<'static>>, TlsError> {
    let pins = pem::certificates(file)?;
    for (index, der) in pins.iter().enumerate() {
        let cert = chain::parse(der, file, index + 1)?;
        if cert.version() != X509Version::V3 {
            let version = cert.version().0 + 1;
            return Err(TlsError::PinVersion { file: file.to_owned(), version });
        }
    }
    Ok(pins)
}

fn system_authorities() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Stores hold old certificates that cannot be parsed; those are not needed.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let first = found.errors.first();
        let reason = first.map_or_else(|| "no store was found".to_owned(), ToString::to_string);
        return Err(TlsError::NoSystemRoots { reason });
    }
    Ok(roots)
}
