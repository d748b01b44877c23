//! What is cut out of Arrow IPC files without decoding them is what a decoding scan reads.

use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{Array, DictionaryArray, Int32Array, Int64Array, RecordBatch, RunArray};
use arrow_buffer::Buffer;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use flight_files::limits::BODY_PART_BYTES;
use flight_files::{
    DatasetFile, DecodeOptions, DecodePool, FileError, Format, Piece, ReadLimits, Scan,
    StoredMessage,
};
use flight_testkit::{batches, corpus, rng, schemas};
use flight_wire::frame::flight_data_bytes;
use flight_wire::{
    BatchDecoder, Compression, DecodeLimits, Decoded, EncodeOptions, Encoder, Message,
};
use rand::RngExt;

use crate::support::{assert_same_rows, open, scan, stream_of};

/// Decodes nothing here: only Parquet has to be.
fn pool() -> Arc<DecodePool> {
    DecodePool::new(DecodeOptions::default()).unwrap()
}

/// A file of these batches as another program writes it.
fn file_of(schema: &SchemaRef, sent: &[RecordBatch], codec: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), schema, options).unwrap();
    for batch in sent {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

fn part_by_part(mut message: StoredMessage) -> Result<Message, FileError> {
    let mut body = Vec::new();
    loop {
        let part = match message.next_resident_part()? {
            Some(part) => part,
            None => message.next_part()?,
        };
        if part.is_empty() {
            assert!(message.is_over());
            let StoredMessage { kind, header, body_bytes, .. } = message;
            return Ok(Message { kind, header, body, body_bytes });
        }
        let bytes: usize = part.iter().map(Buffer::len).sum();
        assert!(bytes as u64 <= BODY_PART_BYTES, "{bytes} bytes");
        body.extend(part);
    }
}

/// What a peer reads of the pieces, and how many of them had to be encoded.
fn received(
    dataset: &Arc<DatasetFile>,
    asked: &Scan,
    options: &EncodeOptions,
) -> Result<(Vec<RecordBatch>, usize), FileError> {
    let pieces = dataset.pieces(asked.clone(), options.clone(), &pool())?;
    let mut encoder = Encoder::new(pieces.schema(), options.clone()).unwrap();
    let mut decoder = BatchDecoder::new(DecodeLimits::default());
    decoder.decode(&encoder.schema().header, &Buffer::default()).unwrap();
    let (mut found, mut encoded) = (Vec::new(), 0);
    for piece in pieces {
        let piece = match piece? {
            Piece::Stored(message) => Piece::Message(part_by_part(message)?),
            other => other,
        };
        let messages = match piece {
            Piece::Stored(_) => unreachable!("it was read just now"),
            Piece::Message(message) => {
                let bytes = flight_data_bytes(message.header.len(), message.body_bytes, 0);
                let body: usize = message.body.iter().map(Buffer::len).sum();
                assert_eq!(body, message.body_bytes);
                let rows = arrow_ipc::root_as_message(&message.header).unwrap();
                let rows = rows.header_as_record_batch().unwrap().length();
                assert!(bytes <= options.message_bytes_max || rows <= 1, "{bytes} bytes");
                vec![message]
            }
            Piece::Batch(batch) => {
                encoded += 1;
                encoder.encode(&batch).unwrap()
            }
        };
        for message in messages {
            let body: Buffer = message.body.iter().flat_map(|b| b.as_slice()).copied().collect();
            if let Decoded::Batch(batch) = decoder.decode(&message.header, &body).unwrap() {
                let most = options.batch_rows_max.unwrap_or(usize::MAX);
                assert!((1..=most).contains(&batch.num_rows()), "{} rows", batch.num_rows());
                found.push(batch);
            }
        }
    }
    Ok((found, encoded))
}

/// The pieces, the first time and once their blocks are known to be sound, are what a scan reads.
fn check(dataset: &Arc<DatasetFile>, asked: &Scan, options: &EncodeOptions) -> usize {
    let what = format!("{asked:?}, {options:?}");
    let expected = scan(dataset, asked.clone()).unwrap();
    let mut encoded = 0;
    for _ in 0..2 {
        let found = received(dataset, asked, options).unwrap();
        assert_same_rows(&expected, &found.0, &what);
        encoded = found.1;
    }
    encoded
}

fn at_most(message_bytes_max: usize) -> EncodeOptions {
    EncodeOptions { message_bytes_max, ..EncodeOptions::default() }
}

fn without_dictionaries(fields: Vec<Field>) -> SchemaRef {
    let plain = |field: &Field| {
        let schema = Schema::new(vec![field.clone()]);
        let all = schema.flattened_fields();
        !all.iter().any(|field| matches!(field.data_type(), DataType::Dictionary(..)))
    };
    Arc::new(Schema::new(fields.into_iter().filter(plain).collect::<Vec<_>>()))
}

#[test]
fn every_type_is_cut_without_being_decoded() {
    let mut rng = rng(1);
    let schema = without_dictionaries(schemas::every_field());
    let sent = batches::stream_of(&mut rng, &schema, &[300, 1, 0, 700]);
    for mapped in [false, true] {
        let dataset = open(&file_of(&schema, &sent, None), Format::Feather).unwrap();
        if mapped {
            dataset.map().unwrap();
        }
        for max in [1, 20_000, 64 << 20] {
            assert_eq!(check(&dataset, &Scan::all(), &at_most(max)), 0, "{max}");
        }
        for column in 0..schema.fields().len() {
            let asked = Scan { columns: Some(vec![column]), rows: 3..901, ..Scan::all() };
            assert_eq!(check(&dataset, &asked, &at_most(2_000)), 0, "column {column}");
        }
        let stream = open(&stream_of(&schema, &sent), Format::Stream).unwrap();
        assert_eq!(check(&stream, &Scan::all(), &at_most(20_000)), 0);
    }
}

#[test]
fn any_part_of_any_file_is_what_a_scan_reads() {
    for seed in 0..u64::from(flight_testkit::cases(60)) {
        let mut rng = rng(seed);
        let schema = schemas::any_schema(&mut rng);
        let sent = batches::stream_of(&mut rng, &schema, &[40, 0, 1, 130]);
        let codec = [None, None, Some(CompressionType::LZ4_FRAME)][rng.random_range(0..3)];
        let dataset = open(&file_of(&schema, &sent, codec), Format::Feather).unwrap();
        if rng.random_bool(0.5) {
            dataset.map().unwrap();
        }
        for _ in 0..6 {
            let count = schema.fields().len();
            let picked = (0..rng.random_range(0..4)).map(|_| rng.random_range(0..count.max(1)));
            let picked: Vec<_> = picked.filter(|_| count > 0).collect();
            let start = rng.random_range(0..170);
            let options = EncodeOptions {
                message_bytes_max: rng.random_range(1..30_000),
                batch_rows_max: rng.random_bool(0.3).then(|| rng.random_range(1..50)),
                compression: match rng.random_bool(0.2) {
                    true => Compression::Lz4,
                    false => Compression::None,
                },
            };
            let asked = Scan {
                columns: rng.random_bool(0.5).then_some(picked),
                rows: start..start + rng.random_range(0..170),
                batch_rows: None,
            };
            check(&dataset, &asked, &options);
        }
    }
}

#[test]
fn dictionaries_go_ahead_of_batches_that_are_not_decoded() {
    let mut rng = rng(6);
    let schema = Arc::new(Schema::new(schemas::dictionary_fields()));
    let sent = batches::stream_of(&mut rng, &schema, &[200, 1, 300, 250]);
    let dataset = open(&file_of(&schema, &sent, None), Format::Feather).unwrap();
    for max in [1, 5_000, 64 << 20] {
        assert_eq!(check(&dataset, &Scan::all(), &at_most(max)), 1, "{max}");
        let asked = Scan { rows: 210..700, ..Scan::all() };
        assert_eq!(check(&dataset, &asked, &at_most(max)), 1, "{max}, from the third block on");
    }
    for column in 0..schema.fields().len() {
        let asked = Scan { columns: Some(vec![column]), rows: 3..601, ..Scan::all() };
        assert_eq!(check(&dataset, &asked, &at_most(2_000)), 1, "column {column}");
    }
}

#[test]
fn a_dictionary_that_changes_amid_a_stream_is_sent_before_it_is_used() {
    let field = Field::new_dictionary("word", DataType::Int8, DataType::Utf8, true);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = |words: [&str; 4]| {
        let words: DictionaryArray<Int8Type> = words.into_iter().collect();
        RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(words)]).unwrap()
    };
    let (first, second) = (batch(["a", "b", "a", "a"]), batch(["c", "d", "e", "c"]));
    let sent = [&first, &first, &second, &second, &second, &first].map(RecordBatch::clone);
    let dataset = open(&stream_of(&schema, &sent), Format::Stream).unwrap();
    assert_eq!(check(&dataset, &Scan::all(), &EncodeOptions::default()), 3);
    let asked = Scan { rows: 9..19, ..Scan::all() };
    assert_eq!(check(&dataset, &asked, &EncodeOptions::default()), 1, "the second dictionary's");
}

