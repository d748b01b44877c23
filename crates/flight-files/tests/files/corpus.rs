//! The public test files: golden ones read as other readers read them, hostile ones survived.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use flight_files::{DatasetFile, FileError, Format, ReadLimits, Scan};
use flight_testkit::corpus;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::support::{assert_same_rows, open_file, read};

const GOLDEN: &str = "arrow-testing/arrow-ipc-stream/integration";

/// The files below `folder` whose names end in `ending`.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_str().unwrap().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{} has no {ending}", folder.display());
    found
}

fn read_path(path: &Path, format: Format) -> Result<(SchemaRef, Vec<RecordBatch>), FileError> {
    let dataset = open_file(File::open(path)?, format)?;
    Ok((Arc::clone(dataset.schema()), read(&dataset)?))
}

type Other = Result<(SchemaRef, Vec<RecordBatch>), ArrowError>;

fn read_stream(path: &Path) -> Other {
    let reader = StreamReader::try_new(File::open(path)?, None)?;
    Ok((reader.schema(), reader.collect::<Result<_, _>>()?))
}

fn read_file(path: &Path) -> Other {
    let reader = FileReader::try_new(File::open(path)?, None)?;
    Ok((reader.schema(), reader.collect::<Result<_, _>>()?))
}

/// Reads as `other` does, or both refuse. Gives whether it was read.
fn check_golden(path: &Path, format: Format, other: Other) -> bool {
    let what = path.display().to_string();
    match (read_path(path, format), other) {
        (Ok((schema, found)), Ok((expected_schema, expected))) => {
            assert_eq!(schema, expected_schema, "{what}");
            assert_same_rows(&expected, &found, &what);
            true
        }
        (Err(_), Err(_)) => false,
        (found, other) => panic!("{what}: here {found:?}, arrow-ipc {other:?}"),
    }
}

#[test]
fn golden_streams_and_files_read_as_arrow_ipc_reads_them_and_alike() {
    let Some(corpus) = corpus("golden_streams_and_files") else { return };
    let (mut read, mut refused) = (0, Vec::new());
    for stream in files(&corpus.join(GOLDEN), ".stream") {
        if stream.to_str().unwrap().contains("bigendian") {
            continue;
        }
        let file = stream.with_extension("arrow_file");
        let one = check_golden(&stream, Format::Stream, read_stream(&stream));
        let two = check_golden(&file, Format::Feather, read_file(&file));
        assert_eq!(one, two, "{}", stream.display());
        if !one {
            refused.push(stream.strip_prefix(&corpus).unwrap().to_owned());
            continue;
        }
        read += 1;
        // Of these the stream has other names of a map's children than the file.
        if stream.ends_with("generated_map_non_canonical.stream") {
            continue;
        }
        let streamed = read_path(&stream, Format::Stream).unwrap();
        let filed = read_path(&file, Format::Feather).unwrap();
        assert_eq!(streamed.0, filed.0, "{}", stream.display());
        assert_same_rows(&streamed.1, &filed.1, "stream and file");
    }
    // Values outside their decimal's precision or their day, which full validation refuses.
    let by_design = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        name.contains("decimal") || name.contains("datetime")
    };
    assert!(refused.iter().all(by_design), "{refused:?}");
    assert!(read >= 60, "{read} read, {refused:?}");
}

#[test]
fn big_endian_data_is_refused() {
    let Some(corpus) = corpus("big_endian_data") else { return };
    let folder = corpus.join(GOLDEN).join("1.0.0-bigendian");
    for (ending, format) in [(".stream", Format::Stream), (".arrow_file", Format::Feather)] {
        for path in files(&folder, ending) {
            let error = read_path(&path, format).unwrap_err().to_string();
            assert!(error.contains("big-endian"), "{}: {error}", path.display());
        }
    }
}

