//! Feather files as they lie on the disk: the bytes that `arrow-ipc` writes, from the batches' own
//! memory.

use std::fs::File;
use std::io::ErrorKind;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Schema, SchemaRef};
use flight_files::{BatchWriter, Codec, FileError, Format, WriteOptions};
use flight_testkit::{batches, rng, schemas};
use proptest::prelude::*;

use crate::support::{bytes_of, write};

const FEATHER: WriteOptions = WriteOptions { format: Format::Feather, codec: Codec::None };

/// What is written is what `arrow-ipc` writes. The dictionaries of `sent` only grow.
fn check(schema: &SchemaRef, sent: &[RecordBatch], codec: Codec) {
    let found = bytes_of(&write(schema, sent, WriteOptions { codec, ..FEATHER }).unwrap().file);
    let compression = match codec {
        Codec::Lz4 => Some(CompressionType::LZ4_FRAME),
        Codec::Zstd => Some(CompressionType::ZSTD),
        _ => None,
    };
    let options = IpcWriteOptions::default()
        .with_dictionary_handling(DictionaryHandling::Delta)
        .try_with_compression(compression)
        .unwrap();
    let mut other = FileWriter::try_new_with_options(Vec::new(), schema, options).unwrap();
    sent.iter().for_each(|batch| other.write(batch).unwrap());
    let version = concat!("flight-files version ", env!("CARGO_PKG_VERSION"));
    other.write_metadata("created_by", version);
    let expected = other.into_inner().unwrap();
    let first = expected.iter().zip(&found).position(|(expected, found)| expected != found);
    assert_eq!((first, found.len()), (None, expected.len()), "{codec:?}, {schema}");
}

#[test]
fn every_type_is_written_as_arrow_ipc_writes_it() {
    let (mut rng, schema) = (rng(1), schemas::every_type());
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        check(&schema, &batches::stream_of(&mut rng, &schema, &[100, 0, 1, 333]), codec);
        check(&schema, &[], codec);
    }
}

/// Schemas of plain columns alone go another way through the encoder than others.
#[test]
fn every_type_alone_is_written_as_arrow_ipc_writes_it() {
    let mut rng = rng(3);
    for field in schemas::every_field() {
        for nullable in [true, false] {
            // The nulls of runs are those of their values.
            let runs = matches!(field.data_type(), DataType::RunEndEncoded(..));
            let nullable = nullable || runs || field.data_type().is_null();
            let field = field.clone().with_nullable(nullable);
            let schema: SchemaRef = Arc::new(Schema::new(vec![field.clone(), field]));
            check(&schema, &batches::stream_of(&mut rng, &schema, &[64, 0, 13, 100]), Codec::None);
        }
    }
}

#[test]
fn rows_without_columns_are_written_as_arrow_ipc_writes_them() {
    let sent = [batches::without_columns(10), batches::without_columns(0)];
    check(&sent[0].schema(), &sent, Codec::None);
}

#[test]
fn a_growing_dictionary_is_written_as_deltas() {
    let batch = |values: usize| {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        (0..values).for_each(|n| builder.append_value(format!("value {n}")));
        RecordBatch::try_from_iter([("d", Arc::new(builder.finish()) as ArrayRef)]).unwrap()
    };
    let sent = [batch(0), batch(10), batch(500), batch(500), batch(501)];
    check(&sent[0].schema(), &sent, Codec::None);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: flight_testkit::cases(64),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_batches_are_written_as_arrow_ipc_writes_them(
        seed: u64,
        lengths in prop::collection::vec(0usize..300, 0..6),
        codec in prop::sample::select(vec![Codec::None, Codec::Lz4]),
    ) {
        let mut rng = rng(seed);
        let schema = schemas::any_schema(&mut rng);
        check(&schema, &batches::stream_of(&mut rng, &schema, &lengths), codec);
    }
}

/// A batch of so many bytes.
fn numbers(bytes: usize) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..bytes as i64 / 8));
    RecordBatch::try_from_iter([("n", column)]).unwrap()
}

fn writer(file: File, batch: &RecordBatch) -> BatchWriter {
    BatchWriter::create(file, batch.schema(), &FEATHER).unwrap()
}

#[test]
fn batches_wait_in_their_own_memory_for_a_large_write() {
    let batch = numbers(100 << 10);
    let file = tempfile::tempfile().unwrap();
    let mut writer = writer(file.try_clone().unwrap(), &batch);
    let shared = || batch.column(0).to_data().buffers()[0].strong_count();
    let (alone, bytes) = (shared(), || file.metadata().unwrap().len());
    writer.write(&batch).unwrap();
    assert!(shared() > alone, "the batch's buffer waits");
    assert_eq!(bytes(), 0);
    for _ in 0..10 {
        writer.write(&batch).unwrap();
    }
    assert_eq!(shared(), alone, "a megabyte has come together, and was written");
    assert!(bytes() > 1 << 20);
    writer.write(&batch).unwrap();
    writer.flush().unwrap();
    assert_eq!(shared(), alone, "a flush lets go of what waits");
    assert!(writer.finish().unwrap().bytes > 12 * (100 << 10));
}

#[test]
fn a_full_disk_is_an_error_and_spoils_the_file() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let is_full = |error: FileError| {
        let FileError::Io(error) = error else { panic!("{error}") };
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    };
    let large = numbers(2 << 20);
    let mut at_once = writer(full(), &large);
    is_full(at_once.write(&large).unwrap_err());
    assert!(at_once.flush().unwrap_err().to_string().contains("earlier batch"));
    assert!(at_once.finish().unwrap_err().to_string().contains("earlier batch"));

    let small = numbers(1 << 10);
    let mut flushed = writer(full(), &small);
    flushed.write(&small).unwrap();
    is_full(flushed.flush().unwrap_err());
    assert!(flushed.write(&small).unwrap_err().to_string().contains("earlier batch"));

    let mut finished = writer(full(), &small);
    finished.write(&small).unwrap();
    is_full(finished.finish().unwrap_err());
}

#[test]
fn every_message_begins_where_memory_of_any_type_may() {
    let (mut rng, schema) = (rng(2), schemas::every_type());
    let sent = batches::stream_of(&mut rng, &schema, &[33, 5]);
    let bytes = bytes_of(&write(&schema, &sent, FEATHER).unwrap().file);
    let (length, _) = bytes[bytes.len() - 10..].split_first_chunk::<4>().unwrap();
    let footer = &bytes[bytes.len() - 10 - u32::from_le_bytes(*length) as usize..bytes.len() - 10];
    let footer = arrow_ipc::root_as_footer(footer).unwrap();
    let blocks = [footer.dictionaries().unwrap(), footer.recordBatches().unwrap()];
    for block in blocks.iter().flatten() {
        let body = block.offset() + i64::from(block.metaDataLength());
        assert_eq!((block.offset() % 64, body % 64, block.bodyLength() % 64), (0, 0, 0));
    }
    assert_eq!(blocks[1].len(), 2);
}
