//! The store: one root folder, what is known of it, and where uploads are staged.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow_schema::SchemaRef;
use flight_files::{DatasetFile, FileError, ReadLimits};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::catalogue::{Catalogue, Dataset, DatasetInfo, Facts, FileState};
use crate::delete;
use crate::entries::Entries;
use crate::error::StoreError;
use crate::extension;
use crate::limits::{MAPPED_BYTES_MIN, RACE_TRIES};
use crate::locks::Locks;
use crate::name::{DatasetName, RESERVED};
use crate::root::{Found, Root, Stamp};
use crate::scan::{self, ScanReport, Told};
use crate::staging::Staging;
use crate::target;
use crate::upload::{self, Begun, UploadRequest};

/// How a folder is opened.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    /// Nothing in the folder is touched, `.flight` included.
    pub read_only: bool,
    /// All Arrow IPC files are mapped into memory and not read, as those are that this server wrote:
    /// a promise that files are only ever replaced by rename.
    pub map_files: bool,
    /// Bounds on what files may claim.
    pub limits: ReadLimits,
}

/// A folder of datasets. Share it among threads by reference; several processes may have one
/// folder open at the same time.
pub struct Store {
    shared: Arc<Shared>,
}

/// What uploads in progress keep alive.
pub(crate) struct Shared {
    pub(crate) root: Root,
    pub(crate) catalogue: Catalogue,
    pub(crate) limits: ReadLimits,
    map_files: bool,
    /// `None` in a store that is read-only.
    pub(crate) writing: Option<Writing>,
    pub(crate) told: Mutex<Told>,
}

/// A file as it was opened, and the epoch of the catalogue before that.
pub(crate) struct Settled {
    pub(crate) epoch: u64,
    pub(crate) stamp: Stamp,
    pub(crate) opened: Result<DatasetFile, FileError>,
}

/// The folders within `.flight`.
pub(crate) struct Writing {
    pub(crate) staging: Staging,
    pub(crate) entries: Entries,
    pub(crate) locks: Locks,
}

