//! Durable uploads: staged out of sight, renamed into place when they are whole and on disk.
//!
//! The order of steps is the promise: write, sync the file, write its entry durably, rename, sync
//! the folders, answer. A step that fails ends the upload for good; nothing is tried twice, since
//! a sync that failed once may report success the second time without having written anything.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::SystemTime;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use flight_files::{
    BatchWriter, Codec, DatasetFile, FileError, Format, Version, WriteOptions, Written,
};
use rustix::fs::AtFlags;

use crate::entries::{Entries, Entry};
use crate::error::StoreError;
use crate::faults::Step;
use crate::limits::UPLOAD_ID_BYTES_MAX;
use crate::name::{DatasetName, shown};
use crate::root::split;
use crate::staging::Staged;
use crate::store::{Settled, Shared, Writing};
use crate::target::{self, Target};

/// What an upload asks for.
#[derive(Clone, Debug)]
pub struct UploadRequest {
    pub name: DatasetName,
    pub mode: Mode,
    /// `None` takes that of the stored dataset or of the name, else Feather.
    pub format: Option<Format>,
    /// `None` takes the format's default.
    pub codec: Option<Codec>,
    /// Chosen by the client, so that a repeated upload is stored once.
    pub upload_id: Option<String>,
}

/// What may be under the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing may: of two uploads of one name, one wins.
    Create,
    /// Anything: it is replaced as a whole, or created.
    Replace,
}

/// An upload as `Store::begin` finds it.
pub enum Begun {
    Upload(Box<Upload>),
    /// The upload with this id is stored; there is nothing to write.
    AlreadyStored(Stored),
}

/// A dataset on stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
    pub version: Version,
}

/// An upload in progress. Dropping it leaves no trace.
pub struct Upload {
    shared: Arc<Shared>,
    request: UploadRequest,
    target: Target,
    staged: Staged,
    /// `None` once a write has failed.
    writer: Option<BatchWriter>,
}

enum Admitted {
    New(Target),
    Stored(Stored),
}

pub(crate) fn begin(
    shared: &Arc<Shared>,
    request: UploadRequest,
    schema: SchemaRef,
) -> Result<Begun, StoreError> {
    let name = &request.name;
    let writing = shared.writing(name)?;
    check_upload_id(&request)?;
    let target = match admit(shared, writing, &request)? {
        Admitted::New(target) => target,
        Admitted::Stored(stored) => return Ok(Begun::AlreadyStored(stored)),
    };
    let create = || {
        shared.root.faults.at(Step::CreateStaging)?;
        let staged = writing.staging.create()?;
        let file = staged.writer()?;
        Ok((staged, file))
    };
    let (staged, file) = create().map_err(StoreError::io(name, "making a file for the upload"))?;
    let codec = request.codec.unwrap_or_else(|| Codec::default_of(target.format));
    let options = WriteOptions { format: target.format, codec };
    let writer = BatchWriter::create(file, schema, &options)
        .map_err(StoreError::file(name, "writing its beginning"))?;
    let shared = Arc::clone(shared);
    let upload = Upload { shared, request, target, staged, writer: Some(writer) };
    Ok(Begun::Upload(Box::new(upload)))
}

