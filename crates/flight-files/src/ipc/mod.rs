//! Arrow IPC: files (Feather V2) and streams, both read through one list of messages.
//!
//! A file lists its messages in a footer ([`mod@file`]), a stream has to be walked ([`stream`]); either
//! gives an [`Index`]. By it [`scan::IpcScan`] reads rows as batches, and [`pieces::IpcPieces`] gives
//! them as messages of the file's own bytes.
//! What a message may hold is checked by `flight-wire`'s guard; here every offset and length is checked before it is used.

mod block;
mod checked;
mod column;
mod cut;
mod file;
mod header;
mod pieces;
mod scan;
mod stored;
mod stream;

use arrow_ipc::{Message, MessageHeader};
use arrow_schema::SchemaRef;
use flight_wire::{BatchDecoder, DecodeLimits, Decoded};

use crate::access::FileAccess;
use crate::error::{FileError, within};
use crate::format::is_this_library;
use crate::limits::ReadLimits;
use checked::Checked;

pub(crate) use pieces::IpcPieces;
pub(crate) use scan::IpcScan;
pub use stored::StoredMessage;

/// Where a file's messages are, in the order in which they have to be read.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) schema: SchemaRef,
    schema_bytes: SchemaBytes,
    entries: Vec<Entry>,
    checked: Checked,
    rows: u64,
    limits: DecodeLimits,
    /// Whether this library wrote the file.
    pub(crate) is_own: bool,
}

/// The flatbuffer that holds the schema.
#[derive(Debug)]
enum SchemaBytes {
    Footer(Vec<u8>),
    Message(Vec<u8>),
}

/// One dictionary or record batch.
#[derive(Debug, Clone, Copy)]
struct Entry {
    kind: EntryKind,
    /// Of the flatbuffer, past its length prefix.
    header_offset: u64,
    header_bytes: u64,
    body_offset: u64,
    body_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Dictionary,
    /// `first_row` counts the rows of all batches before it.
    Batch {
        first_row: u64,
        rows: u64,
    },
}

impl Index {
    /// Reads the footer of a file. Also gives the bytes that the dataset's version goes by.
    pub(crate) fn of_file(
        access: &FileAccess,
        limits: &ReadLimits,
    ) -> Result<(Self, Vec<u8>), FileError> {
        let (footer, entries) = file::read(access, limits)?;
        let mut index = Self::new(SchemaBytes::Footer(footer.clone()), limits)?;
        index.append(entries, limits.body_bytes)?;
        index.is_own = file::writer(&footer).is_some_and(|writer| is_this_library(&writer));
        Ok((index, footer))
    }

    /// Walks a stream. Also gives the bytes that the dataset's version goes by.
    pub(crate) fn of_stream(
        access: &FileAccess,
        limits: &ReadLimits,
    ) -> Result<(Self, Vec<u8>), FileError> {
        let (schema, entries) = stream::read(access, limits)?;
        let mut index = Self::new(SchemaBytes::Message(schema), limits)?;
        index.append(entries, limits.body_bytes)?;
        let digest = index.entries.iter().flat_map(|entry| {
            [entry.header_offset, entry.header_bytes, entry.body_offset, entry.body_bytes]
        });
        let digest = digest.flat_map(u64::to_le_bytes).collect();
        Ok((index, digest))
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    fn new(schema_bytes: SchemaBytes, limits: &ReadLimits) -> Result<Self, FileError> {
        let limits = limits.decode();
        let schema = schema_bytes.decoder(limits.clone())?.1;
        let (entries, checked) = (Vec::new(), Checked::default());
        Ok(Self { schema, schema_bytes, entries, checked, rows: 0, limits, is_own: false })
    }

    fn append(&mut self, entries: Vec<Entry>, body_bytes_max: u64) -> Result<(), FileError> {
        self.checked = Checked::new(entries.len(), self.schema.fields().len());
        self.entries = entries;
        for entry in &mut self.entries {
            within("the bytes of a message's body", entry.body_bytes, body_bytes_max)?;
            if let EntryKind::Batch { first_row, rows } = &mut entry.kind {
                *first_row = self.rows;
                let sum = self.rows.checked_add(*rows);
                self.rows = sum.ok_or_else(|| FileError::damaged("it claims over 2^64 rows"))?;
            }
        }
        Ok(())
    }

    /// A decoder that knows the schema and no dictionary yet.
    fn decoder(&self) -> Result<BatchDecoder, FileError> {
        Ok(self.schema_bytes.decoder(self.limits.clone())?.0)
    }
}

impl SchemaBytes {
    fn decoder(&self, limits: DecodeLimits) -> Result<(BatchDecoder, SchemaRef), FileError> {
        let mut decoder = BatchDecoder::new(limits);
        match self {
            Self::Footer(bytes) => {
                let schema = file::parse(bytes)?.schema();
                let schema =
                    schema.ok_or_else(|| FileError::damaged("its footer has no schema"))?;
                let schema = decoder.set_schema(schema)?;
                Ok((decoder, schema))
            }
            Self::Message(header) => match decoder.decode(header, &Vec::<u8>::new().into())? {
                Decoded::Schema(schema) => Ok((decoder, schema)),
                _ => Err(FileError::damaged("it does not begin with a schema")),
            },
        }
    }
}

/// Parses an entry's header and says what it is, without looking into the body.
fn entry_kind(message: &Message<'_>, limits: &ReadLimits) -> Result<EntryKind, FileError> {
    match message.header_type() {
        MessageHeader::DictionaryBatch => Ok(EntryKind::Dictionary),
        MessageHeader::RecordBatch => {
            let batch = message.header_as_record_batch();
            let rows = batch.and_then(|batch| u64::try_from(batch.length()).ok());
            let rows = rows.ok_or_else(|| FileError::damaged("a record batch has no length"))?;
            within("the rows of a record batch", rows, limits.batch_rows)?;
            Ok(EntryKind::Batch { first_row: 0, rows })
        }
        MessageHeader::Schema => Err(FileError::damaged("a second schema follows the first")),
        other => {
            let name = other.variant_name().unwrap_or("unknown");
            Err(FileError::not_supported(format!(
                "it holds a message of kind {name}; only dictionaries and record batches are read"
            )))
        }
    }
}

fn parse_message(header: &[u8]) -> Result<Message<'_>, FileError> {
    arrow_ipc::root_as_message(header).map_err(|error| {
        FileError::damaged(format!("a message's header is not a flatbuffer: {error}"))
    })
}