impl Store {
    /// Opens the folder at `root`. Unless it is read-only, makes `.flight` in it and removes what
    /// dead processes left there. Nothing is known of the datasets until `rescan` or a lookup.
    pub fn open(root: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let root = Root::open(root).map_err(StoreError::folder("opening it"))?;
        let writing = if options.read_only {
            None
        } else {
            Some(Writing::open(&root).map_err(StoreError::folder("making .flight in it"))?)
        };
        let shared = Shared {
            root,
            catalogue: Catalogue::default(),
            limits: options.limits,
            map_files: options.map_files,
            writing,
            told: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Looks at every file below the root and opens those that are new or changed.
    pub fn rescan(&self) -> ScanReport {
        scan::scan(&self.shared)
    }

    /// The readable datasets whose name starts with `prefix`, by name. What uploads and deletes of
    /// this store did is seen at once, everything else from the last `rescan` on.
    pub fn list(&self, prefix: &str) -> Vec<DatasetInfo> {
        self.shared.catalogue.list(prefix)
    }

    /// Opens a dataset as its file is now, whatever the last `rescan` saw.
    pub fn lookup(&self, name: &DatasetName) -> Result<Dataset, StoreError> {
        let path = self.shared.resolve(name)?;
        let file = self.shared.open_file(name, &path)?;
        Ok(Dataset::new(name.clone(), path, file))
    }

    /// Begins an upload, or finds that it is stored already. Everything that can be refused before
    /// the first batch is refused here.
    pub fn begin(&self, request: UploadRequest, schema: SchemaRef) -> Result<Begun, StoreError> {
        upload::begin(&self.shared, request, schema)
    }

    /// Deletes a dataset durably. Who reads it at the moment reads on.
    pub fn delete(&self, name: &DatasetName) -> Result<(), StoreError> {
        delete::delete(&self.shared, name)
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl Shared {
    pub(crate) fn writing(&self, name: &DatasetName) -> Result<&Writing, StoreError> {
        let read_only = || StoreError::ReadOnly { name: crate::name::shown(name.as_str()) };
        self.writing.as_ref().ok_or_else(read_only)
    }

    /// The path of the file that a name means: the file of exactly that name, else the only one
    /// that has it without extension.
    pub(crate) fn resolve(&self, name: &DatasetName) -> Result<DatasetName, StoreError> {
        let epoch = self.catalogue.epoch();
        if extension::split(name.as_str()).is_some() {
            let found = self.root.look(name.as_str());
            match found.map_err(StoreError::io(name, "looking for its file"))? {
                Found::File(_) => return Ok(name.clone()),
                _ => self.catalogue.forget_since(epoch, name.as_str()),
            };
        }
        match &target::existing(&self.root, name, name.as_str())?[..] {
            [] => {
                for gone in extension::candidates(name.as_str()) {
                    self.catalogue.forget_since(epoch, &gone);
                }
                Err(StoreError::not_found(name))
            }
            [only] => DatasetName::parse(only),
            several => Err(target::ambiguous(name, several)),
        }
    }

    /// The file at `path`, from those that are open or newly opened.
    pub(crate) fn open_file(
        &self,
        name: &DatasetName,
        path: &DatasetName,
    ) -> Result<Arc<DatasetFile>, StoreError> {
        let found = self.root.look(path.as_str());
        let Found::File(stamp) = found.map_err(StoreError::io(name, "looking for its file"))?
        else {
            return Err(StoreError::not_found(name));
        };
        if let Some(file) = self.catalogue.opened(path.as_str(), stamp) {
            return Ok(file);
        }
        let (stamp, file) = self.load(name, path)?;
        self.catalogue.keep_open(path.as_str(), stamp, Arc::clone(&file));
        Ok(file)
    }

    /// Opens the file at `path` and notes in the catalogue what it is.
    pub(crate) fn load(
        &self,
        name: &DatasetName,
        path: &DatasetName,
    ) -> Result<(Stamp, Arc<DatasetFile>), StoreError> {
        let Settled { epoch, stamp, opened } = self.open_settled(name, path)?;
        let opened = opened.map_err(StoreError::file(name, "reading its file"));
        let state = match &opened {
            Ok(file) => FileState::Readable(Facts::of(file)),
            Err(error) => {
                FileState::Broken { sentence: error.to_string(), passing: error.is_passing() }
            }
        };
        self.catalogue.note(epoch, path.as_str(), stamp, state);
        opened.map(|file| (stamp, Arc::new(file)))
    }

    /// Opens the file at `path` in a state that it had before and after.
    pub(crate) fn open_settled(
        &self,
        name: &DatasetName,
        path: &DatasetName,
    ) -> Result<Settled, StoreError> {
        let format = extension::split(path.as_str())
            .and_then(|(_, extension)| extension::format_of(extension))
            .ok_or_else(|| StoreError::not_found(name))?;
        for _ in 0..RACE_TRIES {
            let epoch = self.catalogue.epoch();
            let opened = self.root.open_file(path.as_str());
            let Some((file, stamp)) = opened.map_err(StoreError::io(name, "opening its file"))?
            else {
                return Err(StoreError::not_found(name));
            };
            let opened = DatasetFile::open(file, format, &self.limits);
            if let Ok(file) = &opened
                && (self.map_files || file.is_own() && file.bytes() >= MAPPED_BYTES_MIN)
                && let Err(error) = file.map()
            {
                tracing::debug!(dataset = %path, %error, "not mapped; it is read instead");
            }
            let found = self.root.look(path.as_str());
            match found.map_err(StoreError::io(name, "looking for its file"))? {
                Found::File(now) if now == stamp => return Ok(Settled { epoch, stamp, opened }),
                // What was read may be of two states of the file.
                _ => {}
            }
        }
        let reason = "its file is being rewritten; ask again when that is done".to_owned();
        Err(StoreError::conflict(name, reason))
    }
}

impl Writing {
    fn open(root: &Root) -> io::Result<Self> {
        let parent = root.folder("")?;
        let folder = private_folder(&parent, RESERVED)?;
        let writing = Self {
            staging: Staging::new(private_folder(&folder, "staging")?),
            entries: Entries::new(private_folder(&folder, "entries")?),
            locks: Locks::new(private_folder(&folder, "locks")?),
        };
        rustix::fs::fsync(&folder)?;
        rustix::fs::fsync(&parent)?;
        let removed = writing.staging.remove_abandoned()?;
        if removed > 0 {
            tracing::info!(removed, "unfinished uploads of an earlier process removed");
        }
        Ok(writing)
    }
}

/// Opens a folder that only the process' user may enter, made if it is missing.
fn private_folder(parent: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    // A folder that was there may be open to others, or a umask may have closed it to us.
    rustix::fs::fchmod(&folder, Mode::RWXU)?;
    Ok(folder)
}
