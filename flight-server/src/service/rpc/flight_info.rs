//! GetFlightInfo and GetSchema: what a dataset is, and the tickets to read it.

use std::sync::Arc;

use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, SchemaResult};
use bytes::Bytes;
use flight_store::{DatasetInfo, DatasetName};
use flight_wire::protocol::GetRequest;
use flight_wire::schema_message;
use tonic::Status;

use crate::service::command::GetCommand;
use crate::service::plan::Plan;
use crate::service::status::IntoStatus;
use crate::service::tickets::{Caller, endpoints};
use crate::service::{Flight, perf};

pub(in crate::service) async fn flight_info(
    flight: &Arc<Flight>,
    descriptor: FlightDescriptor,
    caller: &Caller,
) -> Result<FlightInfo, Status> {
    match GetCommand::of(&descriptor, flight.perf)? {
        GetCommand::Perf(_) if flight.tickets.is_some() => Err(Status::unimplemented(
            "this server signs its tickets, and those of --perf are made without; ask for a dataset",
        )),
        GetCommand::Perf(perf) => perf::flight_info(descriptor, &perf),
        GetCommand::Dataset(request) => {
            let (dataset, mut plan) = planned(flight, request).await?;
            let tickets = std::mem::take(&mut plan.tickets);
            let endpoints = endpoints(flight, tickets, caller).await?;
            Ok(describe(descriptor, &dataset, &plan, endpoints))
        }
    }
}

pub(in crate::service) async fn schema(
    flight: &Arc<Flight>,
    descriptor: FlightDescriptor,
) -> Result<SchemaResult, Status> {
    let schema = match GetCommand::of(&descriptor, flight.perf)? {
        GetCommand::Perf(_) => schema_message(&perf::schema()).map_err(IntoStatus::into_status)?,
        GetCommand::Dataset(request) => planned(flight, request).await?.1.schema_message,
    };
    Ok(SchemaResult { schema })
}

async fn planned(
    flight: &Arc<Flight>,
    request: GetRequest,
) -> Result<(Arc<DatasetInfo>, Plan), Status> {
    let name = DatasetName::from_components(&request.dataset.components())
        .map_err(IntoStatus::into_status)?;
    let dataset = flight.look_up(name).await?;
    let plan = Plan::new(&dataset, &request)?;
    Ok((dataset, plan))
}

/// A dataset's FlightInfo. Endpoints name no location: the server that was asked has the data.
pub(super) fn describe(
    descriptor: FlightDescriptor,
    dataset: &DatasetInfo,
    plan: &Plan,
    endpoint: Vec<FlightEndpoint>,
) -> FlightInfo {
    let known = |count: Option<u64>| count.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1);
    FlightInfo {
        schema: plan.schema_message.clone(),
        flight_descriptor: Some(descriptor),
        endpoint,
        total_records: known(plan.rows),
        // The stored size; that of a part is known to nobody before it is read.
        total_bytes: known(plan.whole.then_some(dataset.bytes)),
        ordered: true,
        app_metadata: Bytes::new(),
    }
}
