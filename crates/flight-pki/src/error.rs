//! What can go wrong while certificates are issued, one sentence each.

use std::io;
use std::path::PathBuf;

use crate::form::KeyForm;
use crate::key::KeyKind;
use crate::limits::{CLIENTS_MAX, DAYS_MAX, HOSTS_MAX};

/// Why no certificate was issued.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// The caller asked for a lifetime that is out of bounds.
    #[error("{days} days of validity; give a number from 1 to {DAYS_MAX}")]
    Days { days: u32 },
    #[error(
        "'{text}' is not how long a certificate is valid; give 1s to {DAYS_MAX}d, as in 90s, 30m, 12h or 30d"
    )]
    Life { text: String },
    /// The machine's clock is so far off that no date can be computed from it.
    #[error("the system clock is outside the dates that a certificate can carry; set it right")]
    Clock,
    /// The caller gave something that a certificate cannot vouch for.
    #[error("'{host}' {reason}; give a DNS name (db.example.com) or an IP address (10.0.0.7)")]
    Host { host: String, reason: &'static str },
    #[error("{count} host names in one certificate; at most {HOSTS_MAX} are allowed")]
    HostCount { count: usize },
    #[error("unknown key kind '{name}'; the known ones are {}", KeyKind::names())]
    KeyKind { name: String },
    #[error("unknown key format '{name}'; the known ones are {}", KeyForm::ALL.map(KeyForm::name).join(", "))]
    KeyForm { name: String },
    #[error(
        "an {kind} key has no {form} form; choose {} with --key-format, or other kinds with --key",
        forms(*kind)
    )]
    NoSuchForm { kind: KeyKind, form: KeyForm },
    #[error("only PKCS#8 keys are encrypted; leave out --key-format {}", form.name())]
    FormWithPassword { form: KeyForm },
    #[error("client name '{name}' {reason}")]
    ClientName { name: String, reason: &'static str },
    #[error("clients '{first}' and '{second}' would have the same file; make them in two folders")]
    SameClientFile { first: String, second: String },
    #[error("{count} clients in one run; at most {CLIENTS_MAX} are allowed")]
    ClientCount { count: usize },
    #[error("the certificate in {} is no authority's (CA:TRUE is missing), so it cannot sign", file.display())]
    NoAuthority { file: PathBuf },
    #[error("the authority in {} expired on {date}; make a new one without --ca", file.display())]
    AuthorityExpired { file: PathBuf, date: String },
    #[error("the key does not belong to the authority in {}; give the matching pair", file.display())]
    AuthorityKey { file: PathBuf },
    #[error("the authority in {} cannot be used: {reason}", file.display())]
    AuthorityUnusable { file: PathBuf, reason: String },
    #[error("no key kind is given; name at least one of {}", KeyKind::names())]
    NoKeyKind,
    /// Nothing was changed.
    #[error(
        "{} would be overwritten; use --force to replace, or another --out folder",
        listed(files)
    )]
    InTheWay { files: Vec<PathBuf> },
    #[error("cannot create folder {}: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", file.display())]
    Write { file: PathBuf, source: io::Error },
    /// The cryptographic library failed; not the caller's fault.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The cryptographic library failed; not the caller's fault.
    #[error("cannot make a key: {0}")]
    Key(#[from] aws_lc_rs::error::Unspecified),
    /// As [`PkiError::Key`].
    #[error("cannot write a key: {0}")]
    Written(#[from] pkcs8::Error),
}

impl From<pkcs8::der::Error> for PkiError {
    fn from(error: pkcs8::der::Error) -> Self {
        Self::Written(error.into())
    }
}

/// The forms that a kind of key has, by their names.
fn forms(kind: KeyKind) -> String {
    let has = KeyForm::ALL.into_iter().filter(|form| form.suits(kind));
    has.map(KeyForm::name).collect::<Vec<_>>().join(" or ")
}

fn listed(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
