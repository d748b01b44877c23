//! DoGet and DoPut on a connection, as streams of Flight messages.

use arrow_flight::PutResult;
use bytes::{BufMut, Bytes, BytesMut};
use flight_wire::{FlightMessage, Frame, MessageReader, Received};
use http::header::{CONTENT_TYPE, HeaderValue, TE};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tonic::codec::Codec;
use tonic::{Code, Status, Streaming};
use tonic_prost::ProstCodec;

use super::Connection;
use super::own::{Answer, Sink};
use crate::body::{Body, FrameSender};
use crate::paths;

impl Connection {
    /// Starts DoGet with `ticket`; `metadata` are headers of the call.
    ///
    /// # Errors
    ///
    /// The server's refusal, or `UNAVAILABLE` when the connection broke.
    pub async fn do_get(
        &self,
        ticket: &[u8],
        metadata: tonic::metadata::MetadataMap,
    ) -> Result<GetStream, Status> {
        let body = tonic::body::Body::new(http_body_util::Full::new(ticket_message(ticket)));
        let response = self.start(paths::DO_GET, metadata, body.into()).await?;
        let ended = ended_at_once(response.headers());
        Ok(GetStream(GetSource::Hyper(Box::new(HyperGet {
            connection: self.clone(),
            body: response.into_body(),
            reader: MessageReader::new(self.message_bytes_max),
            ended,
        }))))
    }

    /// Starts DoPut: frames go into the sink while acknowledgements come out of the results.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` when the connection broke; a refusal comes out of the results.
    pub fn do_put(
        &self,
        metadata: tonic::metadata::MetadataMap,
    ) -> (PutSink, impl Future<Output = Result<PutResults, Status>> + Send + use<>) {
        let (frames, body) = Body::frames();
        let connection = self.clone();
        let results = async move {
            let response = connection.start(paths::DO_PUT, metadata, body).await?;
            let status = response.status();
            let decoder = ProstCodec::<PutResult, PutResult>::default().decoder();
            let results = if ended_at_once(response.headers()) {
                Streaming::new_empty(decoder, response.into_body())
            } else {
                Streaming::new_response(decoder, response.into_body(), status, None, None)
            };
            Ok(PutResults(ResultSource::Hyper(Box::new((connection, results)))))
        };
        (PutSink(FrameTarget::Hyper(frames)), results)
    }

    /// Starts DoExchange: frames go into the sink while messages come out of the stream.
    ///
    /// # Errors
    ///
    /// The server's refusal, or `UNAVAILABLE` when the connection broke.
    pub fn do_exchange(
        &self,
        metadata: tonic::metadata::MetadataMap,
    ) -> (PutSink, impl Future<Output = Result<GetStream, Status>> + Send + use<>) {
        let (frames, body) = Body::frames();
        let connection = self.clone();
        let stream = async move {
            let response = connection.start(paths::DO_EXCHANGE, metadata, body).await?;
            let ended = ended_at_once(response.headers());
            let reader = MessageReader::new(connection.message_bytes_max);
            let body = response.into_body();
            Ok(GetStream(GetSource::Hyper(Box::new(HyperGet { connection, body, reader, ended }))))
        };
        (PutSink(FrameTarget::Hyper(frames)), stream)
    }

    async fn start(
        &self,
        path: &str,
        metadata: tonic::metadata::MetadataMap,
        body: Body,
    ) -> Result<http::Response<Incoming>, Status> {
        let mut request = http::Request::new(body);
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.origin.uri(path);
        *request.headers_mut() = headers(metadata);
        self.origin.complete(request.headers_mut());
        let response = self.clone().request(request).await?;
        if let Some(status) = Status::from_header_map(response.headers())
            && status.code() != Code::Ok
        {
            return Err(status);
        }
        if response.status() != http::StatusCode::OK {
            let what = format!("the server answered HTTP {}", response.status());
            return Err(Status::unavailable(what));
        }
        Ok(response)
    }
}

/// The messages of a DoGet or a DoExchange.
pub struct GetStream(GetSource);

enum GetSource {
    Hyper(Box<HyperGet>),
    Own(Answer),
}

impl GetStream {
    pub(super) fn own(answer: Answer) -> Self {
        Self(GetSource::Own(answer))
    }

    /// The next message; `None` once the server ended the stream with OK.
    ///
    /// # Errors
    ///
    /// The server's error, bytes that are no Flight messages, a broken connection. Nothing comes
    /// after an error.
    pub async fn next(&mut self) -> Option<Result<FlightMessage, Status>> {
        match &mut self.0 {
            GetSource::Hyper(get) => get.next().await,
            GetSource::Own(answer) => answer.next().await,
        }
    }
}

struct HyperGet {
    connection: Connection,
    body: Incoming,
    reader: MessageReader,
    ended: bool,
}

