//! The generated Flight service: every call that carries no batches.

use std::sync::Arc;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use flight_net::server::CallContext;
use futures_util::stream::{self, BoxStream};
use tonic::{Request, Response, Status, Streaming};

use super::tickets::Caller;
use super::{Flight, rpc};

/// Answers the calls without batches.
pub(super) struct Control {
    flight: Arc<Flight>,
}

impl Control {
    pub(super) fn new(flight: Arc<Flight>) -> Self {
        Self { flight }
    }

    /// Counts a call and how it ended.
    async fn counted<T>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<Response<T>, Status> {
        let mut counted = self.flight.metrics.begin(method);
        let outcome = call.await;
        counted.finish(outcome.as_ref().err().unwrap_or(&Status::ok("")));
        outcome.map(Response::new)
    }
}

/// Who calls; every call has a context by now.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    let context = request.extensions().get::<CallContext>();
    let context = context.ok_or_else(|| Status::internal("the call has no context"))?;
    Ok(Caller::new(context, request.metadata().as_ref()))
}

/// A stream of what is there already.
fn all<T: Send + 'static>(items: Vec<T>) -> BoxStream<'static, Result<T, Status>> {
    Box::pin(stream::iter(items.into_iter().map(Ok)))
}

fn on_the_data_plane<T>() -> Result<T, Status> {
    Err(Status::internal("this call belongs to the data plane"))
}

#[tonic::async_trait]
impl FlightService for Control {
    type HandshakeStream = BoxStream<'static, Result<HandshakeResponse, Status>>;
    type ListFlightsStream = BoxStream<'static, Result<FlightInfo, Status>>;
    type DoGetStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoPutStream = BoxStream<'static, Result<PutResult, Status>>;
    type DoActionStream = BoxStream<'static, Result<arrow_flight::Result, Status>>;
    type ListActionsStream = BoxStream<'static, Result<ActionType, Status>>;
    type DoExchangeStream = BoxStream<'static, Result<FlightData, Status>>;

    async fn handshake(
        &self,
        _request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        self.counted("Handshake", async {
            Err(Status::unimplemented("this server has no logins; call without credentials"))
        })
        .await
    }

    async fn list_flights(
        &self,
        request: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        let caller = caller(&request)?;
        let listed = rpc::list_flights(&self.flight, request.into_inner(), caller);
        self.counted("ListFlights", async { listed.await.map(all) }).await
    }

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let caller = caller(&request)?;
        let info = rpc::flight_info(&self.flight, request.into_inner(), &caller);
        self.counted("GetFlightInfo", info).await
    }

    async fn poll_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        let caller = caller(&request)?;
        let info = rpc::flight_info(&self.flight, request.into_inner(), &caller);
        // Nothing is computed in the background: the first answer is complete.
        let complete = |info| PollInfo {
            info: Some(info),
            flight_descriptor: None,
            progress: Some(1.0),
            expiration_time: None,
        };
        self.counted("PollFlightInfo", async { info.await.map(complete) }).await
    }

    async fn get_schema(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        let schema = rpc::schema(&self.flight, request.into_inner());
        self.counted("GetSchema", schema).await
    }

    async fn do_get(
        &self,
        _request: Request<Ticket>,
    ) -> Result<Response<Self::DoGetStream>, Status> {
        on_the_data_plane()
    }

    async fn do_put(
        &self,
        _request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        on_the_data_plane()
    }

    async fn do_exchange(
        &self,
        _request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        on_the_data_plane()
    }

    async fn do_action(
        &self,
        request: Request<Action>,
    ) -> Result<Response<Self::DoActionStream>, Status> {
        let caller = caller(&request)?;
        let results = rpc::do_action(&self.flight, request.into_inner(), caller);
        self.counted("DoAction", async { results.await.map(all) }).await
    }

    async fn list_actions(
        &self,
        _request: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        self.counted("ListActions", async { Ok(all(rpc::list_actions(&self.flight))) }).await
    }
}
