//! One connection to a Flight server: TCP or a Unix socket, TLS where asked, HTTP/2.
//!
//! Small calls go over hyper ([`Connection`]); streams of batches over hyper or over a connection of
//! our own ([`StreamConnection`]), as [`ConnectOptions::transport`] says.
//!
//! A [`Connector`]'s connection is never replaced; whoever holds it sees it close. Callers that want
//! neither to care nor to connect for each call share a [`Pool`]. No proxy of the
//! environment is used: a benchmark measures the server that it was told.

mod broken;
mod own;
mod pool;
mod settled;
mod sockets;
mod streams;
mod transport;
mod wire;
mod witness;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use flight_tls::{ClientTls, Negotiated};
use http::Uri;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tonic::Status;

#[doc(hidden)]
pub use own::fuzzing;
pub use pool::{Pool, PoolOptions, Pooled};
pub use sockets::{OpenSocket, Sockets};
pub use streams::{GetStream, PutResults, PutSink};
pub use transport::{StreamConnection, Transport};

use broken::{Broken, Words};
use own::OwnConnection;
use settled::{Settling, Told};
use sockets::Held;
use wire::Wire;
use witness::{Testimony, Witnessed};

use crate::body::Body;
use crate::endpoint::Endpoint;
use crate::limits::Http2Settings;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("cannot reach {endpoint}: {cause}")]
    Unreachable { endpoint: String, cause: std::io::Error },
    #[error("cannot reach {endpoint} within {after:?}")]
    Timeout { endpoint: String, after: Duration },
    #[error("{endpoint}: {why}")]
    Tls { endpoint: String, why: String },
    #[error("{endpoint} needs TLS settings; this is a fault of the caller")]
    NoTls { endpoint: String },
    #[error("{endpoint} does not speak HTTP/2: {cause}")]
    Http2 { endpoint: String, cause: hyper::Error },
    #[error("{endpoint} closed the connection before it acknowledged the settings of HTTP/2")]
    Unsettled { endpoint: String },
}

/// How to connect.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// For everything from the name look-up to the end of the TLS handshake.
    pub timeout: Duration,
    /// Off only to show what Nagle's algorithm costs.
    pub nodelay: bool,
    /// Reset connections that are closed, so that their ports are free at once (socket(7),
    /// `SO_LINGER`); what the server sent last may be lost. For clients that connect thousands of
    /// times a second.
    pub reset_on_close: bool,
    pub http2: Http2Settings,
    /// Bytes of a message that is taken.
    pub message_bytes_max: usize,
    /// Of streams of batches.
    pub transport: Transport,
    /// Metadata of every call, such as a bearer token. Values that are secret are marked so
    /// ([`http::HeaderValue::set_sensitive`]): they are kept out of HPACK's tables and of `Debug`.
    pub metadata: http::HeaderMap,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            nodelay: true,
            reset_on_close: false,
            http2: Http2Settings::default(),
            message_bytes_max: i32::MAX as usize,
            transport: Transport::default(),
            metadata: http::HeaderMap::new(),
        }
    }
}

/// Makes connections to one server.
#[derive(Clone)]
pub struct Connector {
    endpoint: Endpoint,
    tls: Option<ClientTls>,
    options: ConnectOptions,
    sockets: Option<Sockets>,
}

/// How long the steps of a connection took.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConnectTimes {
    /// Name look-up and TCP, or the Unix socket.
    pub socket: Duration,
    /// Zero in plaintext.
    pub tls: Duration,
    /// Our half of the HTTP/2 preface; of a [settled](Connector::connect_settled) connection up to
    /// the server's acknowledgement of our settings.
    pub http2: Duration,
}

