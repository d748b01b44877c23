//! A Flight server that is not ours, written here: it knows paths alone, acknowledges nothing, and
//! can be told to lie.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use tokio::sync::oneshot;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

use crate::support::known_schema;

/// Rows of the one batch that the server sends.
pub(crate) const ROWS: usize = 1000;

/// What the server says that is not so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    None,
    /// Announces a row too many.
    Rows,
    /// Announces -1 rows: it does not know.
    Unknown,
    /// Announces only the first column.
    Schema,
    /// Cuts the bodies in half.
    Body,
    /// Sends a checksum of zero.
    Checksum,
    /// Is busy when it is asked to send for the first time.
    Busy,
}

/// What the metadata of every call has to say to a server that asks for it.
pub(crate) const TOKEN: &str = "Bearer s3cret-of-a-test";

/// A running server; stops when dropped.
pub(crate) struct Foreign {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Foreign {
    pub(crate) fn start(lie: Lie) -> Self {
        Self::start_with(lie, Ok)
    }

    /// The same, and refuses calls without [`TOKEN`].
    pub(crate) fn guarded() -> Self {
        Self::start_with(Lie::None, |request: Request<()>| {
            let token = request.metadata().get("authorization");
            match token.is_some_and(|token| token == TOKEN) {
                true => Ok(request),
                false => Err(Status::unauthenticated("no token")),
            }
        })
    }

    fn start_with(
        lie: Lie,
        admit: impl FnMut(Request<()>) -> Result<Request<()>, Status> + Clone + Send + Sync + 'static,
    ) -> Self {
        let (sender, address) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let any = SocketAddr::from(([127, 0, 0, 1], 0));
                let incoming = TcpIncoming::bind(any).expect("a free port");
                let incoming = incoming.with_nodelay(Some(true));
                sender.send(incoming.local_addr().expect("an address")).expect("the test waits");
                let service = Service { lie, asked: AtomicBool::new(false) };
                let service = FlightServiceServer::with_interceptor(service, admit);
                let served = Server::builder()
                    .add_service(service)
                    .serve_with_incoming_shutdown(incoming, async { drop(stopped.await) });
                served.await.expect("it serves until it is stopped");
            });
        });
        let address = address.recv().expect("the server starts");
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn uri(&self) -> String {
        format!("grpc://{}", self.address)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server has already failed the test through what the bench saw.
            let _ = thread.join();
        }
    }
}

struct Service {
    lie: Lie,
    asked: AtomicBool,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

fn batch() -> RecordBatch {
    let numbers = arrow_array::Int64Array::from_iter_values(0..ROWS as i64);
    let halves = arrow_array::Float64Array::from_iter_values((0..ROWS).map(|i| i as f64 / 2.0));
    RecordBatch::try_new(
        known_schema(),
        vec![std::sync::Arc::new(numbers), std::sync::Arc::new(halves)],
    )
    .expect("two columns of the schema")
}

#[tonic::async_trait]
impl FlightService for Service {
    type HandshakeStream = Answers<HandshakeResponse>;
    type ListFlightsStream = Answers<FlightInfo>;
    type DoGetStream = Answers<FlightData>;
    type DoPutStream = Answers<PutResult>;
    type DoActionStream = Answers<arrow_flight::Result>;
    type ListActionsStream = Answers<ActionType>;
    type DoExchangeStream = Answers<FlightData>;

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let mut schema = known_schema().as_ref().clone();
        if self.lie == Lie::Schema {
            schema = schema.project(&[0]).expect("a first column");
        }
        let rows = match self.lie {
            Lie::Rows => ROWS as i64 + 1,
            Lie::Unknown => -1,
            Lie::None | Lie::Schema | Lie::Body | Lie::Checksum | Lie::Busy => ROWS as i64,
        };
        let info = FlightInfo::new()
            .try_with_schema(&schema)
            .map_err(|error| Status::internal(error.to_string()))?
            .with_descriptor(request.into_inner())
            .with_endpoint(
                // A location that leads nowhere: it must not be followed.
                FlightEndpoint::new()
                    .with_ticket(Ticket::new("all"))
                    .with_location("grpc://[::]:1"),
            )
            .with_total_records(rows);
        Ok(Response::new(info))
    }

    async fn do_get(
        &self,
        _request: Request<Ticket>,
    ) -> Result<Response<Self::DoGetStream>, Status> {
        let lie = self.lie;
        if lie == Lie::Busy && !self.asked.swap(true, Ordering::Relaxed) {
            return Err(Status::unavailable("come back later"));
        }
        let messages = FlightDataEncoderBuilder::new()
            .with_schema(known_schema())
            .build(stream::iter([Ok(batch())]))
            .map_ok(move |mut message| {
                match lie {
                    Lie::Body => {
                        let half = message.data_body.len() / 2;
                        message.data_body = message.data_body.slice(..half);
                    }
                    Lie::Checksum => message.app_metadata = "xxh3:0000000000000000".into(),
                    Lie::None | Lie::Rows | Lie::Unknown | Lie::Schema | Lie::Busy => {}
                }
                message
            })
            .map_err(Status::from);
        Ok(Response::new(messages.boxed()))
    }

    async fn do_put(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        let mut messages = request.into_inner();
        while messages.message().await?.is_some() {}
        Ok(Response::new(stream::empty().boxed()))
    }

    async fn list_flights(
        &self,
        _request: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        Err(unimplemented())
    }

    async fn list_actions(
        &self,
        _request: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        Err(unimplemented())
    }

    async fn handshake(
        &self,
        _request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        Err(unimplemented())
    }

    async fn poll_flight_info(
        &self,
        _request: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        Err(unimplemented())
    }

    async fn get_schema(
        &self,
        _request: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        Err(unimplemented())
    }

    async fn do_action(
        &self,
        _request: Request<Action>,
    ) -> Result<Response<Self::DoActionStream>, Status> {
        Err(unimplemented())
    }

    async fn do_exchange(
        &self,
        _request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(unimplemented())
    }
}

fn unimplemented() -> Status {
    Status::unimplemented("this server does not know the call")
}
