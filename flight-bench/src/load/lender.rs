//! The connections of calls that have one of their own, or one of a pool: made, counted, and left
//! open for a while where that is asked for.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use flight_net::client::{ConnectError, Connection, Connector, Pool, PoolOptions, Pooled};
use rustix::io::Errno;

use super::clock;
use crate::config::Connect;
use crate::limits::{LINGERING_MAX, POOLED_IDLE};
use crate::record::{Failure, Metric, Recorder};

/// Lends connections to the calls of some streams of one thread.
pub(super) struct Lender {
    connector: Connector,
    how: Connect,
    /// With [`Connect::Pooled`].
    pool: Option<Pool>,
    linger: Option<Duration>,
    lingering_max: usize,
    lingering: Rc<Cell<usize>>,
}

/// A connection, until its call is over.
pub(super) enum Lent {
    /// Others use it too, and it stays.
    Kept(Connection),
    Pooled(Pooled),
    Own(Connection),
}

impl Lender {
    /// Lends connections `how` says, of a pool up to so many; connections of calls stay open for
    /// `linger`, on this and `lenders - 1` others like it.
    pub(super) fn new(
        connector: Connector,
        how: Connect,
        connections: usize,
        linger: Option<Duration>,
        lenders: usize,
    ) -> Self {
        let options = PoolOptions { connections, idle: POOLED_IDLE };
        let pool = matches!(how, Connect::Pooled(_)).then(|| Pool::new(connector.clone(), options));
        let lingering_max = (LINGERING_MAX / lenders.max(1)).max(1);
        Self { connector, how, pool, linger, lingering_max, lingering: Rc::default() }
    }

    /// A connection for one call.
    pub(super) async fn lend(&self, recorder: &RefCell<Recorder>) -> Result<Lent, Failure> {
        if let Some(pool) = &self.pool {
            let pooled = pool.get().await.map_err(|error| failure(&error))?;
            if pooled.is_new() {
                opened(recorder, &pooled);
            }
            return Ok(Lent::Pooled(pooled));
        }
        let connection = self.connector.connect().await;
        let connection = connection.map_err(|error| failure(&error))?;
        opened(recorder, &connection);
        Ok(Lent::Own(connection))
    }

    /// Refuses a handshake of another kind than was asked for: it must not pass as a fast, or a slow,
    /// one.
    pub(super) fn check(&self, lent: &Lent) -> Result<(), Failure> {
        let Some(agreed) = lent.negotiated() else { return Ok(()) };
        match self.how {
            Connect::PerCall if agreed.resumed => {
                Err(Failure::new("MISMATCH", "a session was resumed, and none was to be"))
            }
            Connect::Resumed if !agreed.resumed => Err(Failure::new(
                "MISMATCH",
                "the server made a full handshake and resumed no session; --connect per-call \
                 measures those",
            )),
            _ => Ok(()),
        }
    }

    /// Says what a call's own connection is lost by, as a rule: the server was reached before.
    pub(super) fn explained(lent: &Lent, failed: Failure) -> Failure {
        match lent {
            Lent::Own(connection) if failed.code == "UNAVAILABLE" && connection.is_closed() => {
                of_full_server(&failed.sentence)
            }
            _ => failed,
        }
    }

    /// Takes a connection back whose call is over, well or not: it is closed, or later.
    pub(super) fn take_back(&self, lent: Lent) {
        let (Lent::Own(connection), Some(linger)) = (lent, self.linger) else { return };
        if connection.is_closed() || self.lingering.get() >= self.lingering_max {
            return;
        }
        let lingering = Rc::clone(&self.lingering);
        lingering.set(lingering.get() + 1);
        // Ends with the thread, if that comes first.
        tokio::task::spawn_local(async move {
            tokio::time::sleep(linger).await;
            drop(connection);
            lingering.set(lingering.get() - 1);
        });
    }
}

/// Notes a connection that was made.
fn opened(recorder: &RefCell<Recorder>, connection: &Connection) {
    let times = connection.times();
    let mut recorder = recorder.borrow_mut();
    recorder.latency(Metric::Connect, times.socket + times.tls + times.http2, clock::now());
    recorder.connected(connection.negotiated());
}

fn failure(error: &ConnectError) -> Failure {
    let told = error.to_string();
    match error {
        ConnectError::Unreachable { cause, .. }
            if cause.raw_os_error() == Some(Errno::MFILE.raw_os_error()) =>
        {
            let why = "this process has as many descriptors as it may (ulimit -n)";
            Failure::new("CONNECT", format!("{told}; {why}"))
        }
        ConnectError::Tls { why, .. } if why.contains(CLOSED) => of_full_server(&told),
        _ => Failure::new("CONNECT", told),
    }
}

/// What `flight-tls` says of a server that ends a handshake without a word.
const CLOSED: &str = "the server closed the connection";

fn of_full_server(told: &str) -> Failure {
    let why = "a server that is full closes new connections (flight-server: --max-connections)";
    // What follows is about servers that never answered.
    let told = told.split("; ").next().unwrap_or(told);
    Failure::new("CONNECT", format!("{why}; {told}"))
}

impl Deref for Lent {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match self {
            Self::Kept(connection) | Self::Own(connection) => connection,
            Self::Pooled(pooled) => pooled,
        }
    }
}
