//! The state of a connection: its calls, its windows, and what their holders do.
//!
//! Sans-IO. What comes is taken in by `events`, what goes is put together by `output`; the socket
//! and the task that moves bytes are `driver`'s.

use std::collections::{HashMap, VecDeque};
use std::task::{Context, Poll, Waker};

use bytes::{BufMut, Bytes, BytesMut};
use flight_wire::{Chunks, FlightMessage, Frame};
use http::HeaderMap;
use tonic::Status;

use super::decoder::FrameDecoder;
use super::frame::{
    Code, FRAME_BYTES_DEFAULT, FrameError, Head, PREFACE, WINDOW_DEFAULT, WINDOW_LIMIT, flag, kind,
    put_frame, setting,
};
use super::headers::{HeaderDecoder, put_request};
use super::stream::{Inbound, Outbound, ReceiveWindow, Stream};
use crate::client::Origin;
use crate::limits::{CANCELLED_STREAMS_KEPT, HEADER_LIST_BYTES, Http2Settings};

/// A connection without its socket.
pub(crate) struct Session {
    pub(super) decoder: FrameDecoder,
    pub(super) headers: HeaderDecoder,
    pub(super) streams: HashMap<u32, Stream>,
    /// Whose DATA frame is being read; `None` when nobody wants it.
    pub(super) current: Option<u32>,
    /// Streams that we reset of late, on which more may be on its way.
    pub(super) cancelled: VecDeque<u32>,
    pub(super) receive_window: ReceiveWindow,
    /// Control frames since the last data in either direction.
    pub(super) control_frames: usize,
    /// Whether a message was completed since the driver asked.
    pub(super) delivered: bool,
    /// Whether any call was ever answered.
    pub(super) answered: bool,
    pub(super) send: SendState,
    settings: Http2Settings,
    origin: Origin,
    next_stream: u32,
    /// The peer takes no new calls, in its words.
    pub(super) going_away: Option<String>,
    /// Why the connection is over.
    ended: Option<Status>,
    /// Nobody can start a call any more.
    pub(super) released: bool,
    driver: Option<Waker>,
}

/// What is to be sent, and what the peer allows.
pub(super) struct SendState {
    /// Frames that do not belong to a call's body; sent before those that do.
    pub(super) control: BytesMut,
    /// Heads of DATA frames, cut off one allocation.
    pub(super) heads: BytesMut,
    /// Pieces on their way to the socket.
    pub(super) pieces: VecDeque<Bytes>,
    pub(super) bytes: usize,
    /// The connection's window.
    pub(super) window: i64,
    /// Window of a new stream.
    pub(super) stream_window: i64,
    pub(super) frame_bytes_max: usize,
    pub(super) streams_max: u32,
    /// Streams in the order of their turns.
    pub(super) turns: VecDeque<u32>,
    /// Calls whose HEADERS wait, in the order of their streams.
    waiting: VecDeque<(u32, BytesMut)>,
    open_streams: u32,
}

