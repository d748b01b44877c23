//! What can go wrong in the store, in one sentence each.
//!
//! No text holds a path outside the root. Which gRPC code a variant becomes is the server's. A cause
//! is part of the text and no `source()`, so that whoever prints the chain prints it once.

use std::io;

use flight_files::FileError;

use crate::name::{DatasetName, shown};

/// An error of the store. Names are quoted as they were given.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The client's: nothing has this name, or what has it is no regular file.
    #[error("there is no dataset \"{name}\"; the list of datasets shows what there is")]
    NotFound { name: String },
    /// The client's: it asked for a new dataset.
    #[error("dataset \"{name}\" exists already; upload with mode replace, or use another name")]
    AlreadyExists { name: String },
    /// The client's: several files differ by their extension alone.
    #[error("dataset name \"{name}\" stands for several files; ask for one of {}", candidates.join(", "))]
    Ambiguous { name: String, candidates: Vec<String> },
    /// The client's.
    #[error("dataset name \"{name}\" {reason}")]
    BadName { name: String, reason: String },
    /// The client's: the upload asks for something that does not fit together.
    #[error("upload of dataset \"{name}\": {reason}")]
    BadUpload { name: String, reason: String },
    /// The client's, or that of another client at the same moment: the folder is in a state in
    /// which the request makes no sense.
    #[error("dataset \"{name}\": {reason}")]
    Conflict { name: String, reason: String },
    /// The file's, or the uploaded batches': what they hold, and why it cannot be used.
    #[error("dataset \"{name}\": {cause}")]
    File { name: String, cause: FileError },
    /// The operator's: the disk, the quota or the file size limit is used up.
    #[error("no room to store dataset \"{name}\": {cause}; free some space and upload again")]
    Full { name: String, cause: io::Error },
    /// The operator's decision.
    #[error("dataset \"{name}\" cannot be changed; the data folder is served read-only")]
    ReadOnly { name: String },
    /// The machine's: a call on one dataset failed.
    #[error("dataset \"{name}\": {action}: {cause}")]
    Io { name: String, action: &'static str, cause: io::Error },
    /// The machine's or the operator's: the data folder as a whole.
    #[error("data folder: {action}: {cause}")]
    Folder { action: &'static str, cause: io::Error },
}

impl StoreError {
    pub(crate) fn not_found(name: &DatasetName) -> Self {
        Self::NotFound { name: shown(name.as_str()) }
    }

    pub(crate) fn conflict(name: &DatasetName, reason: String) -> Self {
        Self::Conflict { name: shown(name.as_str()), reason }
    }

    pub(crate) fn bad_upload(name: &DatasetName, reason: String) -> Self {
        Self::BadUpload { name: shown(name.as_str()), reason }
    }

    /// For `map_err`: a failed call on a dataset, sorted by whose fault it is.
    pub(crate) fn io(name: &DatasetName, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let name = shown(name.as_str());
        move |cause| match cause.kind() {
            // A file over the process' or the file system's size limit is as far as it gets, too.
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { name, cause },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { name },
            _ => Self::Io { name, action, cause },
        }
    }

    /// For `map_err`: a file that cannot be read, or batches that cannot be written.
    pub(crate) fn file(name: &DatasetName, action: &'static str) -> impl FnOnce(FileError) -> Self {
        move |cause| match cause {
            FileError::Io(cause) => Self::io(name, action)(cause),
            cause => Self::File { name: shown(name.as_str()), cause },
        }
    }

    pub(crate) fn folder(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Folder { action, cause }
    }

    /// Whether the next try may end otherwise although the file is the same.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Full { .. } | Self::Folder { .. })
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn check(error: &StoreError, want: &str) {
        assert_eq!(error.to_string(), want);
        assert!(error.source().is_none(), "a chain would tell the cause again: {error:?}");
    }

    #[test]
    fn a_cause_is_told_once() {
        let name = DatasetName::parse("a").unwrap();
        let cause = |kind| io::Error::new(kind, "why");
        let failed = StoreError::io(&name, "opening its file");
        check(&failed(cause(io::ErrorKind::Other)), "dataset \"a\": opening its file: why");
        let full = StoreError::io(&name, "writing")(cause(io::ErrorKind::StorageFull));
        check(&full, "no room to store dataset \"a\": why; free some space and upload again");
        let folder = StoreError::folder("opening it")(cause(io::ErrorKind::NotFound));
        check(&folder, "data folder: opening it: why");
        let file = StoreError::file(&name, "reading its file");
        let damaged = FileError::Damaged { what: "why".to_owned(), column: None };
        check(&file(damaged), "dataset \"a\": the file is damaged: why");
    }
}
