//! A ticket as bytes: a fixed head, a bounded tail, and the MAC or signature of both.
//!
//! ```text
//! offset  bytes  little-endian
//!      0      4  "FST1"
//!      4     16  id of the key; what it signs with is the key's affair
//!     20      8  audience
//!     28      8  issued, milliseconds of Unix time
//!     36      8  not before
//!     44      8  expires
//!     52      1  rights: bit 0 read, 1 write, 2 delete
//!     53      1  flags: bit 0 once, bit 1 the range counts row groups
//!     54      2  length of the dataset's name
//!     56     16  version of the dataset, or zero
//!     72      8  first row or row group
//!     80      8  number of them
//!     88      8  bytes at most, 0 = any number
//!     96     32  SHA-256 of the bearer's certificate, or zero
//!    128     16  nonce
//!    144      2  length of the tail
//!    146      1  length of the subject
//!    147      1  zero
//!    148      …  name, subject, tail
//!    end      …  MAC (32 bytes) or signature (64; RSA 256) of the label and all before it
//! ```

use flight_keys::{Key, KeyError, KeyId};

use crate::claims::{Claims, Rights, Rows};
use crate::limits::{DATASET_BYTES_MAX, SUBJECT_BYTES_MAX, TAIL_BYTES_MAX};

/// Signed before the ticket, so that nothing else that a key signs is ever taken for one.
pub(crate) const LABEL: &[u8] = b"flight ticket v1\0";
pub(crate) const MAGIC: &[u8; 4] = b"FST1";
pub(crate) const HEAD_BYTES: usize = 148;
const KEY_AT: usize = 4;

const ONCE: u8 = 1;
const GROUPS: u8 = 2;

/// Signs `claims` with `key`.
///
/// # Errors
///
/// [`KeyError`] where the signature fails.
///
/// # Panics
///
/// When name, subject or tail are beyond their limits; who issues checks them long before.
pub fn issue(claims: &Claims, key: &Key) -> Result<Vec<u8>, KeyError> {
    let mut ticket = body(claims, key.id());
    let signature = key.sign(LABEL, &ticket)?;
    ticket.extend_from_slice(&signature);
    Ok(ticket)
}

fn body(claims: &Claims, key: KeyId) -> Vec<u8> {
    let Claims { dataset, subject, tail, .. } = claims;
    assert!(dataset.len() <= DATASET_BYTES_MAX, "names are checked where they come in");
    assert!(subject.len() <= SUBJECT_BYTES_MAX, "subjects are cut to their limit");
    assert!(tail.len() <= TAIL_BYTES_MAX, "who issues bounds the tail");
    let mut out = Vec::with_capacity(HEAD_BYTES + dataset.len() + subject.len() + tail.len() + 64);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&key.to_bytes());
    out.extend_from_slice(&claims.audience);
    for ms in [claims.issued_ms, claims.not_before_ms, claims.expires_ms] {
        out.extend_from_slice(&ms.to_le_bytes());
    }
    let (groups, first, count) = match claims.rows {
        Rows::Rows { first, count } => (0, first, count),
        Rows::Groups { first, count } => (GROUPS, first, count),
    };
    let once = if claims.once { ONCE } else { 0 };
    out.extend_from_slice(&[claims.rights.to_bits(), once | groups]);
    out.extend_from_slice(&(dataset.len() as u16).to_le_bytes());
    out.extend_from_slice(&claims.version);
    for number in [first, count, claims.bytes_max.unwrap_or(0)] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&claims.certificate.unwrap_or_default());
    out.extend_from_slice(&claims.nonce);
    out.extend_from_slice(&(tail.len() as u16).to_le_bytes());
    out.extend_from_slice(&[subject.len() as u8, 0]);
    debug_assert_eq!(out.len(), HEAD_BYTES, "the head is as long as it is written down");
    out.extend_from_slice(dataset.as_bytes());
    out.extend_from_slice(subject.as_bytes());
    out.extend_from_slice(tail);
    out
}

/// The id of the key, at its fixed place; `None` for what cannot be a ticket.
pub(crate) fn key_id(ticket: &[u8]) -> Option<KeyId> {
    if ticket.len() < HEAD_BYTES || !ticket.starts_with(MAGIC) {
        return None;
    }
    ticket[KEY_AT..].first_chunk().copied().map(KeyId::from_bytes)
}

/// What a body says whose signature was checked; `None` where a key signed what [`body`] does not
/// write.
pub(crate) fn parse(body: &[u8]) -> Option<Claims> {
    let mut rest = Rest(body.get(KEY_AT + KeyId::BYTES..)?);
    let audience = rest.array()?;
    let [issued_ms, not_before_ms, expires_ms] = [rest.number()?, rest.number()?, rest.number()?];
    let [rights, flags] = rest.array()?;
    let dataset_bytes = u16::from_le_bytes(rest.array()?);
    let version = rest.array()?;
    let [first, count, bytes_max] = [rest.number()?, rest.number()?, rest.number()?];
    let certificate: [u8; 32] = rest.array()?;
    let nonce = rest.array()?;
    let tail_bytes = u16::from_le_bytes(rest.array()?);
    let [subject_bytes, zero] = rest.array()?;
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let dataset = text(rest.bytes(dataset_bytes.into())?)?;
    let subject = text(rest.bytes(subject_bytes.into())?)?;
    let tail = rest.bytes(tail_bytes.into())?.to_vec();
    let whole = rest.0.is_empty() && zero == 0 && flags & !(ONCE | GROUPS) == 0;
    whole.then_some(())?;
    Some(Claims {
        audience,
        issued_ms,
        not_before_ms,
        expires_ms,
        rights: Rights::from_bits(rights)?,
        once: flags & ONCE != 0,
        dataset,
        version,
        rows: match flags & GROUPS {
            0 => Rows::Rows { first, count },
            _ => Rows::Groups { first, count },
        },
        bytes_max: (bytes_max > 0).then_some(bytes_max),
        subject,
        certificate: (certificate != [0; 32]).then_some(certificate),
        nonce,
        tail,
    })
}

/// What is left to parse.
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

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
