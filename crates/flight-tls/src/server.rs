//! The server's side: what it shows, whom it asks for a certificate, and the handshake.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::authorities::authorities;
use crate::engine::Engine;
use crate::error::{TlsError, during_handshake};
use crate::group::Group;
use crate::identity::ServerIdentity;
use crate::key::KeyOf;
#[cfg(feature = "openssl")]
use crate::openssl_engine;
use crate::rustls_engine;
use crate::stream::{Inner, TlsStream};
use crate::suite::{CipherSuite, TlsVersion};

/// What may be chosen about a server's connections.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions<'a> {
    pub engine: Engine,
    /// Authorities (PEM, one or more) of which a client's certificate must be; `None`: clients are
    /// not asked for one.
    pub client_ca: Option<&'a Path>,
    /// Whether a client must show one.
    pub client_auth: ClientAuth,
    /// The oldest version that is spoken.
    pub min_version: TlsVersion,
    /// Cipher suites, most preferred first; empty: all, AES-128-GCM first.
    pub ciphers: Vec<CipherSuite>,
    /// Key exchange groups, most preferred first; empty: all that the engine has.
    pub groups: Vec<Group>,
    /// Make every handshake a full one, though clients ask to resume sessions.
    pub no_resumption: bool,
}

/// Whether a client must show a certificate where it is asked for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    #[default]
    Required,
    /// A client without one is taken; one that shows a certificate must show a good one.
    Optional,
}

/// What both ends choose.
pub(crate) struct Common {
    pub(crate) engine: Engine,
    pub(crate) min: TlsVersion,
    pub(crate) ciphers: Vec<CipherSuite>,
    pub(crate) groups: Vec<Group>,
}

/// What an engine makes its settings of.
pub(crate) struct ServerMaterial<'a> {
    pub(crate) common: Common,
    pub(crate) identity: &'a ServerIdentity,
    pub(crate) clients: Option<(Vec<CertificateDer<'static>>, ClientAuth)>,
    pub(crate) resumption: bool,
}

/// What all connections of a server share. Cheap to clone.
#[derive(Clone)]
pub struct ServerTls {
    engine: Engine,
    /// Of the certificate that is shown.
    key: Option<KeyOf>,
    settings: Settings,
}

#[derive(Clone)]
enum Settings {
    Rustls(Arc<ServerConfig>),
    #[cfg(feature = "openssl")]
    OpenSsl(openssl_engine::Server),
}

impl ServerTls {
    /// Puts together what all connections of a server share.
    ///
    /// The server's order of cipher suites decides. A client that offers protocols (ALPN) must
    /// offer `h2`; one that offers none is taken too. Sessions are resumed by tickets that no
    /// other settings take: rustls changes their key every six hours, OpenSSL keeps it as long as
    /// this value lives.
    ///
    /// # Errors
    /// When the file of authorities will not do, the ciphers leave no version, or the engine lacks
    /// a group.
    pub fn new(identity: &ServerIdentity, options: ServerOptions<'_>) -> Result<Self, TlsError> {
        let ServerOptions { engine, client_ca, client_auth, .. } = options;
        let clients = client_ca.map(authorities).transpose()?;
        let material = ServerMaterial {
            common: Common {
                engine,
                min: options.min_version,
                ciphers: options.ciphers,
                groups: options.groups,
            },
            identity,
            clients: clients.map(|authorities| (authorities, client_auth)),
            resumption: !options.no_resumption,
        };
        let settings = match engine {
            Engine::AwsLc | Engine::Ring => Settings::Rustls(rustls_engine::server(&material)?),
            #[cfg(feature = "openssl")]
            Engine::OpenSsl => Settings::OpenSsl(openssl_engine::Server::new(&material)?),
            #[cfg(not(feature = "openssl"))]
            Engine::OpenSsl => return Err(TlsError::NotBuilt { engine }),
        };
        let key = identity.pair().certs.first().and_then(|der| KeyOf::certificate(der));
        Ok(Self { engine, key, settings })
    }

    /// Settings of rustls, as they are.
    pub fn of_rustls(config: Arc<ServerConfig>) -> Self {
        Self { engine: Engine::default(), key: None, settings: Settings::Rustls(config) }
    }

    /// The settings of rustls, where that is the engine.
    pub fn rustls(&self) -> Option<&Arc<ServerConfig>> {
        match &self.settings {
            Settings::Rustls(config) => Some(config),
            #[cfg(feature = "openssl")]
            Settings::OpenSsl(_) => None,
        }
    }

    /// The handshake with one client. It takes as long as the client likes: the caller sets the
    /// limit.
    ///
    /// # Errors
    /// [`explain_accept`](crate::explain_accept) puts them into a sentence.
    pub async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let accepted = match &self.settings {
            Settings::Rustls(config) => {
                rustls_engine::accept(config, stream).await.map(Inner::Rustls)
            }
            #[cfg(feature = "openssl")]
            Settings::OpenSsl(server) => server.accept(stream).await.map(Inner::OpenSsl),
        };
        let inner = accepted.map_err(|error| during_handshake(error, TlsError::ClientClosed))?;
        TlsStream::new(self.engine, inner, self.key)
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").field("engine", &self.engine).finish_non_exhaustive()
    }
}