#[test]
fn a_key_without_a_value_is_found_whatever_part_is_asked_for() {
    let field = Field::new_dictionary("word", DataType::Int32, DataType::Utf8, false);
    let schema = Arc::new(Schema::new(vec![field]));
    let words: DictionaryArray<Int32Type> = ["a", "b", "c", "a", "c"].into_iter().collect();
    let keys = |keys: [i32; 5]| keys.iter().flat_map(|key| key.to_le_bytes()).collect::<Vec<_>>();
    let other: DictionaryArray<Int32Type> =
        DictionaryArray::new(Int32Array::from(vec![2, 1, 0, 0, 1]), Arc::clone(words.values()));
    let other = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(other)]).unwrap();
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(words)]).unwrap();
    let sound = file_of(&schema, &[batch, other], None);
    let first = damaged(sound.clone(), &keys([0, 1, 2, 0, 2]), &keys([0, 1, 2, 0, 3]));
    // One that is not decoded for its dictionaries' sake.
    let second = damaged(sound, &keys([2, 1, 0, 0, 1]), &keys([2, 1, 0, 0, 9]));
    for (file, rows, max) in [
        (&first, 0..10, 1 << 20),
        (&first, 0..10, 1),
        (&first, 2..5, 1),
        (&second, 0..10, 1 << 20),
        (&second, 0..10, 1),
        (&second, 3..10, 1),
        (&second, 7..10, 1 << 20),
    ] {
        let dataset = open(file, Format::Feather).unwrap();
        let asked = Scan { rows, ..Scan::all() };
        for _ in 0..2 {
            let error = received(&dataset, &asked, &at_most(max)).unwrap_err();
            let FileError::Damaged { column, .. } = &error else { panic!("{error}") };
            assert_eq!(column.as_deref(), Some("word"), "{error}");
        }
    }
}

