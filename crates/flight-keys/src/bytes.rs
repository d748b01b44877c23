//! Random bytes and fingerprints, so that who uses keys needs no cryptography of its own.

use aws_lc_rs::{digest, rand};

use crate::error::KeyError;

/// Random bytes that nobody can foretell.
///
/// # Errors
///
/// [`KeyError::Crypto`] without randomness.
pub fn random<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).map_err(|_| KeyError::Crypto { what: "draw random bytes" })?;
    Ok(bytes)
}

/// SHA-256.
pub fn fingerprint(bytes: &[u8]) -> [u8; 32] {
    let digest = digest::digest(&digest::SHA256, bytes);
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}
