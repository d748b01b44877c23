//! Frames handed to the socket, as the reader makes room for them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use flight_net::server::CallContext;
use flight_net::{FrameSender, Room};
use flight_wire::Frame;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tonic::Status;

use super::frames::Frames;
use crate::service::metrics::Call;
use crate::service::status::trailers;

/// Parts of a body that wait for the socket, beside the one that its head goes with: more would
/// leave the cache before they are sent.
const PARTS_AHEAD: usize = 2;
/// More frames than ever wait for the socket at once.
const UNSENT_MAX: u32 = 1 << 10;
/// A stream that nobody reads from gives up what was decoded ahead for it after so long, and after
/// twice as long each further time, so that a slow reader does not have everything decoded twice.
const PATIENCE: Duration = Duration::from_secs(1);

/// Sends all frames and the trailers; ends early when the reader goes, stalls, or is out of time.
pub(in crate::service) async fn send(
    frames: Frames,
    sender: FrameSender,
    context: CallContext,
    stall: Duration,
    mut call: Call,
) {
    let mut sending = Sending {
        parts: Arc::new(Semaphore::new(if frames.are_made_ahead() { 1 } else { PARTS_AHEAD })),
        frames: Some(frames),
        unsent: Arc::new(Semaphore::new(UNSENT_MAX as usize)),
        patience: PATIENCE,
        deadline: context.deadline,
        stall,
    };
    let status = match sending.send_all(&sender, &mut call).await {
        Ok(()) => Status::ok(""),
        Err(Ended::With(status)) => status,
        Err(Ended::WithoutTrailers(status)) => {
            call.finish(&status);
            return;
        }
    };
    call.finish(&status);
    sender.end_within(stall, trailers(&status)).await;
}

struct Sending {
    /// With a thread that may block while it makes the next.
    frames: Option<Frames>,
    /// Less a permit for each frame that is counted and not yet in the socket.
    parts: Arc<Semaphore>,
    /// Less a permit for each frame that shares memory with its source.
    unsent: Arc<Semaphore>,
    patience: Duration,
    deadline: Option<Instant>,
    stall: Duration,
}

/// Why a stream ends early.
enum Ended {
    With(Status),
    /// A reader that is gone, or takes nothing, takes no trailers either: its stream is reset, or
    /// its connection closed.
    WithoutTrailers(Status),
}

impl From<Status> for Ended {
    fn from(status: Status) -> Self {
        Self::With(status)
    }
}

impl Sending {
    async fn send_all(&mut self, sender: &FrameSender, call: &mut Call) -> Result<(), Ended> {
        loop {
            // Room first, so that a stalled reader holds what waits for it and nothing more.
            let (room, part) = self.room(sender).await?;
            if self.frames()?.are_paced() {
                self.wait_for_its_time(sender).await?;
            }
            let Some((mut frame, (batches, rows))) = self.make().await? else { break };
            let bytes = frame.bytes() as u64;
            let waiting = call.waits(bytes);
            if self.frames()?.share_source() {
                frame.holding((waiting, part, Arc::clone(&self.unsent).try_acquire_owned()));
            } else {
                frame.holding((waiting, part));
            }
            room.send(frame);
            call.sent(bytes, batches, rows);
        }
        if self.frames()?.share_source() {
            // What was sent is sound if the source is still what it was afterwards.
            while let Some(unsent) = self.unsent() {
                // As long for each frame as for any before.
                let one_less = self.unsent.acquire_many(UNSENT_MAX - unsent + 1);
                drop(in_time(self.deadline, self.stall, one_less).await?);
            }
            self.frames()?.check_source()?;
        }
        Ok(())
    }

    /// Waits for room for a frame; also for that of a part, where a body was begun. A frame that
    /// is made of what was made ahead waits until the one before it is in the socket: hyper would
    /// take it as soon as it has seen that one, and what is ready needs no second stock.
    async fn room<'a>(
        &mut self,
        sender: &'a FrameSender,
    ) -> Result<(Room<'a>, Option<OwnedSemaphorePermit>), Ended> {
        let frames = self.frames()?;
        let counted = frames.are_amid_body() || frames.are_made_ahead();
        let parts = Arc::clone(&self.parts);
        let room = async {
            // It never closes.
            let part = if counted { parts.acquire_owned().await.ok() } else { None };
            sender.room().await.map(|room| (room, part))
        };
        let mut room = pin!(in_time(self.deadline, self.stall, room));
        let room = match timeout(self.patience, &mut room).await {
            Ok(room) => room?,
            Err(_) => {
                self.frames()?.park();
                self.patience *= 2;
                room.await?
            }
        };
        room.ok_or_else(gone)
    }

    /// How many frames that share memory with their source wait for the socket, if any do.
    fn unsent(&self) -> Option<u32> {
        let sent = u32::try_from(self.unsent.available_permits()).unwrap_or(UNSENT_MAX);
        UNSENT_MAX.checked_sub(sent).filter(|unsent| *unsent > 0)
    }

    /// The next frame, with its batches and rows; `None` after the last.
    async fn make(&mut self) -> Result<Option<(Frame, (u64, u64))>, Ended> {
        if let Some(frame) = self.frames()?.next_resident()? {
            return Ok(Some((frame, self.frames()?.counted())));
        }
        let made = self.blocking(Frames::next).await?;
        Ok(made.map(|frame| (frame, self.frames.as_ref().map_or((0, 0), Frames::counted))))
    }

    /// Prepares the next batch and waits until it is nearly due, unless the reader goes or the
    /// call's deadline passes before.
    async fn wait_for_its_time(&mut self, sender: &FrameSender) -> Result<(), Ended> {
        let Some(due) = self.blocking(Frames::prepare).await? else { return Ok(()) };
        let due = Instant::from_std(due);
        if due <= Instant::now() {
            return Ok(());
        }
        let last = self.deadline.map_or(due, |deadline| deadline.min(due));
        tokio::select! {
            () = sleep_until(last) => {}
            () = sender.closed() => return Err(gone()),
        }
        if last < due { Err(late()) } else { Ok(()) }
    }

    /// Has a thread that may block do `work` with the frames.
    async fn blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Frames) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let mut frames = self.frames.take().ok_or_else(failed)?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&mut frames);
            (frames, done)
        });
        let (frames, done) = done.await.map_err(|_| failed())?;
        self.frames = Some(frames);
        done
    }

    fn frames(&mut self) -> Result<&mut Frames, Status> {
        self.frames.as_mut().ok_or_else(failed)
    }
}

/// What `work` gives, unless the reader stalls or the call's deadline passes before.
async fn in_time<T>(
    deadline: Option<Instant>,
    stall: Duration,
    work: impl Future<Output = T>,
) -> Result<T, Ended> {
    let now = Instant::now();
    let deadline = deadline.filter(|deadline| *deadline < now + stall);
    if deadline.is_some_and(|deadline| deadline <= now) {
        return Err(late());
    }
    timeout_at(deadline.unwrap_or(now + stall), work).await.map_err(|_| match deadline {
        Some(_) => late(),
        None => {
            let what = format!("nothing was read for {stall:?}");
            Ended::WithoutTrailers(Status::deadline_exceeded(what))
        }
    })
}

fn late() -> Ended {
    Ended::With(Status::deadline_exceeded("the deadline has passed"))
}

fn gone() -> Ended {
    Ended::WithoutTrailers(Status::cancelled("the client went away"))
}

fn failed() -> Status {
    Status::internal("the server failed on this call")
}