#[test]
fn whole_batches_are_the_bytes_of_the_file() {
    let mut rng = rng(3);
    let schema = without_dictionaries(schemas::flat_fields());
    let sent = batches::stream_of(&mut rng, &schema, &[200, 200]);
    for (codec, asked) in [
        (None, Compression::None),
        (Some(CompressionType::LZ4_FRAME), Compression::Lz4),
        (Some(CompressionType::ZSTD), Compression::Zstd),
    ] {
        let bytes = file_of(&schema, &sent, codec);
        let dataset = open(&bytes, Format::Feather).unwrap();
        let options = EncodeOptions { compression: asked, ..EncodeOptions::default() };
        let pieces: Vec<_> = dataset.pieces(Scan::all(), options, &pool()).unwrap().collect();
        assert_eq!(pieces.len(), 2);
        for piece in pieces {
            let Piece::Message(message) = piece.unwrap() else { panic!("{codec:?}: encoded") };
            let [body] = &message.body[..] else { panic!("{codec:?}: not in one piece") };
            for part in [message.header.as_slice(), body.as_slice()] {
                assert!(bytes.windows(part.len()).any(|bytes| bytes == part), "{codec:?}");
            }
        }
    }
}

#[test]
fn compressed_blocks_are_unpacked_unless_their_codec_is_asked_for() {
    let mut rng = rng(4);
    let schema = without_dictionaries(schemas::flat_fields());
    let sent = batches::stream_of(&mut rng, &schema, &[200, 200]);
    let bytes = file_of(&schema, &sent, Some(CompressionType::ZSTD));
    let dataset = open(&bytes, Format::Feather).unwrap();
    let lz4 = EncodeOptions { compression: Compression::Lz4, ..EncodeOptions::default() };
    for options in [EncodeOptions::default(), lz4] {
        assert_eq!(check(&dataset, &Scan::all(), &options), 2);
    }
}

