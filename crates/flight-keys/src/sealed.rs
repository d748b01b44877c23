//! Bytes sealed under a root key: AES-256-GCM, with the number of the change in what is bound.
//!
//! ```text
//! offset  bytes  little-endian
//!      0      4  "FKS1"
//!      4      8  mark of the root key
//!     12      8  number of the change, 1 for the first
//!     20      4  bytes that follow the nonce
//!     24     12  nonce, random
//!     36      …  ciphertext and its tag of 16
//! ```
//!
//! All before the nonce is bound to the ciphertext (AAD). A file that is restored whole from an older
//! copy opens; who has seen a later change refuses it by its number.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::rand;
use zeroize::Zeroizing;

use crate::RootKey;

const MAGIC: &[u8; 4] = b"FKS1";
const BOUND_BYTES: usize = 24;
const NONCE_BYTES: usize = 12;
const HEAD_BYTES: usize = BOUND_BYTES + NONCE_BYTES;
const TAG_BYTES: usize = 16;

/// Why bytes do not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealError {
    NotSealed,
    Torn { expected: usize },
    OtherRoot,
    Altered,
}

/// `None` where the library fails, for want of randomness.
pub(crate) fn seal(root: &RootKey, change: u64, plain: &[u8]) -> Option<Vec<u8>> {
    let mut nonce = [0; NONCE_BYTES];
    rand::fill(&mut nonce).ok()?;
    let mut out = Vec::with_capacity(HEAD_BYTES + plain.len() + TAG_BYTES);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&root.mark());
    out.extend_from_slice(&change.to_le_bytes());
    let sealed_bytes = u32::try_from(plain.len() + TAG_BYTES).ok()?;
    out.extend_from_slice(&sealed_bytes.to_le_bytes());
    let bound = Aad::from(<[u8; BOUND_BYTES]>::try_from(&out[..]).ok()?);
    out.extend_from_slice(&nonce);
    out.extend_from_slice(plain);
    let nonce = Nonce::assume_unique_for_key(nonce);
    let tag = key(root).seal_in_place_separate_tag(nonce, bound, &mut out[HEAD_BYTES..]).ok()?;
    out.extend_from_slice(tag.as_ref());
    Some(out)
}

/// The number of the change and what was sealed.
pub(crate) fn open(root: &RootKey, bytes: &[u8]) -> Result<(u64, Zeroizing<Vec<u8>>), SealError> {
    let torn = SealError::Torn { expected: HEAD_BYTES + TAG_BYTES };
    if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
        return Err(SealError::NotSealed);
    }
    let (bound, rest) = bytes.split_first_chunk::<BOUND_BYTES>().ok_or(torn)?;
    let (nonce, sealed) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(torn)?;
    let [_, _, _, _, mark @ .., c0, c1, c2, c3, c4, c5, c6, c7, l0, l1, l2, l3] = *bound;
    let expected = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if sealed.len() < expected {
        return Err(SealError::Torn { expected: HEAD_BYTES + expected });
    }
    if mark != root.mark() {
        return Err(SealError::OtherRoot);
    }
    let mut plain = Zeroizing::new(sealed.to_vec());
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let opened = key(root).open_in_place(nonce, Aad::from(*bound), &mut plain);
    let opened_bytes = opened.map_err(|_| SealError::Altered)?.len();
    plain.truncate(opened_bytes);
    Ok((u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]), plain))
}

fn key(root: &RootKey) -> LessSafeKey {
    let key = UnboundKey::new(&AES_256_GCM, root.bytes());
    LessSafeKey::new(key.expect("a root key has as many bytes as AES-256 wants"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(byte: u8) -> RootKey {
        RootKey::from_bytes([byte; RootKey::BYTES])
    }

    #[test]
    fn what_is_sealed_opens_with_its_root_key_alone() {
        let sealed = seal(&root(1), 7, b"secret of secrets").unwrap();
        let (change, plain) = open(&root(1), &sealed).unwrap();
        assert_eq!((change, plain.as_slice()), (7, &b"secret of secrets"[..]));
        assert_eq!(open(&root(2), &sealed).unwrap_err(), SealError::OtherRoot);
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
    }

    #[test]
    fn every_bit_is_sealed() {
        let sealed = seal(&root(1), 7, b"secret").unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&root(1), &flipped).is_err(), "bit {bit}");
        }
        assert_eq!(open(&root(1), &[&sealed[..], &[0]].concat()).unwrap_err(), SealError::Altered);
    }

    #[test]
    fn what_is_cut_is_told_from_what_is_altered() {
        let sealed = seal(&root(1), 7, b"secret").unwrap();
        for end in 0..sealed.len() {
            let error = open(&root(1), &sealed[..end]).unwrap_err();
            assert!(matches!(error, SealError::Torn { .. }), "{end}: {error:?}");
        }
        assert_eq!(open(&root(1), b"FTX").unwrap_err(), SealError::NotSealed);
    }
}
