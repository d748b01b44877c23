//! One connection that streams share, made again when it is lost.

use std::cell::RefCell;
use std::time::Instant;

use flight_net::client::{Connector, StreamConnection};
use tokio::sync::Mutex;

use crate::record::{Failure, Metric, Recorder};

/// A place for a connection. Streams of one thread share it.
pub(super) struct Link {
    connector: Connector,
    // Held while connecting, so that streams that share a lost connection make one new one.
    connection: Mutex<Option<StreamConnection>>,
    was_connected: RefCell<bool>,
}

impl Link {
    pub(super) fn new(connector: Connector) -> Self {
        Self { connector, connection: Mutex::new(None), was_connected: RefCell::new(false) }
    }

    /// The connection, made now if there is none or it is closed.
    pub(super) async fn connection(
        &self,
        recorder: &RefCell<Recorder>,
    ) -> Result<StreamConnection, Failure> {
        let mut place = self.connection.lock().await;
        if let Some(connection) = place.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        *place = None;
        let started = Instant::now();
        let made = self.connector.connect_streams().await;
        let ended = Instant::now();
        let connection = made.map_err(|error| Failure::new("CONNECT", error.to_string()))?;
        let mut recorder = recorder.borrow_mut();
        recorder.latency(Metric::Connect, ended - started, ended);
        if self.was_connected.replace(true) {
            recorder.reconnected(ended);
        }
        *place = Some(connection.clone());
        Ok(connection)
    }
}
