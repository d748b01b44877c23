//! Record batches turned into messages, none larger than the limit and none copied.
//!
//! The sizes that decide a split are those of real messages, encoded without copying and measured,
//! so that strings, nested types and dictionaries count exactly.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::writer::{DictionaryHandling, IpcWriteOptions, StreamEncoder};
use arrow_ipc::{CompressionType, MessageHeader};
use arrow_schema::{ArrowError, Schema};

use crate::frame::flight_data_bytes;
use crate::limits::{PROTOBUF_BYTES_MAX, SEND_MESSAGE_BYTES_DEFAULT, SPLIT_ROWS};
use crate::narrow::narrow;

/// Why a batch could not be encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// A type that the IPC format cannot carry, or a fault of the encoder.
    #[error("cannot be sent as Arrow IPC: {0}")]
    Arrow(#[from] ArrowError),
    #[error("one {what} takes {bytes} bytes, more than the {max} that a gRPC message can hold")]
    TooLarge { what: &'static str, bytes: usize, max: usize },
    /// Our own fault or the encoder's: what it wrote does not parse.
    #[error("the encoder wrote a message that does not parse")]
    Inconsistent,
}

/// Compression of the buffers in a message's body (Message.fbs, BodyCompression).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    Lz4,
    Zstd,
}

/// How batches become messages.
#[derive(Debug, Clone)]
pub struct EncodeOptions {
    /// Bytes of a `FlightData` message; a single row or a dictionary that is larger goes out whole.
    pub message_bytes_max: usize,
    /// Rows of a message at most.
    pub batch_rows_max: Option<usize>,
    pub compression: Compression,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            message_bytes_max: SEND_MESSAGE_BYTES_DEFAULT,
            batch_rows_max: None,
            compression: Compression::None,
        }
    }
}

/// What a message holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Schema,
    Dictionary,
    Batch { rows: usize },
}

/// An IPC message: a flatbuffer `Message` and the buffers of its body, in order, padded.
#[derive(Debug, Clone)]
pub struct Message {
    pub kind: Kind,
    /// Without continuation marker and length.
    pub header: Buffer,
    pub body: Vec<Buffer>,
    /// Bytes of all pieces of the body.
    pub body_bytes: usize,
}

/// Encodes the batches of one stream.
pub struct Encoder {
    inner: StreamEncoder,
    schema: Message,
    options: EncodeOptions,
    schema_is_cut: bool,
}

impl Encoder {
    /// # Errors
    ///
    /// A schema that the IPC format cannot carry.
    pub fn new(schema: &Schema, options: EncodeOptions) -> Result<Self, EncodeError> {
        let write_options = write_options(options.compression)?;
        let only_schema = StreamEncoder::try_new_with_options(schema, write_options.clone())?;
        let schema_message = cut(only_schema.finish()?)?.into_iter().next();
        Ok(Self {
            inner: StreamEncoder::try_new_with_options(schema, write_options)?,
            schema: schema_message.ok_or(EncodeError::Inconsistent)?,
            options,
            schema_is_cut: false,
        })
    }

    /// The message that opens the stream.
    pub fn schema(&self) -> Message {
        self.schema.clone()
    }

    /// The messages of `batch`: dictionaries that are new or changed, then its rows in as few
    /// messages as the limits allow. A batch without rows is one message.
    ///
    /// # Errors
    ///
    /// A fault of the encoder: what the schema allows can be encoded.
    pub fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Message>, EncodeError> {
        let mut out = Vec::new();
        self.encode_into(batch, &mut out)?;
        for message in &out {
            let (bytes, max) = (flight_bytes(message), PROTOBUF_BYTES_MAX);
            if bytes > max {
                let what = if message.kind == Kind::Dictionary { "dictionary" } else { "row" };
                return Err(EncodeError::TooLarge { what, bytes, max });
            }
        }
        Ok(out)
    }

    fn encode_into(
        &mut self,
        batch: &RecordBatch,
        out: &mut Vec<Message>,
    ) -> Result<(), EncodeError> {
        let rows_max = self.options.batch_rows_max.unwrap_or(usize::MAX).max(1);
        if batch.num_rows() <= rows_max {
            let whole = self.encode_one(batch, out)?;
            if self.fits(&whole) || batch.num_rows() <= 1 {
                out.push(whole);
                return Ok(());
            }
            return self.split(batch, &whole, out);
        }
        for start in (0..batch.num_rows()).step_by(rows_max) {
            let slice = batch.slice(start, rows_max.min(batch.num_rows() - start));
            self.encode_into(&slice, out)?;
        }
        Ok(())
    }