impl Session {
    /// A new connection; its first frames wait to be sent.
    pub(crate) fn new(origin: Origin, settings: Http2Settings) -> Self {
        let mut control = BytesMut::from(PREFACE);
        let connection_window = settings.connection_window_bytes.max(WINDOW_DEFAULT);
        let mut ours = BytesMut::new();
        for (id, value) in [
            (setting::HEADER_TABLE_SIZE, 0),
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, settings.stream_window_bytes),
            (setting::MAX_FRAME_SIZE, settings.frame_bytes_max),
            (setting::MAX_HEADER_LIST_SIZE, HEADER_LIST_BYTES),
        ] {
            ours.put_u16(id);
            ours.put_u32(value);
        }
        put_frame(&mut control, kind::SETTINGS, 0, 0, &ours);
        if connection_window > WINDOW_DEFAULT {
            let more = (connection_window - WINDOW_DEFAULT).to_be_bytes();
            put_frame(&mut control, kind::WINDOW_UPDATE, 0, 0, &more);
        }
        Self {
            decoder: FrameDecoder::new(settings.frame_bytes_max as usize),
            headers: HeaderDecoder::new(),
            streams: HashMap::new(),
            current: None,
            cancelled: VecDeque::new(),
            receive_window: ReceiveWindow::new(connection_window),
            control_frames: 0,
            delivered: false,
            answered: false,
            send: SendState {
                control,
                heads: BytesMut::with_capacity(HEADS_BYTES),
                pieces: VecDeque::new(),
                bytes: 0,
                window: i64::from(WINDOW_DEFAULT),
                stream_window: i64::from(WINDOW_DEFAULT),
                frame_bytes_max: FRAME_BYTES_DEFAULT as usize,
                streams_max: STREAMS_MAX_DEFAULT,
                turns: VecDeque::new(),
                waiting: VecDeque::new(),
                open_streams: 0,
            },
            settings,
            origin,
            next_stream: 1,
            going_away: None,
            ended: None,
            released: false,
            driver: None,
        }
    }

    /// Whether no call can begin.
    pub(crate) fn is_closed(&self) -> bool {
        self.ended.is_some() || self.going_away.is_some() || self.next_stream > WINDOW_LIMIT
    }

    /// Whether the last call is over and there will be no other.
    pub(crate) fn is_done(&self) -> bool {
        self.streams.is_empty() && (self.released || self.going_away.is_some())
    }

    /// Begins a call whose body is `body`, or what is sent later; `handles` ends of it are held.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` when the connection is over or takes no more calls.
    pub(crate) fn open(
        &mut self,
        path: &str,
        headers: &HeaderMap,
        body: Option<Bytes>,
        message_bytes_max: usize,
        handles: u8,
    ) -> Result<u32, Status> {
        if let Some(status) = &self.ended {
            return Err(status.clone());
        }
        if self.is_closed() {
            let why = self.going_away.as_deref().unwrap_or("the connection has no streams left");
            return Err(Status::unavailable(why));
        }
        let id = self.next_stream;
        self.next_stream += 2;
        let mut block = BytesMut::new();
        let mut headers = headers.clone();
        self.origin.complete(&mut headers);
        put_request(&mut block, self.origin.scheme, &self.origin.authority, path, &headers);
        let mut outbound = Outbound { window: self.send.stream_window, ..Outbound::default() };
        if let Some(body) = body {
            let bytes = body.len();
            outbound.push(Chunks::from(body), bytes);
            outbound.finished = true;
        }
        let inbound = Inbound::new(message_bytes_max, self.settings.stream_window_bytes);
        let (opened, remote_closed, reset) = (false, false, false);
        let stream = Stream { inbound, outbound, opened, remote_closed, reset, handles };
        self.streams.insert(id, stream);
        self.send.waiting.push_back((id, block));
        self.admit();
        self.wake_driver();
        Ok(id)
    }

    /// Sends the HEADERS of calls that wait, as many as the peer takes at once.
    pub(super) fn admit(&mut self) {
        while self.send.open_streams < self.send.streams_max
            && let Some((id, block)) = self.send.waiting.pop_front()
        {
            let waits = |stream: &&mut Stream| !stream.reset && !stream.remote_closed;
            let Some(stream) = self.streams.get_mut(&id).filter(waits) else { continue };
            stream.opened = true;
            self.send.open_streams += 1;
            self.send.put_headers(id, block);
            self.schedule(id);
        }
    }

    /// Ready once the answer began.
    pub(crate) fn poll_head(&mut self, id: u32, cx: &Context<'_>) -> Poll<Result<(), Status>> {
        let inbound = &mut self.stream(id).inbound;
        match &inbound.head {
            Some(head) => Poll::Ready(head.clone()),
            None => {
                inbound.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The answer's next message; `None` at its orderly end.
    pub(crate) fn poll_message(
        &mut self,
        id: u32,
        cx: &Context<'_>,
    ) -> Poll<Option<Result<FlightMessage, Status>>> {
        let inbound = &mut self.stream(id).inbound;
        let Some(message) = inbound.pop() else {
            let Some(end) = inbound.end.clone() else {
                inbound.waker = Some(cx.waker().clone());
                return Poll::Pending;
            };
            return Poll::Ready(end.err().map(Err));
        };
        if let Some(increment) = inbound.grant() {
            self.send.put_window_update(id, increment);
            self.wake_driver();
        }
        Poll::Ready(Some(Ok(message)))
    }

    /// Takes `frame` once there is room; `false` when the peer wants no more.
    pub(crate) fn poll_send(
        &mut self,
        id: u32,
        frame: &mut Option<Frame>,
        cx: &Context<'_>,
    ) -> Poll<bool> {
        let room = self.settings.send_buffer_bytes;
        let outbound = &mut self.stream(id).outbound;
        if outbound.closed {
            return Poll::Ready(false);
        }
        if outbound.bytes >= room {
            outbound.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if let Some(frame) = frame.take() {
            let bytes = frame.bytes();
            outbound.push(frame.into_chunks(), bytes);
        }
        self.schedule(id);
        self.wake_driver();
        Poll::Ready(true)
    }

    /// Ends the request's body; `false` when the peer had ended the call.
    pub(crate) fn finish(&mut self, id: u32) -> bool {
        let outbound = &mut self.stream(id).outbound;
        outbound.finished = true;
        let taken = !outbound.closed;
        self.schedule(id);
        self.wake_driver();
        taken
    }

    /// A holder lets go of its end; `given_up` when it wanted more of the call.
    pub(crate) fn release(&mut self, id: u32, given_up: bool) {
        let stream = self.stream(id);
        stream.handles -= 1;
        if given_up || stream.handles == 0 {
            self.reset(id, Code::CANCEL, Err(Status::cancelled("the call was given up")));
        }
        if self.stream(id).handles == 0 {
            self.forget(id);
        }
    }

    /// Ends a call from this side, unless it is over on both.
    pub(super) fn reset(&mut self, id: u32, code: Code, end: Result<(), Status>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let over = stream.remote_closed && stream.outbound.closed;
        stream.inbound.end(end);
        stream.outbound.close();
        stream.wake();
        if over || stream.reset {
            return;
        }
        stream.reset = true;
        if self.current == Some(id) {
            self.current = None;
        }
        if stream.opened && self.ended.is_none() {
            put_frame(&mut self.send.control, kind::RESET, 0, id, &code.0.to_be_bytes());
            self.cancelled.push_back(id);
            if self.cancelled.len() > CANCELLED_STREAMS_KEPT {
                self.cancelled.pop_front();
            }
        }
        self.wake_driver();
    }

    fn forget(&mut self, id: u32) {
        let Some(stream) = self.streams.remove(&id) else { return };
        if self.current == Some(id) {
            self.current = None;
        }
        if stream.opened {
            self.send.open_streams -= 1;
            self.admit();
        }
        self.wake_driver();
    }

    /// Ends the connection and all its calls.
    pub(crate) fn end(&mut self, status: &Status) {
        self.ended.get_or_insert_with(|| status.clone());
        for stream in self.streams.values_mut() {
            stream.inbound.end(Err(status.clone()));
            stream.outbound.close();
            stream.wake();
        }
    }

    /// Queues the peer's notice that the connection is over because of `code`.
    pub(crate) fn say_goodbye(&mut self, code: Code) {
        let [a, b, c, d] = code.0.to_be_bytes();
        // The peer began no stream: the last one of it is 0.
        put_frame(&mut self.send.control, kind::GOAWAY, 0, 0, &[0, 0, 0, 0, a, b, c, d]);
    }

    /// No call will begin any more; the connection ends with the last of those that run.
    pub(crate) fn release_connection(&mut self) {
        self.released = true;
        self.wake_driver();
    }

    pub(crate) fn driver_waits(&mut self, waker: &Waker) {
        if !self.driver.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.driver = Some(waker.clone());
        }
    }

    fn wake_driver(&self) {
        if let Some(driver) = &self.driver {
            driver.wake_by_ref();
        }
    }

    pub(super) fn is_idle(&self, id: u32) -> bool {
        id.is_multiple_of(2) || id >= self.next_stream
    }

    fn stream(&mut self, id: u32) -> &mut Stream {
        self.streams.get_mut(&id).expect("a stream stays for as long as somebody holds it")
    }

    /// Counts what costs the peer nothing and us an answer.
    pub(super) fn count_control_frame(&mut self) -> Result<(), FrameError> {
        self.control_frames += 1;
        let max = crate::limits::CONTROL_FRAMES_IN_A_ROW_MAX;
        // Nor may answers pile up for a peer that does not read them.
        let waiting = self.send.control.len() > crate::limits::CONTROL_BYTES_WAITING_MAX;
        if self.control_frames > max || waiting { Err(FrameError::Flood { max }) } else { Ok(()) }
    }
}

impl SendState {
    pub(super) fn put_window_update(&mut self, stream: u32, increment: u32) {
        put_frame(&mut self.control, kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes());
    }

    /// A request's header block, over as many frames as the peer's limit asks for.
    fn put_headers(&mut self, stream: u32, mut block: BytesMut) {
        let mut kind = kind::HEADERS;
        loop {
            let part = block.split_to(block.len().min(self.frame_bytes_max));
            let flags = if block.is_empty() { flag::END_HEADERS } else { 0 };
            Head { length: part.len(), kind, flags, stream }.put(&mut self.control);
            self.control.put_slice(&part);
            if block.is_empty() {
                return;
            }
            kind = kind::CONTINUATION;
        }
    }
}

/// Streams that are opened at once before the peer's settings came.
const STREAMS_MAX_DEFAULT: u32 = 100;
/// Memory that heads are cut from; what is used up is followed by as much again.
const HEADS_BYTES: usize = 4096;
