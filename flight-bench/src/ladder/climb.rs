//! The client of each rung: one stream, as fast as it comes.

use std::hint::black_box;

use anyhow::{Context, bail};
use bytes::{Buf, Bytes};
use flight_net::Endpoint;
use flight_net::client::Connector;
use flight_tls::ClientTls;
use flight_wire::{BatchDecoder, DecodeLimits};
use http_body_util::BodyExt;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tonic::Status;
use tonic::client::{Grpc, GrpcService};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataMap;

use super::meter::Meter;
use super::rung::Rung;

/// What the rungs read from.
pub(super) struct Site {
    pub(super) messages: Vec<Bytes>,
    pub(super) raw: Endpoint,
    pub(super) secure: Endpoint,
    pub(super) tls: ClientTls,
    /// HTTP/2 of the ladder's own server.
    pub(super) http2: Connector,
    /// The flight-server, and what is read from it.
    pub(super) flight: Connector,
    pub(super) tickets: Vec<Bytes>,
}

/// The path that the gRPC rung calls; the ladder's server answers all alike.
const PATH: &str = "/flight_bench.Ladder/Read";

impl Site {
    /// Runs `rung` until its window has closed.
    ///
    /// # Errors
    ///
    /// What broke, in words.
    pub(super) async fn climb(&self, rung: Rung, meter: &mut Meter<'_>) -> anyhow::Result<()> {
        match rung {
            Rung::Memcpy => self.copy(meter).await,
            Rung::Tcp => self.drain(socket(&self.raw).await?, meter).await?,
            Rung::Tls => {
                let host = self.secure.host().context("a TLS endpoint has a host")?;
                let stream = self.tls.connect(host, socket(&self.secure).await?).await?;
                self.drain(stream, meter).await?;
            }
            Rung::Http2 => self.http2(meter).await?,
            Rung::Grpc => self.grpc(meter).await?,
            Rung::Messages => self.flight(meter, false).await?,
            Rung::Flight => self.flight(meter, true).await?,
        }
        Ok(())
    }

    /// Copies each message into recycled memory, as a receiver must at least once.
    async fn copy(&self, meter: &mut Meter<'_>) {
        let mut sink = self.sink();
        let mut turn = 0;
        for message in self.messages.iter().cycle() {
            turn ^= 1;
            sink[turn][..message.len()].copy_from_slice(message);
            black_box(&sink[turn]);
            if !meter.moved(message.len() as u64) {
                return;
            }
            // An interrupt must be seen.
            tokio::task::yield_now().await;
        }
    }

    async fn drain(
        &self,
        mut stream: impl AsyncRead + Unpin,
        meter: &mut Meter<'_>,
    ) -> anyhow::Result<()> {
        let mut sink = self.sink();
        let mut turn = 0;
        for message in self.messages.iter().cycle() {
            turn ^= 1;
            stream.read_exact(&mut sink[turn][..message.len()]).await?;
            if !meter.moved(message.len() as u64) {
                break;
            }
        }
        Ok(())
    }

    /// Two buffers of the largest message, used in turn.
    fn sink(&self) -> [Vec<u8>; 2] {
        let largest = self.messages.iter().map(Bytes::len).max().unwrap_or(0);
        [vec![0; largest], vec![0; largest]]
    }

    async fn http2(&self, meter: &mut Meter<'_>) -> anyhow::Result<()> {
        let mut connection = self.http2.connect().await?;
        let mut request = http::Request::new(tonic::body::Body::empty());
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = PATH.parse().context("the path is constant")?;
        let mut body = GrpcService::call(&mut connection, request).await?.into_body();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else { break };
            if !meter.moved(data.len() as u64) {
                return Ok(());
            }
        }
        bail!("the stream ended within its window")
    }

    async fn grpc(&self, meter: &mut Meter<'_>) -> anyhow::Result<()> {
        let connection = self.http2.connect().await?;
        let mut client = Grpc::new(connection).max_decoding_message_size(i32::MAX as usize);
        client.ready().await?;
        let request = tonic::Request::new(());
        let path = http::uri::PathAndQuery::from_static(PATH);
        let mut messages = client.server_streaming(request, path, Opaque).await?.into_inner();
        while let Some(message) = messages.message().await? {
            if !meter.moved(message.len() as u64) {
                return Ok(());
            }
        }
        bail!("the stream ended within its window")
    }

    /// DoGet again and again; with `decode`, each message becomes a batch.
    async fn flight(&self, meter: &mut Meter<'_>, decode: bool) -> anyhow::Result<()> {
        let connection = self.flight.connect_streams().await?;
        for ticket in self.tickets.iter().cycle() {
            let mut messages = connection.do_get(ticket, MetadataMap::new()).await?;
            let mut decoder = BatchDecoder::new(DecodeLimits::default());
            while let Some(message) = messages.next().await {
                let message = message?;
                if decode && !message.header.is_empty() {
                    black_box(decoder.decode(&message.header, &message.body)?);
                }
                if !meter.moved(message.bytes as u64) {
                    return Ok(());
                }
            }
        }
        bail!("the server names no ticket")
    }
}

async fn socket(endpoint: &Endpoint) -> anyhow::Result<TcpStream> {
    let (Endpoint::Tcp { host, port } | Endpoint::Tls { host, port }) = endpoint else {
        bail!("{endpoint} is no TCP endpoint")
    };
    let socket = TcpStream::connect((host.as_str(), *port)).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Messages of any bytes, taken as they are: gRPC without a message format.
struct Opaque;

impl Codec for Opaque {
    type Encode = ();
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Opaque {
    type Item = ();
    type Error = Status;

    fn encode(&mut self, (): (), _: &mut EncodeBuf<'_>) -> Result<(), Status> {
        Ok(())
    }
}

impl Decoder for Opaque {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(message.copy_to_bytes(message.remaining())))
    }
}
