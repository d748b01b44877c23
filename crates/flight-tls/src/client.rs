//! The client's side: whom it trusts, what it shows when asked, and the handshake.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};

use crate::authorities::{authorities, system_authorities};
use crate::chain;
use crate::engine::Engine;
use crate::error::{TlsError, during_handshake};
use crate::group::Group;
use crate::identity::ClientIdentity;
#[cfg(feature = "openssl")]
use crate::openssl_engine;
use crate::pem;
use crate::rustls_engine;
use crate::server::{Common, ServerTls};
use crate::stream::{Inner, TlsStream};
use crate::suite::{self, CipherSuite, TlsVersion};

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
    pub engine: Engine,
    /// Cipher suites, most preferred first; empty: all, AES-128-GCM first.
    pub ciphers: Vec<CipherSuite>,
    /// The oldest version that is spoken.
    pub min_version: TlsVersion,
    /// Key exchange groups, most preferred first; empty: all that the engine has.
    pub groups: Vec<Group>,
    /// The name that the server's certificate must hold, instead of the host connected to.
    pub server_name: Option<String>,
    /// Make every handshake a full one, though the server offers to resume sessions.
    pub no_resumption: bool,
}

/// Whom a client trusts, read from where its [`Trust`] says.
pub(crate) enum Trusted {
    Authorities(Vec<CertificateDer<'static>>),
    OneOf(Vec<CertificateDer<'static>>),
    Any,
}

/// What an engine makes its settings of.
pub(crate) struct ClientMaterial {
    pub(crate) common: Common,
    pub(crate) trusted: Trusted,
    pub(crate) identity: Option<ClientIdentity>,
    pub(crate) resumption: bool,
}

/// What all TLS connections of a client share, their sessions among it. Cheap to clone.
#[derive(Clone)]
pub struct ClientTls {
    engine: Engine,
    settings: Settings,
    /// See [`ClientOptions::server_name`].
    server_name: Option<ServerName<'static>>,
    /// True when any server is talked to, so that reports can say so.
    pub insecure: bool,
}

#[derive(Clone)]
enum Settings {
    Rustls(Arc<ClientConfig>),
    #[cfg(feature = "openssl")]
    OpenSsl(openssl_engine::Client),
}

/// Puts together what all connections of a client share.
///
/// # Errors
/// When a file will not do, this machine trusts no authority, the name is none, the ciphers leave
/// no version, or the engine lacks a group.
pub fn client_config(
    trust: Trust,
    identity: Option<ClientIdentity>,
    options: ClientOptions,
) -> Result<ClientTls, TlsError> {
    let engine = options.engine;
    let insecure = trust == Trust::Insecure;
    let trusted = match trust {
        Trust::SystemRoots => Trusted::Authorities(system_authorities()?),
        Trust::Roots(file) => Trusted::Authorities(authorities(&file)?),
        Trust::Pin(file) => Trusted::OneOf(pins(&file)?),
        Trust::Insecure => Trusted::Any,
    };
    let material = ClientMaterial {
        common: Common {
            engine,
            min: options.min_version,
            ciphers: options.ciphers,
            groups: options.groups,
        },
        trusted,
        identity,
        resumption: !options.no_resumption,
    };
    let settings = Settings::new(material)?;
    let server_name = options.server_name.map(parse_server_name).transpose()?;
    Ok(ClientTls { engine, settings, server_name, insecure })
}

impl Settings {
    fn new(material: ClientMaterial) -> Result<Self, TlsError> {
        match material.common.engine {
            Engine::AwsLc | Engine::Ring => Ok(Self::Rustls(rustls_engine::client(&material)?)),
            #[cfg(feature = "openssl")]
            Engine::OpenSsl => Ok(Self::OpenSsl(openssl_engine::Client::new(material)?)),
            #[cfg(not(feature = "openssl"))]
            engine => Err(TlsError::NotBuilt { engine }),
        }
    }
}

impl ClientTls {
    /// A client of the same choices as `server`, for `version` alone, that trusts exactly the
    /// certificate that it shows. `None` where the server does not speak that version, or shows a
    /// certificate that cannot be pinned.
    pub(crate) fn for_rehearsal(
        server: &ServerTls,
        version: TlsVersion,
    ) -> Option<Result<Self, TlsError>> {
        let shown = server.shown()?;
        let min = shown.common.min;
        if min == TlsVersion::V1_3 && version == TlsVersion::V1_2 {
            return None;
        }
        let spoken = suite::offered(min, &shown.common.ciphers).ok()?;
        let ciphers: Vec<_> =
            spoken.into_iter().filter(|suite| suite.version() == version).collect();
        let (_, cert) = X509Certificate::from_der(&shown.der).ok()?;
        if ciphers.is_empty() || cert.version() != X509Version::V3 {
            return None;
        }
        let material = ClientMaterial {
            common: Common { ciphers, ..shown.common.clone() },
            trusted: Trusted::OneOf(vec![shown.der.clone()]),
            identity: None,
            resumption: false,
        };
        let engine = shown.common.engine;
        let made = Settings::new(material);
        Some(made.map(|settings| Self { engine, settings, server_name: None, insecure: false }))
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The settings of rustls, where that is the engine.
    pub fn rustls(&self) -> Option<&Arc<ClientConfig>> {
        match &self.settings {
            Settings::Rustls(config) => Some(config),
            #[cfg(feature = "openssl")]
            Settings::OpenSsl(_) => None,
        }
    }

    /// The same client with settings of rustls, as they are.
    #[must_use]
    pub fn with_rustls(&self, config: Arc<ClientConfig>) -> Self {
        Self { engine: Engine::default(), settings: Settings::Rustls(config), ..self.clone() }
    }

    /// The handshake with the server at `host` (a DNS name or an IP address without brackets). It
    /// takes as long as the server likes: the caller sets the limit.
    ///
    /// # Errors
    /// [`explain()`](crate::explain()) puts them into a sentence.
    pub async fn connect<S>(&self, host: &str, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => parse_server_name(host.to_owned())
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?,
        };
        let connected = match &self.settings {
            Settings::Rustls(config) => {
                rustls_engine::connect(config, name, stream).await.map(Inner::Rustls)
            }
            #[cfg(feature = "openssl")]
            Settings::OpenSsl(client) => client.connect(&name, stream).await.map(Inner::OpenSsl),
        };
        let inner = connected.map_err(|error| during_handshake(error, TlsError::ServerClosed))?;
        TlsStream::new(self.engine, inner, None)
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ClientTls");
        shown.field("engine", &self.engine).field("insecure", &self.insecure);
        shown.finish_non_exhaustive()
    }
}

fn parse_server_name(name: String) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(name.clone()).map_err(|_| TlsError::ServerName { name })
}

fn pins(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
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
