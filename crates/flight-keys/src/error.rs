//! What can go wrong with keys that are kept.

use std::io;
use std::path::PathBuf;

use crate::KeyId;
use crate::limits::{CANCELLED_MAX, KEYS_MAX};

/// Why keys could not be made, read or written. The operator is at fault, or the disk; a peer can
/// cause `TooManyCancelled` alone.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("{}: {cause}", file.display())]
    Io { file: PathBuf, cause: io::Error },
    #[error("{} holds no root key: 64 hexadecimal digits, as `flight-server keys init` writes", file.display())]
    RootKey { file: PathBuf },
    #[error("{} is not a file of keys", file.display())]
    NotKeys { file: PathBuf },
    #[error("{} is cut short: {bytes} of {expected} bytes; put a copy in its place", file.display())]
    Torn { file: PathBuf, bytes: usize, expected: usize },
    #[error("{} was sealed under another root key; give the one that it was made with", file.display())]
    OtherRoot { file: PathBuf },
    #[error("{} was altered: its seal is broken", file.display())]
    Altered { file: PathBuf },
    /// Somebody put an old file back, with keys that were revoked since.
    #[error("{} is older than what was read from it before (change {found}, not {known})", file.display())]
    RolledBack { file: PathBuf, found: u64, known: u64 },
    #[error("the keys would take {bytes} bytes, more than the {max} that a file of keys may have")]
    TooLarge { bytes: usize, max: usize },
    #[error("there is no key {id}; `flight-server keys list` tells those there are")]
    NoKey { id: KeyId },
    #[error("there are {KEYS_MAX} keys, no more are kept; revoke some or let them expire")]
    TooManyKeys,
    #[error("{CANCELLED_MAX} cancelled tickets are remembered, no more; revoke the key instead")]
    TooManyCancelled,
    /// The cryptographic library said no; it does not say why.
    #[error("cannot {what}")]
    Crypto { what: &'static str },
}
