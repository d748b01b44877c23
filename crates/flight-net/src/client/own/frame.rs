//! The parts of HTTP/2 frames (RFC 9113, sections 4 and 6): heads, types, flags, settings, codes.
//!
//! How bytes are cut into frames is `decoder`'s, what frames mean for streams `session`'s.

use bytes::{Buf, BufMut, BytesMut};

/// Bytes of a frame's head: length, type, flags, stream.
pub(crate) const HEAD_BYTES: usize = 9;
/// What a client sends before its first frame (RFC 9113, 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What a peer takes before it says otherwise, and the least that it may say (RFC 9113, 6.5.2).
pub(crate) const FRAME_BYTES_DEFAULT: u32 = 16_384;
/// The most that a peer may say.
pub(crate) const FRAME_BYTES_LIMIT: u32 = (1 << 24) - 1;
/// A window before anybody said otherwise (RFC 9113, 6.9.2).
pub(crate) const WINDOW_DEFAULT: u32 = 65_535;
/// The largest window (RFC 9113, 6.9.1), and the largest stream.
pub(crate) const WINDOW_LIMIT: u32 = (1 << 31) - 1;

/// Types of frames (RFC 9113, 6).
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const RESET: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Flags of frames; some share a bit.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 1;
    pub(crate) const END_STREAM: u8 = 1;
    pub(crate) const END_HEADERS: u8 = 4;
    pub(crate) const PADDED: u8 = 8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Settings (RFC 9113, 6.5.2).
pub(crate) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 5;
    pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl Head {
    /// Reads a head of [`HEAD_BYTES`].
    pub(crate) fn parse(mut bytes: impl Buf) -> Self {
        let length = bytes.get_uint(3) as usize;
        let (kind, flags) = (bytes.get_u8(), bytes.get_u8());
        // The first bit is reserved and means nothing.
        Self { length, kind, flags, stream: bytes.get_u32() & WINDOW_LIMIT }
    }

    pub(crate) fn put(self, out: &mut BytesMut) {
        out.put_uint(self.length as u64, 3);
        out.put_u8(self.kind);
        out.put_u8(self.flags);
        out.put_u32(self.stream);
    }

    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Puts a whole frame with a small payload.
pub(crate) fn put_frame(out: &mut BytesMut, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    Head { length: payload.len(), kind, flags, stream }.put(out);
    out.put_slice(payload);
}

/// Error codes (RFC 9113, 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const NO_ERROR: Self = Self(0);
    pub(crate) const PROTOCOL_ERROR: Self = Self(1);
    pub(crate) const FLOW_CONTROL_ERROR: Self = Self(3);
    pub(crate) const STREAM_CLOSED: Self = Self(5);
    pub(crate) const FRAME_SIZE_ERROR: Self = Self(6);
    pub(crate) const CANCEL: Self = Self(8);
    pub(crate) const COMPRESSION_ERROR: Self = Self(9);
    pub(crate) const ENHANCE_YOUR_CALM: Self = Self(11);
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        match NAMES.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "code {}", self.0),
        }
    }
}

/// What a peer sent that none may. It costs the connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("the server does not speak HTTP/2")]
    NotHttp2,
    #[error("the server sent a {kind} frame of {bytes} bytes, where at most {max} are taken")]
    TooLarge { kind: &'static str, bytes: usize, max: usize },
    #[error("the server sent a {kind} frame of {bytes} bytes, a length that it cannot have")]
    Length { kind: &'static str, bytes: usize },
    #[error("the server sent a {kind} frame on stream {stream}, where it cannot stand")]
    Stream { kind: &'static str, stream: u32 },
    #[error("the server sent a frame whose padding is longer than itself")]
    Padding,
    #[error("the server sent a {kind} frame in the middle of a header block")]
    Interrupted { kind: &'static str },
    #[error("the server sent headers of more than {max} bytes or {frames} frames")]
    HeadersTooLarge { max: usize, frames: usize },
    #[error("the server sent headers that cannot be read: {why}")]
    Headers { why: String },
    #[error("the server set {name} to {value}, which it cannot be")]
    Setting { name: &'static str, value: u32 },
    #[error("the server sent more on {what} than its window allows")]
    Overrun { what: &'static str },
    #[error("the server raised a window beyond what it can be")]
    Window,
    #[error("the server sent a {kind} frame on stream {stream}, which is closed")]
    Closed { kind: &'static str, stream: u32 },
    #[error("the server sent more than {max} control frames without any data")]
    Flood { max: usize },
}

impl FrameError {
    /// What the peer is told.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::NotHttp2
            | Self::Stream { .. }
            | Self::Padding
            | Self::Interrupted { .. }
            | Self::Setting { .. } => Code::PROTOCOL_ERROR,
            Self::TooLarge { .. } | Self::Length { .. } => Code::FRAME_SIZE_ERROR,
            Self::Headers { .. } => Code::COMPRESSION_ERROR,
            Self::Overrun { .. } | Self::Window => Code::FLOW_CONTROL_ERROR,
            Self::Closed { .. } => Code::STREAM_CLOSED,
            Self::HeadersTooLarge { .. } | Self::Flood { .. } => Code::ENHANCE_YOUR_CALM,
        }
    }
}