impl HyperGet {
    async fn next(&mut self) -> Option<Result<FlightMessage, Status>> {
        if self.ended {
            return None;
        }
        loop {
            match self.reader.next() {
                Ok(Received::Message(message)) => return Some(Ok(message)),
                Ok(Received::Begun(_)) => continue,
                Ok(Received::Starved) => {}
                Err(error) => return self.fail(Status::internal(error.to_string())),
            }
            let frame = match self.body.frame().await {
                // A stream without trailers is cut, however complete it looks.
                None => return self.fail(Status::unavailable("the stream ended without a status")),
                Some(Err(error)) => {
                    let status = self.connection.broken.status(&error).await;
                    return self.fail(status);
                }
                Some(Ok(frame)) => frame,
            };
            match frame.into_data() {
                Ok(data) => self.reader.push(data),
                Err(frame) => {
                    let Some(trailers) = frame.trailers_ref() else { continue };
                    return self.finish(trailers);
                }
            }
        }
    }

    fn finish(&mut self, trailers: &http::HeaderMap) -> Option<Result<FlightMessage, Status>> {
        let status = Status::from_header_map(trailers)
            .unwrap_or_else(|| Status::unknown("the trailers hold no grpc-status"));
        if status.code() != Code::Ok {
            return self.fail(status);
        }
        if let Err(error) = self.reader.finish() {
            return self.fail(Status::internal(error.to_string()));
        }
        self.ended = true;
        None
    }

    fn fail(&mut self, status: Status) -> Option<Result<FlightMessage, Status>> {
        self.ended = true;
        Some(Err(status))
    }
}

/// Where the frames of a DoPut or a DoExchange go.
pub struct PutSink(FrameTarget);

enum FrameTarget {
    Hyper(FrameSender),
    Own(Sink),
    /// The call could not begin.
    Refused,
}

impl PutSink {
    pub(super) fn own(sink: Sink) -> Self {
        Self(FrameTarget::Own(sink))
    }

    pub(super) fn refused() -> Self {
        Self(FrameTarget::Refused)
    }

    /// Hands a frame to the connection, once there is room; `false` when the server ended the call,
    /// which its results explain.
    pub async fn send(&self, frame: Frame) -> bool {
        match &self.0 {
            FrameTarget::Hyper(frames) => frames.send(frame).await,
            FrameTarget::Own(sink) => sink.send(frame).await,
            FrameTarget::Refused => false,
        }
    }

    /// Ends the upload. A sink dropped without it breaks the upload off.
    pub async fn finish(self) -> bool {
        match self.0 {
            FrameTarget::Hyper(frames) => frames.end().await,
            FrameTarget::Own(sink) => sink.finish(),
            FrameTarget::Refused => false,
        }
    }
}

/// The acknowledgements of a DoPut.
pub struct PutResults(ResultSource);

enum ResultSource {
    Hyper(Box<(Connection, Streaming<PutResult>)>),
    Own(Answer),
}

impl PutResults {
    pub(super) fn own(answer: Answer) -> Self {
        Self(ResultSource::Own(answer))
    }

    /// The next `PutResult.app_metadata`; `None` once the server ended the call with OK.
    ///
    /// # Errors
    ///
    /// The server's error or a broken connection.
    pub async fn next(&mut self) -> Option<Result<Bytes, Status>> {
        let (connection, results) = match &mut self.0 {
            ResultSource::Hyper(both) => &mut **both,
            ResultSource::Own(answer) => {
                let message = answer.next().await?;
                // Field 1 of a PutResult is its app_metadata, that of FlightData the descriptor:
                // one reader serves both.
                return Some(message.map(|message| message.descriptor.unwrap_or_default()));
            }
        };
        match results.message().await {
            Ok(Some(result)) => Some(Ok(result.app_metadata)),
            Ok(None) => None,
            // Not a status of the server's, but a body that broke off.
            Err(status) if status.code() == Code::Unknown => {
                Some(Err(connection.broken.or(status).await))
            }
            Err(status) => Some(Err(status)),
        }
    }
}

/// The headers of a call with `metadata`.
pub(super) fn headers(metadata: tonic::metadata::MetadataMap) -> http::HeaderMap {
    let mut headers = metadata.into_headers();
    headers.insert(TE, HeaderValue::from_static("trailers"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers
}

/// Whether the answer is a status alone, in its headers: OK, since errors were returned before.
fn ended_at_once(headers: &http::HeaderMap) -> bool {
    headers.contains_key("grpc-status")
}

/// A gRPC message of `Ticket { bytes ticket = 1 }`.
pub(super) fn ticket_message(ticket: &[u8]) -> Bytes {
    let message = prost::Message::encode_to_vec(&arrow_flight::Ticket {
        ticket: Bytes::copy_from_slice(ticket),
    });
    let mut out = BytesMut::with_capacity(5 + message.len());
    out.put_u8(0);
    out.put_u32(u32::try_from(message.len()).expect("a ticket is far below 4 GiB"));
    out.put_slice(&message);
    out.freeze()
}
