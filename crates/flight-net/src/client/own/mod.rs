//! An HTTP/2 connection of our own, for the streams of batches of a client.
//!
//! What it gains over hyper's is told by where bytes lie: the rest of a DATA frame is read from the
//! socket straight into the memory of the batch, the kernel is told how much is certain to come
//! (`SO_RCVLOWAT`), and one write carries as many frames as there are. hyper's receive path copies
//! every frame once more and falls out of the processor's cache with several streams.
//!
//! One connection carries several calls, as `--connections` of the benchmark promises. They share
//! one lock, which is held for the time of a system call: a benchmark's connection lives on one
//! thread. Only DoGet, DoPut and DoExchange are spoken; small calls stay on hyper.
//!
//! * `frame`, `decoder`, `headers`: the wire format, sans-IO;
//! * `session` with `events` and `output`, and `stream`: the state, sans-IO;
//! * `driver`: the task that owns the socket.

mod decoder;
mod driver;
mod events;
mod frame;
pub mod fuzzing;
mod headers;
mod output;
mod session;
mod stream;

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use flight_wire::{FlightMessage, Frame};
use http::HeaderMap;
use tonic::Status;

use super::Origin;
use super::broken::Words;
use super::sockets::Held;
use super::wire::Wire;
use crate::limits::{Http2Settings, PUT_RESULT_BYTES_MAX};
use crate::paths;
use driver::Driver;
use session::Session;

/// What the connection's task and the holders of its calls share.
struct Shared(Mutex<Session>);

impl Shared {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection; clones share it. It closes when the last clone and the last call are gone.
#[derive(Clone)]
pub(super) struct OwnConnection {
    holder: Arc<Holder>,
    message_bytes_max: usize,
}

struct Holder(Arc<Shared>);

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.session().release_connection();
    }
}

impl fmt::Debug for OwnConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnConnection").finish_non_exhaustive()
    }
}

impl OwnConnection {
    /// Takes over a connected socket, which is listed for as long as it is `held`; the task runs on
    /// the current runtime.
    pub(super) fn start(
        wire: Wire,
        held: Held,
        origin: Origin,
        settings: Http2Settings,
        message_bytes_max: usize,
        words: Words,
    ) -> Self {
        let shared = Arc::new(Shared(Mutex::new(Session::new(origin, settings))));
        tokio::spawn(Driver::new(wire, held, Arc::clone(&shared), words).run());
        Self { holder: Arc::new(Holder(shared)), message_bytes_max }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.holder.0.session().is_closed()
    }

    /// Starts DoGet with a request of `body`; returns once the answer began.
    pub(super) async fn do_get(&self, headers: &HeaderMap, body: Bytes) -> Result<Answer, Status> {
        let shared = &self.holder.0;
        let max = self.message_bytes_max;
        let id = shared.session().open(paths::DO_GET, headers, Some(body), max, 1)?;
        let answer = Answer { call: Call { shared: Arc::clone(shared), id }, ended: false };
        answer.began().await?;
        Ok(answer)
    }

    /// Starts DoPut: where its frames go, and its answer.
    pub(super) fn do_put(&self, headers: &HeaderMap) -> Result<(Sink, Answer), Status> {
        self.both_ways(paths::DO_PUT, headers, PUT_RESULT_BYTES_MAX)
    }

    /// Starts DoExchange: where its frames go, and its answer.
    pub(super) fn do_exchange(&self, headers: &HeaderMap) -> Result<(Sink, Answer), Status> {
        self.both_ways(paths::DO_EXCHANGE, headers, self.message_bytes_max)
    }

    fn both_ways(
        &self,
        path: &'static str,
        headers: &HeaderMap,
        message_bytes_max: usize,
    ) -> Result<(Sink, Answer), Status> {
        let shared = &self.holder.0;
        let id = shared.session().open(path, headers, None, message_bytes_max, 2)?;
        let call = || Call { shared: Arc::clone(shared), id };
        let sink = Sink { call: call(), finished: false };
        Ok((sink, Answer { call: call(), ended: false }))
    }
}

/// One end of a call.
struct Call {
    shared: Arc<Shared>,
    id: u32,
}

/// The messages of an answer. Dropped before their end, it gives the call up.
pub(super) struct Answer {
    call: Call,
    ended: bool,
}

impl Answer {
    /// Resolves once the answer began.
    pub(super) async fn began(&self) -> Result<(), Status> {
        let Call { shared, id } = &self.call;
        poll_fn(|cx| shared.session().poll_head(*id, cx)).await
    }

    /// The next message; `None` at the end, which an error is too.
    pub(super) async fn next(&mut self) -> Option<Result<FlightMessage, Status>> {
        if self.ended {
            return None;
        }
        let Call { shared, id } = &self.call;
        let message = poll_fn(|cx| shared.session().poll_message(*id, cx)).await;
        self.ended = !matches!(message, Some(Ok(_)));
        message
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.call.shared.session().release(self.call.id, !self.ended);
    }
}

/// Where the body of a request goes. Dropped before [`finish`](Self::finish), it gives the call up.
pub(super) struct Sink {
    call: Call,
    finished: bool,
}

impl Sink {
    /// Hands a frame on, once there is room for it; `false` when the server wants no more.
    pub(super) async fn send(&self, frame: Frame) -> bool {
        let mut frame = Some(frame);
        let Call { shared, id } = &self.call;
        poll_fn(|cx| shared.session().poll_send(*id, &mut frame, cx)).await
    }

    /// Ends the body; `false` when the server had ended the call.
    pub(super) fn finish(mut self) -> bool {
        self.finished = true;
        self.call.shared.session().finish(self.call.id)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.call.shared.session().release(self.call.id, !self.finished);
    }
}
