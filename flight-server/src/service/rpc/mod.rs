//! The calls of Flight, one in a file.

mod do_action;
mod do_exchange;
mod do_get;
mod do_put;
mod flight_info;
mod input;
mod list_flights;
mod ticket_actions;

pub(super) use do_action::{do_action, list_actions};
pub(super) use do_exchange::do_exchange;
pub(super) use do_get::do_get;
pub(super) use do_put::do_put;
pub(super) use flight_info::{flight_info, schema};
pub(super) use list_flights::list_flights;
