//! What a connection may cost.

use std::time::Duration;

/// HTTP/2 settings of one end.
///
/// Measured on loopback with 5 MB batches: windows of 16 MiB and frames of 1 MiB are worth 1.3–1.4
/// times the throughput of the defaults once nothing else copies, and 64 KiB frames are the worst
/// case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http2Settings {
    pub stream_window_bytes: u32,
    pub connection_window_bytes: u32,
    pub frame_bytes_max: u32,
    /// Bytes that a stream queues before its producer waits.
    pub send_buffer_bytes: usize,
}

impl Default for Http2Settings {
    fn default() -> Self {
        Self {
            stream_window_bytes: 16 << 20,
            connection_window_bytes: 32 << 20,
            frame_bytes_max: 1 << 20,
            send_buffer_bytes: 4 << 20,
        }
    }
}

/// A server's settings: a connection's window holds those of several streams, so that uploads that
/// wait for memory do not keep another one of their connection from the bytes that it needs.
pub const SERVER_HTTP2: Http2Settings = Http2Settings {
    stream_window_bytes: 8 << 20,
    connection_window_bytes: 64 << 20,
    frame_bytes_max: 1 << 20,
    send_buffer_bytes: 2 << 20,
};
/// A server's settings for connections beyond what its memory for windows allows.
pub const SERVER_HTTP2_SHORT: Http2Settings = Http2Settings {
    stream_window_bytes: 256 << 10,
    connection_window_bytes: 1 << 20,
    ..SERVER_HTTP2
};
const _: () = {
    assert!(SERVER_HTTP2.connection_window_bytes >= 8 * SERVER_HTTP2.stream_window_bytes);
    assert!(
        SERVER_HTTP2_SHORT.connection_window_bytes >= 4 * SERVER_HTTP2_SHORT.stream_window_bytes
    );
};

/// Bytes of small writes that are gathered before they go to the socket.
pub const GATHERED_BYTES: usize = 256 << 10;
/// A write of so many bytes goes to the socket as it is.
pub const GATHERED_WRITE_BYTES: usize = 64 << 10;
const _: () = assert!(GATHERED_WRITE_BYTES <= GATHERED_BYTES);

/// Bytes of a host's name (RFC 1035, 2.3.4).
pub const HOST_BYTES_MAX: usize = 253;
/// Streams of a connection that are open at once.
pub const STREAMS_PER_CONNECTION: u32 = 128;
/// Bytes of all headers of a call.
pub const HEADER_LIST_BYTES: u32 = 64 << 10;
/// Streams that a client may reset before the server acted on them (CVE-2023-44487).
pub const PENDING_RESETS: usize = 20;
/// Streams that the server resets because the client broke the protocol.
pub const LOCAL_RESETS: usize = 128;

/// Of the client's own connection: CONTINUATION frames of a header block.
pub const CONTINUATIONS_MAX: usize = 128;
/// Control frames that ask for work while no data moves: settings, pings, resets, empty frames.
pub const CONTROL_FRAMES_IN_A_ROW_MAX: usize = 1000;
/// Bytes of answers to them that wait for a peer which does not read.
pub const CONTROL_BYTES_WAITING_MAX: usize = 256 << 10;
/// Interim answers (1xx) of a call.
pub const INTERIM_ANSWERS_MAX: usize = 16;
/// Streams that the client reset of late, on which it takes what was on its way.
pub const CANCELLED_STREAMS_KEPT: usize = 256;
/// Bytes of a DATA frame that the client sends, whatever the server takes: streams take turns.
pub const FRAME_BYTES_SENT_MAX: usize = 1 << 20;
/// Bytes of an acknowledgement of an upload.
pub const PUT_RESULT_BYTES_MAX: usize = 4 << 20;

/// Caps and times of the accept loop.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    pub connections: usize,
    /// Of one address; loopback is exempt.
    pub connections_per_address: usize,
    /// From accepting a connection to the end of its TLS handshake.
    pub handshake: Duration,
    /// From there to the first call.
    pub first_call: Duration,
    /// A connection without an open call is closed after this time.
    pub idle: Duration,
    /// Bytes that the receive windows of all connections may promise; connections beyond get small
    /// windows.
    pub window_bytes: u64,
    /// How long streams may go on once the server was told to stop.
    pub drain: Duration,
    /// A silent peer is asked for a sign of life after this time.
    pub keepalive: Duration,
    /// And taken for gone after this time without one.
    pub keepalive_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_address: 256,
            handshake: Duration::from_secs(10),
            first_call: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            window_bytes: 1 << 30,
            drain: Duration::from_secs(30),
            keepalive: Duration::from_secs(60),
            keepalive_timeout: Duration::from_secs(20),
        }
    }
}
