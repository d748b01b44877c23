//! The task of a connection: moves bytes between its socket and its session.
//!
//! Reads go straight into the body of the message that is being received, and only what comes
//! behind it into scratch memory. After each message the task steps back, so that on a runtime of
//! one thread its reader works on it while it is in the processor's cache.

use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use flight_wire::{BufferPool, PooledBuffer};
use tokio::time::Sleep;
use tonic::Status;

use super::Shared;
use super::frame::{Code, FrameError};
use super::output::SLICES_MAX;
use super::session::Session;
use crate::client::broken::Words;
use crate::client::sockets::Held;
use crate::client::wire::Wire;

/// Bytes read beyond the body at hand: the next head, and small messages whole.
const SCRATCH_BYTES: usize = 64 << 10;
/// Scratch memory that is kept; more is out only while its bytes wait in a message's head.
const SCRATCH_KEPT_BYTES: usize = 1 << 20;
/// Up to here what was read into the scratch is copied out of it.
const COPIED_BYTES_MAX: usize = 8 << 10;
/// How long the end of a connection may take.
const GOODBYE: Duration = Duration::from_secs(1);
/// Reads after which other tasks have their turn, message or not.
const READS_A_TURN: usize = 32;

pub(super) struct Driver {
    wire: Wire,
    /// Goes with the wire: as another descriptor of it, it keeps the socket open.
    _held: Held,
    shared: Arc<Shared>,
    words: Words,
    pool: BufferPool,
    scratch: Option<PooledBuffer>,
    /// Something was written that may lie in a buffer of TLS.
    unflushed: bool,
    /// Why nothing can be written any more. What has come is still read: a server that refuses an
    /// upload says why, and closes without having read all of it.
    deaf: Option<Deaf>,
}

struct Deaf {
    error: io::Error,
    /// A peer that goes on as if nothing had happened is not waited for.
    until: Pin<Box<Sleep>>,
}

/// What a turn came to.
enum Turn {
    /// Others have theirs: a message is ready for its reader, or a long one is on its way.
    Over,
    Ended(Ending),
}

enum Ending {
    /// The last call is over and nobody can start another.
    Done,
    /// The peer closed the connection.
    Closed,
    Broken(io::Error),
    /// The peer broke the protocol.
    Protocol(FrameError),
}

impl Driver {
    pub(super) fn new(wire: Wire, held: Held, shared: Arc<Shared>, words: Words) -> Self {
        let pool = BufferPool::new(SCRATCH_KEPT_BYTES);
        Self { wire, _held: held, shared, words, pool, scratch: None, unflushed: false, deaf: None }
    }

    /// Runs until the connection is over.
    pub(super) async fn run(mut self) {
        let ending = loop {
            match std::future::poll_fn(|cx| self.turn(cx)).await {
                Turn::Over => tokio::task::yield_now().await,
                Turn::Ended(ending) => break ending,
            }
        };
        let why = self.words_of(&ending);
        tracing::debug!(why, "the connection ended");
        let code = match &ending {
            Ending::Done => Code::NO_ERROR,
            Ending::Protocol(error) => error.code(),
            Ending::Closed | Ending::Broken(_) => {
                self.shared.session().end(&Status::unavailable(why));
                return;
            }
        };
        {
            let mut session = self.shared.session();
            session.end(&Status::unavailable(why));
            session.say_goodbye(code);
        }
        // As much of it as the socket takes at once: nobody waits for a peer that does not read.
        std::future::poll_fn(|cx| {
            let shared = Arc::clone(&self.shared);
            let _taken = self.write(cx, &mut shared.session());
            Poll::Ready(())
        })
        .await;
        // TLS would wait for room for what it still has to say.
        let _ = tokio::time::timeout(GOODBYE, self.wire.shut_down()).await;
    }

