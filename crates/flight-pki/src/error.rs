//! What can go wrong while certificates are issued, one sentence each.

use std::io;
use std::path::PathBuf;

use crate::key::KeyKind;
use crate::limits::{DAYS_MAX, HOSTS_MAX};

/// Why no certificate was issued.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// The caller asked for a lifetime that is out of bounds.
    #[error("{days} days of validity; give a number from 1 to {DAYS_MAX}")]
    Days { days: u32 },
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
    #[error("cannot make an Ed25519 key: {0}")]
    Key(#[from] aws_lc_rs::error::Unspecified),
}

fn listed(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