#[test]
fn a_large_body_is_read_while_it_is_sent_unless_it_is_mapped() {
    let mut rng = rng(7);
    let schema = without_dictionaries(schemas::flat_fields());
    let sent = batches::stream_of(&mut rng, &schema, &[9_000, 9_000]);
    let dataset = open(&file_of(&schema, &sent, None), Format::Feather).unwrap();
    let stored = |options: EncodeOptions| {
        let pieces = dataset.pieces(Scan::all(), options, &pool()).unwrap();
        pieces.filter(|piece| matches!(piece, Ok(Piece::Stored(_)))).count()
    };
    for max in [2 << 20, 1 << 30] {
        assert!(stored(at_most(max)) > 0, "{max}");
        check(&dataset, &Scan::all(), &at_most(max));
    }
    dataset.map().unwrap();
    assert_eq!(stored(at_most(1 << 30)), 0, "a mapping needs no reading");
}

#[test]
fn a_file_that_changes_while_a_body_is_sent_gives_an_error_and_no_other_bytes() {
    let field = Field::new("number", DataType::Int64, false);
    let schema = Arc::new(Schema::new(vec![field]));
    let numbers: arrow_array::ArrayRef = Arc::new(Int64Array::from(vec![7; 1 << 18]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![numbers]).unwrap();
    for (what, truncate) in [("truncated", true), ("overwritten", false)] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&file_of(&schema, std::slice::from_ref(&batch), None)).unwrap();
        // So that the clock of the file system has moved on by the time of the change.
        file.as_file().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        let limits = ReadLimits::default();
        let opened = DatasetFile::open(file.reopen().unwrap(), Format::Feather, &limits);
        let dataset = Arc::new(opened.unwrap());
        received(&dataset, &Scan::all(), &at_most(1 << 30)).unwrap();
        let mut pieces = dataset.pieces(Scan::all(), at_most(1 << 30), &pool()).unwrap();
        let Piece::Stored(mut message) = pieces.next().unwrap().unwrap() else { panic!("{what}") };
        let part = message.next_part().unwrap();
        assert!(part[0].typed_data::<i64>().iter().all(|number| *number == 7), "{what}");
        if truncate {
            file.as_file().set_len(1 << 20).unwrap();
        } else {
            file.seek(SeekFrom::Start(1 << 19)).unwrap();
            file.write_all(&vec![9; 1 << 20]).unwrap();
        }
        let error = message.next_part().unwrap_err();
        assert!(matches!(error, FileError::Changed), "{what}: {error}");
    }
}

#[test]
fn rows_that_fit_one_message_are_not_split() {
    let schema = without_dictionaries(schemas::flat_fields());
    let sent = batches::stream_of(&mut rng(5), &schema, &[300]);
    let dataset = open(&file_of(&schema, &sent, None), Format::Feather).unwrap();
    let asked = Scan { columns: Some(vec![3, 1]), rows: 7..207, batch_rows: None };
    let (found, _) = received(&dataset, &asked, &at_most(1 << 20)).unwrap();
    assert_eq!(found.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [200]);
}

/// A file with one text column of these lengths, in one block.
fn texts(lengths: &[usize]) -> Vec<u8> {
    let field = Field::new("text", DataType::Utf8, false);
    let schema = Arc::new(Schema::new(vec![field]));
    let texts = lengths.iter().map(|length| "x".repeat(*length));
    let array = arrow_array::StringArray::from_iter_values(texts);
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(array)]).unwrap();
    file_of(&schema, &[batch], None)
}

