//! Bytes cut into HTTP/2 frames, from whatever pieces arrive.
//!
//! Sans-IO, and so fit for fuzzing: bytes go in, events come out, and every length is checked
//! before it sizes anything. What events mean for streams and windows is left to `session`, what a
//! header block holds to `headers`.

use bytes::{Buf, Bytes, BytesMut};

use super::frame::{
    Code, FRAME_BYTES_DEFAULT, FRAME_BYTES_LIMIT, FrameError, HEAD_BYTES, Head, WINDOW_LIMIT, flag,
    kind, setting,
};
use crate::limits::{CONTINUATIONS_MAX, HEADER_LIST_BYTES};

/// What the peer set; `None` where it said nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) streams_max: Option<u32>,
    pub(crate) window_bytes: Option<u32>,
    pub(crate) frame_bytes_max: Option<u32>,
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A DATA frame begins; it counts `flow_bytes` against the windows, padding included.
    DataBegun {
        stream: u32,
        flow_bytes: usize,
    },
    /// Payload of the DATA frame that began.
    Data(Bytes),
    /// The DATA frame is over.
    DataEnded {
        end_stream: bool,
    },
    /// A whole header block.
    Headers {
        stream: u32,
        end_stream: bool,
        block: Bytes,
    },
    Reset {
        stream: u32,
        code: Code,
    },
    Settings(Settings),
    Ping([u8; 8]),
    GoAway {
        last_stream: u32,
        code: Code,
        debug: Bytes,
    },
    /// `stream` 0 is the connection.
    WindowUpdate {
        stream: u32,
        increment: u32,
    },
    /// A frame that asks for nothing: an acknowledgement, a priority, an unknown type.
    Ignored,
}

/// Cuts bytes into frames.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    frame_bytes_max: usize,
    state: State,
    /// A head or a small payload of which a part arrived.
    carry: BytesMut,
    /// A header block that goes on in CONTINUATION frames.
    block: Option<Block>,
    /// Whether the peer's SETTINGS, which come first, have come.
    greeted: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    /// A frame whose payload is taken whole.
    Payload(Head),
    /// The first byte of a padded DATA frame.
    PadLength(Head),
    Data {
        rest: usize,
        padding: usize,
        end_stream: bool,
    },
    /// What is left of a frame that means nothing here.
    Skip(usize),
}

#[derive(Debug)]
struct Block {
    stream: u32,
    end_stream: bool,
    fragments: BytesMut,
    continuations: usize,
}

impl FrameDecoder {
    /// Takes frames of up to `frame_bytes_max` bytes, which the peer was told.
    pub(crate) fn new(frame_bytes_max: usize) -> Self {
        let (state, carry) = (State::Head, BytesMut::new());
        Self { frame_bytes_max, state, carry, block: None, greeted: false }
    }

    /// Payload of the current DATA frame that has not come yet. It may be read past this decoder,
    /// which is told so by [`passed`](Self::passed).
    pub(crate) fn data_rest(&self) -> usize {
        if let State::Data { rest, .. } = self.state { rest } else { 0 }
    }

    /// Bytes that are certain to come whatever is sent: those of a DATA frame whose head came.
    pub(crate) fn certain_bytes(&self) -> usize {
        if let State::Data { rest, padding, .. } = self.state { rest + padding } else { 0 }
    }

    /// `count` bytes of [`data_rest`](Self::data_rest) went elsewhere.
    pub(crate) fn passed(&mut self, count: usize) {
        if let State::Data { rest, .. } = &mut self.state {
            *rest = rest.checked_sub(count).expect("no more is read than the frame has left");
        }
    }

