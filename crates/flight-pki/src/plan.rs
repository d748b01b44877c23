//! Writes a set of certificates and keys into a folder, all of it or nothing where that is possible.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::NamedTempFile;

use crate::authority::{Authority, Issued, self_signed};
use crate::error::PkiError;
use crate::host::Host;
use crate::key::KeyKind;
use crate::limits::{DAYS_DEFAULT, HOSTS_MAX};
use crate::validity::Validity;

/// Rights of a private key: its owner alone.
const KEY_MODE: u32 = 0o600;
const CERT_MODE: u32 = 0o644;

/// What to issue, and where to.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Folder for the files; made when it is missing.
    pub out: PathBuf,
    /// A server certificate for each: `server-ec.pem` and `server-ec.key`, and so on.
    pub keys: Vec<KeyKind>,
    /// Names and addresses besides [`Host::loopback`].
    pub hosts: Vec<Host>,
    /// Lifetime in days, 1 to [`DAYS_MAX`](crate::limits::DAYS_MAX).
    pub days: u32,
    /// Servers that are their own root: no authority, no client.
    pub self_signed: bool,
    /// Replace files that exist.
    pub force: bool,
}

impl Plan {
    /// EC P-256 and RSA-4096 servers, a client and their authority in `out`, for
    /// [`DAYS_DEFAULT`] days; nothing is overwritten.
    pub fn new(out: impl Into<PathBuf>) -> Self {
        Self {
            out: out.into(),
            keys: vec![KeyKind::P256, KeyKind::Rsa4096],
            hosts: Vec::new(),
            days: DAYS_DEFAULT,
            self_signed: false,
            force: false,
        }
    }
}

/// A file that [`issue`] wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub file: PathBuf,
    /// For people: `server certificate, EC P-256, until 2027-11-30`.
    pub what: String,
}

/// Issues what `plan` says at the time `now`, and tells what was written, in the order of use:
/// authority, servers, client.
///
/// A private key is never readable by others, not even for a moment, and each file appears whole:
/// it is written under a temporary name that only its owner may read, then renamed.
///
/// # Errors
/// When the plan is out of bounds, when files are in the way (none is touched then, and all are
/// named), or when the folder cannot be written.
pub fn issue(plan: &Plan, now: SystemTime) -> Result<Vec<Written>, PkiError> {
    let validity = Validity::starting(now, plan.days)?;
    let kinds = distinct(&plan.keys);
    if kinds.is_empty() {
        return Err(PkiError::NoKeyKind);
    }
    let hosts = distinct(&[Host::loopback(), plan.hosts.clone()].concat());
    if HOSTS_MAX < hosts.len() {
        return Err(PkiError::HostCount { count: hosts.len() });
    }
    let names = file_names(plan);
    if !plan.force {
        refuse_existing(&plan.out, &names)?;
    }
    let drafts = draft(plan.self_signed, &kinds, &hosts, validity)?;
    write_all(&plan.out, &drafts, plan.force)
}

/// Files in the plan's folder that bear a name of ours and that the plan does not write: once it
/// was carried out, they belong to another authority.
pub fn leftovers(plan: &Plan) -> Vec<PathBuf> {
    let ours = file_names(plan);
    let every =
        Plan { keys: KeyKind::ALL.to_vec(), self_signed: false, ..Plan::new(plan.out.clone()) };
    let others = file_names(&every).into_iter().filter(|name| !ours.contains(name));
    others.map(|name| plan.out.join(name)).filter(|file| exists(file)).collect()
}

/// A file that is made, not yet written.
struct Draft {
    name: String,
    pem: String,
    mode: u32,
    what: String,
}

fn draft(
    alone: bool,
    kinds: &[KeyKind],
    hosts: &[Host],
    validity: Validity,
) -> Result<Vec<Draft>, PkiError> {
    if alone {
        let mut drafts = Vec::new();
        for &kind in kinds {
            let what = format!("self-signed server certificate, {kind}, until {validity}");
            drafts.extend(pair(&server_stem(kind), self_signed(hosts, kind, validity)?, what));
        }
        return Ok(drafts);
    }
    let authority = Authority::new(validity)?;
    let root = Issued { cert_pem: authority.cert_pem(), key_pem: authority.key_pem() };
    let what = format!("certificate authority, {}, until {validity}", KeyKind::P256);
    let mut drafts = Vec::from(pair("ca", root, what));
    for &kind in kinds {
        let what = format!("server certificate, {kind}, until {validity}");
        drafts.extend(pair(&server_stem(kind), authority.server(hosts, kind)?, what));
    }
    let client = authority.client(&"flight-client".parse()?, KeyKind::P256)?;
    let what = format!("client certificate, {}, until {validity}", KeyKind::P256);
    drafts.extend(pair("client", client, what));
    Ok(drafts)
}

fn pair(stem: &str, issued: Issued, what: String) -> [Draft; 2] {
    let cert = Draft { name: format!("{stem}.pem"), pem: issued.cert_pem, mode: CERT_MODE, what };
    let what = format!("private key of {}", cert.name);
    [cert, Draft { name: format!("{stem}.key"), pem: issued.key_pem, mode: KEY_MODE, what }]
}

fn write_all(out: &Path, drafts: &[Draft], force: bool) -> Result<Vec<Written>, PkiError> {
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
    temporary.write_all(draft.pem.as_bytes())?;
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

fn refuse_existing(out: &Path, names: &[String]) -> Result<(), PkiError> {
    let files: Vec<_> =
        names.iter().map(|name| out.join(name)).filter(|file| exists(file)).collect();
    if files.is_empty() { Ok(()) } else { Err(PkiError::InTheWay { files }) }
}

/// True for a broken symbolic link too: a rename would replace it.
fn exists(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

fn file_names(plan: &Plan) -> Vec<String> {
    let mut stems: Vec<_> = distinct(&plan.keys).into_iter().map(server_stem).collect();
    if !plan.self_signed {
        stems.insert(0, "ca".to_owned());
        stems.push("client".to_owned());
    }
    stems.iter().flat_map(|stem| [format!("{stem}.pem"), format!("{stem}.key")]).collect()
}

fn server_stem(kind: KeyKind) -> String {
    format!("server-{}", kind.name())
}

fn distinct<T: Clone + PartialEq>(items: &[T]) -> Vec<T> {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if !kept.contains(item) {
            kept.push(item.clone());
        }
    }
    kept
}