/// Changes the bytes at `at` from the end of the first occurrence of `pattern`.
fn damaged(mut bytes: Vec<u8>, pattern: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(pattern.len()).position(|bytes| bytes == pattern).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn what_is_wrong_with_a_block_is_found_whatever_part_is_asked_for() {
    let sound = texts(&[5, 5, 5, 5]);
    let offsets: Vec<u8> = [0i32, 5, 10, 15, 20].iter().flat_map(|o| o.to_le_bytes()).collect();
    let moved = |values: [i32; 5]| {
        let bytes: Vec<u8> = values.iter().flat_map(|o| o.to_le_bytes()).collect();
        damaged(sound.clone(), &offsets, &bytes)
    };
    let cases = [
        ("text that is no UTF-8", damaged(sound.clone(), b"xxxxx", &[0xFF; 5])),
        ("offsets that run backwards", moved([0, 5, 3, 15, 20])),
        ("a first offset that is negative", moved([-5, 5, 10, 15, 20])),
        ("a last offset past the data", moved([0, 5, 10, 15, 2_000])),
    ];
    for (what, bytes) in cases {
        for (rows, max) in [(0..u64::MAX, 1 << 20), (0..4, 1), (0..3, 1 << 20)] {
            let dataset = open(&bytes, Format::Feather).unwrap();
            let asked = Scan { rows, ..Scan::all() };
            // Row 3 alone holds the last fault: rows that do not are right without it.
            if what.contains("last") && asked.rows == (0..3) {
                for _ in 0..2 {
                    let (found, _) = received(&dataset, &asked, &at_most(max)).unwrap();
                    assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
                }
                continue;
            }
            let errors = (0..2).map(|_| received(&dataset, &asked, &at_most(max)).unwrap_err());
            for error in errors {
                let FileError::Damaged { column, .. } = &error else { panic!("{what}: {error}") };
                assert_eq!(column.as_deref(), Some("text"), "{what}: {error}");
            }
        }
    }
}

/// A file of one block of 300 numbers, one of them null, whose field node says otherwise.
fn lying_node(length: i64, nulls: i64) -> Vec<u8> {
    let field = Field::new("number", DataType::Int32, true);
    let schema = Arc::new(Schema::new(vec![field]));
    let numbers = (0..300).map(|row| (row != 7).then_some(row));
    let array = Arc::new(Int32Array::from_iter(numbers));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array]).unwrap();
    let bytes = |length: i64, nulls: i64| [length.to_le_bytes(), nulls.to_le_bytes()].concat();
    damaged(file_of(&schema, &[batch], None), &bytes(300, 1), &bytes(length, nulls))
}

#[test]
fn a_block_that_was_cut_soundly_is_not_sent_whole_unless_it_is_sound() {
    let dataset = open(&lying_node(300, 300), Format::Feather).unwrap();
    for _ in 0..2 {
        // The parts have headers of their own, which count their nulls.
        let (found, _) = received(&dataset, &Scan::all(), &at_most(600)).unwrap();
        assert_eq!(found.iter().map(|batch| batch.column(0).null_count()).sum::<usize>(), 1);
    }
    let error = received(&dataset, &Scan::all(), &at_most(1 << 20)).unwrap_err();
    assert!(matches!(error, FileError::Damaged { .. }), "{error}");
}

#[test]
fn one_row_of_a_block_of_two_milliards_is_checked_in_a_moment() {
    let schema = Arc::new(Schema::new(vec![Field::new("nothing", DataType::Null, true)]));
    let rows = i32::MAX as usize;
    let nothing = Arc::new(arrow_array::NullArray::new(rows));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![nothing]).unwrap();
    let dataset = open(&file_of(&schema, &[batch], None), Format::Feather).unwrap();
    let asked = Scan { rows: 5..6, ..Scan::all() };
    let one = EncodeOptions { batch_rows_max: Some(1), ..at_most(1 << 20) };
    for options in [at_most(16 << 10), one] {
        let (found, encoded) = received(&dataset, &asked, &options).unwrap();
        assert_eq!((found[0].num_rows(), found.len(), encoded), (1, 1, 0));
    }
}