    /// The next event out of `input`; `None` once that is used up.
    ///
    /// # Errors
    ///
    /// What no peer may send; the connection cannot go on.
    pub(crate) fn next(&mut self, input: &mut Bytes) -> Result<Option<Event>, FrameError> {
        loop {
            let event = match self.state {
                State::Head => {
                    let Some(head) = self.gather(input, HEAD_BYTES) else { return Ok(None) };
                    self.begin(Head::parse(head))?
                }
                State::PadLength(head) => {
                    let Some(padding) = input.first().copied() else { return Ok(None) };
                    input.advance(1);
                    Some(self.data(head, 1, usize::from(padding))?)
                }
                State::Data { rest: 0, padding: 0, end_stream } => {
                    self.state = State::Head;
                    Some(Event::DataEnded { end_stream })
                }
                State::Data { .. } | State::Skip(1..) if input.is_empty() => return Ok(None),
                State::Data { rest: 0, padding, end_stream } => {
                    let skipped = padding.min(input.len());
                    input.advance(skipped);
                    self.state = State::Data { rest: 0, padding: padding - skipped, end_stream };
                    None
                }
                State::Data { rest, padding, end_stream } => {
                    let data = input.split_to(rest.min(input.len()));
                    self.state = State::Data { rest: rest - data.len(), padding, end_stream };
                    Some(Event::Data(data))
                }
                State::Payload(head) => {
                    let Some(payload) = self.gather(input, head.length) else { return Ok(None) };
                    self.state = State::Head;
                    self.frame(head, payload)?
                }
                State::Skip(0) => {
                    self.state = State::Head;
                    Some(Event::Ignored)
                }
                State::Skip(rest) => {
                    let skipped = rest.min(input.len());
                    input.advance(skipped);
                    self.state = State::Skip(rest - skipped);
                    None
                }
            };
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    /// `count` bytes in one piece, once they have come; at most what a header block may take.
    fn gather(&mut self, input: &mut Bytes, count: usize) -> Option<Bytes> {
        if self.carry.is_empty() && input.len() >= count {
            return Some(input.split_to(count));
        }
        let part = input.split_to(input.len().min(count - self.carry.len()));
        self.carry.extend_from_slice(&part);
        (self.carry.len() == count).then(|| std::mem::take(&mut self.carry).freeze())
    }

    /// Checks a head, and decides what becomes of the payload.
    fn begin(&mut self, head: Head) -> Result<Option<Event>, FrameError> {
        if !std::mem::replace(&mut self.greeted, true)
            && (head.kind != kind::SETTINGS || head.has(flag::ACK))
        {
            return Err(FrameError::NotHttp2);
        }
        let name = name(head.kind);
        if head.length > self.frame_bytes_max {
            let (bytes, max) = (head.length, self.frame_bytes_max);
            return Err(FrameError::TooLarge { kind: name, bytes, max });
        }
        match &self.block {
            Some(block) if head.kind != kind::CONTINUATION || head.stream != block.stream => {
                return Err(FrameError::Interrupted { kind: name });
            }
            None if head.kind == kind::CONTINUATION => {
                return Err(FrameError::Stream { kind: name, stream: head.stream });
            }
            _ => {}
        }
        let of_connection = matches!(head.kind, kind::SETTINGS | kind::PING | kind::GOAWAY);
        let of_stream = matches!(
            head.kind,
            kind::DATA | kind::HEADERS | kind::PRIORITY | kind::RESET | kind::CONTINUATION
        );
        if (of_connection && head.stream != 0) || (of_stream && head.stream == 0) {
            return Err(FrameError::Stream { kind: name, stream: head.stream });
        }
        match head.kind {
            kind::DATA if head.has(flag::PADDED) && head.length == 0 => {
                return Err(FrameError::Padding);
            }
            kind::DATA if head.has(flag::PADDED) => self.state = State::PadLength(head),
            kind::DATA => return self.data(head, 0, 0).map(Some),
            // Push is forbidden by our settings.
            kind::PUSH_PROMISE => {
                return Err(FrameError::Stream { kind: name, stream: head.stream });
            }
            kind::HEADERS | kind::CONTINUATION if head.length > HEADER_BYTES_MAX => {
                return Err(HEADERS_TOO_LARGE);
            }
            kind::GOAWAY | kind::SETTINGS if head.length > CONTROL_BYTES_MAX => {
                let (bytes, max) = (head.length, CONTROL_BYTES_MAX);
                return Err(FrameError::TooLarge { kind: name, bytes, max });
            }
            kind::HEADERS | kind::CONTINUATION | kind::GOAWAY | kind::SETTINGS => {
                self.state = State::Payload(head);
            }
            kind::PRIORITY | kind::RESET | kind::PING | kind::WINDOW_UPDATE => {
                let right = match head.kind {
                    kind::PRIORITY => 5,
                    kind::PING => 8,
                    _ => 4,
                };
                if head.length != right {
                    return Err(FrameError::Length { kind: name, bytes: head.length });
                }
                self.state = State::Payload(head);
            }
            _ => self.state = State::Skip(head.length),
        }
        Ok(None)
    }

    fn data(&mut self, head: Head, before: usize, padding: usize) -> Result<Event, FrameError> {
        let rest = head.length.checked_sub(before + padding).ok_or(FrameError::Padding)?;
        self.state = State::Data { rest, padding, end_stream: head.has(flag::END_STREAM) };
        Ok(Event::DataBegun { stream: head.stream, flow_bytes: head.length })
    }

    fn frame(&mut self, head: Head, mut payload: Bytes) -> Result<Option<Event>, FrameError> {
        let stream = head.stream;
        Ok(Some(match head.kind {
            kind::HEADERS => {
                let fragment = unpadded(head, payload)?;
                let end_stream = head.has(flag::END_STREAM);
                if head.has(flag::END_HEADERS) {
                    return Ok(Some(Event::Headers { stream, end_stream, block: fragment }));
                }
                let fragments = BytesMut::from(&fragment[..]);
                self.block = Some(Block { stream, end_stream, fragments, continuations: 0 });
                return Ok(None);
            }
            kind::CONTINUATION => return self.continuation(head, &payload),
            kind::RESET => Event::Reset { stream, code: Code(payload.get_u32()) },
            kind::SETTINGS if head.has(flag::ACK) && head.length > 0 => {
                return Err(FrameError::Length { kind: name(head.kind), bytes: head.length });
            }
            kind::SETTINGS if head.has(flag::ACK) => Event::Ignored,
            kind::SETTINGS => Event::Settings(settings(payload)?),
            kind::PING if head.has(flag::ACK) => Event::Ignored,
            kind::PING => {
                let mut opaque = [0; 8];
                payload.copy_to_slice(&mut opaque);
                Event::Ping(opaque)
            }
            kind::GOAWAY if head.length < 8 => {
                return Err(FrameError::Length { kind: name(head.kind), bytes: head.length });
            }
            kind::GOAWAY => {
                let last_stream = payload.get_u32() & WINDOW_LIMIT;
                Event::GoAway { last_stream, code: Code(payload.get_u32()), debug: payload }
            }
            kind::WINDOW_UPDATE => {
                let increment = payload.get_u32() & WINDOW_LIMIT;
                if increment == 0 {
                    return Err(FrameError::Window);
                }
                Event::WindowUpdate { stream, increment }
            }
            _ => Event::Ignored,
        }))
    }

    fn continuation(&mut self, head: Head, part: &[u8]) -> Result<Option<Event>, FrameError> {
        let mut block = self.block.take().expect("checked at the frame's head");
        block.continuations += 1;
        // The bound on frames is for empty ones, which cost work and no bytes (CVE-2024-27316).
        if block.fragments.len() + part.len() > HEADER_BYTES_MAX
            || block.continuations > CONTINUATIONS_MAX
        {
            return Err(HEADERS_TOO_LARGE);
        }
        block.fragments.extend_from_slice(part);
        if !head.has(flag::END_HEADERS) {
            self.block = Some(block);
            return Ok(None);
        }
        let Block { stream, end_stream, fragments, .. } = block;
        Ok(Some(Event::Headers { stream, end_stream, block: fragments.freeze() }))
    }
}

/// A header block's part in a HEADERS frame: without padding and priority.
fn unpadded(head: Head, mut payload: Bytes) -> Result<Bytes, FrameError> {
    let mut padding = 0;
    if head.has(flag::PADDED) {
        padding = usize::from(*payload.first().ok_or(FrameError::Padding)?);
        payload.advance(1);
    }
    if head.has(flag::PRIORITY) {
        if payload.len() < PRIORITY_BYTES {
            return Err(FrameError::Length { kind: name(head.kind), bytes: head.length });
        }
        payload.advance(PRIORITY_BYTES);
    }
    let length = payload.len().checked_sub(padding).ok_or(FrameError::Padding)?;
    payload.truncate(length);
    Ok(payload)
}

fn settings(mut payload: Bytes) -> Result<Settings, FrameError> {
    if !payload.len().is_multiple_of(SETTING_BYTES) {
        return Err(FrameError::Length { kind: name(kind::SETTINGS), bytes: payload.len() });
    }
    let mut settings = Settings::default();
    while payload.has_remaining() {
        let (id, value) = (payload.get_u16(), payload.get_u32());
        match id {
            setting::MAX_CONCURRENT_STREAMS => settings.streams_max = Some(value),
            setting::INITIAL_WINDOW_SIZE if value > WINDOW_LIMIT => {
                return Err(FrameError::Setting { name: "INITIAL_WINDOW_SIZE", value });
            }
            setting::INITIAL_WINDOW_SIZE => settings.window_bytes = Some(value),
            setting::MAX_FRAME_SIZE
                if !(FRAME_BYTES_DEFAULT..=FRAME_BYTES_LIMIT).contains(&value) =>
            {
                return Err(FrameError::Setting { name: "MAX_FRAME_SIZE", value });
            }
            setting::MAX_FRAME_SIZE => settings.frame_bytes_max = Some(value),
            setting::ENABLE_PUSH if value != 0 => {
                return Err(FrameError::Setting { name: "ENABLE_PUSH", value });
            }
            // Nothing is indexed in what we send, and its headers are few.
            _ => {}
        }
    }
    Ok(settings)
}

fn name(kind: u8) -> &'static str {
    const NAMES: [&str; 10] = [
        "DATA",
        "HEADERS",
        "PRIORITY",
        "RST_STREAM",
        "SETTINGS",
        "PUSH_PROMISE",
        "PING",
        "GOAWAY",
        "WINDOW_UPDATE",
        "CONTINUATION",
    ];
    NAMES.get(usize::from(kind)).copied().unwrap_or("frame of an unknown type")
}

const PRIORITY_BYTES: usize = 5;
const SETTING_BYTES: usize = 6;
/// Of a header block, and so of each of its frames.
const HEADER_BYTES_MAX: usize = HEADER_LIST_BYTES as usize;
/// Of SETTINGS and GOAWAY: what any peer takes.
const CONTROL_BYTES_MAX: usize = FRAME_BYTES_DEFAULT as usize;
const HEADERS_TOO_LARGE: FrameError =
    FrameError::HeadersTooLarge { max: HEADER_BYTES_MAX, frames: CONTINUATIONS_MAX };
