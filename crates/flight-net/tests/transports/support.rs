//! A server whose answers are chosen by a header of the call, and clients of every transport.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use flight_net::client::{ConnectOptions, Connector, GetStream, StreamConnection, Transport};
use flight_net::limits::{Http2Settings, ServerLimits};
use flight_net::server::{CallContext, Handler, Listener, Server};
use flight_net::{Body, Endpoint, FrameSender};
use flight_pki::{Authority, Host, KeyKind, Validity};
use flight_testkit::{batches, rng, schemas};
use flight_tls::{
    ClientOptions, ClientTls, ServerIdentity, ServerOptions, ServerTls, Trust, client_config,
};
use flight_wire::{
    BatchDecoder, DecodeLimits, Decoded, EncodeOptions, Encoder, FlightMessage, Frame,
    MessageReader, Received,
};
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

/// Far beyond what any call here takes, so that a hang fails instead of hanging.
pub(crate) const HANG: Duration = Duration::from_secs(60);
pub(crate) const TRANSPORTS: [Transport; 2] = [Transport::Own, Transport::Hyper];

/// Runs `test` against a server of its own over each transport, in plaintext and over TLS.
pub(crate) async fn everywhere(test: impl AsyncFn(Fixture)) {
    for transport in TRANSPORTS {
        for secure in [false, true] {
            let fixture = Fixture::start(transport, secure, Http2Settings::default());
            let ended = tokio::time::timeout(HANG, test(fixture)).await;
            assert!(ended.is_ok(), "{transport:?}, TLS {secure}: it hangs");
        }
    }
}

/// A running server, and how to reach it.
pub(crate) struct Fixture {
    pub(crate) connector: Connector,
    pub(crate) server: JoinHandle<()>,
    pub(crate) transport: Transport,
    _stop: watch::Sender<bool>,
}

impl Fixture {
    pub(crate) fn start(transport: Transport, secure: bool, http2: Http2Settings) -> Self {
        let (certificates, tls) = if secure {
            tls().map_or((None, None), |(s, c)| (Some(s), Some(c)))
        } else {
            (None, None)
        };
        let scheme = if secure { "grpc+tls" } else { "grpc" };
        let endpoint: Endpoint = format!("{scheme}://127.0.0.1:0").parse().unwrap();
        let listener = Listener::bind(&endpoint).unwrap();
        let options = ConnectOptions { transport, http2, ..ConnectOptions::default() };
        let connector = Connector::new(listener.endpoint().clone(), tls, options);
        let (stop, stopped) = watch::channel(false);
        let tls = certificates.map(|certificates| watch::channel(certificates).1);
        let server = Server { limits: ServerLimits::default(), tls, counters: Arc::default() };
        let server = tokio::spawn(server.serve(vec![listener], Script, stopped));
        Self { connector, server, transport, _stop: stop }
    }

    pub(crate) async fn connect(&self) -> StreamConnection {
        self.connector.connect_streams().await.unwrap()
    }

    /// DoGet of a script: its stream, or the refusal.
    pub(crate) async fn get(&self, script: &str) -> Result<GetStream, Status> {
        self.connect().await.do_get(b"ticket", metadata(script)).await
    }
}

fn tls() -> Option<(ServerTls, ClientTls)> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let authority = Authority::new(Validity::starting(SystemTime::now(), 7).unwrap()).unwrap();
    let issued = authority.server(&Host::loopback(), KeyKind::P256).unwrap();
    let ca = write("ca.pem", &authority.cert_pem());
    let (cert, key) = (write("s.pem", &issued.cert_pem), write("s.key", &issued.key_pem));
    let identity = ServerIdentity::load(&cert, &key).unwrap();
    let server = ServerTls::new(&identity, ServerOptions::default()).unwrap();
    let client = client_config(Trust::Roots(ca), None, ClientOptions::default()).unwrap();
    Some((server, client))
}

/// The metadata that chooses what the server does.
pub(crate) fn metadata(script: &str) -> MetadataMap {
    let mut metadata = MetadataMap::new();
    metadata.insert("script", script.parse().unwrap());
    metadata
}

/// What the server sends: batches of every type, small ones, empty ones and one of some megabytes.
pub(crate) fn sent() -> &'static [RecordBatch] {
    static SENT: LazyLock<Vec<RecordBatch>> = LazyLock::new(|| {
        let schema = schemas::every_type();
        batches::stream_of(&mut rng(7), &schema, &[10, 0, 1, 3_000, 100])
    });
    &SENT
}

/// Frames of a stream of `batches`.
pub(crate) fn frames(batches: &[RecordBatch], message_bytes_max: usize) -> Vec<Frame> {
    let options = EncodeOptions { message_bytes_max, ..EncodeOptions::default() };
    let mut encoder = Encoder::new(&batches[0].schema(), options).unwrap();
    let mut frames = vec![Frame::new(encoder.schema(), b"", None)];
    for batch in batches {
        for message in encoder.encode(batch).unwrap() {
            frames.push(Frame::new(message, b"m", None));
        }
    }
    frames
}

