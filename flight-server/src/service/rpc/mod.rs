//! The calls of Flight, one in a file.

mod do_action;
mod do_get;
mod do_put;
mod flight_info;
mod list_flights;

use std::sync::Arc;

use flight_net::Body;
use http::Response;
use tonic::Status;

pub(super) use do_action::{do_action, list_actions};
pub(super) use do_get::do_get;
pub(super) use do_put::do_put;
pub(super) use flight_info::{flight_info, schema};
pub(super) use list_flights::list_flights;

use super::{Flight, status};

/// Why DoExchange is answered with an error.
pub(super) const EXCHANGE_REFUSED: &str =
    "this server has no DoExchange; read with DoGet and upload with DoPut";

/// Answers DoExchange, before anything is read of it.
pub(super) fn refuse(flight: &Arc<Flight>, why: &str) -> Response<Body> {
    let status = Status::unimplemented(why);
    flight.metrics.begin("DoExchange").finish(&status);
    status::response(&status)
}
