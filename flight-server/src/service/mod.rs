//! Answering calls: each is dispatched by its path, batches to the data plane, the rest to the
//! generated service.

mod budget;
mod command;
mod control;
mod lookup;
mod metrics;
mod perf;
mod plan;
mod produce;
mod rpc;
mod status;
mod tickets;

use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use flight_files::DecodePool;
use flight_net::server::{CallContext, Handler};
use flight_net::{Body, paths};
use flight_store::Store;
use http::{Request, Response};
use hyper::body::Incoming;
use tonic::Status;
use tonic_health::pb::health_server::{Health, HealthServer};
use tower_service::Service as _;

pub use budget::Budget;
pub use lookup::Lookups;
pub use metrics::{Metrics, TlsFigures};
pub use tickets::{Tickets, now_ms};

use control::Control;

/// What every call can reach.
pub struct Flight {
    pub store: Arc<Store>,
    pub metrics: Arc<Metrics>,
    pub budget: Budget,
    pub lookups: Lookups,
    /// Decodes the Parquet of all streams.
    pub decode: Arc<DecodePool>,
    /// Of a server that signs its tickets and takes no others.
    pub tickets: Option<Tickets>,
    /// Whether Arrow's perf protocol is answered.
    pub perf: bool,
    /// How long a reader may take nothing.
    pub stall: Duration,
}

impl Flight {
    /// Runs a call into the store, which blocks, on a thread that may.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let flight = Arc::clone(self);
        match tokio::task::spawn_blocking(move || work(&flight)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Status::internal("the server failed on this call")),
        }
    }
}

/// The server's answer to every path.
pub struct Service<H: Health> {
    flight: Arc<Flight>,
    control: FlightServiceServer<Control>,
    health: HealthServer<H>,
}

impl<H: Health> Clone for Service<H> {
    fn clone(&self) -> Self {
        Self {
            flight: Arc::clone(&self.flight),
            control: self.control.clone(),
            health: self.health.clone(),
        }
    }
}

impl<H: Health> Service<H> {
    pub fn new(flight: Arc<Flight>, health: HealthServer<H>) -> Self {
        let control = FlightServiceServer::new(Control::new(Arc::clone(&flight)))
            .max_decoding_message_size(flight_wire::limits::COMMAND_BYTES_MAX);
        Self { flight, control, health }
    }
}

impl<H: Health> Handler for Service<H> {
    async fn call(&self, context: CallContext, mut request: Request<Incoming>) -> Response<Body> {
        let deadline = context.deadline;
        request.extensions_mut().insert(context.clone());
        match request.uri().path() {
            paths::DO_GET => return rpc::do_get(&self.flight, context, request).await,
            paths::DO_PUT => return rpc::do_put(&self.flight, &context, request),
            paths::DO_EXCHANGE => return rpc::do_exchange(&self.flight, &context, request),
            _ => {}
        }
        let is_health = request.uri().path().starts_with(paths::HEALTH);
        let (mut control, mut health) = (self.control.clone(), self.health.clone());
        let answer = async {
            let Ok(response) =
                if is_health { health.call(request).await } else { control.call(request).await };
            response.map(Body::from)
        };
        let Some(deadline) = deadline else { return answer.await };
        match tokio::time::timeout_at(deadline, answer).await {
            Ok(response) => response,
            Err(_) => status::response(&Status::deadline_exceeded("the deadline has passed")),
        }
    }
}
