//! A temporary folder with a store over it, and datasets of one column of whole numbers.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use flight_files::{BatchWriter, Codec, Format, Scan, WriteOptions};
use flight_store::{
    Begun, Dataset, DatasetName, Mode, Store, StoreError, StoreOptions, Stored, Upload,
    UploadRequest,
};
use tempfile::TempDir;

pub(crate) struct Fixture {
    pub(crate) temp: TempDir,
    pub(crate) store: Store,
}

impl Fixture {
    /// An empty folder, whose path ends in `root` within a folder of its own.
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("root")).unwrap();
        let store = open(&temp.path().join("root"));
        Self { temp, store }
    }

    /// A folder with one file for each path; the first holds 0, the second 1, and so on.
    pub(crate) fn with(paths: &[&str]) -> Self {
        let fixture = Self::new();
        for (value, path) in paths.iter().enumerate() {
            fixture.write(path, &[i64::try_from(value).unwrap()]);
        }
        fixture.store.rescan();
        fixture
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().join("root")
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file as another program would, replacing what is there by a rename.
    pub(crate) fn write(&self, path: &str, values: &[i64]) {
        let target = self.path(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        write_file(&self.temp.path().join("outside.tmp"), &target, values);
    }

    pub(crate) fn put(&self, name: &str, mode: Mode, values: &[i64]) -> Result<Stored, StoreError> {
        put(&self.store, request(name, mode), values)
    }

    /// The values of a dataset, or why they cannot be had.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<i64>, String> {
        read(&self.store, name)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.store)
    }

    /// Names of the files in one of the folders of `.flight`.
    pub(crate) fn private(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(".flight").join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Everything below the root but `.flight`, and beside it.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        collect(self.temp.path(), self.temp.path(), &mut files);
        files
    }
}

pub(crate) fn open(root: &Path) -> Store {
    Store::open(root, StoreOptions::default()).unwrap()
}

pub(crate) fn name(name: &str) -> DatasetName {
    DatasetName::parse(name).unwrap()
}

pub(crate) fn batch(values: &[i64]) -> RecordBatch {
    let values = Arc::new(Int64Array::from(values.to_vec()));
    RecordBatch::try_from_iter([("value", values as _)]).unwrap()
}

pub(crate) fn request(dataset: &str, mode: Mode) -> UploadRequest {
    UploadRequest { name: name(dataset), mode, format: None, codec: None, upload_id: None }
}

pub(crate) fn with_id(dataset: &str, mode: Mode, id: &str) -> UploadRequest {
    UploadRequest { upload_id: Some(id.to_owned()), ..request(dataset, mode) }
}

pub(crate) fn begin(store: &Store, request: UploadRequest) -> Result<Box<Upload>, StoreError> {
    match store.begin(request, batch(&[]).schema())? {
        Begun::Upload(upload) => Ok(upload),
        Begun::AlreadyStored(stored) => panic!("unexpectedly stored: {stored:?}"),
    }
}

/// Uploads one batch, unless the store says that it has the upload.
pub(crate) fn put(
    store: &Store,
    request: UploadRequest,
    values: &[i64],
) -> Result<Stored, StoreError> {
    match store.begin(request, batch(values).schema())? {
        Begun::AlreadyStored(stored) => Ok(stored),
        Begun::Upload(mut upload) => {
            upload.write(&batch(values))?;
            upload.commit()
        }
    }
}

pub(crate) fn read(store: &Store, dataset: &str) -> Result<Vec<i64>, String> {
    let dataset = store.lookup(&name(dataset)).map_err(|error| error.to_string())?;
    scan(&dataset)
}

pub(crate) fn scan(dataset: &Dataset) -> Result<Vec<i64>, String> {
    let mut values = Vec::new();
    for part in &dataset.parts {
        for batch in part.file.scan(Scan::all()).map_err(|error| error.to_string())? {
            let batch = batch.map_err(|error| error.to_string())?;
            let column = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
            values.extend(column.values());
        }
    }
    Ok(values)
}

pub(crate) fn names(store: &Store) -> Vec<String> {
    store.list("").iter().map(|info| info.name.to_string()).collect()
}

pub(crate) fn write_file(temp: &Path, target: &Path, values: &[i64]) {
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(true).open(temp).unwrap();
    let batch = batch(values);
    match Format::of_path(target) {
        Some(Format::Stream) => {
            let mut writer =
                arrow_ipc::writer::StreamWriter::try_new(file, &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
        format => {
            let format = format.unwrap_or(Format::Feather);
            let options = WriteOptions { format, codec: Codec::default_of(format) };
            let mut writer = BatchWriter::create(file, batch.schema(), &options).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
    }
    std::fs::rename(temp, target).unwrap();
}

fn collect(base: &Path, folder: &Path, files: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("root/.flight") {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            collect(base, &path, files);
        } else {
            files.insert(path.strip_prefix(base).unwrap().to_str().unwrap().to_owned());
        }
    }
}
