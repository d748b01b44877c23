//! Schemas: byte order, number of fields, depth, widths, lengths of text.

use arrow_ipc::{Endianness, Field, KeyValue, Schema, Type};
use flatbuffers::{ForwardsUOffset, Vector};

use super::{GuardError, limit};
use crate::limits::DecodeLimits;

/// Checks a schema, of a message or of a file's footer, against `limits`.
///
/// # Errors
///
/// Big-endian data; too many or too deeply nested fields; a negative width; overlong text.
pub fn check_schema(schema: &Schema<'_>, limits: &DecodeLimits) -> Result<(), GuardError> {
    if schema.endianness() != Endianness::Little {
        return Err(GuardError::BigEndian);
    }
    metadata(schema.custom_metadata(), limits)?;
    let mut seen = 0;
    for field in schema.fields().into_iter().flatten() {
        check_field(&field, 1, &mut seen, limits)?;
    }
    Ok(())
}

fn check_field(
    field: &Field<'_>,
    depth: usize,
    seen: &mut u64,
    limits: &DecodeLimits,
) -> Result<(), GuardError> {
    let name = field.name().unwrap_or_default();
    limit("text_bytes", "a field's name", name.len() as u64, limits.text_bytes as u64)?;
    *seen += 1;
    limit("columns", "the number of fields", *seen, limits.columns as u64)?;
    limit("depth", "the nesting of types", depth as u64, limits.depth as u64)?;
    metadata(field.custom_metadata(), limits)?;
    if let Some((what, value)) = negative_width(field) {
        let name: String = name.chars().take(64).collect();
        return Err(GuardError::Impossible { what: format!("{what} of column {name:?}"), value });
    }
    for child in field.children().into_iter().flatten() {
        check_field(&child, depth + 1, seen, limits)?;
    }
    Ok(())
}

/// A width below zero: `arrow-data` panics on it.
fn negative_width(field: &Field<'_>) -> Option<(&'static str, i64)> {
    let (what, width) = match field.type_type() {
        Type::FixedSizeBinary => ("the byte width", field.type_as_fixed_size_binary()?.byteWidth()),
        Type::FixedSizeList => ("the list size", field.type_as_fixed_size_list()?.listSize()),
        _ => return None,
    };
    (width < 0).then_some((what, i64::from(width)))
}

fn metadata(
    entries: Option<Vector<'_, ForwardsUOffset<KeyValue<'_>>>>,
    limits: &DecodeLimits,
) -> Result<(), GuardError> {
    let Some(entries) = entries else { return Ok(()) };
    limit(
        "columns",
        "the number of metadata entries",
        entries.len() as u64,
        limits.columns as u64,
    )?;
    let max = limits.text_bytes as u64;
    for entry in entries {
        let bytes = entry.key().map_or(0, str::len) + entry.value().map_or(0, str::len);
        limit("text_bytes", "a metadata entry", bytes as u64, max)?;
    }
    Ok(())
}