impl Connector {
    /// `tls` is needed for `grpc+tls://` endpoints and ignored for others.
    pub fn new(endpoint: Endpoint, tls: Option<ClientTls>, options: ConnectOptions) -> Self {
        Self { endpoint, tls, options, sockets: None }
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Makes connections to another server in the same way, with the same trust and identity.
    #[must_use]
    pub fn at(&self, endpoint: Endpoint) -> Self {
        Self { endpoint, ..self.clone() }
    }

    /// Makes the same connections, and lists their sockets.
    #[must_use]
    pub fn watched(&self, sockets: Sockets) -> Self {
        Self { sockets: Some(sockets), ..self.clone() }
    }

    /// Opens a connection for calls of every kind; its task runs on the current runtime.
    ///
    /// # Errors
    ///
    /// The first step that failed, with the option that may help.
    pub async fn connect(&self) -> Result<Connection, ConnectError> {
        Ok(self.in_time(self.opened()).await?.0)
    }

    /// The same, and waits until HTTP/2 is set up: the server has acknowledged our settings. Calls
    /// need not wait for that; whoever measures the steps of a connection does.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_settled(&self) -> Result<Connection, ConnectError> {
        self.in_time(async {
            let (mut connection, mut settled) = self.opened().await?;
            let told = settled.wait_for(Option::is_some).await;
            let took = told.ok().and_then(|took| *took);
            let unsettled = || ConnectError::Unsettled { endpoint: self.endpoint.to_string() };
            connection.times.http2 = took.ok_or_else(unsettled)?;
            Ok(connection)
        })
        .await
    }

    /// Opens a connection for DoGet and DoPut alone, over the transport that the options name.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_streams(&self) -> Result<StreamConnection, ConnectError> {
        match self.options.transport {
            Transport::Hyper => Ok(self.connect().await?.into()),
            Transport::Own => {
                let socket = self.in_time(self.socket()).await?;
                let http2 = self.options.http2;
                let max = self.options.message_bytes_max;
                let Socket { wire, words, held, .. } = socket;
                Ok(OwnConnection::start(wire, held, self.origin(), http2, max, words).into())
            }
        }
    }

    async fn in_time<T>(
        &self,
        connecting: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T, ConnectError> {
        let after = self.options.timeout;
        match tokio::time::timeout(after, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(ConnectError::Timeout { endpoint: self.endpoint.to_string(), after }),
        }
    }

    /// A connection, and what tells when it is settled.
    async fn opened(&self) -> Result<(Connection, Told), ConnectError> {
        let Socket { wire, negotiated, words, times, held } = self.socket().await?;
        match wire {
            Wire::Tcp { stream, .. } => self.http2(stream, negotiated, words, times, held).await,
            Wire::Unix(stream) => self.http2(stream, negotiated, words, times, held).await,
            Wire::Tls { stream, .. } => self.http2(stream, negotiated, words, times, held).await,
        }
    }

    /// Connects, up to the end of the TLS handshake.
    async fn socket(&self) -> Result<Socket, ConnectError> {
        let started = Instant::now();
        let unreachable =
            |cause| ConnectError::Unreachable { endpoint: self.endpoint.to_string(), cause };
        let plain = |wire| {
            let times = ConnectTimes { socket: started.elapsed(), ..Default::default() };
            let words = self.words(Testimony::default());
            Socket { wire, negotiated: None, words, times, held: None }
        };
        let (host, port) = match &self.endpoint {
            Endpoint::Unix(path) => {
                let stream = UnixStream::connect(path).await.map_err(unreachable)?;
                return Ok(plain(Wire::Unix(stream)));
            }
            Endpoint::Tcp { host, port } | Endpoint::Tls { host, port } => (host, *port),
        };
        let stream = TcpStream::connect((host.as_str(), port)).await.map_err(unreachable)?;
        stream.set_nodelay(self.options.nodelay).map_err(unreachable)?;
        if self.options.reset_on_close {
            let socket = socket2::SockRef::from(&stream);
            socket.set_linger(Some(Duration::ZERO)).map_err(unreachable)?;
        }
        let held = self.sockets.as_ref().and_then(|sockets| sockets.add(&stream));
        if !self.endpoint.is_tls() {
            return Ok(Socket { held, ..plain(Wire::tcp(stream)) });
        }
        let Some(tls) = &self.tls else {
            return Err(ConnectError::NoTls { endpoint: self.endpoint.to_string() });
        };
        let mut times = ConnectTimes { socket: started.elapsed(), ..Default::default() };
        let stream = tls.connect(host, stream).await.map_err(|error| ConnectError::Tls {
            endpoint: self.endpoint.to_string(),
            why: flight_tls::explain(&error).unwrap_or_else(|| error.to_string()),
        })?;
        times.tls = started.elapsed() - times.socket;
        let negotiated = Some(stream.negotiated());
        let (stream, testimony) = Witnessed::new(stream);
        let words = self.words(testimony);
        Ok(Socket { wire: Wire::tls(stream), negotiated, words, times, held })
    }

    fn words(&self, testimony: Testimony) -> Words {
        Words { secure: self.endpoint.is_tls(), testimony, answered: Arc::default() }
    }

    fn origin(&self) -> Origin {
        let scheme = if self.endpoint.is_tls() { "https" } else { "http" };
        let authority = match &self.endpoint {
            Endpoint::Unix(_) => "localhost".to_owned(),
            other => {
                other.to_string().split_once("://").map(|(_, a)| a.to_owned()).unwrap_or_default()
            }
        };
        Origin { scheme, authority, metadata: Arc::new(self.options.metadata.clone()) }
    }

    async fn http2<S>(
        &self,
        stream: S,
        negotiated: Option<Negotiated>,
        words: Words,
        mut times: ConnectTimes,
        held: Held,
    ) -> Result<(Connection, Told), ConnectError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let started = Instant::now();
        let http2 = &self.options.http2;
        let (stream, settled) = Settling::new(stream);
        let (send, connection) = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(http2.stream_window_bytes)
            .initial_connection_window_size(http2.connection_window_bytes)
            .max_frame_size(http2.frame_bytes_max)
            .max_send_buf_size(http2.send_buffer_bytes)
            .adaptive_window(false)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|cause| ConnectError::Http2 { endpoint: self.endpoint.to_string(), cause })?;
        times.http2 = started.elapsed();
        let (broken, broke) = Broken::new(words.clone());
        tokio::spawn(async move {
            let why = words.of(connection.await.err().as_ref());
            // Another descriptor of the wire: it would keep the socket open.
            drop(held);
            tracing::debug!(why, "the connection ended");
            // Nobody listens once the last clone of the connection is gone.
            let _ = broke.send(Some(Arc::from(why)));
        });
        let connection = Connection {
            send,
            origin: self.origin(),
            broken,
            negotiated,
            times,
            message_bytes_max: self.options.message_bytes_max,
        };
        Ok((connection, settled))
    }
}

