//! Writes certificates and keys into a folder, all of them or none where that is possible.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::PkiError;

/// Rights of a private key: its owner alone.
pub(crate) const KEY_MODE: u32 = 0o600;
pub(crate) const CERT_MODE: u32 = 0o644;

/// A file that [`issue`](crate::issue) wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub file: PathBuf,
    /// For people: `server certificate, EC P-256, until 2027-11-30`.
    pub what: String,
}

/// A file that is made, not yet written.
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) what: String,
}

pub(crate) fn write_all(
    out: &Path,
    drafts: &[Draft],
    force: bool,
) -> Result<Vec<Written>, PkiError> {
    fs::create_dir_all(out)
        .map_err(|source| PkiError::Folder { folder: out.to_owned(), source })?;
    // All are on disk before the first gets its name: a full disk changes nothing.
    let mut staged = Vec::new();
    for draft in drafts {
        let file = out.join(&draft.name);
        match stage(out, draft) {
            Ok(temporary) => staged.push((temporary, file, &draft.what)),
            Err(source) => return Err(PkiError::Write { file, source }),
        }
    }
    let mut written = Vec::new();
    for (temporary, file, what) in staged {
        publish(temporary, &file, force)?;
        written.push(Written { file, what: what.clone() });
    }
    Ok(written)
}

/// Writes a draft under a temporary name, which is removed again unless it is published.
fn stage(out: &Path, draft: &Draft) -> io::Result<NamedTempFile> {
    let mut temporary = tempfile::Builder::new()
        .prefix(&format!(".{}.", draft.name))
        .permissions(Permissions::from_mode(draft.mode))
        .tempfile_in(out)?;
    temporary.write_all(&draft.bytes)?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

fn publish(temporary: NamedTempFile, file: &Path, force: bool) -> Result<(), PkiError> {
    let renamed = if force { temporary.persist(file) } else { temporary.persist_noclobber(file) };
    match renamed {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(PkiError::InTheWay { files: vec![file.to_owned()] })
        }
        Err(failed) => Err(PkiError::Write { file: file.to_owned(), source: failed.error }),
    }
}

pub(crate) fn refuse_existing(out: &Path, names: &[String]) -> Result<(), PkiError> {
    let files: Vec<_> =
        names.iter().map(|name| out.join(name)).filter(|file| exists(file)).collect();
    if files.is_empty() { Ok(()) } else { Err(PkiError::InTheWay { files }) }
}

/// True for a broken symbolic link too: a rename would replace it.
pub(crate) fn exists(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}
