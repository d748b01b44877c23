//! Feather V2 (the Arrow IPC file format): messages whose bodies are the batches' own buffers, then
//! a footer that lists them. Dictionaries only grow.
//!
//! <https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format>

use std::collections::HashSet;
use std::fs::File;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::DictionaryTracker;
use arrow_ipc::{Block, FooterBuilder, KeyValueBuilder, MetadataVersion, root_as_message};
use arrow_schema::{DataType, Field, SchemaRef};
use flatbuffers::FlatBufferBuilder;
use flight_wire::{
    Compression, EncodeError, Extension, MESSAGE_PREFIX_BYTES, Message, MessageEncoder,
};

use super::dictionary::Dictionaries;
use super::gather::GatherWriter;
use crate::error::{FileError, arrow_write};
use crate::format::{CREATED_BY, Codec, created_by};

const MAGIC: &[u8] = b"ARROW1";
/// The magic at the front, padded so that the first message begins at a multiple of 64 bytes; all
/// further ones do since messages are such multiples.
const HEAD_BYTES: usize = 64;
/// What stands before a message's length.
const CONTINUATION: [u8; 4] = [0xff; 4];

pub(super) struct FeatherWriter {
    encoder: MessageEncoder,
    out: GatherWriter,
    schema: SchemaRef,
    /// By column.
    dictionaries: Vec<Dictionaries>,
    /// Those that were begun, by id.
    begun: HashSet<i64>,
    blocks: Blocks,
}

/// Where the messages are, for the footer.
#[derive(Debug, Default)]
struct Blocks {
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

impl FeatherWriter {
    pub(super) fn create(file: File, schema: &SchemaRef, codec: Codec) -> Result<Self, FileError> {
        let compression = match codec {
            Codec::None => Compression::None,
            Codec::Lz4 => Compression::Lz4,
            Codec::Zstd => Compression::Zstd,
            Codec::Snappy | Codec::Gzip | Codec::Brotli => {
                return Err(FileError::invalid(format!(
                    "codec {} is not one of Feather's; take none, lz4 or zstd",
                    codec.name()
                )));
            }
        };
        for field in schema.fields() {
            check(field.name(), field)?;
        }
        let encoder = MessageEncoder::new(schema, compression, Extension::Delta);
        let dictionaries = schema.fields().iter();
        let dictionaries =
            dictionaries.map(|field| Dictionaries::of(field.name(), field.data_type()));
        let mut writer = Self {
            encoder: encoder.map_err(encode_error)?,
            out: GatherWriter::new(file),
            schema: Arc::clone(schema),
            dictionaries: dictionaries.collect(),
            begun: HashSet::new(),
            blocks: Blocks::default(),
        };
        let mut head = [0; HEAD_BYTES];
        head[..MAGIC.len()].copy_from_slice(MAGIC);
        writer.out.copy(&head);
        let schema = writer.encoder.schema().clone();
        writer.message(schema)?;
        Ok(writer)
    }

    /// Appends a batch, whose buffers are kept until there is enough for a large write.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        let batch = Dictionaries::unify_batch(&mut self.dictionaries, batch)?;
        let mut dictionaries = Vec::new();
        let rows = self.encoder.encode(&batch, &mut dictionaries).map_err(encode_error)?;
        for message in dictionaries {
            self.check_grows(&message)?;
            let block = self.message(message)?;
            self.blocks.dictionaries.push(block);
        }
        let block = self.message(rows)?;
        self.blocks.batches.push(block);
        Ok(self.out.flush_if_large()?)
    }

    /// Lets go of the batches' buffers.
    pub(super) fn flush(&mut self) -> Result<(), FileError> {
        Ok(self.out.flush()?)
    }