/// Frames of a stream of 32 batches of 4 MiB.
fn large_frames() -> Vec<Frame> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1 << 18));
    let columns = ["a", "b"].map(|name| (name, Arc::clone(&numbers)));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    frames(&vec![batch; 32], 64 << 20)
}

/// Reads a stream to its end: its messages, and how it ended.
pub(crate) async fn read(mut stream: GetStream) -> (Vec<FlightMessage>, Result<(), Status>) {
    let mut messages = Vec::new();
    while let Some(message) = stream.next().await {
        match message {
            Ok(message) => messages.push(message),
            Err(status) => {
                assert!(stream.next().await.is_none(), "nothing comes after an error");
                return (messages, Err(status));
            }
        }
    }
    (messages, Ok(()))
}

/// The batches of a stream's messages.
pub(crate) fn decode(messages: &[FlightMessage]) -> Vec<RecordBatch> {
    let mut decoder = BatchDecoder::new(DecodeLimits::default());
    let mut batches = Vec::new();
    for message in messages {
        if let Decoded::Batch(batch) = decoder.decode(&message.header, &message.body).unwrap() {
            batches.push(batch);
        }
    }
    batches
}

/// Fails unless `status` has this code and says `words`.
#[track_caller]
pub(crate) fn check(status: &Status, code: Code, words: &str) {
    assert_eq!(status.code(), code, "{status:?}");
    assert!(status.message().contains(words), "{status:?}");
}

/// Does what the header `script` of a call says.
#[derive(Clone)]
pub(crate) struct Script;

impl Handler for Script {
    async fn call(&self, context: CallContext, request: Request<Incoming>) -> Response<Body> {
        let script = request.headers()["script"].to_str().unwrap().to_owned();
        match script.as_str() {
            "refused" => refusal(Status::not_found("there is no dataset \"ticket\" – none")),
            "deadline" => {
                tokio::time::sleep_until(context.deadline.unwrap()).await;
                refusal(Status::deadline_exceeded("the deadline has passed"))
            }
            "large headers" => {
                let mut response = answer(|sender| async move { finish(sender, None).await });
                for index in 0..7 {
                    let name: http::HeaderName = format!("x-large-{index}").parse().unwrap();
                    response.headers_mut().insert(name, "v".repeat(2_000).parse().unwrap());
                }
                response
            }
            "page" => {
                let mut response = Response::new(tonic::body::Body::empty().into());
                *response.status_mut() = http::StatusCode::BAD_GATEWAY;
                response
            }
            "acks" => answer(|sender| acknowledge(sender, request, usize::MAX)),
            "stops early" => answer(|sender| acknowledge(sender, request, 1)),
            get => {
                let get = get.to_owned();
                answer(|sender| async move { stream(sender, &get).await })
            }
        }
    }
}

/// Sends the batches, then ends as `script` says.
async fn stream(sender: FrameSender, script: &str) {
    static WHOLE: LazyLock<Vec<Frame>> = LazyLock::new(|| frames(sent(), 64 << 20));
    static SPLIT: LazyLock<Vec<Frame>> = LazyLock::new(|| frames(sent(), 256 << 10));
    static LARGE: LazyLock<Vec<Frame>> = LazyLock::new(large_frames);
    let frames = match script {
        "split" => &SPLIT,
        "large" => &LARGE,
        _ => &WHOLE,
    };
    for frame in frames.iter() {
        if !sender.send(frame.clone()).await {
            return;
        }
    }
    match script {
        "fails" => finish(sender, Some(Status::data_loss("the file changed"))).await,
        "breaks off" => drop(sender),
        "goes on" => sender.closed().await,
        _ => finish(sender, None).await,
    }
}

async fn finish(sender: FrameSender, status: Option<Status>) {
    let mut trailers = HeaderMap::new();
    let status = status.unwrap_or_else(|| Status::ok(""));
    status.add_header(&mut trailers).unwrap();
    sender.end_within(Duration::from_secs(60), trailers).await;
}

/// Acknowledges every message of an upload by its metadata; fails after `max` of them.
async fn acknowledge(sender: FrameSender, request: Request<Incoming>, max: usize) {
    let mut body = request.into_body();
    let mut reader = MessageReader::new(usize::MAX);
    let mut taken = 0;
    loop {
        match reader.next().unwrap() {
            Received::Message(message) => {
                taken += 1;
                sender.send(Frame::put_result(&message.app_metadata)).await;
            }
            Received::Begun(_) => {}
            Received::Starved => match body.frame().await {
                Some(Ok(frame)) => reader.push(frame.into_data().unwrap_or_default()),
                Some(Err(_)) => return,
                None => return finish(sender, None).await,
            },
        }
        if taken >= max {
            return finish(sender, Some(Status::resource_exhausted("the disk is full"))).await;
        }
    }
}

/// An answer whose body `produce` makes.
fn answer<F>(produce: impl FnOnce(FrameSender) -> F) -> Response<Body>
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, body) = Body::frames();
    tokio::spawn(produce(sender));
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    response
}

fn refusal(status: Status) -> Response<Body> {
    status.into_http::<tonic::body::Body>().map(Body::from)
}
