//! Sockets of the clients: plain or TLS, for tonic's channel and for the raw rungs.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use anyhow::{Context, Result, bail};
use flight_tls::{ClientOptions, Trust};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint};

/// Where a client connects.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    host: String,
    port: u16,
    pub(crate) secure: bool,
    /// A raw rung rather than Flight.
    pub(crate) raw: bool,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let (secure, raw) = match scheme {
            "grpc" | "grpc+tcp" => (false, false),
            "grpc+tls" => (true, false),
            "tcp" => (false, true),
            "tls" => (true, true),
            _ => bail!("{url}: write grpc://, grpc+tls://, tcp:// or tls://HOST:PORT"),
        };
        let parts = rest.rsplit_once(':').and_then(|(h, p)| Some((h, p.parse().ok()?)));
        let (host, port) = parts.with_context(|| format!("{url}: there is no HOST:PORT in it"))?;
        Ok(Self { host: host.to_owned(), port, secure, raw })
    }
}

/// A stream of either kind.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// A connected socket, its handshake done.
pub(crate) async fn open(address: &Address, ca: Option<&Path>) -> Result<Box<dyn Duplex>> {
    let socket = tcp(address).await.with_context(|| format!("cannot reach {address:?}"))?;
    match connector(address, ca)? {
        None => Ok(Box::new(socket)),
        Some((connector, name)) => Ok(Box::new(connector.connect(name, socket).await?)),
    }
}

/// A channel with tonic's defaults, connected.
pub(crate) async fn channel(address: &Address, ca: Option<&Path>) -> Result<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}:{}", address.host, address.port))?;
    let channel = match connector(address, ca)? {
        None => endpoint.connect().await,
        Some((connector, name)) => {
            let dial = Dial { address: address.clone(), connector, name };
            endpoint.connect_with_connector(dial).await
        }
    };
    channel.with_context(|| format!("cannot reach {}:{}", address.host, address.port))
}

async fn tcp(address: &Address) -> io::Result<TcpStream> {
    let socket = TcpStream::connect((address.host.as_str(), address.port)).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

fn connector(
    address: &Address,
    ca: Option<&Path>,
) -> Result<Option<(TlsConnector, ServerName<'static>)>> {
    if !address.secure {
        return Ok(None);
    }
    let ca = ca.context("a server with TLS needs --tls-ca")?;
    let trust = Trust::Roots(ca.to_owned());
    let tls = flight_tls::client_config(trust, None, ClientOptions::default())?;
    let name = ServerName::try_from(address.host.clone())?;
    let config = tls.rustls().context("the default engine is rustls")?;
    Ok(Some((TlsConnector::from(Arc::clone(config)), name)))
}

/// Connects for tonic, with rustls' own limits of 64 KiB a write.
#[derive(Clone)]
struct Dial {
    address: Address,
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl tower_service::Service<http::Uri> for Dial {
    type Response = TokioIo<TlsStream<TcpStream>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: http::Uri) -> Self::Future {
        let dial = self.clone();
        Box::pin(async move {
            let socket = tcp(&dial.address).await?;
            Ok(TokioIo::new(dial.connector.connect(dial.name, socket).await?))
        })
    }
}
