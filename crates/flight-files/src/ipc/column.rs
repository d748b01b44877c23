//! Which column a part of a message belongs to, so that an error about it can name one.
//!
//! Only asked after a message was refused; nothing is decoded by what is found here.

use std::sync::Arc;

use arrow_ipc::{Message, MetadataVersion};
use arrow_schema::{DataType, Schema, UnionMode};

/// The first column that uses the dictionary with this id.
pub(super) fn of_dictionary(schema: &Schema, id: i64) -> Option<usize> {
    schema.fields().iter().position(|field| {
        let column = Schema::new(vec![Arc::clone(field)]);
        #[expect(deprecated, reason = "arrow-ipc finds the fields of a dictionary by it, too")]
        let fields = column.fields_with_dict_id(id);
        !fields.is_empty()
    })
}

/// The column that buffer number `index` of a record batch belongs to.
pub(super) fn of_buffer(schema: &Schema, message: &Message<'_>, index: usize) -> Option<usize> {
    let batch = message.header_as_record_batch()?;
    let layout = Layout {
        variadic: batch.variadicBufferCounts().into_iter().flatten().collect(),
        union_nulls: message.version() < MetadataVersion::V5,
    };
    let mut place = Place::default();
    schema.fields().iter().position(|field| {
        place.pass(field.data_type(), &layout);
        index < place.buffer
    })
}

/// What a header says of how its columns are laid out, beside their types.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// For each view column, the number of its data buffers.
    pub(super) variadic: Vec<i64>,
    /// Unions had a validity bitmap before metadata version V5.
    pub(super) union_nulls: bool,
}

/// Where in a header's lists a column begins.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) node: usize,
    pub(super) buffer: usize,
    pub(super) variadic: usize,
}

impl Place {
    /// Goes past a column: `Columnar.html#buffer-listing-for-each-layout` of the format.
    pub(super) fn pass(&mut self, data_type: &DataType, layout: &Layout) {
        self.node += 1;
        let own = match data_type {
            DataType::Null | DataType::RunEndEncoded(..) => 0,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => 3,
            DataType::Utf8View | DataType::BinaryView => {
                let data = layout.variadic.get(self.variadic).copied().unwrap_or(0);
                self.variadic += 1;
                usize::try_from(data).unwrap_or(0).saturating_add(2)
            }
            DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) => 2,
            DataType::ListView(_) | DataType::LargeListView(_) => 3,
            DataType::FixedSizeList(..) | DataType::Struct(_) => 1,
            DataType::Union(_, mode) => {
                1 + usize::from(layout.union_nulls) + usize::from(*mode == UnionMode::Dense)
            }
            // A validity bitmap and values, or a dictionary's keys.
            _ => 2,
        };
        self.buffer = self.buffer.saturating_add(own);
        match data_type {
            DataType::List(child)
            | DataType::LargeList(child)
            | DataType::ListView(child)
            | DataType::LargeListView(child)
            | DataType::FixedSizeList(child, _)
            | DataType::Map(child, _) => self.pass(child.data_type(), layout),
            DataType::Struct(children) => {
                children.iter().for_each(|child| self.pass(child.data_type(), layout));
            }
            DataType::RunEndEncoded(ends, values) => {
                self.pass(ends.data_type(), layout);
                self.pass(values.data_type(), layout);
            }
            DataType::Union(children, _) => {
                children.iter().for_each(|(_, child)| self.pass(child.data_type(), layout));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use arrow_array::RecordBatch;
    use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
    use arrow_schema::SchemaRef;
    use flight_testkit::{batches, rng, schemas};

    use super::*;
    use crate::access::FileAccess;
    use crate::ipc::{EntryKind, parse_message, stream};
    use crate::limits::ReadLimits;

    /// The header of the last message of a stream with this batch.
    fn header(batch: &RecordBatch, version: MetadataVersion) -> Vec<u8> {
        let options = IpcWriteOptions::try_new(8, false, version).unwrap();
        let schema = batch.schema_ref();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), schema, options).unwrap();
        writer.write(batch).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&writer.into_inner().unwrap()).unwrap();
        let access = FileAccess::new(file).unwrap();
        let (_, entries) = stream::read(&access, &ReadLimits::default()).unwrap();
        let last = entries.last().unwrap();
        assert!(matches!(last.kind, EntryKind::Batch { .. }));
        access.read(last.header_offset, last.header_bytes).unwrap()
    }

    fn buffers(header: &[u8]) -> usize {
        let batch = parse_message(header).unwrap().header_as_record_batch().unwrap();
        batch.buffers().unwrap().len()
    }

    /// Each column of `schema` has as many buffers beside the others as in a batch of its own.
    fn check(schema: &SchemaRef, version: MetadataVersion) {
        let batch = batches::stream_of(&mut rng(3), schema, &[70]).remove(0);
        let whole = header(&batch, version);
        let message = parse_message(&whole).unwrap();
        let mut next = 0;
        for (column, field) in schema.fields().iter().enumerate() {
            let count = buffers(&header(&batch.project(&[column]).unwrap(), version));
            for index in next..next + count {
                let found = of_buffer(schema, &message, index);
                assert_eq!(found, Some(column), "buffer {index}: {field}");
            }
            next += count;
        }
        assert_eq!(next, buffers(&whole));
        assert_eq!(of_buffer(schema, &message, next), None);
    }

    #[test]
    fn every_buffer_is_that_of_its_column() {
        let schema = schemas::every_type();
        check(&schema, MetadataVersion::V5);
        // Run ends are younger than V4, and arrow-ipc does not read what it writes of them there.
        let old = |column: &Schema| {
            let fields = column.flattened_fields();
            !fields.iter().any(|field| matches!(field.data_type(), DataType::RunEndEncoded(..)))
        };
        let fields = schema.fields().iter().cloned();
        let fields: Vec<_> =
            fields.filter(|field| old(&Schema::new(vec![field.clone()]))).collect();
        check(&Arc::new(Schema::new(fields)), MetadataVersion::V4);
    }

    #[test]
    fn a_dictionary_that_no_column_uses_is_of_none() {
        assert_eq!(of_dictionary(&schemas::every_type(), i64::MAX), None);
    }
}
