//! The server that is measured: found or started, trusted, asked for a plan.
//!
//! Everything here happens outside the measured window, with ordinary calls and time-outs.

mod caps;
mod child;
mod control;
mod places;
mod plan;
mod prepare;
mod trust;
mod uploads;

pub(crate) use caps::{Capability, Caps, LACKS};
pub(crate) use child::ChildServer;
pub(crate) use control::Control;
pub(crate) use places::{PlaceRecord, Places};
pub(crate) use plan::{Part, Plan, PlanOptions, Question, descriptor, only_dataset, plan};
pub(crate) use prepare::{make_certificates, make_sample, server_program};
pub(crate) use trust::{TlsSide, client_tls, trust_of};
pub(crate) use uploads::{Uploads, probe_acks, probe_exchange};
