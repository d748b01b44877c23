//! ListFlights: the datasets whose name starts with the criteria's expression.

use std::sync::Arc;

use arrow_flight::{Criteria, FlightDescriptor, FlightInfo};
use flight_wire::protocol::GetRequest;
use tonic::Status;

use super::flight_info::describe;
use crate::service::Flight;
use crate::service::plan::Plan;
use crate::service::tickets::Caller;

pub(in crate::service) async fn list_flights(
    flight: &Arc<Flight>,
    criteria: Criteria,
    caller: Caller,
) -> Result<Vec<FlightInfo>, Status> {
    let Ok(prefix) = String::from_utf8(criteria.expression.to_vec()) else {
        return Err(Status::invalid_argument("the criteria are a prefix of names, in UTF-8"));
    };
    flight
        .blocking(move |flight| {
            let describe = |dataset: flight_store::DatasetInfo| {
                let path: Vec<_> = dataset.name.components().map(str::to_owned).collect();
                let plan = Plan::new(&dataset, &GetRequest::whole(path.clone()))?;
                let endpoints = flight.endpoints(&plan.tickets, &caller)?;
                Ok(describe(FlightDescriptor::new_path(path), &dataset, &plan, endpoints))
            };
            flight.store.list(&prefix).into_iter().map(describe).collect()
        })
        .await
}
