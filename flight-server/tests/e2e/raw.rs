//! HTTP/2 by hand: clients that stop, cut, claim and stay silent, as no library lets them.

use std::time::Duration;

use arrow_flight::FlightDescriptor;
use bytes::{Buf, Bytes};
use flight_wire::{EncodeOptions, Encoder, Frame};
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use prost::Message as _;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::client::table;

/// An HTTP/2 connection to a server.
pub struct Raw {
    send: SendRequest<Bytes>,
    task: JoinHandle<()>,
    authority: String,
}

impl Raw {
    pub async fn connect(endpoint: &str) -> Self {
        Self::with_window(endpoint, 65_535).await
    }

    /// A connection whose streams take so many bytes until they are told of more.
    pub async fn with_window(endpoint: &str, bytes: u32) -> Self {
        let authority = endpoint.strip_prefix("grpc://").unwrap().to_owned();
        let stream = TcpStream::connect(&authority).await.unwrap();
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(bytes);
        let (send, connection) = builder.handshake(stream).await.unwrap();
        // The connection's end is told by the calls.
        let task = tokio::spawn(async move { drop(connection.await) });
        Self { send, task, authority }
    }

    /// Breaks the connection off without a word.
    pub fn vanish(self) {
        self.task.abort();
    }

    /// Whether the server closes the connection within `limit`.
    pub async fn closed_within(self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.task).await.is_ok()
    }

    /// Opens a call of the Flight service.
    pub async fn call(
        &self,
        method: &str,
        timeout: Option<&str>,
    ) -> (ResponseFuture, SendStream<Bytes>) {
        let path =
            format!("http://{}/arrow.flight.protocol.FlightService/{method}", self.authority);
        let mut request = http::Request::post(path).header("content-type", "application/grpc");
        if let Some(timeout) = timeout {
            request = request.header("grpc-timeout", timeout);
        }
        let mut send = self.send.clone().ready().await.unwrap();
        send.send_request(request.body(()).unwrap(), false).unwrap()
    }
}

/// The status that a call ends with: its code, or the reason of a reset.
pub async fn status(response: ResponseFuture) -> Result<String, Reason> {
    let within = tokio::time::timeout(Duration::from_secs(20), read_status(response)).await;
    within.expect("a status comes within 20 s")
}

async fn read_status(response: ResponseFuture) -> Result<String, Reason> {
    let reason = |e: h2::Error| e.reason().unwrap_or(Reason::INTERNAL_ERROR);
    let code = |headers: &http::HeaderMap| {
        headers.get("grpc-status").map(|code| code.to_str().unwrap().to_owned())
    };
    let response = response.await.map_err(reason)?;
    if let Some(code) = code(response.headers()) {
        return Ok(code);
    }
    let mut body = response.into_body();
    while let Some(data) = body.data().await {
        let data = data.map_err(reason)?;
        body.flow_control().release_capacity(data.len()).unwrap();
    }
    let trailers = body.trailers().await.map_err(reason)?;
    Ok(code(&trailers.expect("a stream ends with trailers")).expect("trailers hold a status"))
}

/// The bytes of an upload: its schema, then a batch.
pub fn upload(name: &str) -> [Bytes; 2] {
    let batch = table(1, 100);
    let mut encoder = Encoder::new(&batch.schema(), EncodeOptions::default()).unwrap();
    let descriptor = FlightDescriptor::new_path(vec![name.to_owned()]).encode_to_vec();
    let schema = Frame::new(encoder.schema(), b"", Some(&descriptor));
    let batch = Frame::new(encoder.encode(&batch).unwrap().pop().unwrap(), b"", None);
    [schema, batch].map(|frame| {
        let length = frame.bytes();
        frame.into_chunks().copy_to_bytes(length)
    })
}

/// A gRPC message.
pub fn message(message: &impl prost::Message) -> Bytes {
    let body = message.encode_to_vec();
    let head = claim(u32::try_from(body.len()).unwrap());
    [&head[..], &body].concat().into()
}

/// The head of a message that claims `bytes` and does not come.
pub fn claim(bytes: u32) -> Bytes {
    [&[0][..], &bytes.to_be_bytes()].concat().into()
}
