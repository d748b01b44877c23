//! The body of a request or an answer: a generated message, or frames as they are made.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use flight_wire::{Chunks, Frame};
use http::HeaderMap;
use http_body::Frame as HttpFrame;
use tokio::sync::{Notify, mpsc};

/// Why a body ended early.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Frames that wait between their producer and the socket: the next, while one is being written.
const FRAMES_AHEAD: usize = 1;

/// A body whose pieces reach the socket in one vectored write.
pub struct Body {
    source: Source,
    /// Kept until the body has ended or was given up.
    held: Option<Box<dyn Send>>,
}

enum Source {
    Tonic(tonic::body::Body),
    Frames { frames: mpsc::Receiver<Item>, wanted: Arc<Wanted>, ended: bool },
}

/// Whether a frame was asked for when none waited.
#[derive(Default)]
struct Wanted {
    now: AtomicBool,
    told: Notify,
}

impl Wanted {
    /// Told of changes by the one who asks.
    fn set(&self, now: bool) {
        self.now.store(now, Ordering::Release);
        if now {
            self.told.notify_one();
        }
    }

    async fn wait(&self) {
        // What was told may be over by now.
        while !self.now.load(Ordering::Acquire) {
            self.told.notified().await;
        }
    }
}

enum Item {
    Frame(Frame),
    End(Option<HeaderMap>),
}

impl Body {
    /// A body of frames and the end that feeds it.
    pub fn frames() -> (FrameSender, Self) {
        let (sender, frames) = mpsc::channel(FRAMES_AHEAD);
        let wanted = Arc::<Wanted>::default();
        let source = Source::Frames { frames, wanted: Arc::clone(&wanted), ended: false };
        (FrameSender { frames: sender, wanted }, Self { source, held: None })
    }

    /// Keeps `held` until the body has ended or was given up.
    #[must_use]
    pub(crate) fn holding(mut self, held: impl Send + 'static) -> Self {
        self.held = Some(Box::new(held));
        self
    }
}

impl From<tonic::body::Body> for Body {
    fn from(body: tonic::body::Body) -> Self {
        Self { source: Source::Tonic(body), held: None }
    }
}

/// The producer's end of a body. Dropped without [`end`](Self::end), it breaks the stream off, so
/// that a producer's fault never looks like a short success.
pub struct FrameSender {
    frames: mpsc::Sender<Item>,
    wanted: Arc<Wanted>,
}

impl FrameSender {
    /// Waits until a frame can be handed on at once, so that nothing has to be made before there
    /// is room for it; `None` when the other side has gone.
    pub async fn room(&self) -> Option<Room<'_>> {
        self.frames.reserve().await.ok().map(Room)
    }

    /// Like [`room`](Self::room), once the other side has asked for a frame and none waits for it:
    /// no frame waits here while nobody reads. hyper asks for one before the last has left, so that
    /// two may wait there.
    pub async fn wanted(&self) -> Option<Room<'_>> {
        let room = self.room().await?;
        tokio::select! {
            () = self.wanted.wait() => Some(room),
            () = self.closed() => None,
        }
    }

    /// Hands a frame on, once there is room for it; `false` when the other side has gone.
    pub async fn send(&self, frame: Frame) -> bool {
        self.frames.send(Item::Frame(frame)).await.is_ok()
    }

    /// Ends the body, with trailers on an answer.
    pub async fn end(self, trailers: Option<HeaderMap>) -> bool {
        self.frames.send(Item::End(trailers)).await.is_ok()
    }

    /// Resolves once the other side has gone: the answer's reader, or the connection.
    pub async fn closed(&self) {
        self.frames.closed().await;
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
            Source::Frames { frames, wanted, ended } => {
                // Before the frame is taken: room for the next is no wish for it.
                wanted.set(false);
                let Poll::Ready(item) = frames.poll_recv(cx) else {
                    wanted.set(true);
                    return Poll::Pending;
                };
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
