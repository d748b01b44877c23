//! Accepting, handshaking, serving, stopping.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flight_tls::{Negotiated, ServerTls};
use futures_util::FutureExt;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::activity::Activity;
use super::context::{CallContext, Peer};
use super::gather::Gather;
use super::linger::Linger;
use super::listen::{BoundSocket, Listener};
use super::pulse::{Pulse, Pulsing};
use crate::body::Body;
use crate::limits::{
    HEADER_LIST_BYTES, Http2Settings, LOCAL_RESETS, PENDING_RESETS, SERVER_HTTP2,
    SERVER_HTTP2_SHORT, STREAMS_PER_CONNECTION, ServerLimits,
};

/// Answers calls. A panic of one call ends that call alone.
pub trait Handler: Clone + Send + Sync + 'static {
    fn call(
        &self,
        context: CallContext,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// What the accept loop has seen; read by the metrics.
#[derive(Debug, Default)]
pub struct Counters {
    pub accepted: AtomicU64,
    pub open: AtomicU64,
    /// Turned away because a cap was reached.
    pub refused: AtomicU64,
    pub handshakes_failed: AtomicU64,
    pub panics: AtomicU64,
}

/// Serves listeners until it is told to stop.
pub struct Server {
    pub limits: ServerLimits,
    /// May change while the server runs: a handshake goes by what it finds when it begins, and
    /// connections that are open live on.
    pub tls: Option<watch::Receiver<ServerTls>>,
    pub counters: Arc<Counters>,
}

impl Server {
    /// Accepts on all `listeners` until `stop` turns true, then lets streams go on for the drain
    /// time, and breaks off what is left.
    pub async fn serve<H: Handler>(
        self,
        listeners: Vec<Listener>,
        handler: H,
        stop: watch::Receiver<bool>,
    ) {
        let drain = self.limits.drain;
        let windows = self.limits.window_bytes / u64::from(WINDOW_UNIT);
        let windows = usize::try_from(windows).unwrap_or(Semaphore::MAX_PERMITS);
        let shared = Arc::new(Shared {
            connections: Arc::new(Semaphore::new(self.limits.connections)),
            windows: Arc::new(Semaphore::new(windows)),
            addresses: Mutex::new(HashMap::new()),
            tls: self.tls,
            limits: self.limits,
            counters: self.counters,
            handler,
            stop,
        });
        let mut loops = JoinSet::new();
        for listener in listeners {
            loops.spawn(accept_loop(Arc::clone(&shared), listener));
        }
        // Each loop hands back its connections once it is told to stop.
        let mut connections = Vec::new();
        while let Some(Ok(set)) = loops.join_next().await {
            connections.push(set);
        }
        let all = async {
            for set in &mut connections {
                while set.join_next().await.is_some() {}
            }
        };
        if tokio::time::timeout(drain, all).await.is_err() {
            tracing::warn!(?drain, "streams were broken off at the end of the drain time");
        }
    }
}

/// Windows are counted in units of this many bytes.
const WINDOW_UNIT: u32 = 1 << 20;

struct Shared<H> {
    connections: Arc<Semaphore>,
    /// What the windows of all connections may promise.
    windows: Arc<Semaphore>,
    addresses: Mutex<HashMap<IpAddr, usize>>,
    tls: Option<watch::Receiver<ServerTls>>,
    limits: ServerLimits,
    counters: Arc<Counters>,
    handler: H,
    stop: watch::Receiver<bool>,
}

async fn accept_loop<H: Handler>(shared: Arc<Shared<H>>, listener: Listener) -> JoinSet<()> {
    let mut connections = JoinSet::new();
    let mut stop = shared.stop.clone();
    let mut stopped = pin!(stop.wait_for(|stop| *stop).map(|_| ()));
    let secure = listener.endpoint().is_tls();
    loop {
        tokio::select! {
            () = &mut stopped => return connections,
            Some(_) = connections.join_next() => {}
            accepted = accept(&listener) => match accepted {
                Ok((socket, address)) => {
                    shared.counters.accepted.fetch_add(1, Ordering::Relaxed);
                    if let Some(slot) = shared.admit(address.map(|a| a.ip())) {
                        let peer = Peer { address, tls: None, client: None, client_fingerprint: None };
                        connections.spawn(connection(Arc::clone(&shared), socket, peer, secure, slot));
                    }
                }
                Err(error) => back_off(&error).await,
            },
        }
    }
}

/// Waits before the next accept: when descriptors or memory run out, trying at once again would
/// only burn a core.
async fn back_off(error: &io::Error) {
    const EXHAUSTED: Duration = Duration::from_millis(100);
    // The peer's own faults (a connection reset before it was accepted) need no pause.
    if error.kind() == io::ErrorKind::ConnectionAborted
        || error.kind() == io::ErrorKind::ConnectionReset
    {
        return;
    }
    tracing::warn!(%error, "cannot accept a connection; trying again");
    tokio::time::sleep(EXHAUSTED).await;
}

enum Socket {
    Tcp(tokio::net::TcpStream),
    Unix(tokio::net::UnixStream),
}

async fn accept(listener: &Listener) -> io::Result<(Socket, Option<std::net::SocketAddr>)> {
    match &listener.socket {
        BoundSocket::Tcp(listener) => {
            let (stream, address) = listener.accept().await?;
            stream.set_nodelay(true)?;
            Ok((Socket::Tcp(stream), Some(address)))
        }
        BoundSocket::Unix { listener, .. } => Ok((Socket::Unix(listener.accept().await?.0), None)),
    }
}

/// A connection's share of the caps, given back when dropped.
struct Slot<H: Handler> {
    shared: Arc<Shared<H>>,
    address: Option<IpAddr>,
    _permit: OwnedSemaphorePermit,
}

impl<H: Handler> Shared<H> {
    fn admit(self: &Arc<Self>, ip: Option<IpAddr>) -> Option<Slot<H>> {
        let refuse = |cap: &str| {
            self.counters.refused.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(?ip, cap, "a connection was refused at its cap");
        };
        let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() else {
            refuse("connections");
            return None;
        };
        let address = ip.filter(|ip| !ip.is_loopback());
        if let Some(ip) = address {
            let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
            let count = addresses.entry(ip).or_insert(0);
            if *count >= self.limits.connections_per_address {
                refuse("connections_per_address");
                return None;
            }
            *count += 1;
        }
        self.counters.open.fetch_add(1, Ordering::Relaxed);
        Some(Slot { shared: Arc::clone(self), address, _permit: permit })
    }
}

impl<H: Handler> Drop for Slot<H> {
    fn drop(&mut self) {
        self.shared.counters.open.fetch_sub(1, Ordering::Relaxed);
        let Some(ip) = self.address else { return };
        let mut addresses = self.shared.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = addresses.get_mut(&ip) {
            *count -= 1;
            if *count == 0 {
                addresses.remove(&ip);
            }
        }
    }
}

async fn connection<H: Handler>(
    shared: Arc<Shared<H>>,
    socket: Socket,
    mut peer: Peer,
    secure: bool,
    slot: Slot<H>,
) {
    let pulse = Pulse::new();
    match (socket, &shared.tls) {
        (Socket::Unix(stream), _) => {
            serve_http2(&shared, wire(stream, &pulse), &pulse, peer).await;
        }
        (Socket::Tcp(stream), _) if !secure => {
            serve_http2(&shared, wire(stream, &pulse), &pulse, peer).await;
        }
        (Socket::Tcp(stream), Some(tls)) => {
            let tls = tls.borrow().clone();
            let handshake = tls.accept(wire(stream, &pulse));
            match tokio::time::timeout(shared.limits.handshake, handshake).await {
                Ok(Ok(stream)) => {
                    let agreed = stream.negotiated();
                    (peer.tls, peer.client) = (Some(agreed), stream.client_names());
                    peer.client_fingerprint = stream.client_fingerprint();
                    tell(&peer, agreed);
                    serve_http2(&shared, stream, &pulse, peer).await;
                }
                Ok(Err(error)) => {
                    let why = flight_tls::explain_accept(&error);
                    shared.handshake_failed(&peer, &why.unwrap_or_else(|| error.to_string()));
                }
                Err(_) => shared.handshake_failed(&peer, "it took too long"),
            }
        }
        (Socket::Tcp(_), None) => {
            tracing::error!("a grpc+tls listener runs without a certificate; this is a bug");
        }
    }
    drop(slot);
}

fn tell(peer: &Peer, agreed: Negotiated) {
    let (engine, resumed) = (agreed.engine, agreed.resumed);
    let client = peer.client.as_ref().map(tracing::field::display);
    tracing::debug!(%peer, %engine, %agreed, resumed, client, "a TLS handshake succeeded");
}

/// A socket as it lies under TLS and HTTP/2: felt, and closed without loss.
fn wire<S>(stream: S, pulse: &Pulse) -> Linger<Pulsing<S>> {
    Linger::new(Pulsing { stream, pulse: pulse.clone() })
}

impl<H> Shared<H> {
    /// A connection's settings, and the share of the memory for windows that they promise.
    fn windows(&self) -> (Http2Settings, Option<OwnedSemaphorePermit>) {
        let wanted = SERVER_HTTP2.connection_window_bytes / WINDOW_UNIT;
        match Arc::clone(&self.windows).try_acquire_many_owned(wanted) {
            Ok(share) => (SERVER_HTTP2, Some(share)),
            Err(_) => (SERVER_HTTP2_SHORT, None),
        }
    }

    fn handshake_failed(&self, peer: &Peer, why: &str) {
        self.counters.handshakes_failed.fetch_add(1, Ordering::Relaxed);
        tracing::info!(%peer, why, "a TLS handshake failed");
    }
}

async fn serve_http2<H, S>(shared: &Arc<Shared<H>>, stream: S, pulse: &Pulse, peer: Peer)
where
    H: Handler,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let peer = Arc::new(peer);
    let activity = Activity::new();
    let service = service_fn(|request: Request<Incoming>| {
        let context = CallContext::new(&peer, request.headers());
        let (shared, open) = (Arc::clone(shared), activity.begin());
        async move {
            let response = call(&shared, context, request).await;
            Ok::<_, Infallible>(response.map(|body| body.of(open)))
        }
    });
    let limits = &shared.limits;
    let (http2, _windows) = shared.windows();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(http2.stream_window_bytes)
        .initial_connection_window_size(http2.connection_window_bytes)
        .max_frame_size(http2.frame_bytes_max)
        .max_send_buf_size(http2.send_buffer_bytes)
        .adaptive_window(false)
        // None of these has a safe default: None means no limit.
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .max_pending_accept_reset_streams(PENDING_RESETS)
        .max_local_error_reset_streams(LOCAL_RESETS)
        .max_header_list_size(HEADER_LIST_BYTES)
        .keep_alive_interval(limits.keepalive)
        .keep_alive_timeout(limits.keepalive_timeout);
    let gather = Gather::new(stream);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(gather.clone()), service));
    let mut stop = shared.stop.clone();
    // The guard that `wait_for` gives must not be held across an await.
    let stopped = stop.wait_for(|stop| *stop).map(|_| ());
    let ended = tokio::select! {
        ended = gather.drive(connection.as_mut()) => ended,
        () = stopped => {
            connection.as_mut().graceful_shutdown();
            // Running streams may end; a connection without one is only told, not waited for.
            tokio::select! {
                ended = gather.drive(connection.as_mut()) => ended,
                () = silence(&activity, pulse) => Ok(()),
            }
        }
        () = activity.expired(limits.first_call, limits.idle) => {
            connection.as_mut().graceful_shutdown();
            let goodbye = tokio::time::timeout(GOODBYE, gather.drive(connection));
            goodbye.await.unwrap_or(Ok(()))
        }
        () = activity.stuck_for(STUCK) => {
            tracing::debug!(%peer, "a connection is closed: it takes no end of a call");
            connection.as_mut().graceful_shutdown();
            // Calls that are answered may end; the client opens further ones elsewhere.
            tokio::select! {
                ended = gather.drive(connection.as_mut()) => ended,
                () = last_words(&activity, pulse) => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "a connection broke");
    }
}