    /// Encodes pieces of `batch`, whose whole was too large.
    fn split(
        &mut self,
        batch: &RecordBatch,
        whole: &Message,
        out: &mut Vec<Message>,
    ) -> Result<(), EncodeError> {
        let batch = narrow(batch)?;
        let pieces = flight_bytes(whole).div_ceil(self.options.message_bytes_max);
        let mut todo = VecDeque::new();
        let rows = even_rows(batch.num_rows(), pieces);
        for start in (0..batch.num_rows()).step_by(rows) {
            todo.push_back((start, rows.min(batch.num_rows() - start)));
        }
        // A piece that is still too large, because its rows are longer than most, is halved until
        // it fits or is a single row; the order of rows is kept.
        while let Some((start, len)) = todo.pop_front() {
            let piece = narrow(&batch.slice(start, len))?;
            let message = self.encode_one(&piece, out)?;
            if self.fits(&message) || len == 1 {
                out.push(message);
                continue;
            }
            let half = even_rows(len, 2);
            todo.push_front((start + half, len - half));
            todo.push_front((start, half));
        }
        Ok(())
    }

    /// The batch message of `batch`; dictionaries before it go to `out` at once, since the encoder
    /// takes them for sent.
    fn encode_one(
        &mut self,
        batch: &RecordBatch,
        out: &mut Vec<Message>,
    ) -> Result<Message, EncodeError> {
        let mut messages = cut(self.inner.encode(batch)?)?.into_iter();
        if !self.schema_is_cut {
            // The first call repeats the schema.
            messages.next();
            self.schema_is_cut = true;
        }
        for message in messages {
            match message.kind {
                Kind::Batch { .. } => return Ok(message),
                Kind::Dictionary | Kind::Schema => out.push(message),
            }
        }
        Err(EncodeError::Inconsistent)
    }

    fn fits(&self, message: &Message) -> bool {
        flight_bytes(message) <= self.options.message_bytes_max
    }
}

fn write_options(compression: Compression) -> Result<IpcWriteOptions, ArrowError> {
    let codec = match compression {
        Compression::None => None,
        Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
        Compression::Zstd => Some(CompressionType::ZSTD),
    };
    let options = IpcWriteOptions::default().try_with_compression(codec)?;
    // Deltas are unreadable by polars; a changed dictionary is sent whole.
    Ok(options.with_dictionary_handling(DictionaryHandling::Resend))
}

fn flight_bytes(message: &Message) -> usize {
    flight_data_bytes(message.header.len(), message.body_bytes, 0)
}

/// Rows of each of `pieces` pieces of `rows` rows, on the border of a bitmap's word where the
/// pieces are larger than that.
pub fn even_rows(rows: usize, pieces: usize) -> usize {
    if pieces <= 1 {
        return rows.max(1);
    }
    let each = rows.div_ceil(pieces);
    if each <= SPLIT_ROWS { each.max(1) } else { each / SPLIT_ROWS * SPLIT_ROWS }
}

/// Cuts what [`StreamEncoder`] wrote, encapsulated messages in a row, into messages.
fn cut(buffers: Vec<Buffer>) -> Result<Vec<Message>, EncodeError> {
    /// Continuation marker and length.
    const PREFIX: usize = 8;
    let mut pieces = Pieces(buffers.into());
    let mut messages = Vec::new();
    while let Some(prefix) = pieces.take_whole(PREFIX) {
        let length = prefix.last_chunk::<4>().ok_or(EncodeError::Inconsistent)?;
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 {
            break; // the end-of-stream marker
        }
        let header = pieces.take_whole(length).ok_or(EncodeError::Inconsistent)?;
        let parsed = arrow_ipc::root_as_message(&header).map_err(|_| EncodeError::Inconsistent)?;
        let kind = match parsed.header_type() {
            MessageHeader::Schema => Kind::Schema,
            MessageHeader::DictionaryBatch => Kind::Dictionary,
            _ => {
                let batch = parsed.header_as_record_batch().ok_or(EncodeError::Inconsistent)?;
                Kind::Batch { rows: usize::try_from(batch.length()).unwrap_or(0) }
            }
        };
        let body_bytes =
            usize::try_from(parsed.bodyLength()).map_err(|_| EncodeError::Inconsistent)?;
        let body = pieces.take(body_bytes).ok_or(EncodeError::Inconsistent)?;
        messages.push(Message { kind, header, body, body_bytes });
    }
    Ok(messages)
}

/// A run of bytes that lies in several buffers.
struct Pieces(VecDeque<Buffer>);

impl Pieces {
    /// The next `length` bytes as pieces of the buffers they lie in.
    fn take(&mut self, mut length: usize) -> Option<Vec<Buffer>> {
        let mut taken = Vec::new();
        while length > 0 {
            let first = self.0.pop_front()?;
            if first.is_empty() {
                continue;
            }
            if first.len() > length {
                self.0.push_front(first.slice(length));
                taken.push(first.slice_with_length(0, length));
                break;
            }
            length -= first.len();
            taken.push(first);
        }
        Some(taken)
    }

    /// The next `length` bytes in one buffer; they are few.
    fn take_whole(&mut self, length: usize) -> Option<Buffer> {
        let mut pieces = self.take(length)?;
        match pieces.len() {
            0 => None,
            1 => pieces.pop(),
            _ => Some(pieces.iter().flat_map(|p| p.as_slice()).copied().collect()),
        }
    }
}