    pub(super) fn finish(mut self) -> Result<File, FileError> {
        self.out.copy(&CONTINUATION);
        self.out.copy(&[0; 4]); // the end of the stream that the messages are
        let footer = footer(&self.schema, &self.blocks);
        let length = i32::try_from(footer.len()).map_err(|_| {
            FileError::not_supported("the footer would be larger than the 2 GiB of the format")
        })?;
        self.out.copy(&footer);
        self.out.copy(&length.to_le_bytes());
        self.out.copy(MAGIC);
        Ok(self.out.finish()?)
    }

    /// Appends an encapsulated message and says where it is.
    fn message(&mut self, message: Message) -> Result<Block, FileError> {
        let Message { header, body, body_bytes, .. } = message;
        let offset = i64::try_from(self.out.bytes());
        let length = i32::try_from(header.len() + MESSAGE_PREFIX_BYTES);
        let (Ok(offset), Ok(length)) = (offset, length) else {
            return Err(FileError::not_supported(
                "a message's header would be larger than the 2 GiB of the format",
            ));
        };
        self.out.copy(&CONTINUATION);
        self.out.copy(&(length - MESSAGE_PREFIX_BYTES as i32).to_le_bytes());
        self.out.share(header);
        body.into_iter().for_each(|buffer| self.out.share(buffer));
        Ok(Block::new(offset, length, body_bytes as i64))
    }

    /// Makes sure that a dictionary is new or adds to one: a file cannot replace any.
    fn check_grows(&mut self, message: &Message) -> Result<(), FileError> {
        let parsed = root_as_message(&message.header);
        let dictionary = parsed.ok().and_then(|message| message.header_as_dictionary_batch());
        let dictionary = dictionary.ok_or_else(|| encode_error(EncodeError::Inconsistent))?;
        if !self.begun.insert(dictionary.id()) && !dictionary.isDelta() {
            return Err(FileError::not_supported(
                "a batch replaces a dictionary, which a Feather file cannot do",
            ));
        }
        Ok(())
    }
}

impl std::fmt::Debug for FeatherWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FeatherWriter").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// The flatbuffer `Footer` (File.fbs).
fn footer(schema: &SchemaRef, blocks: &Blocks) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let dictionaries = builder.create_vector(&blocks.dictionaries);
    let batches = builder.create_vector(&blocks.batches);
    // The ids of dictionaries are given out in the order of the fields, here as in the messages.
    let mut ids = DictionaryTracker::new(true);
    let schema = IpcSchemaEncoder::new()
        .with_dictionary_tracker(&mut ids)
        .schema_to_fb_offset(&mut builder, schema);
    let (key, value) = (builder.create_string(CREATED_BY), builder.create_string(&created_by()));
    let mut pair = KeyValueBuilder::new(&mut builder);
    pair.add_key(key);
    pair.add_value(value);
    let pair = pair.finish();
    let metadata = builder.create_vector(&[pair]);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    footer.add_custom_metadata(metadata);
    let footer = footer.finish();
    builder.finish(footer, None);
    builder.finished_data().to_vec()
}

fn encode_error(error: EncodeError) -> FileError {
    match error {
        EncodeError::Arrow(error) => arrow_write(error),
        other => FileError::not_supported(other.to_string()),
    }
}

/// Finds what the format has no form for.
fn check(column: &str, field: &Field) -> Result<(), FileError> {
    match field.data_type() {
        DataType::Dictionary(_, value) if matches!(**value, DataType::Dictionary(..)) => {
            let what = "Feather cannot hold a dictionary whose values are dictionary-encoded";
            Err(FileError::column_not_supported(column, what))
        }
        DataType::Dictionary(_, value) => check(column, &Field::new("", (**value).clone(), true)),
        DataType::List(child)
        | DataType::LargeList(child)
        | DataType::ListView(child)
        | DataType::LargeListView(child)
        | DataType::FixedSizeList(child, _)
        | DataType::Map(child, _)
        | DataType::RunEndEncoded(_, child) => check(column, child),
        DataType::Struct(children) => children.iter().try_for_each(|child| check(column, child)),
        DataType::Union(children, _) => {
            children.iter().try_for_each(|(_, child)| check(column, child))
        }
        _ => Ok(()),
    }
}
