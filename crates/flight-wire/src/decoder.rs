//! Messages turned into record batches, behind the guard.
//!
//! Validation is always on; a panic of the decoder below is caught and is an error like any other
//! (apache/arrow-rs#10437 lists what may panic).

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::{FieldNode, Message, MessageHeader, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Fields, Schema, SchemaRef};

use crate::guard::{self, GuardError};
use crate::limits::DecodeLimits;
use crate::logical::logical_bytes;

/// Why a message gave no batch. The peer or the file is at fault in every case.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DecodeError {
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(
        "column {column:?}: unions with nulls of their own (Arrow before 1.0) are not read; write \
         the data again with a newer Arrow"
    )]
    UnionNulls { column: String },
    #[error("a schema came twice in one stream")]
    SecondSchema,
    #[error("a {0} came before the schema")]
    NoSchema(&'static str),
    #[error("{0}")]
    Malformed(String),
    #[error("the batch is malformed in a way that its decoder did not expect")]
    Panicked,
}

/// What a message was.
#[derive(Debug, Clone)]
pub enum Decoded {
    Schema(SchemaRef),
    /// Kept by the decoder for the batches that follow.
    Dictionary,
    Batch(RecordBatch),
}

/// Decodes the messages of one stream, in their order, or of one file, in any.
#[derive(Debug)]
pub struct BatchDecoder {
    limits: DecodeLimits,
    schema: Option<SchemaRef>,
    projection: Option<Vec<usize>>,
    dictionaries: HashMap<i64, ArrayRef>,
    dictionary_bytes: HashMap<i64, u64>,
    dictionary_work_bytes: u64,
}

impl BatchDecoder {
    pub fn new(limits: DecodeLimits) -> Self {
        Self {
            limits,
            schema: None,
            projection: None,
            dictionaries: HashMap::new(),
            dictionary_bytes: HashMap::new(),
            dictionary_work_bytes: 0,
        }
    }

    /// Decodes only these columns, by index into the schema.
    #[must_use]
    pub fn with_projection(mut self, columns: Vec<usize>) -> Self {
        self.projection = Some(columns);
        self
    }