/// Time for a connection's last frames: GOAWAY, and the client's answer to it.
const GOODBYE: Duration = Duration::from_millis(500);
/// Time for the end of a call that was given up to be taken. A peer whose window is closed cannot
/// take it, and hyper resets no stream before it can.
const STUCK: Duration = Duration::from_secs(2);
const LAST_WORDS: Duration = Duration::from_secs(30);
/// A connection that is being drained and over which no byte moves for this long has no more to say.
const SILENCE: Duration = Duration::from_secs(3);

/// Resolves once a connection has no open call and no byte moves over it: the last bytes of an
/// answer may be on their way for as long as its reader takes them.
async fn silence(activity: &Activity, pulse: &Pulse) {
    loop {
        activity.idle_for(GOODBYE).await;
        if pulse.silent_for() >= SILENCE {
            return;
        }
    }
}

/// Like [`silence`], of a peer that may send pings for ever: once no call is answered, it has a bounded
/// time to take the last bytes of those that were.
async fn last_words(activity: &Activity, pulse: &Pulse) {
    activity.idle_for(GOODBYE).await;
    let _ = tokio::time::timeout(LAST_WORDS, silence(activity, pulse)).await;
}

async fn call<H: Handler>(
    shared: &Shared<H>,
    context: CallContext,
    request: Request<Incoming>,
) -> Response<Body> {
    let id = context.id;
    let answer = shared.handler.call(context, request);
    match std::panic::AssertUnwindSafe(answer).catch_unwind().await {
        Ok(response) => response,
        Err(_) => {
            shared.counters.panics.fetch_add(1, Ordering::Relaxed);
            tracing::error!(call = id, "a call panicked; the server goes on");
            let status = tonic::Status::internal("the server failed on this call");
            status.into_http::<tonic::body::Body>().map(Body::from)
        }
    }
}
