//! One batch as IPC messages that share its arrays' buffers.
//!
//! `arrow-ipc`'s stream encoder gives the buffers of encapsulated messages in a row; here they are
//! cut into messages, whose bodies are those buffers. Batches of plain columns go a shorter way.
//! Splitting a batch that makes too large a message is the [`Encoder`](crate::Encoder)'s part.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::MessageHeader;
use arrow_ipc::writer::{DictionaryHandling, IpcWriteOptions, StreamEncoder};
use arrow_schema::{ArrowError, DataType, Schema};

use crate::encoder::{Compression, EncodeError};
use crate::plain::PlainEncoder;

/// Bytes before a message's flatbuffer in a file or stream: continuation marker and length.
pub const MESSAGE_PREFIX_BYTES: usize = 8;
/// Buffers begin at multiples of this many bytes of a body.
pub const ALIGNMENT: usize = 64;

/// What a message holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Schema,
    Dictionary,
    Batch { rows: usize },
}

/// An IPC message: a flatbuffer `Message` and the buffers of its body, in order, padded.
///
/// Each buffer of an array begins at a multiple of 64 bytes of the body, and prefix and header
/// together are such a multiple, so that a file whose messages begin at one keeps the alignment.
#[derive(Debug, Clone)]
pub struct Message {
    pub kind: Kind,
    /// Without continuation marker and length.
    pub header: Buffer,
    pub body: Vec<Buffer>,
    /// Bytes of all pieces of the body.
    pub body_bytes: usize,
}

/// What becomes of a dictionary that begins with the one that was sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// It is sent whole: not all readers of streams know deltas (polars does not).
    Whole,
    /// Its new values are sent: a file may only extend a dictionary, never replace it.
    Delta,
}

/// Encodes batches of one schema, each as the dictionaries that are new and one message of rows.
pub struct MessageEncoder {
    schema: Message,
    rows: Rows,
}

enum Rows {
    Plain(Box<PlainEncoder>),
    Any(Box<AnyEncoder>),
}

impl MessageEncoder {
    /// # Errors
    ///
    /// A schema that the IPC format cannot carry.
    pub fn new(
        schema: &Schema,
        compression: Compression,
        extension: Extension,
    ) -> Result<Self, EncodeError> {
        let options = write_options(compression, extension)?;
        let only_schema = StreamEncoder::try_new_with_options(schema, options.clone())?;
        let mut buffers = only_schema.finish()?.into_iter();
        let header = next_header(&mut buffers)?.ok_or(EncodeError::Inconsistent)?;
        let plain = match compression {
            Compression::None => PlainEncoder::for_schema(schema),
            Compression::Lz4 | Compression::Zstd => None,
        };
        Ok(Self {
            schema: Message { kind: Kind::Schema, header, body: Vec::new(), body_bytes: 0 },
            rows: match plain {
                Some(plain) => Rows::Plain(Box::new(plain)),
                None => Rows::Any(Box::new(AnyEncoder::new(schema, options)?)),
            },
        })
    }

    /// The message that opens a stream.
    pub fn schema(&self) -> &Message {
        &self.schema
    }

    /// The message of the batch's rows. Dictionaries that come before it go to `dictionaries`,
    /// also when an error follows: the encoder takes them for sent.
    ///
    /// # Errors
    ///
    /// A batch of another schema, or a fault of the encoder: what the schema allows can be encoded.
    pub fn encode(
        &mut self,
        batch: &RecordBatch,
        dictionaries: &mut Vec<Message>,
    ) -> Result<Message, EncodeError> {
        match &mut self.rows {
            Rows::Plain(plain) => Ok(plain.encode(batch)?),
            Rows::Any(any) => any.encode(batch, dictionaries),
        }
    }
}

/// Encodes batches of every type, through `arrow-ipc`.
struct AnyEncoder {
    inner: StreamEncoder,
    /// The encoder's first answer repeats the schema.
    schema_is_cut: bool,
    /// Without any, a batch is one message, and there is nothing to look for in it.
    has_dictionaries: bool,
}