    fn words_of(&self, ending: &Ending) -> String {
        let session = self.shared.session();
        if session.answered {
            self.words.answered.store(true, Ordering::Relaxed);
        }
        match ending {
            Ending::Done | Ending::Closed => match &session.going_away {
                Some(why) => why.clone(),
                None => self.words.of(None),
            },
            Ending::Broken(error) => match &session.going_away {
                Some(why) => why.clone(),
                None => self.words.saying(format!("the connection broke: {error}")),
            },
            Ending::Protocol(error) => self.words.saying(error.to_string()),
        }
    }

    /// Writes and reads until there is something to tell or both sides have to be waited for.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        let shared = Arc::clone(&self.shared);
        // Held for the time of a system call: nothing else but the readers' queues wants it.
        let mut session = shared.session();
        session.driver_waits(cx.waker());
        for _ in 0..READS_A_TURN {
            if self.deaf.is_none()
                && let Poll::Ready(Err(error)) = self.write(cx, &mut session)
            {
                let until = Box::pin(tokio::time::sleep(GOODBYE));
                self.deaf = Some(Deaf { error, until });
            }
            if session.is_done() {
                return Poll::Ready(Turn::Ended(Ending::Done));
            }
            match self.read(cx, &mut session) {
                Poll::Pending => {
                    if let Some(deaf) = &mut self.deaf {
                        ready!(deaf.until.as_mut().poll(cx));
                        return Poll::Ready(Turn::Ended(self.ending(Ending::Closed)));
                    }
                    return Poll::Pending;
                }
                Poll::Ready(Err(ending)) => return Poll::Ready(Turn::Ended(self.ending(ending))),
                Poll::Ready(Ok(())) if session.take_delivered() => break,
                Poll::Ready(Ok(())) => {}
            }
        }
        Poll::Ready(Turn::Over)
    }

    /// The first reason of an end: a write that failed before there was nothing left to read.
    fn ending(&mut self, ending: Ending) -> Ending {
        match (ending, self.deaf.take()) {
            (Ending::Closed | Ending::Broken(_), Some(deaf)) => Ending::Broken(deaf.error),
            (ending, _) => ending,
        }
    }

    /// Writes what there is, and flushes it; ready once nothing is left.
    fn write(&mut self, cx: &mut Context<'_>, session: &mut Session) -> Poll<io::Result<()>> {
        while session.prepare_output() {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let count = session.output(&mut slices);
            let written = ready!(self.wire.poll_write(cx, &slices[..count]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            session.written(written);
            self.unflushed = true;
        }
        if self.unflushed {
            ready!(self.wire.poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads once, and hands what came to the session.
    fn read(&mut self, cx: &mut Context<'_>, session: &mut Session) -> Poll<Result<(), Ending>> {
        let pool = &self.pool;
        let scratch = self
            .scratch
            .get_or_insert_with(|| pool.take(SCRATCH_BYTES).expect("64 KiB are there or all ends"));
        let certain = session.certain_bytes();
        let direct = session.direct_space();
        let direct_bytes = direct.len();
        let mut slices = [IoSliceMut::new(direct), IoSliceMut::new(scratch.as_mut_slice())];
        let slices = if direct_bytes == 0 { &mut slices[1..] } else { &mut slices[..] };
        let count = ready!(self.wire.poll_read(cx, slices, certain)).map_err(Ending::Broken)?;
        if count == 0 {
            return Poll::Ready(Err(Ending::Closed));
        }
        let into_body = count.min(direct_bytes);
        session.filled(into_body).map_err(Ending::Protocol)?;
        let rest = count - into_body;
        if rest > 0 {
            // Little is copied: whoever keeps a byte of the scratch keeps all of it.
            let bytes = match self.scratch.take() {
                Some(scratch) if rest < COPIED_BYTES_MAX => {
                    let bytes = Bytes::copy_from_slice(&scratch.as_ref()[..rest]);
                    self.scratch = Some(scratch);
                    bytes
                }
                Some(scratch) => Bytes::from_owner(scratch).slice(..rest),
                None => Bytes::new(),
            };
            session.receive(bytes).map_err(Ending::Protocol)?;
        }
        Poll::Ready(Ok(()))
    }
}
