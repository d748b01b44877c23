//! One connection that streams share, made again when it is lost.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use flight_net::client::{ConnectError, Connection, Connector, StreamConnection};
use tokio::sync::Mutex;

use crate::record::{Failure, Metric, Recorder};

/// A place for a connection. Streams of one thread share it.
pub(super) struct Link {
    connector: Connector,
    // Held while connecting, so that streams that share a lost connection make one new one.
    connection: Mutex<Option<StreamConnection>>,
    /// For calls without batches.
    calls: Mutex<Option<Connection>>,
    /// Whether there was one before: for batches, and for calls.
    had_connection: Cell<bool>,
    had_calls: Cell<bool>,
}

impl Link {
    pub(super) fn new(connector: Connector) -> Self {
        let (connection, calls) = (Mutex::new(None), Mutex::new(None));
        let (had_connection, had_calls) = (Cell::new(false), Cell::new(false));
        Self { connector, connection, calls, had_connection, had_calls }
    }

    /// What makes connections that no stream shares.
    pub(super) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// The connection for batches, made now if there is none or it is closed.
    pub(super) async fn connection(
        &self,
        recorder: &RefCell<Recorder>,
    ) -> Result<StreamConnection, Failure> {
        let mut place = self.connection.lock().await;
        if let Some(connection) = place.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        *place = None;
        let made =
            Self::made(recorder, &self.had_connection, self.connector.connect_streams()).await?;
        Ok(place.insert(made).clone())
    }

    /// The connection for calls without batches, made now if there is none or it is closed.
    pub(super) async fn calls(&self, recorder: &RefCell<Recorder>) -> Result<Connection, Failure> {
        let mut place = self.calls.lock().await;
        if let Some(connection) = place.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        *place = None;
        let made = Self::made(recorder, &self.had_calls, self.connector.connect()).await?;
        Ok(place.insert(made).clone())
    }

    async fn made<C>(
        recorder: &RefCell<Recorder>,
        had_one: &Cell<bool>,
        connecting: impl Future<Output = Result<C, ConnectError>>,
    ) -> Result<C, Failure> {
        let started = Instant::now();
        let made = connecting.await;
        let ended = Instant::now();
        let connection = made.map_err(|error| Failure::new("CONNECT", error.to_string()))?;
        let mut recorder = recorder.borrow_mut();
        recorder.latency(Metric::Connect, ended - started, ended);
        if had_one.replace(true) {
            recorder.reconnected(ended);
        }
        Ok(connection)
    }
}