impl Upload {
    /// Adds a batch, whose memory may be kept until [`flush`](Self::flush). After an error the
    /// upload can only be dropped.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.with_writer(|writer| writer.write(batch))
    }

    /// Lets go of the batches' memory. After an error the upload can only be dropped.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.with_writer(BatchWriter::flush)
    }

    fn with_writer(
        &mut self,
        work: impl FnOnce(&mut BatchWriter) -> Result<(), FileError>,
    ) -> Result<(), StoreError> {
        let Some(mut writer) = self.writer.take() else {
            return Err(self.failed_before());
        };
        work(&mut writer).map_err(StoreError::file(&self.request.name, "writing a batch"))?;
        self.writer = Some(writer);
        Ok(())
    }

    /// Makes the dataset visible and durable. When this returns `Ok`, it survives a power loss;
    /// when it returns an error, ask again with the same upload id to be sure.
    pub fn commit(mut self) -> Result<Stored, StoreError> {
        let Some(writer) = self.writer.take() else {
            return Err(self.failed_before());
        };
        let name = &self.request.name;
        let written = writer.finish().map_err(StoreError::file(name, "writing its end"))?;
        let stored = self.seal(&written)?;
        let shared = Arc::clone(&self.shared);
        let writing = shared.writing(name)?;
        let locked = writing.locks.lock(&self.target.bare);
        let _lock = locked.map_err(StoreError::io(name, "locking its name"))?;
        match admit(&shared, writing, &self.request)? {
            Admitted::Stored(stored) => Ok(stored),
            Admitted::New(target) if target.path == self.target.path => {
                // What is there may be another than when the upload began.
                self.target = target;
                self.publish(writing, stored)
            }
            Admitted::New(_) => {
                let reason = "another file took its name during the upload; upload again";
                Err(StoreError::conflict(name, reason.to_owned()))
            }
        }
    }

    /// Brings the file to stable storage and reads back what it is, before it gets its place.
    fn seal(&self, written: &Written) -> Result<Stored, StoreError> {
        let name = &self.request.name;
        let sync = || {
            // The kernel's own file times tick too slowly to tell two quick uploads apart.
            written.file.set_modified(SystemTime::now())?;
            self.shared.root.faults.at(Step::SyncFile)?;
            written.file.sync_all()?;
            self.staged.reader()
        };
        let file = sync().map_err(StoreError::io(name, "bringing it to stable storage"))?;
        let file = DatasetFile::open(file, self.target.format, &self.shared.limits)
            .map_err(StoreError::file(name, "reading it back"))?;
        if file.rows().is_some_and(|rows| rows != written.rows) {
            let what = format!("{} rows were written, another number reads back", written.rows);
            let damaged = FileError::Damaged { what, column: None };
            return Err(StoreError::file(name, "reading it back")(damaged));
        }
        Ok(Stored { rows: written.rows, bytes: file.bytes(), version: file.version() })
    }

    /// Moves the file into place. The name is locked.
    fn publish(self, writing: &Writing, stored: Stored) -> Result<Stored, StoreError> {
        let Self { shared, request, target, staged, .. } = self;
        let name = &request.name;
        let path = DatasetName::parse(&target.path)?;
        let (folder, file_name) = split(&target.path);
        let chain = shared.root.create_folders(folder);
        let chain = chain.map_err(StoreError::io(name, "making its folder"))?;
        let innermost = chain.last().expect("the chain starts with the root");

        let mut entry = effective_entry(&shared, writing, &request, &target)?
            .unwrap_or_else(|| Entry::new(&target.path));
        entry.push(request.upload_id.as_deref(), &stored);
        writing
            .entries
            .write(&writing.staging, &shared.root.faults, &entry)
            .map_err(StoreError::io(name, "recording the upload"))?;

        let rename = || {
            shared.root.faults.at(Step::Rename)?;
            match request.mode {
                Mode::Create => staged.place(innermost, file_name),
                Mode::Replace => staged.replace(innermost, file_name),
            }
        };
        rename().map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => already_exists(name),
            ErrorKind::CrossesDevices => target::other_file_system(name, folder),
            _ => StoreError::io(name, "moving it into place")(error),
        })?;
        if let Err(error) = shared.root.sync_folders(&chain) {
            // Whether the rename lasts is unknown. A repeated upload must write anew, and a
            // dataset that was never acknowledged must not be seen.
            writing.entries.remove(&Entries::key(&target.path));
            shared.catalogue.forget(&target.path);
            if request.mode == Mode::Create {
                let undone = rustix::fs::unlinkat(innermost, file_name, AtFlags::empty());
                if let Err(error) = undone {
                    tracing::warn!(dataset = %name, %error, "a failed upload stays visible");
                }
            }
            return Err(StoreError::io(name, "bringing its folder to stable storage")(error));
        }
        // Opened anew, since to who has it open a renamed file has changed.
        match shared.open_settled(name, &path) {
            Ok(Settled { stamp, opened: Ok(file), .. }) => {
                shared.catalogue.publish(&target.path, stamp, Arc::new(file));
            }
            // Another program got at it already; the next lookup or scan finds what there is.
            _ => shared.catalogue.forget(&target.path),
        }
        Ok(stored)
    }

    fn failed_before(&self) -> StoreError {
        let reason = "an earlier batch could not be stored; upload again".to_owned();
        StoreError::conflict(&self.request.name, reason)
    }
}

/// Whether the folder, as it is now, lets the upload in.
fn admit(
    shared: &Shared,
    writing: &Writing,
    request: &UploadRequest,
) -> Result<Admitted, StoreError> {
    let name = &request.name;
    let target = target::find(&shared.root, name, request.format, request.mode)?;
    if let Some(upload_id) = &request.upload_id {
        let entry = effective_entry(shared, writing, request, &target)?;
        if let Some(stored) = entry.and_then(|entry| entry.stored(upload_id)) {
            // The process that stored it may have died before it synced the folders.
            let chain = shared.root.create_folders(split(&target.path).0);
            chain
                .and_then(|chain| shared.root.sync_folders(&chain))
                .map_err(StoreError::io(name, "bringing its folder to stable storage"))?;
            return Ok(Admitted::Stored(stored));
        }
    }
    if request.mode == Mode::Create && target.exists {
        return Err(already_exists(name));
    }
    Ok(Admitted::New(target))
}

/// The entry of the target's file, as far as it fits the file that is there.
fn effective_entry(
    shared: &Shared,
    writing: &Writing,
    request: &UploadRequest,
    target: &Target,
) -> Result<Option<Entry>, StoreError> {
    if !target.exists {
        return Ok(None);
    }
    let Some(entry) = writing.entries.read(&target.path) else {
        return Ok(None);
    };
    let path = DatasetName::parse(&target.path)?;
    match shared.open_file(&request.name, &path) {
        Ok(file) => Ok(entry.effective_at(file.version())),
        Err(error) if error.is_passing() => Err(error),
        // A file that cannot be read is none that was uploaded.
        Err(_) => Ok(None),
    }
}

fn check_upload_id(request: &UploadRequest) -> Result<(), StoreError> {
    let Some(id) = &request.upload_id else {
        return Ok(());
    };
    let printable = id.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if id.is_empty() || id.len() > UPLOAD_ID_BYTES_MAX || !printable {
        let reason = format!(
            "upload_id of {} bytes; give 1 to {UPLOAD_ID_BYTES_MAX} printable ASCII characters",
            id.len()
        );
        return Err(StoreError::bad_upload(&request.name, reason));
    }
    Ok(())
}

fn already_exists(name: &DatasetName) -> StoreError {
    StoreError::AlreadyExists { name: shown(name.as_str()) }
}
