//! What a fuzzer calls: any bytes as a ticket, and any bytes as what a key signed. Nothing here may
//! panic, and what is taken must be what is written.

use std::sync::LazyLock;

use flight_keys::{Algorithm, Key, KeyId, KeyRing, Lifetime};

use crate::encoded::{self, HEAD_BYTES, LABEL, MAGIC};
use crate::{Presented, Refusal, Right, VerifiedTicket};

static KEY: LazyLock<Key> = LazyLock::new(|| key(1));

static RING: LazyLock<KeyRing> = LazyLock::new(|| {
    let mut ring = KeyRing::default();
    ring.add(key(1), 0).expect("an empty ring takes a key");
    ring
});

fn key(byte: u8) -> Key {
    let lifetime = Lifetime { created_ms: 0, signs_from_ms: 0, not_after_ms: u64::MAX };
    let secret = vec![byte; 32].into();
    let key = Key::new(KeyId::from_bytes([byte; 16]), Algorithm::Hmac, lifetime, secret);
    key.expect("32 bytes are a secret for HMAC")
}

/// Verifies `data` as a ticket, which it cannot be, and then with a head and a signature that hold,
/// as if the keys were known. Gives the number of tickets that were taken: at most one.
///
/// # Panics
///
/// When a ticket is taken that nobody signed, or one that would be written otherwise.
pub fn ticket(data: &[u8]) -> usize {
    for right in [Right::Read, Right::Write, Right::Delete] {
        let taken = VerifiedTicket::verify(data, &RING, &presented(right));
        assert!(taken.is_err(), "a ticket that nobody signed was taken");
    }
    let mut body = [MAGIC, &KEY.id().to_bytes()[..], data].concat();
    let signature = KEY.sign(LABEL, &body).expect("HMAC does not fail");
    body.extend_from_slice(&signature);
    match VerifiedTicket::verify(&body, &RING, &presented(Right::Read)) {
        Ok(ticket) => {
            let again = encoded::issue(ticket.claims(), &KEY).expect("HMAC does not fail");
            assert_eq!(again, body, "a ticket has one form");
            1
        }
        Err(refusal) => {
            let signed = refusal != Refusal::Signature || body.len() < HEAD_BYTES;
            assert!(signed, "what the key signed holds");
            0
        }
    }
}

/// What [`ticket`] takes: the part of a ticket after its key's id, without the signature.
pub fn signed_part(claims: &crate::Claims) -> Vec<u8> {
    let ticket = encoded::issue(claims, &KEY).expect("HMAC does not fail");
    let head = MAGIC.len() + KeyId::BYTES;
    ticket[head..ticket.len() - Algorithm::Hmac.signature_bytes()].to_vec()
}

/// The audience and the time that seeds are made for.
pub fn presented(right: Right) -> Presented<'static> {
    let (dataset, certificate) = (None, None);
    Presented { audience: [7; 8], now_ms: 1000, skew_ms: 10, right, dataset, certificate }
}
