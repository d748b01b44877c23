//! A schema as FlightInfo and SchemaResult carry it.

use arrow_schema::Schema;
use bytes::Bytes;

use crate::encoder::{EncodeError, EncodeOptions, Encoder};

/// A schema as an encapsulated IPC message (continuation marker, length, flatbuffer), which is what
/// clients expect in FlightInfo and SchemaResult.
///
/// <https://github.com/apache/arrow-rs/issues/2445>
///
/// # Errors
///
/// A schema that the IPC format cannot carry.
pub fn schema_message(schema: &Schema) -> Result<Bytes, EncodeError> {
    let header = Encoder::new(schema, EncodeOptions::default())?.schema().header;
    let mut message = Vec::with_capacity(8 + header.len());
    message.extend_from_slice(&[0xff; 4]);
    message.extend_from_slice(&(header.len() as u32).to_le_bytes());
    message.extend_from_slice(&header);
    Ok(message.into())
}
