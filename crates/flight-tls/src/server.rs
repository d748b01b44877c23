//! The server's side: what it shows, whom it asks for a certificate, and the handshake.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::authorities::authorities;
use crate::certificate::Certificate;
use crate::engine::Engine;
use crate::error::{TlsError, during_handshake};
use crate::group::Group;
use crate::identity::ServerIdentity;
use crate::key::KeyOf;
#[cfg(feature = "openssl")]
use crate::openssl_engine;
use crate::revocation::revocation_lists;
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
    /// Lists (PEM, one or more) of what these authorities revoked. With it, each authority in a
    /// client's chain must have a list here, and it must be up to date.
    pub client_crl: Option<&'a Path>,
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
#[derive(Clone)]
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
    pub(crate) clients: Option<Clients>,
    pub(crate) resumption: bool,
}

/// Who is asked for a certificate, and of whom.
pub(crate) struct Clients {
    pub(crate) authorities: Vec<CertificateDer<'static>>,
    pub(crate) auth: ClientAuth,
    /// Empty: revocation is not looked at.
    pub(crate) revoked: Vec<CertificateRevocationListDer<'static>>,
}

/// What a server shows, and chose, for the trial of another in its place.
pub(crate) struct Shown {
    pub(crate) certificate: Certificate,
    pub(crate) der: CertificateDer<'static>,
    pub(crate) common: Common,
}

/// What all connections of a server share. Cheap to clone.
#[derive(Clone)]
pub struct ServerTls {
    engine: Engine,
    /// Of the certificate that is shown.
    key: Option<KeyOf>,
    /// `None` of settings that were made elsewhere.
    shown: Option<Arc<Shown>>,
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
        let engine = options.engine;
        let clients = clients(&options)?;
        let material = ServerMaterial {
            common: Common {
                engine,
                min: options.min_version,
                ciphers: options.ciphers,
                groups: options.groups,
            },
            identity,
            clients,
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
        let shown = Shown {
            certificate: identity.certificate()?,
            der: identity.pair().certs[0].clone(),
            common: material.common,
        };
        Ok(Self { engine, key, shown: Some(Arc::new(shown)), settings })
    }

    /// What the certificate that is shown says of itself.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.shown().map(|shown| &shown.certificate)
    }

    pub(crate) fn shown(&self) -> Option<&Shown> {
        self.shown.as_deref()
    }

    /// Settings of rustls, as they are.
    pub fn of_rustls(config: Arc<ServerConfig>) -> Self {
        let settings = Settings::Rustls(config);
        Self { engine: Engine::default(), key: None, shown: None, settings }
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

fn clients(options: &ServerOptions<'_>) -> Result<Option<Clients>, TlsError> {
    let Some(client_ca) = options.client_ca else {
        return match options.client_crl {
            Some(_) => Err(TlsError::RevocationWithoutClients),
            None => Ok(None),
        };
    };
    let now = SystemTime::now();
    let revoked = options.client_crl.map(|file| revocation_lists(file, now)).transpose()?;
    Ok(Some(Clients {
        authorities: authorities(client_ca)?,
        auth: options.client_auth,
        revoked: revoked.unwrap_or_default(),
    }))
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").field("engine", &self.engine).finish_non_exhaustive()
    }
}