#[test]
fn readable_parquet_files_read_as_the_parquet_crate_reads_them() {
    let Some(corpus) = corpus("readable_parquet_files") else { return };
    let mut exceptions = Vec::new();
    for folder in ["parquet-testing/data", "parquet-testing/shredded_variant", "real"] {
        for path in files(&corpus.join(folder), ".parquet") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let (schema, found) = match read_path(&path, Format::Parquet) {
                Ok(read) => read,
                Err(error) => {
                    exceptions.push(format!("{name}: {error}"));
                    continue;
                }
            };
            let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap());
            let builder = builder.unwrap();
            assert_eq!(&schema, builder.schema(), "{name}");
            if name == "repeated_no_annotation.parquet" {
                // The file claims no rows and its row group six; the crate takes the former.
                assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 6);
                continue;
            }
            let expected = builder.build().unwrap().collect::<Result<Vec<_>, _>>().unwrap();
            assert_same_rows(&expected, &found, &name);
        }
    }
    let told = exceptions.iter().zip(EXCEPTIONS).all(|(found, start)| found.starts_with(start));
    assert!(told && exceptions.len() == EXCEPTIONS.len(), "{exceptions:#?}");
}

/// Files that are not read: two with a checksum that is wrong on purpose, one that unpacks to 2 GiB,
/// one whose instants wrap around in the parquet crate, and two that it does not read, though other
/// readers do.
const EXCEPTIONS: [&str; 6] = [
    "datapage_v1-corrupt-checksum.parquet: the file is damaged: column \"a\": a page does not match",
    "dict-page-offset-zero.parquet: the file is damaged: Expected list element type of I64",
    "int96_from_spark.parquet: column \"a\": it holds instants (INT96) before 1678",
    "large_string_map.brotli.parquet: column \"arr.key_value.key\": a Parquet page's bytes would be",
    "nation.dict-malformed.parquet: the file is damaged: column \"name\": a page goes on beyond",
    "rle-dict-uncompressed-corrupt-checksum.parquet: the file is damaged: column \"long_field\": a",
];

#[test]
fn encrypted_and_feather_v1_files_say_what_they_are() {
    let Some(corpus) = corpus("encrypted_and_feather_v1_files") else { return };
    for path in files(&corpus.join("parquet-testing/data"), ".parquet.encrypted") {
        let error = read_path(&path, Format::Parquet).unwrap_err();
        assert!(matches!(error, FileError::Encrypted), "{}: {error}", path.display());
    }
    for path in files(&corpus.join("feather-v1"), ".feather") {
        let error = read_path(&path, Format::Feather).unwrap_err();
        assert!(matches!(error, FileError::FeatherV1), "{}: {error}", path.display());
    }
}

/// Reads whatever can be read, for at most five seconds a file; a panic fails the test.
fn survive(path: &Path, format: Format) {
    let started = Instant::now();
    let result = DatasetFile::open(File::open(path).unwrap(), format, &ReadLimits::default());
    let error = match result.map(Arc::new) {
        Ok(dataset) => dataset.scan(Scan::all()).unwrap().find_map(|batch| {
            assert!(started.elapsed() < Duration::from_secs(5), "{} is endless", path.display());
            batch.err()
        }),
        Err(error) => Some(error),
    };
    assert!(started.elapsed() < Duration::from_secs(5), "{} is slow", path.display());
    if let Some(error) = error {
        let text = error.to_string();
        assert!(text.len() < 1024 && !text.contains("panicked"), "{}: {text}", path.display());
    }
}

#[test]
fn hostile_files_are_survived() {
    let Some(corpus) = corpus("hostile_files") else { return };
    let testing = corpus.join("arrow-testing");
    for folder in ["arrow-ipc-stream", "arrow-ipc-file", "arrow-ipc-tensor-stream", "parquet"] {
        for path in files(&testing.join(folder), "") {
            for format in [Format::Stream, Format::Feather, Format::Parquet] {
                survive(&path, format);
            }
        }
    }
    for folder in ["parquet-testing/bad_data", "parquet-testing/data"] {
        for path in files(&corpus.join(folder), "") {
            survive(&path, Format::Parquet);
        }
    }
    let newer = testing.join("forward-compatibility/schema_v6.arrow");
    survive(&newer, Format::Stream);
    assert!(read_path(&newer, Format::Feather).is_err());
}

#[test]
fn damaged_pages_are_found_by_their_checksum() {
    let Some(corpus) = corpus("damaged_pages") else { return };
    let data = corpus.join("parquet-testing/data");
    for path in files(&data, "-corrupt-checksum.parquet").iter() {
        let error = read_path(path, Format::Parquet).unwrap_err().to_string();
        assert!(error.contains("does not match its checksum"), "{}: {error}", path.display());
    }
}
