//! The body of a request or an answer: a generated message, or frames as they are made.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use flight_wire::{Chunks, Frame};
use http::HeaderMap;
use http_body::Frame as HttpFrame;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::server::activity::{GiveUp, OpenCall};

/// Why a body ended early.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Frames that wait between their producer and the socket: the next, while one is being written.
const FRAMES_AHEAD: usize = 1;

/// A body whose pieces reach the socket in one vectored write.
pub struct Body {
    source: Source,
    /// That this body answers.
    call: Option<OpenCall>,
}

enum Source {
    Tonic(tonic::body::Body),
    Frames { frames: mpsc::Receiver<Item>, given_up: Arc<OnGivenUp>, ended: bool },
}

enum Item {
    Frame(Frame),
    End(Option<HeaderMap>),
}

impl Body {
    /// A body of frames and the end that feeds it.
    pub fn frames() -> (FrameSender, Self) {
        let (sender, frames) = mpsc::channel(FRAMES_AHEAD);
        let given_up = Arc::<OnGivenUp>::default();
        let source = Source::Frames { frames, given_up: Arc::clone(&given_up), ended: false };
        (FrameSender { frames: sender, given_up, ended: false }, Self { source, call: None })
    }

    /// Keeps `call` open until the body has ended, and has it given up when the body's sender is
    /// dropped without an end.
    #[must_use]
    pub(crate) fn of(mut self, call: OpenCall) -> Self {
        if let Source::Frames { given_up, .. } = &self.source {
            given_up.tell(call.give_up());
        }
        self.call = Some(call);
        self
    }
}

impl From<tonic::body::Body> for Body {
    fn from(body: tonic::body::Body) -> Self {
        Self { source: Source::Tonic(body), call: None }
    }
}

/// The producer's end of a body. Dropped without an end, it breaks the stream off, so
/// that a producer's fault never looks like a short success.
pub struct FrameSender {
    frames: mpsc::Sender<Item>,
    given_up: Arc<OnGivenUp>,
    ended: bool,
}

impl FrameSender {
    /// Waits until a frame can be handed on at once, so that nothing has to be made before there
    /// is room for it; `None` when the other side has gone.
    pub async fn room(&self) -> Option<Room<'_>> {
        self.frames.reserve().await.ok().map(Room)
    }

    /// Hands a frame on, once there is room for it; `false` when the other side has gone.
    pub async fn send(&self, frame: Frame) -> bool {
        self.frames.send(Item::Frame(frame)).await.is_ok()
    }

    /// Ends the body of a request.
    pub(crate) async fn end(mut self) -> bool {
        self.ended = self.frames.send(Item::End(None)).await.is_ok();
        self.ended
    }

    /// Ends an answer, and waits until its trailers were taken; gives it up when either takes
    /// longer than `time`, as with a reader whose window stays closed.
    pub async fn end_within(mut self, time: Duration, trailers: HeaderMap) {
        // As long for what waits before them as for each frame, and as long for themselves.
        self.ended = match timeout(time, self.frames.send(Item::End(Some(trailers)))).await {
            Ok(Ok(())) => timeout(time, self.frames.closed()).await.is_ok(),
            Ok(Err(_)) => true,
            Err(_) => false,
        };
    }

    /// Resolves once the other side has gone: the answer's reader, or the connection.
    pub async fn closed(&self) {
        self.frames.closed().await;
    }
}

impl Drop for FrameSender {
    fn drop(&mut self) {
        if !self.ended {
            self.given_up.now();
        }
    }
}

/// What is told when a body's sender is dropped without an end.
///
/// hyper resets the stream once it asks for the next frame. It does not ask while the peer's
/// window is closed and a frame waits for it; then the connection has to see to it.
#[derive(Default)]
struct OnGivenUp {
    is: AtomicBool,
    tell: OnceLock<GiveUp>,
}

impl OnGivenUp {
    /// Has the call told, also of what was before.
    fn tell(&self, call: GiveUp) {
        let call = self.tell.get_or_init(|| call);
        // Either this sees the flag, or the other the call.
        fence(Ordering::SeqCst);
        if self.is.load(Ordering::SeqCst) {
            call.now();
        }
    }

    fn now(&self) {
        self.is.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if let Some(call) = self.tell.get() {
            call.now();
        }
    }
}

/// Room for one frame.
pub struct Room<'a>(mpsc::Permit<'a, Item>);

impl Room<'_> {
    /// Hands the frame on.
    pub fn send(self, frame: Frame) {
        self.0.send(Item::Frame(frame));
    }
}

impl http_body::Body for Body {
    type Data = Chunks;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<HttpFrame<Chunks>, BodyError>>> {
        match &mut self.get_mut().source {
            Source::Tonic(body) => Pin::new(body)
                .poll_frame(cx)
                .map_ok(|frame| frame.map_data(Chunks::from))
                .map_err(Into::into),
            Source::Frames { ended: true, .. } => Poll::Ready(None),
            Source::Frames { frames, ended, .. } => {
                let item = ready!(frames.poll_recv(cx));
                *ended = !matches!(item, Some(Item::Frame(_)));
                Poll::Ready(match item {
                    Some(Item::Frame(frame)) => Some(Ok(HttpFrame::data(frame.into_chunks()))),
                    Some(Item::End(trailers)) => {
                        trailers.map(|trailers| Ok(HttpFrame::trailers(trailers)))
                    }
                    // The reason that HTTP/2 resets the stream with: a call that is given up.
                    None => Some(Err(h2::Error::from(h2::Reason::CANCEL).into())),
                })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Tonic(body) => body.is_end_stream(),
            Source::Frames { ended, .. } => *ended,
        }
    }
}
