//! Small files cut at every length and flipped at every byte: an error or sound batches, no panic.

use arrow_array::RecordBatch;
use flight_files::{Codec, FileError, Format, WriteOptions};
use flight_testkit::{batches, rng, schemas};

use crate::support::{assert_same_rows, bytes_of, open, read, stream_of, write};

struct Sample {
    format: Format,
    bytes: Vec<u8>,
    rows: Vec<RecordBatch>,
}

fn samples() -> Vec<Sample> {
    let mut rng = rng(11);
    let schema = schemas::every_type();
    let columns = ["Utf8", "Int32", "list", "dictionary", "struct_of_dictionary", "run_ends_Int32"];
    let columns: Vec<_> = columns.map(|name| schema.index_of(name).unwrap()).to_vec();
    let schema = std::sync::Arc::new(schema.project(&columns).unwrap());
    let rows = batches::stream_of(&mut rng, &schema, &[6, 5]);
    let mut samples = vec![Sample {
        format: Format::Stream,
        bytes: stream_of(&schema, &rows),
        rows: rows.clone(),
    }];
    for (format, codec) in [
        (Format::Feather, Codec::None),
        (Format::Feather, Codec::Zstd),
        (Format::Parquet, Codec::None),
        (Format::Parquet, Codec::Zstd),
    ] {
        // Parquet gives run-end columns back as another type.
        let kept: Vec<_> = (0..if format == Format::Parquet { 5 } else { 6 }).collect();
        let rows: Vec<_> = rows.iter().map(|batch| batch.project(&kept).unwrap()).collect();
        let options = WriteOptions { format, codec };
        let written = write(&rows[0].schema(), &rows, options).unwrap();
        samples.push(Sample { format, bytes: bytes_of(&written.file), rows });
    }
    samples
}

fn try_read(bytes: &[u8], format: Format) -> Result<Vec<RecordBatch>, FileError> {
    let batches = read(&open(bytes, format)?)?;
    for column in batches.iter().flat_map(RecordBatch::columns) {
        column.to_data().validate_full().expect("what was read is sound");
    }
    Ok(batches)
}

fn check_text(error: &FileError) {
    let text = error.to_string();
    assert!(text.len() < 1024 && !text.contains("panicked") && !text.contains(".rs"), "{text}");
}

#[test]
fn a_cut_file_is_an_error_or_whole() {
    for Sample { format, bytes, rows } in samples() {
        assert_same_rows(&rows, &try_read(&bytes, format).unwrap(), "uncut");
        for length in 0..bytes.len() {
            match try_read(&bytes[..length], format) {
                Err(error) => check_text(&error),
                // Only a stream without its end marker may still be whole: up to a message.
                Ok(found) => {
                    assert_eq!(format, Format::Stream, "cut to {length}");
                    let kept = found.len();
                    assert_same_rows(&rows[..kept], &found, "a stream cut between messages");
                }
            }
        }
    }
}

#[test]
fn a_flipped_byte_is_an_error_or_sound_batches() {
    for Sample { format, mut bytes, .. } in samples() {
        for at in 0..bytes.len() {
            let mask = 1 << (at % 8);
            bytes[at] ^= mask;
            if let Err(error) = try_read(&bytes, format) {
                check_text(&error);
            }
            bytes[at] ^= mask;
        }
    }
}

#[test]
fn files_of_other_kinds_are_told_apart() {
    let check = |bytes: &[u8], format, expected: &str| {
        let error = open(bytes, format).unwrap_err().to_string();
        assert!(error.contains(expected), "{format:?}: {error:?} lacks {expected:?}");
    };
    let samples = samples();
    let (stream, feather, parquet) = (&samples[0].bytes, &samples[1].bytes, &samples[3].bytes);
    check(stream, Format::Feather, "extension .arrows");
    check(parquet, Format::Feather, "does not begin with ARROW1");
    check(feather, Format::Parquet, "does not end with PAR1");
    check(parquet, Format::Stream, "damaged");
    check(feather, Format::Stream, "damaged");
    for format in [Format::Feather, Format::Stream, Format::Parquet] {
        check(b"", format, "damaged: it is empty (0 bytes)");
        check(b"name,age\nAnn,7\n", format, "damaged");
    }
    check(&[b"FEA1".as_slice(), &[0; 60], b"FEA1"].concat(), Format::Feather, "version=2");
    check(b"FEA1", Format::Feather, "pyarrow.feather.write_feather");
    check(b"PAR1\0\0\0\0\0\0\0\0PARE", Format::Parquet, "encrypted");
}

/// A claim that the file is too short for is its damage and no limit's business.
#[test]
fn a_footer_longer_than_the_file_is_damage() {
    let check = |bytes: &[u8], format, expected: &str| {
        let error = open(bytes, format).unwrap_err();
        assert!(matches!(error, FileError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().ends_with(expected), "{error}");
    };
    check(b"PAR1xxxxPAR1", Format::Parquet, "its footer claims 2021161080 bytes of 12");
    check(b"PAR1\xFF\xFF\xFF\xFFPAR1", Format::Parquet, "claims 4294967295 bytes of 12");
    let feather = b"ARROW1\0\0\xFF\xFF\xFF\x7FARROW1";
    check(feather, Format::Feather, "its footer claims 2147483647 bytes of 18");
    let stream = b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F";
    check(stream, Format::Stream, "message at offset 0 goes on beyond its 8 bytes");
}
