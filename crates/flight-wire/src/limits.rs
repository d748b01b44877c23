//! What a message may cost, before anything is sized by what it claims.

/// Bytes of a message that we send unless the client asks for another size: below the 4 MiB that
/// plain Go, .NET, JavaScript and tonic clients take by default.
pub const SEND_MESSAGE_BYTES_DEFAULT: usize = 3_500 << 10;
/// The least a client may ask for: below it, heads outweigh bodies.
pub const SEND_MESSAGE_BYTES_MIN: usize = 16 << 10;
/// The most a client may ask for.
pub const SEND_MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Bytes of a message that we take in an upload.
pub const RECEIVE_MESSAGE_BYTES_MAX: usize = 256 << 20;
/// Bytes of memory that a process keeps for the bodies of messages to come.
pub const RECEIVE_POOL_BYTES: usize = 64 << 20;
/// Bytes that a protobuf message can hold.
pub const PROTOBUF_BYTES_MAX: usize = i32::MAX as usize;
/// Bytes of one message's `app_metadata`.
pub const APP_METADATA_BYTES_MAX: usize = 1 << 20;
/// Bytes of one message's `data_header` or descriptor.
pub const HEADER_BYTES_MAX: usize = 16 << 20;

/// Splits fall on multiples of this many rows, so that a bitmap is cut between its words and no
/// bit has to move.
pub const SPLIT_ROWS: usize = 64;
/// Endpoints that one GetFlightInfo may ask for.
pub const ENDPOINTS_MAX: usize = 1024;
/// Bytes of a ticket or a command.
pub const COMMAND_BYTES_MAX: usize = 1 << 20;
/// Bytes of an upload's id.
pub const UPLOAD_ID_BYTES_MAX: usize = 128;

const _: () = assert!(SEND_MESSAGE_BYTES_MIN < SEND_MESSAGE_BYTES_DEFAULT);
const _: () = assert!(SEND_MESSAGE_BYTES_DEFAULT < 4 << 20, "tonic's and Go's default limit");
const _: () = assert!(HEADER_BYTES_MAX + APP_METADATA_BYTES_MAX < RECEIVE_MESSAGE_BYTES_MAX);

/// What a decoder takes from bytes that it did not write itself.
#[derive(Debug, Clone)]
pub struct DecodeLimits {
    /// Fields of a schema, nested ones counted.
    pub columns: usize,
    /// How deep a type may nest.
    pub depth: usize,
    /// Bytes of a field's or a metadata entry's text.
    pub text_bytes: usize,
    /// Rows of a message.
    pub rows: u64,
    /// Bytes of a message's body once decompressed.
    pub batch_bytes: u64,
    /// Bytes of all dictionaries held at once.
    pub dictionary_bytes: u64,
    /// Bytes copied while delta dictionaries are appended, over the whole stream: each delta copies
    /// the dictionary that it extends.
    pub dictionary_work_bytes: u64,
    /// Bytes that a batch may stand for (dictionaries, runs and views written out) whatever its
    /// size on the wire.
    pub logical_bytes: u64,
    /// Beyond `logical_bytes`, how many bytes a batch may stand for per byte on the wire.
    pub expansion: u64,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            columns: 10_000,
            depth: 32,
            text_bytes: 1 << 20,
            rows: 1 << 31,
            batch_bytes: 256 << 20,
            dictionary_bytes: 256 << 20,
            dictionary_work_bytes: 16 << 30,
            logical_bytes: 64 << 20,
            expansion: 64,
        }
    }
}
