//! Connections to one server that callers share, for calls without batches.
//!
//! Hadoop's key clients made a TLS connection for each call, and left each open for a while: reuse
//! gave 2.8 times the calls, and a twelfth of the descriptors (HADOOP-15813). So a pool is what a
//! process has one of for each server; its clones are the same pool.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tonic::{Code, Status};

use super::{ConnectError, Connection, Connector};

/// Idle connections are not looked for more often.
const LOOK_MIN: Duration = Duration::from_millis(10);

/// What a pool may hold.
#[derive(Debug, Clone, Copy)]
pub struct PoolOptions {
    /// Connections that are open at once; at least one.
    pub connections: usize,
    /// A connection without a call for so long is closed.
    pub idle: Duration,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self { connections: 4, idle: Duration::from_secs(60) }
    }
}

/// Connections to one server; clones share them. They are closed with the last clone.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

/// A connection of a pool, in use until it is dropped.
pub struct Pooled {
    connection: Connection,
    calls: Arc<Calls>,
    is_new: bool,
}

struct Shared {
    connector: Connector,
    options: PoolOptions,
    state: Mutex<State>,
    /// An opening has ended, well or not.
    opened: Notify,
}

#[derive(Default)]
struct State {
    held: Vec<Held>,
    opening: usize,
    /// Whether somebody looks for idle connections.
    watched: bool,
}

struct Held {
    connection: Connection,
    calls: Arc<Calls>,
}

/// The calls that a connection has.
struct Calls {
    open: AtomicUsize,
    last: Mutex<Instant>,
}

/// What a caller does next.
enum Next {
    Use(Box<Pooled>),
    Open,
    Wait,
}

impl Pool {
    pub fn new(connector: Connector, options: PoolOptions) -> Self {
        let options = PoolOptions { connections: options.connections.max(1), ..options };
        let (state, opened) = (Mutex::default(), Notify::new());
        Self(Arc::new(Shared { connector, options, state, opened }))
    }

    /// The least busy connection, or a new one where all are busy and there may be more.
    ///
    /// # Errors
    ///
    /// Why no connection could be made, where there is none; within twice the connector's time limit.
    pub async fn get(&self) -> Result<Pooled, ConnectError> {
        let after = self.0.connector.options.timeout;
        let deadline = Instant::now() + after;
        loop {
            // Before looking: an opening that ends meanwhile is not missed.
            let opened = self.0.opened.notified();
            match self.0.next() {
                Next::Use(pooled) => return Ok(*pooled),
                Next::Open => {
                    let opened = self.open().await;
                    return opened.or_else(|error| self.0.least_busy().ok_or(error));
                }
                Next::Wait => timeout_at(deadline, opened).await.map_err(|_| {
                    let endpoint = self.0.connector.endpoint.to_string();
                    ConnectError::Timeout { endpoint, after }
                })?,
            }
        }
    }

    /// Makes a call that does no harm when it is made twice: once more where its connection was
    /// lost, as by a server that was restarted.
    ///
    /// # Errors
    ///
    /// The call's own status; `UNAVAILABLE` with the reason where no connection can be made.
    pub async fn repeatable<T, F>(&self, call: impl Fn(Connection) -> F) -> Result<T, Status>
    where
        F: Future<Output = Result<T, Status>>,
    {
        // Each connection may turn out to be lost.
        for _ in 0..self.0.options.connections {
            let pooled = self.get().await.map_err(|error| unavailable(&error))?;
            match call(pooled.connection.clone()).await {
                Err(status) if status.code() == Code::Unavailable && pooled.is_closed() => {
                    tracing::debug!(%status, "a connection was lost; the call is made again");
                }
                done => return done,
            }
        }
        let pooled = self.get().await.map_err(|error| unavailable(&error))?;
        call(pooled.connection.clone()).await
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> usize {
        self.0.state().held.iter().filter(|held| !held.connection.is_closed()).count()
    }

    async fn open(&self) -> Result<Pooled, ConnectError> {
        let opening = Opening(&self.0);
        let connection = self.0.connector.connect().await?;
        let calls = Calls { open: AtomicUsize::new(1), last: Mutex::new(Instant::now()) };
        let calls = Arc::new(calls);
        let held = Held { connection: connection.clone(), calls: Arc::clone(&calls) };
        let mut state = self.0.state();
        state.held.push(held);
        if !std::mem::replace(&mut state.watched, true) {
            tokio::spawn(close_idle(Watch(Arc::downgrade(&self.0)), self.0.options.idle));
        }
        drop(state);
        drop(opening);
        Ok(Pooled { connection, calls, is_new: true })
    }
}

fn unavailable(error: &ConnectError) -> Status {
    Status::unavailable(error.to_string())
}

/// A connection that is being made; told to those who wait when it is dropped.
struct Opening<'a>(&'a Shared);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.state().opening -= 1;
        self.0.opened.notify_waiters();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn least_busy(&self) -> Option<Pooled> {
        let mut state = self.state();
        state.held.retain(|held| !held.connection.is_closed());
        state.least_busy().map(Held::lend)
    }

    fn next(&self) -> Next {
        let mut state = self.state();
        state.held.retain(|held| !held.connection.is_closed());
        let may_open = state.held.len() + state.opening < self.options.connections;
        match state.least_busy() {
            Some(held) if !may_open || held.calls.open.load(Ordering::Relaxed) == 0 => {
                Next::Use(Box::new(held.lend()))
            }
            _ if may_open => {
                state.opening += 1;
                Next::Open
            }
            _ => Next::Wait,
        }
    }
}

impl State {
    fn least_busy(&self) -> Option<&Held> {
        self.held.iter().min_by_key(|held| held.calls.open.load(Ordering::Relaxed))
    }
}

impl Held {
    fn lend(&self) -> Pooled {
        self.calls.open.fetch_add(1, Ordering::Relaxed);
        let (connection, calls) = (self.connection.clone(), Arc::clone(&self.calls));
        Pooled { connection, calls, is_new: false }
    }
}

/// Looks for idle connections until it is dropped, as with its runtime.
struct Watch(Weak<Shared>);

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(pool) = self.0.upgrade() {
            pool.state().watched = false;
        }
    }
}

/// Closes connections that nobody uses, until there is none left.
async fn close_idle(watch: Watch, idle: Duration) {
    loop {
        tokio::time::sleep((idle / 2).max(LOOK_MIN)).await;
        let Some(pool) = watch.0.upgrade() else { return };
        let mut state = pool.state();
        state.held.retain(|held| !held.connection.is_closed() && !held.calls.idle_for(idle));
        if state.held.is_empty() {
            // Under the lock: whoever opens the next one starts another watch.
            state.watched = false;
            return;
        }
    }
}

impl Calls {
    fn idle_for(&self, time: Duration) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        self.open.load(Ordering::Relaxed) == 0 && last.elapsed() >= time
    }
}

impl Pooled {
    /// Whether it was made for this caller, who is its first.
    pub fn is_new(&self) -> bool {
        self.is_new
    }
}

impl Deref for Pooled {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        *self.calls.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.calls.open.fetch_sub(1, Ordering::Relaxed);
    }
}