    /// Takes the schema from elsewhere than a message: the footer of a file.
    ///
    /// # Errors
    ///
    /// What [`guard::check_schema`] refuses and what has no Arrow type.
    pub fn set_schema(&mut self, schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, DecodeError> {
        guard::check_schema(&schema, &self.limits)?;
        let schema = unwinding(|| arrow_ipc::convert::try_fb_to_schema(schema))?;
        Ok(self.keep_schema(schema))
    }

    /// The schema, once it came: that of the stream, without projection.
    pub fn schema(&self) -> Option<&SchemaRef> {
        self.schema.as_ref()
    }

    /// Bytes of the dictionaries that are kept.
    pub fn dictionary_bytes(&self) -> u64 {
        self.dictionary_bytes.values().sum()
    }

    /// Decodes one message: `header` is a flatbuffer `Message` without length prefix.
    ///
    /// # Errors
    ///
    /// What the guard refuses, what comes out of order, and what `arrow-ipc` cannot read.
    pub fn decode(&mut self, header: &[u8], body: &Buffer) -> Result<Decoded, DecodeError> {
        let message = guard::check(header, body, &self.limits)?;
        match message.header_type() {
            MessageHeader::Schema if self.schema.is_some() => Err(DecodeError::SecondSchema),
            MessageHeader::Schema => {
                let schema = message.header_as_schema().expect("checked by the guard");
                let schema = unwinding(|| arrow_ipc::convert::try_fb_to_schema(schema))?;
                Ok(Decoded::Schema(self.keep_schema(schema)))
            }
            MessageHeader::DictionaryBatch => self.dictionary(message, body),
            _ => self.batch(message, body),
        }
    }

    fn keep_schema(&mut self, schema: Schema) -> SchemaRef {
        let schema = Arc::new(schema);
        self.schema = Some(Arc::clone(&schema));
        schema
    }

    fn batch(&self, message: Message<'_>, body: &Buffer) -> Result<Decoded, DecodeError> {
        let schema = self.schema.as_ref().ok_or(DecodeError::NoSchema("record batch"))?;
        let batch = message.header_as_record_batch().expect("checked by the guard");
        if message.version() == MetadataVersion::V4 {
            let mut nodes = batch.nodes().map(|nodes| nodes.iter()).into_iter().flatten();
            refuse_union_nulls(schema.fields(), &mut nodes)?;
        }
        let batch = unwinding(|| {
            let version = message.version();
            RecordBatchDecoder::try_new(
                body,
                batch,
                Arc::clone(schema),
                &self.dictionaries,
                &version,
            )?
            .with_projection(self.projection.as_deref())
            .read_record_batch()
        })?;
        self.check_expansion(&batch, body.len() as u64)?;
        Ok(Decoded::Batch(batch))
    }

    fn dictionary(&mut self, message: Message<'_>, body: &Buffer) -> Result<Decoded, DecodeError> {
        let schema = self.schema.clone().ok_or(DecodeError::NoSchema("dictionary"))?;
        let batch = message.header_as_dictionary_batch().expect("checked by the guard");
        let (id, version) = (batch.id(), message.version());
        self.budget_dictionary(id, batch.isDelta(), body.len() as u64)?;
        unwinding(|| read_dictionary(body, batch, &schema, &mut self.dictionaries, &version))?;
        if let Some(values) = self.dictionaries.get(&id) {
            // What the values take, not what their buffers could hold.
            let data = values.to_data();
            let bytes = data.get_slice_memory_size().unwrap_or(body.len()) as u64;
            self.dictionary_bytes.insert(id, bytes);
            self.check_dictionaries(self.dictionary_bytes.values().sum())?;
        }
        Ok(Decoded::Dictionary)
    }

    /// Bounds the bytes that dictionaries hold, and those that deltas copy, before either is paid.
    fn budget_dictionary(&mut self, id: i64, delta: bool, body: u64) -> Result<(), DecodeError> {
        let kept = self.dictionary_bytes.get(&id).copied().unwrap_or(0);
        let others = self.dictionary_bytes.values().sum::<u64>() - kept;
        if !delta {
            return self.check_dictionaries(others + body);
        }
        self.check_dictionaries(others + kept + body)?;
        self.dictionary_work_bytes += kept + body;
        limit(
            "dictionary_work_bytes",
            "the work of appending delta dictionaries",
            self.dictionary_work_bytes,
            self.limits.dictionary_work_bytes,
        )
    }

    fn check_dictionaries(&self, bytes: u64) -> Result<(), DecodeError> {
        limit(
            "dictionary_bytes",
            "the size of all dictionaries",
            bytes,
            self.limits.dictionary_bytes,
        )
    }

    fn check_expansion(&self, batch: &RecordBatch, wire: u64) -> Result<(), DecodeError> {
        if self.limits.expansion == u64::MAX {
            return Ok(()); // the figure costs a pass over the rows
        }
        let dictionaries: u64 = self.dictionary_bytes.values().sum();
        let max = (wire + dictionaries)
            .saturating_mul(self.limits.expansion)
            .max(self.limits.logical_bytes);
        limit("expansion", "what the batch stands for", logical_bytes(batch, max), max)
    }
}

/// Unions had nulls of their own before metadata version V5; `arrow-ipc` reads over those, which
/// would turn nulls into values.
fn refuse_union_nulls<'a>(
    fields: &Fields,
    nodes: &mut impl Iterator<Item = &'a FieldNode>,
) -> Result<(), DecodeError> {
    for field in fields {
        let nulls = nodes.next().map_or(0, FieldNode::null_count);
        match field.data_type() {
            DataType::Union(..) if nulls > 0 => {
                return Err(DecodeError::UnionNulls { column: field.name().clone() });
            }
            DataType::Union(children, _) => {
                let children = children.iter().map(|(_, field)| Arc::clone(field)).collect();
                refuse_union_nulls(&children, nodes)?;
            }
            DataType::Struct(children) => refuse_union_nulls(children, nodes)?,
            DataType::List(child)
            | DataType::LargeList(child)
            | DataType::ListView(child)
            | DataType::LargeListView(child)
            | DataType::FixedSizeList(child, _)
            | DataType::Map(child, _) => {
                refuse_union_nulls(&Fields::from(vec![Arc::clone(child)]), nodes)?;
            }
            DataType::RunEndEncoded(ends, values) => {
                let children = Fields::from(vec![Arc::clone(ends), Arc::clone(values)]);
                refuse_union_nulls(&children, nodes)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn limit(name: &'static str, what: &str, value: u64, max: u64) -> Result<(), DecodeError> {
    if value > max {
        return Err(GuardError::Limit { name, what: what.to_owned(), value, max }.into());
    }
    Ok(())
}

/// Runs a decoder of `arrow-ipc`, whose panics are its answer to some malformed input.
fn unwinding<T>(decode: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, DecodeError> {
    // Nothing that the closure changes is used after a panic but dictionaries, and those are
    // replaced whole.
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(DecodeError::Malformed(sentence(&error))),
        Err(_) => Err(DecodeError::Panicked),
    }
}

/// An Arrow error as one bounded line.
fn sentence(error: &ArrowError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().chars().take(400).collect()
}
