//! The root key: what all other keys are sealed under. A file of one's own, and no HSM.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use aws_lc_rs::{hmac, rand};
use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::file::create_secret;
use crate::id::from_hex;
use crate::limits::ROOT_FILE_BYTES_MAX;

/// 32 secret bytes. Without `Debug`; their memory is overwritten when they go.
pub struct RootKey(Zeroizing<[u8; 32]>);

impl RootKey {
    pub const BYTES: usize = 32;

    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or holds something else.
    pub fn read(file: &Path) -> Result<Self, KeyError> {
        let mut text = Zeroizing::new(Vec::with_capacity(ROOT_FILE_BYTES_MAX as usize + 1));
        let opened = File::open(file);
        opened
            .and_then(|opened| opened.take(ROOT_FILE_BYTES_MAX + 1).read_to_end(&mut text))
            .map_err(|cause| KeyError::Io { file: file.to_owned(), cause })?;
        let other = || KeyError::RootKey { file: file.to_owned() };
        let bytes = from_hex(text.trim_ascii_end()).ok_or_else(other)?;
        let mut key = Zeroizing::new([0; Self::BYTES]);
        if bytes.len() != key.len() {
            return Err(other());
        }
        key.copy_from_slice(&bytes);
        Ok(Self(key))
    }

    /// Writes a new random key to a file that must not exist, for its owner alone.
    ///
    /// # Errors
    ///
    /// When the file exists or cannot be written.
    pub fn create(file: &Path) -> Result<Self, KeyError> {
        let mut key = Zeroizing::new([0; Self::BYTES]);
        rand::fill(&mut *key).map_err(|_| KeyError::Crypto { what: "draw random bytes" })?;
        let mut text = Zeroizing::new(Vec::with_capacity(ROOT_FILE_BYTES_MAX as usize));
        for byte in key.iter() {
            text.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[digit as usize]));
        }
        text.push(b'\n');
        create_secret(file, &text)
            .map_err(|cause| KeyError::Io { file: file.to_owned(), cause })?;
        Ok(Self(key))
    }

    /// A sentence about a file that others than its owner may read.
    pub fn warning(file: &Path) -> Option<String> {
        let mode = file.metadata().ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| {
            format!(
                "the root key in {0} can be read by others than its owner (mode {mode:o}); \
                 run: chmod 600 {0}",
                file.display()
            )
        })
    }

    pub(crate) fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Tells root keys apart and nothing else about them.
    pub(crate) fn mark(&self) -> [u8; 8] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &*self.0);
        let mac = hmac::sign(&key, b"flight root key mark v1");
        mac.as_ref().first_chunk().copied().expect("a MAC has 32 bytes")
    }
}
