//! The listening side: working sets in memory, four sockets, the ready line.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use anyhow::{Context, Result};
use arrow_flight::flight_service_server::FlightServiceServer;
use flight_perf::sets::WorkingSet;
use flight_tls::{ServerIdentity, ServerOptions, ServerTls};
use rustls::ServerConfig;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;
use tonic::transport::server::{Connected, TcpIncoming};

use crate::ServeArgs;
use crate::raw::{self, RawSet};
use crate::service::Stock;

/// Handshaken connections that wait for tonic to take them.
const HANDSHAKEN_AHEAD: usize = 16;

/// Serves until stdin closes.
pub(crate) async fn serve(args: ServeArgs) -> Result<()> {
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => {
            let identity = ServerIdentity::load(cert, key)?;
            let tls = ServerTls::new(&identity, ServerOptions::default())?;
            Some(Arc::clone(tls.rustls().context("the default engine is rustls")?))
        }
        _ => None,
    };
    let sets: BTreeMap<_, _> =
        args.sets.iter().map(|name| (*name, WorkingSet::generate(*name))).collect();
    let raw_sets = sets.iter().map(|(name, set)| Ok((*name, set.bodies()?)));
    let raw_sets: Arc<BTreeMap<_, RawSet>> = Arc::new(raw_sets.collect::<Result<_>>()?);
    let stock = Stock::new(sets, args.data);

    let mut endpoints = Vec::new();
    let mut bound = async |scheme: &str| {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        endpoints.push(format!("{scheme}://{}", listener.local_addr()?));
        Ok::<_, anyhow::Error>(listener)
    };
    let (plain, raw_plain) = (bound("grpc").await?, bound("tcp").await?);
    let secure = match tls {
        Some(tls) => Some((tls, bound("grpc+tls").await?, bound("tls").await?)),
        None => None,
    };
    let service = FlightServiceServer::new(stock);
    let incoming = TcpIncoming::from(plain).with_nodelay(Some(true));
    let served = Server::builder().add_service(service.clone()).serve_with_incoming(incoming);
    tokio::spawn(served);
    tokio::spawn(raw::accept(raw_plain, None, Arc::clone(&raw_sets)));
    if let Some((tls, grpc, raw_tls)) = secure {
        let incoming = handshaken(grpc, Arc::clone(&tls));
        tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
        tokio::spawn(raw::accept(raw_tls, Some(tls), raw_sets));
    }
    let ready = json!({ "ready": true, "pid": std::process::id(), "endpoints": endpoints });
    crate::print_line(&ready.to_string())?;
    until_stdin_closes().await
}

async fn until_stdin_closes() -> Result<()> {
    let mut stdin = tokio::io::stdin();
    let mut ignored = [0; 256];
    while stdin.read(&mut ignored).await.context("cannot read stdin")? > 0 {}
    Ok(())
}

/// Connections whose handshake is done, each on a task of its own, as tonic does it.
fn handshaken(
    listener: TcpListener,
    config: Arc<ServerConfig>,
) -> ReceiverStream<Result<Secure, std::io::Error>> {
    let (sender, receiver) = mpsc::channel(HANDSHAKEN_AHEAD);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (sender, acceptor) = (sender.clone(), TlsAcceptor::from(Arc::clone(&config)));
            tokio::spawn(async move {
                if let Ok(stream) = handshake(acceptor, socket).await {
                    // A server that has ended takes no more connections.
                    let _ = sender.send(Ok(Secure(stream))).await;
                }
            });
        }
    });
    ReceiverStream::new(receiver)
}

async fn handshake(
    acceptor: TlsAcceptor,
    socket: TcpStream,
) -> std::io::Result<TlsStream<TcpStream>> {
    socket.set_nodelay(true)?;
    acceptor.accept(socket).await
}

/// A TLS connection that tonic takes.
struct Secure(TlsStream<TcpStream>);

impl Connected for Secure {
    type ConnectInfo = ();

    fn connect_info(&self) -> Self::ConnectInfo {}
}

impl AsyncRead for Secure {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Secure {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        bufs: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}
