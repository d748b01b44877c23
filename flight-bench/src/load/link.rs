//! The connections that streams share: to the target and to each place that it names; made again when
//! they are lost.

use std::cell::{Cell, RefCell};

use flight_net::client::{ConnectError, Connection, Connector, StreamConnection};
use tokio::sync::Mutex;

use super::clock;
use super::lender::{Lender, Lent};
use crate::record::{Failure, Metric, Recorder};

/// A place for a connection to each server. Streams of one thread share it.
pub(super) struct Link {
    target: Spot,
    /// As the indices of a plan count them.
    places: Vec<Spot>,
    /// For calls without batches, which go to the target.
    calls: Mutex<Option<Connection>>,
    calls_were_made: Cell<bool>,
    /// For calls that do not share one connection all the time.
    lender: Option<Lender>,
}

/// A place for a connection for batches.
struct Spot {
    connector: Connector,
    // Held while connecting, so that streams that share a lost connection make one new one.
    connection: Mutex<Option<StreamConnection>>,
    was_connected: Cell<bool>,
}

impl Spot {
    fn new(connector: Connector) -> Self {
        Self { connector, connection: Mutex::new(None), was_connected: Cell::new(false) }
    }
}

impl Link {
    pub(super) fn new(target: Connector, places: &[Connector], lender: Option<Lender>) -> Self {
        Self {
            target: Spot::new(target),
            places: places.iter().cloned().map(Spot::new).collect(),
            calls: Mutex::new(None),
            calls_were_made: Cell::new(false),
            lender,
        }
    }

    /// What makes connections that no stream shares.
    pub(super) fn connector(&self) -> &Connector {
        &self.target.connector
    }

    /// The connection for batches to the target, made now if there is none or it is closed.
    pub(super) async fn connection(
        &self,
        recorder: &RefCell<Recorder>,
    ) -> Result<StreamConnection, Failure> {
        self.connection_to(None, recorder).await
    }

    /// The same to a place of a plan.
    pub(super) async fn connection_to(
        &self,
        place: Option<usize>,
        recorder: &RefCell<Recorder>,
    ) -> Result<StreamConnection, Failure> {
        let spot = place.map_or(&self.target, |index| &self.places[index]);
        let mut held = spot.connection.lock().await;
        if let Some(connection) = held.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        *held = None;
        let connecting = spot.connector.connect_streams();
        let made = made(recorder, &spot.was_connected, connecting).await?;
        Ok(held.insert(made).clone())
    }

    /// The connection for calls without batches, made now if there is none or it is closed.
    pub(super) async fn calls(&self, recorder: &RefCell<Recorder>) -> Result<Connection, Failure> {
        let mut held = self.calls.lock().await;
        if let Some(connection) = held.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        *held = None;
        let made = made(recorder, &self.calls_were_made, self.connector().connect()).await?;
        recorder.borrow_mut().connected(made.negotiated());
        Ok(held.insert(made).clone())
    }

    /// The connection for one such call: the shared one, or what the lender has.
    pub(super) async fn lend(&self, recorder: &RefCell<Recorder>) -> Result<Lent, Failure> {
        match &self.lender {
            Some(lender) => lender.lend(recorder).await,
            None => Ok(Lent::Kept(self.calls(recorder).await?)),
        }
    }

    /// Takes a connection back whose call is over.
    ///
    /// # Errors
    ///
    /// Its handshake was of another kind than was asked for.
    pub(super) fn take_back(&self, lent: Lent) -> Result<(), Failure> {
        let Some(lender) = &self.lender else { return Ok(()) };
        let checked = lender.check(&lent);
        lender.take_back(lent);
        checked
    }
}

async fn made<C>(
    recorder: &RefCell<Recorder>,
    was_connected: &Cell<bool>,
    connecting: impl Future<Output = Result<C, ConnectError>>,
) -> Result<C, Failure> {
    let started = clock::now();
    let made = connecting.await;
    let ended = clock::now();
    let connection = made.map_err(|error| Failure::new("CONNECT", error.to_string()))?;
    let mut recorder = recorder.borrow_mut();
    recorder.latency(Metric::Connect, ended - started, ended);
    if was_connected.replace(true) {
        recorder.reconnected(ended);
    }
    Ok(connection)
}