/// What there is before HTTP/2.
struct Socket {
    wire: Wire,
    negotiated: Option<Negotiated>,
    words: Words,
    times: ConnectTimes,
    held: Held,
}

#[derive(Debug, Clone)]
struct Origin {
    scheme: &'static str,
    authority: String,
    /// Of every call.
    metadata: Arc<http::HeaderMap>,
}

impl Origin {
    /// Adds the metadata of every call to that of one, which comes first.
    fn complete(&self, headers: &mut http::HeaderMap) {
        for name in self.metadata.keys() {
            if headers.contains_key(name) {
                continue;
            }
            for value in self.metadata.get_all(name) {
                headers.append(name, value.clone());
            }
        }
    }

    fn uri(&self, path: &str) -> Uri {
        Uri::builder()
            .scheme(self.scheme)
            .authority(self.authority.as_str())
            .path_and_query(path)
            .build()
            .expect("an endpoint's host and port form an authority")
    }
}

/// An HTTP/2 connection; clones share it.
///
/// It is a tower `Service`, so `FlightServiceClient::new(connection)` makes a client for the calls
/// without batches; [`do_get`](Self::do_get) and [`do_put`](Self::do_put) carry batches.
#[derive(Clone)]
pub struct Connection {
    send: SendRequest<Body>,
    origin: Origin,
    broken: Broken,
    negotiated: Option<Negotiated>,
    times: ConnectTimes,
    message_bytes_max: usize,
}

impl Connection {
    /// What the TLS handshake agreed on; `None` in plaintext.
    pub fn negotiated(&self) -> Option<&Negotiated> {
        self.negotiated.as_ref()
    }

    pub fn times(&self) -> ConnectTimes {
        self.times
    }

    /// Whether the connection is gone, so that no call can succeed on it.
    pub fn is_closed(&self) -> bool {
        self.send.is_closed()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Connection {
    /// Sends a request; a failure says why the connection broke, which the request itself cannot
    /// know.
    async fn request(
        mut self,
        request: http::Request<Body>,
    ) -> Result<http::Response<Incoming>, Status> {
        match self.send.send_request(request).await {
            Ok(response) => {
                self.broken.answered();
                Ok(response)
            }
            Err(error) => Err(self.broken.status(&error).await),
        }
    }
}

impl tower_service::Service<http::Request<tonic::body::Body>> for Connection {
    type Response = http::Response<Incoming>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Status>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        // A request waits for its turn when it is sent, and learns there why there is none.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |p| p.as_str());
        parts.uri = self.origin.uri(path);
        self.origin.complete(&mut parts.headers);
        Box::pin(self.clone().request(http::Request::from_parts(parts, body.into())))
    }
}
