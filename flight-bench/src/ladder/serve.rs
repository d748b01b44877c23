//! The other end of the rungs below Flight: a process of its own, started by the ladder.
//!
//! Three sockets send the same messages until the client goes: raw, raw over TLS, and HTTP/2 with
//! flight-server's settings. A raw client says nothing; an HTTP/2 client may call any path.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use flight_net::server::{CallContext, Handler, Listener, Server};
use flight_net::{Body, Endpoint};
use flight_tls::{ServerIdentity, ServerOptions, ServerTls};
use flight_wire::Frame;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::messages::Messages;
use crate::cli::LadderServeArgs;
use crate::exit::{Exit, Stop};

/// Serves until stdin closes.
pub(crate) fn serve(args: &LadderServeArgs) -> Result<Exit, Stop> {
    let message_bytes = usize::try_from(args.message_bytes)
        .map_err(|_| Stop::usage("--message-bytes is more than memory has addresses for"))?;
    let messages = Messages::of_file(&args.data_file, message_bytes)?;
    let identity = ServerIdentity::load(&args.tls_cert, &args.tls_key).map_err(Stop::failed)?;
    let tls = ServerTls::new(&identity, ServerOptions::default());
    let tls = tls.map_err(Stop::failed)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(listen(messages, tls)).map_err(Stop::failed)?;
    Ok(Exit::Done)
}

async fn listen(messages: Messages, tls: ServerTls) -> anyhow::Result<()> {
    let whole: Arc<[Bytes]> = messages.whole().into();
    let raw = TcpListener::bind(("127.0.0.1", 0)).await?;
    let secure = TcpListener::bind(("127.0.0.1", 0)).await?;
    let free: Endpoint = "grpc://127.0.0.1:0".parse().context("the endpoint is constant")?;
    let http2 = Listener::bind(&free)?;
    let endpoints = [
        format!("grpc://{}", raw.local_addr()?),
        format!("grpc+tls://{}", secure.local_addr()?),
        http2.endpoint().to_string(),
    ];
    tokio::spawn(accept(raw, None, Arc::clone(&whole)));
    tokio::spawn(accept(secure, Some(tls), whole));
    let handler = Endless(messages.grouped().into());
    let server = Server { limits: Default::default(), tls: None, counters: Default::default() };
    let (stop, stopped) = watch::channel(false);
    let serving = tokio::spawn(server.serve(vec![http2], handler, stopped));
    let ready = json!({
        "ready": true,
        "pid": std::process::id(),
        "endpoints": endpoints,
        "version": env!("CARGO_PKG_VERSION"),
    });
    writeln!(std::io::stdout(), "{ready}").context("cannot write the ready line")?;
    let mut stdin = tokio::io::stdin();
    let mut ignored = [0; 64];
    while stdin.read(&mut ignored).await.context("cannot read stdin")? > 0 {}
    // Streams have no end of their own: nothing is drained.
    serving.abort();
    drop(stop);
    Ok(())
}

async fn accept(listener: TcpListener, tls: Option<ServerTls>, messages: Arc<[Bytes]>) {
    while let Ok((socket, _)) = listener.accept().await {
        let (tls, messages) = (tls.clone(), Arc::clone(&messages));
        tokio::spawn(async move {
            socket.set_nodelay(true)?;
            match tls {
                None => pour(socket, &messages).await,
                Some(tls) => pour(tls.accept(socket).await?, &messages).await,
            }
        });
    }
}

/// Writes the messages again and again until the client goes.
async fn pour(mut stream: impl AsyncWrite + Unpin, messages: &[Bytes]) -> std::io::Result<()> {
    loop {
        for message in messages {
            stream.write_all(message).await?;
        }
    }
}

/// Answers every call with the messages, again and again until the client goes.
#[derive(Clone)]
struct Endless(Arc<[Frame]>);

impl Handler for Endless {
    async fn call(
        &self,
        _context: CallContext,
        _request: Request<hyper::body::Incoming>,
    ) -> Response<Body> {
        let (sender, body) = Body::frames();
        let frames = Arc::clone(&self.0);
        tokio::spawn(async move {
            loop {
                for frame in frames.iter() {
                    if !sender.send(frame.clone()).await {
                        return;
                    }
                }
            }
        });
        let mut response = Response::new(body);
        let grpc = HeaderValue::from_static("application/grpc");
        response.headers_mut().insert(CONTENT_TYPE, grpc);
        response
    }
}