impl AnyEncoder {
    fn new(schema: &Schema, options: IpcWriteOptions) -> Result<Self, ArrowError> {
        let is_dictionary = |data_type: &DataType| matches!(data_type, DataType::Dictionary(..));
        let mut fields = schema.flattened_fields().into_iter();
        Ok(Self {
            inner: StreamEncoder::try_new_with_options(schema, options)?,
            schema_is_cut: false,
            has_dictionaries: fields.any(|field| is_dictionary(field.data_type())),
        })
    }

    fn encode(
        &mut self,
        batch: &RecordBatch,
        dictionaries: &mut Vec<Message>,
    ) -> Result<Message, EncodeError> {
        let mut buffers = self.inner.encode(batch)?;
        buffers.retain(|buffer| !buffer.is_empty());
        let mut buffers = buffers.into_iter();
        if !self.schema_is_cut {
            next_header(&mut buffers)?;
            self.schema_is_cut = true;
        }
        loop {
            let header = next_header(&mut buffers)?.ok_or(EncodeError::Inconsistent)?;
            if let Some(body_bytes) = self.dictionary_body(&header)? {
                let body = next_body(&mut buffers, body_bytes)?;
                dictionaries.push(Message { kind: Kind::Dictionary, header, body, body_bytes });
                continue;
            }
            let body: Vec<Buffer> = buffers.collect();
            let body_bytes = body.iter().map(Buffer::len).sum();
            let kind = Kind::Batch { rows: batch.num_rows() };
            return Ok(Message { kind, header, body, body_bytes });
        }
    }

    /// Bytes of the body where `header` is a dictionary's.
    fn dictionary_body(&self, header: &[u8]) -> Result<Option<usize>, EncodeError> {
        if !self.has_dictionaries {
            return Ok(None);
        }
        let parsed = arrow_ipc::root_as_message(header).map_err(|_| EncodeError::Inconsistent)?;
        if parsed.header_type() != MessageHeader::DictionaryBatch {
            return Ok(None);
        }
        let bytes = usize::try_from(parsed.bodyLength());
        bytes.map(Some).map_err(|_| EncodeError::Inconsistent)
    }
}

fn write_options(
    compression: Compression,
    extension: Extension,
) -> Result<IpcWriteOptions, ArrowError> {
    let handling = match extension {
        Extension::Whole => DictionaryHandling::Resend,
        Extension::Delta => DictionaryHandling::Delta,
    };
    let options = IpcWriteOptions::default().try_with_compression(compression.codec())?;
    Ok(options.with_dictionary_handling(handling))
}

/// Takes a message's prefix and header; `None` at the end of the stream.
///
/// The header's padding is a buffer of its own and joins it.
fn next_header(buffers: &mut impl Iterator<Item = Buffer>) -> Result<Option<Buffer>, EncodeError> {
    let Some(prefix) = buffers.next() else { return Ok(None) };
    let length = prefix.last_chunk::<4>().filter(|_| prefix.len() == MESSAGE_PREFIX_BYTES);
    let length = u32::from_le_bytes(*length.ok_or(EncodeError::Inconsistent)?) as usize;
    if length == 0 {
        return Ok(None); // the end-of-stream marker
    }
    let header = buffers.next().ok_or(EncodeError::Inconsistent)?;
    if header.len() == length {
        return Ok(Some(header));
    }
    let padding = buffers.next().ok_or(EncodeError::Inconsistent)?;
    if header.len() + padding.len() != length {
        return Err(EncodeError::Inconsistent);
    }
    let mut whole = Vec::with_capacity(length);
    whole.extend_from_slice(&header);
    whole.extend_from_slice(&padding);
    Ok(Some(whole.into()))
}

/// Takes the buffers of a body of so many bytes.
fn next_body(
    buffers: &mut impl Iterator<Item = Buffer>,
    bytes: usize,
) -> Result<Vec<Buffer>, EncodeError> {
    let (mut body, mut taken) = (Vec::new(), 0);
    while taken < bytes {
        let buffer = buffers.next().ok_or(EncodeError::Inconsistent)?;
        taken += buffer.len();
        body.push(buffer);
    }
    if taken != bytes { Err(EncodeError::Inconsistent) } else { Ok(body) }
}
