//! Files that change under a reader: the old version whole, or an error, never a mixture.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use flight_files::{BatchReader, Codec, DatasetFile, FileError, Format, Scan, WriteOptions};
use tempfile::NamedTempFile;

use crate::support::{assert_same_rows, bytes_of, file_of, open_file, read, stream_of, write};

/// Three batches, larger than what a reader takes at once.
fn batches(first: i64) -> Vec<RecordBatch> {
    let column = |batch: i64| {
        let values = (0..300_000).map(|row| first + batch * 300_000 + row);
        Arc::new(Int64Array::from_iter_values(values)) as ArrayRef
    };
    (0..3).map(|batch| RecordBatch::try_from_iter([("n", column(batch))]).unwrap()).collect()
}

fn content(format: Format, first: i64) -> Vec<u8> {
    let batches = batches(first);
    match format {
        Format::Stream => stream_of(&batches[0].schema(), &batches),
        format => {
            let options = WriteOptions { format, codec: Codec::None };
            bytes_of(&write(&batches[0].schema(), &batches, options).unwrap().file)
        }
    }
}

const FORMATS: [Format; 3] = [Format::Feather, Format::Stream, Format::Parquet];

/// Opens a named file, reads a batch, lets `change` have its way, and reads on.
fn check(format: Format, change: impl Fn(&NamedTempFile, &[u8])) -> Result<(), FileError> {
    let bytes = content(format, 0);
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&bytes).unwrap();
    let dataset = open_file(file.reopen().unwrap(), format).unwrap();
    let mut reader = dataset.scan(Scan::all()).unwrap();
    let mut found = vec![reader.next().unwrap().unwrap()];
    change(&file, &bytes);
    for batch in reader.by_ref() {
        found.push(batch?);
    }
    assert_same_rows(&batches(0), &found, "the old version");
    Ok(())
}

fn assert_changed(change: impl Fn(&NamedTempFile, &[u8])) {
    for format in FORMATS {
        let result = check(format, &change);
        assert!(matches!(result, Err(FileError::Changed)), "{format:?}: {result:?}");
    }
}

#[test]
fn a_truncated_file_is_an_error() {
    assert_changed(|file, bytes| file.as_file().set_len(bytes.len() as u64 / 2).unwrap());
    assert_changed(|file, _| file.as_file().set_len(0).unwrap());
}

#[test]
fn a_file_that_grows_is_an_error() {
    assert_changed(|file, bytes| file.as_file().write_all_at(&[0; 9], bytes.len() as u64).unwrap());
}

#[test]
fn a_file_overwritten_in_place_is_an_error() {
    for format in FORMATS {
        let result = check(format, |file, _| {
            file.as_file().write_all_at(&content(format, 7), 0).unwrap();
            // A clock that has not moved on since the file was opened would hide the write.
            let later = SystemTime::now() + Duration::from_secs(5);
            file.as_file().set_modified(later).unwrap();
        });
        assert!(matches!(result, Err(FileError::Changed)), "{format:?}: {result:?}");
    }
}

/// Does `change` until the file system's clock has ticked, for nobody can see it before.
fn seen(file: &NamedTempFile, change: impl Fn()) {
    let changed = || {
        let metadata = file.as_file().metadata().unwrap();
        (metadata.ctime(), metadata.ctime_nsec())
    };
    let (before, started) = (changed(), Instant::now());
    while changed() == before {
        assert!(started.elapsed() < Duration::from_secs(10), "the change time stands still");
        change();
    }
}

/// Rows of both versions came with no error while only size and modification time were compared.
#[test]
fn a_file_overwritten_in_place_is_an_error_though_its_time_is_set_back() {
    assert_changed(|file, bytes| {
        let modified = file.as_file().metadata().unwrap().modified().unwrap();
        let other: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        seen(file, || {
            file.as_file().write_all_at(&other, 0).unwrap();
            file.as_file().set_modified(modified).unwrap();
        });
    });
}

/// It has a name fewer, and then is written to by who still has it open.
#[test]
fn a_deleted_file_that_is_overwritten_is_an_error() {
    for format in FORMATS {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(&content(format, 0)).unwrap();
        let dataset = open_file(file.reopen().unwrap(), format).unwrap();
        std::fs::remove_file(file.path()).unwrap();
        assert_same_rows(&batches(0), &read(&dataset).unwrap(), "a deleted file");
        let modified = file.as_file().metadata().unwrap().modified().unwrap();
        seen(&file, || {
            file.as_file().write_all_at(&[7], 100).unwrap();
            file.as_file().set_modified(modified).unwrap();
        });
        let result = read(&dataset);
        assert!(matches!(result, Err(FileError::Changed)), "{format:?}: {result:?}");
    }
}

/// Nothing tells these from a rewrite that sets the time back.
#[test]
fn a_file_that_is_renamed_or_linked_or_gets_other_permissions_is_an_error() {
    let beside = |file: &NamedTempFile| file.path().with_extension("beside");
    assert_changed(|file, _| {
        seen(file, || {
            std::fs::rename(file.path(), beside(file)).unwrap();
            std::fs::rename(beside(file), file.path()).unwrap();
        });
    });
    assert_changed(|file, _| {
        std::fs::hard_link(file.path(), beside(file)).unwrap();
        seen(file, || file.as_file().set_permissions(Permissions::from_mode(0o640)).unwrap());
        std::fs::remove_file(beside(file)).unwrap();
    });
    assert_changed(|file, _| {
        seen(file, || file.as_file().set_permissions(Permissions::from_mode(0o640)).unwrap());
    });
}

#[test]
fn a_deleted_file_is_read_to_its_end() {
    for format in FORMATS {
        let deleted = check(format, |file, _| {
            seen(file, || {
                let _ = std::fs::remove_file(file.path());
            });
        });
        assert!(deleted.is_ok(), "{format:?}: {deleted:?}");
    }
}

#[test]
fn a_file_replaced_by_rename_is_read_to_its_end() {
    for format in FORMATS {
        let renamed = check(format, |file, _| {
            let mut other = NamedTempFile::new_in(file.path().parent().unwrap()).unwrap();
            other.write_all(&content(format, 7)).unwrap();
            std::fs::rename(other.path(), file.path()).unwrap();
        });
        assert!(renamed.is_ok(), "{format:?}: {renamed:?}");
    }
}

#[test]
fn a_reader_stops_after_an_error() {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&content(Format::Feather, 0)).unwrap();
    let dataset = open_file(file.reopen().unwrap(), Format::Feather).unwrap();
    let mut reader = dataset.scan(Scan::all()).unwrap();
    file.as_file().set_len(10).unwrap();
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
    assert!(matches!(dataset.check_unchanged(), Err(FileError::Changed)));
}

#[test]
fn the_version_follows_content_size_and_time() {
    for format in FORMATS {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(&content(format, 0)).unwrap();
        file.as_file().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let version = || open_file(file.reopen().unwrap(), format).unwrap().version();
        let first = version();
        assert_eq!(first, version(), "{format:?}: the same file twice");
        file.as_file().set_modified(SystemTime::UNIX_EPOCH + Duration::from_nanos(1)).unwrap();
        assert_ne!(first, version(), "{format:?}: another time");
    }
}

#[test]
fn a_dataset_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<DatasetFile>();
    sent::<BatchReader>();
    let dataset = open_file(file_of(&content(Format::Feather, 0)), Format::Feather).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| assert_same_rows(&batches(0), &read(&dataset).unwrap(), "a thread"));
        }
    });
}
