//! Record batches turned into messages, none larger than the limit and none copied.
//!
//! The sizes that decide a split are those of real messages, encoded without copying and measured,
//! so that strings, nested types and dictionaries count exactly.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_schema::{ArrowError, Schema};

use crate::frame::flight_data_bytes;
use crate::limits::{PROTOBUF_BYTES_MAX, SEND_MESSAGE_BYTES_DEFAULT, SPLIT_ROWS};
use crate::messages::{Extension, Kind, Message, MessageEncoder};
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

impl Compression {
    /// As Arrow IPC names it.
    pub fn codec(self) -> Option<CompressionType> {
        match self {
            Self::None => None,
            Self::Lz4 => Some(CompressionType::LZ4_FRAME),
            Self::Zstd => Some(CompressionType::ZSTD),
        }
    }
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

/// Encodes the batches of one stream.
pub struct Encoder {
    inner: MessageEncoder,
    options: EncodeOptions,
}

impl Encoder {
    /// # Errors
    ///
    /// A schema that the IPC format cannot carry.
    pub fn new(schema: &Schema, options: EncodeOptions) -> Result<Self, EncodeError> {
        let inner = MessageEncoder::new(schema, options.compression, Extension::Whole)?;
        Ok(Self { inner, options })
    }

    /// The message that opens the stream.
    pub fn schema(&self) -> Message {
        self.inner.schema().clone()
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
            let whole = self.inner.encode(batch, out)?;
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
            let message = self.inner.encode(&piece, out)?;
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

    fn fits(&self, message: &Message) -> bool {
        flight_bytes(message) <= self.options.message_bytes_max
    }
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
