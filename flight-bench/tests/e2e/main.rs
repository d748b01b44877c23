//! The real flight-bench against real servers: ours as a process, and a foreign one in this test.
//!
//! Each figure that matters is computed again by hand from what is known of the data.

mod calls;
mod connect;
mod engines;
mod failures;
mod figures;
mod foreign;
mod forms;
mod handshakes;
mod judged;
mod kept;
mod ladder;
mod lying;
mod mixed;
mod page;
mod real;
mod secure;
mod started;
mod support;
mod sweep;
mod tickets;
mod transports;
