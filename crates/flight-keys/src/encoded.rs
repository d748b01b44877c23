//! A ring as bytes, which are secret: they leave this crate sealed only.
//!
//! ```text
//! "FKR1"
//! u16 keys,      each: id 16 | algorithm 1 | created 8 | signs from 8 | not after 8 | u16 length | secret
//! u16 revoked,   each: id 16 | algorithm 1 | created 8 | signs from 8 | not after 8
//! u32 cancelled, each: id 16 | until 8
//! ```
//!
//! Numbers are little-endian, times milliseconds of Unix time.

use std::sync::Arc;

use zeroize::Zeroizing;

use crate::limits::{CANCELLED_MAX, KEYS_MAX, SECRET_BYTES_MAX};
use crate::ring::Revoked;
use crate::{Algorithm, Key, KeyId, KeyRing, Lifetime};

const MAGIC: &[u8; 4] = b"FKR1";
const KEY_HEAD_BYTES: usize = KeyId::BYTES + 1 + 3 * 8;

/// # Panics
///
/// For rings beyond the limits that [`KeyRing`] keeps.
pub(crate) fn encode(ring: &KeyRing) -> Zeroizing<Vec<u8>> {
    let secrets: usize = ring.keys.iter().map(|key| key.secret().len() + 2).sum();
    let heads = (ring.keys.len() + ring.revoked.len()) * KEY_HEAD_BYTES;
    let bytes = MAGIC.len() + 8 + secrets + heads + ring.cancelled.len() * 24;
    // At once as large as it gets: a vector that grows leaves secrets behind.
    let mut out = Zeroizing::new(Vec::with_capacity(bytes));
    let count = |count: usize| u16::try_from(count).expect("a ring has few keys").to_le_bytes();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&count(ring.keys.len()));
    for key in &ring.keys {
        head(&mut out, key.id(), key.algorithm(), key.lifetime());
        let length = u16::try_from(key.secret().len()).expect("secrets are short");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(key.secret());
    }
    out.extend_from_slice(&count(ring.revoked.len()));
    for revoked in &ring.revoked {
        head(&mut out, revoked.id, revoked.algorithm, revoked.lifetime);
    }
    let cancelled = u32::try_from(ring.cancelled.len()).expect("a ring remembers few");
    out.extend_from_slice(&cancelled.to_le_bytes());
    for (id, until_ms) in &ring.cancelled {
        out.extend_from_slice(id);
        out.extend_from_slice(&until_ms.to_le_bytes());
    }
    debug_assert_eq!(out.len(), bytes, "nothing was moved");
    out
}

fn head(out: &mut Vec<u8>, id: KeyId, algorithm: Algorithm, lifetime: Lifetime) {
    out.extend_from_slice(&id.to_bytes());
    out.push(algorithm.to_code());
    for ms in [lifetime.created_ms, lifetime.signs_from_ms, lifetime.not_after_ms] {
        out.extend_from_slice(&ms.to_le_bytes());
    }
}

/// `None` for what [`encode`] did not write.
pub(crate) fn decode(bytes: &[u8]) -> Option<KeyRing> {
    let mut rest = Rest(bytes);
    let mut ring = KeyRing::default();
    if rest.array()? != *MAGIC {
        return None;
    }
    for _ in 0..rest.count()? {
        let (id, algorithm, lifetime) = rest.head()?;
        let length = usize::from(u16::from_le_bytes(rest.array()?));
        if SECRET_BYTES_MAX < length {
            return None;
        }
        let secret = Zeroizing::new(rest.bytes(length)?.to_vec());
        ring.keys.push(Arc::new(Key::new(id, algorithm, lifetime, secret).ok()?));
    }
    for _ in 0..rest.count()? {
        let (id, algorithm, lifetime) = rest.head()?;
        ring.revoked.push(Revoked { id, algorithm, lifetime });
    }
    let cancelled = u32::from_le_bytes(rest.array()?) as usize;
    if CANCELLED_MAX < cancelled {
        return None;
    }
    for _ in 0..cancelled {
        ring.cancelled.insert(rest.array()?, u64::from_le_bytes(rest.array()?));
    }
    rest.0.is_empty().then_some(ring)
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn count(&mut self) -> Option<usize> {
        let count = usize::from(u16::from_le_bytes(self.array()?));
        (count <= KEYS_MAX).then_some(count)
    }

    fn head(&mut self) -> Option<(KeyId, Algorithm, Lifetime)> {
        let id = KeyId::from_bytes(self.array()?);
        let [code] = self.array()?;
        let lifetime = Lifetime {
            created_ms: u64::from_le_bytes(self.array()?),
            signs_from_ms: u64::from_le_bytes(self.array()?),
            not_after_ms: u64::from_le_bytes(self.array()?),
        };
        Some((id, Algorithm::from_code(code)?, lifetime))
    }
}