#[test]
fn lists_that_share_their_values_are_not_checked_beyond_measure() {
    // Each of the rows selects all values, 256 KiB: together they are far more than the block.
    const ROWS: usize = 100_000;
    let values: arrow_array::ArrayRef = Arc::new(Int64Array::from(vec![7; 32 << 10]));
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let lists = arrow_array::ListViewArray::new(
        Arc::clone(&item),
        vec![0; ROWS].into(),
        vec![32 << 10; ROWS].into(),
        values,
        None,
    );
    let schema = Arc::new(Schema::new(vec![Field::new("l", DataType::ListView(item), true)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(lists)]).unwrap();
    let dataset = open(&file_of(&schema, &[batch], None), Format::Feather).unwrap();
    let asked = Scan { rows: 5..6, ..Scan::all() };
    for _ in 0..2 {
        let (found, _) = received(&dataset, &asked, &at_most(16 << 10)).unwrap();
        assert_eq!(found[0].num_rows(), 1);
    }
}

#[test]
fn parts_that_leave_something_out_prove_nothing_of_it() {
    let ends = Int32Array::from(vec![100, 150, 180, 200]);
    let values = Int64Array::from(vec![1, 2, 3, 4]);
    let runs = RunArray::<Int32Type>::try_new(&ends, &values).unwrap();
    let field = Field::new("runs", runs.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(runs)]).unwrap();
    let bytes = |ends: [i32; 4]| ends.iter().flat_map(|end| end.to_le_bytes()).collect::<Vec<_>>();
    let sound = file_of(&schema, &[batch], None);
    // Bisection finds the first run for the first half of the rows, and the last one for the rest.
    let file = damaged(sound, &bytes([100, 150, 180, 200]), &bytes([100, 150, 100, 200]));
    let dataset = open(&file, Format::Feather).unwrap();
    let halves = EncodeOptions { batch_rows_max: Some(100), ..at_most(1 << 20) };
    for _ in 0..2 {
        let _each_half_is_sound_or_an_error = received(&dataset, &Scan::all(), &halves);
        let asked = Scan { rows: 50..150, ..Scan::all() };
        let error = received(&dataset, &asked, &at_most(1 << 20)).unwrap_err();
        assert!(matches!(error, FileError::Damaged { .. }), "{error}");
    }
}

#[test]
fn a_column_that_is_longer_than_its_batch_is_damage_in_every_part() {
    for length in [299, 301, i64::from(i32::MAX)] {
        let dataset = open(&lying_node(length, 1), Format::Feather).unwrap();
        for (rows, max) in [(0..300, 1 << 20), (0..300, 600), (0..10, 1 << 20)] {
            let asked = Scan { rows, ..Scan::all() };
            let error = received(&dataset, &asked, &at_most(max)).unwrap_err();
            let FileError::Damaged { column, .. } = &error else { panic!("{length}: {error}") };
            assert!(column.as_deref().is_none_or(|column| column == "number"), "{error}");
        }
    }
}

#[test]
fn columns_that_share_their_bytes_do_not_make_a_row_larger_than_its_batch() {
    // One column asked for a thousand times stands for a header with overlapping buffers.
    let dataset = open(&texts(&[200_000, 5]), Format::Feather).unwrap();
    let asked = Scan { columns: Some(vec![0; 1_000]), ..Scan::all() };
    let error = received(&dataset, &asked, &at_most(1_000)).unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
}

#[test]
fn a_row_that_is_longer_than_the_limit_goes_out_alone() {
    let dataset = open(&texts(&[10, 10, 50_000, 10, 10]), Format::Feather).unwrap();
    let options = at_most(1_000);
    check(&dataset, &Scan::all(), &options);
    let (found, _) = received(&dataset, &Scan::all(), &options).unwrap();
    let rows: Vec<_> = found.iter().map(RecordBatch::num_rows).collect();
    assert!(rows.contains(&1), "{rows:?}");
}

#[test]
fn public_files_are_cut_as_they_are_read() {
    let Some(corpus) = corpus("public_files_are_cut_as_they_are_read") else { return };
    let golden = corpus.join("arrow-testing/arrow-ipc-stream/integration");
    let mut count = 0;
    for folder in std::fs::read_dir(golden).unwrap() {
        for path in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = path.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "arrow_file") {
                continue;
            }
            let Ok(dataset) = open(&std::fs::read(&path).unwrap(), Format::Feather) else {
                continue;
            };
            let Ok(expected) = scan(&dataset, Scan::all()) else { continue };
            let rows = dataset.rows().unwrap();
            let parts: [Range<u64>; 3] = [0..rows, 1.min(rows)..rows, 0..rows / 2];
            for (rows, max) in parts.into_iter().flat_map(|r| [(r.clone(), 1 << 20), (r, 64)]) {
                check(&dataset, &Scan { rows, ..Scan::all() }, &at_most(max));
            }
            count += usize::from(!expected.is_empty());
        }
    }
    assert!(count > 20, "{count} files");
}
