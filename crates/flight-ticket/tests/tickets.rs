//! Tickets issued, tampered with, presented to the wrong server, too late, and twice.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flight_keys::{Algorithm, Key, KeyId, KeyRing, Lifetime};
use flight_testkit::{FuzzTarget, cases};
use flight_ticket::{
    Claims, Presented, Refusal, Right, Rights, Rows, Spent, SpentError, VerifiedTicket, fuzzing,
    issue, limits,
};
use proptest::prelude::*;

const NOW_MS: u64 = 1_000_000;
const SKEW_MS: u64 = 30_000;
const VERSION: [u8; 16] = [9; 16];

fn claims() -> Claims {
    Claims {
        audience: [7; 8],
        issued_ms: NOW_MS,
        not_before_ms: NOW_MS,
        expires_ms: NOW_MS + 300_000,
        rights: Rights::only(Right::Read),
        once: false,
        dataset: "a/späte Daten.feather".into(),
        version: VERSION,
        rows: Rows::Rows { first: 100, count: 50 },
        bytes_max: Some(1 << 30),
        subject: "URI:flight://ann".into(),
        certificate: Some([3; 32]),
        nonce: [5; 16],
        tail: vec![1, 2, 3],
    }
}

fn presented() -> Presented<'static> {
    Presented {
        audience: [7; 8],
        now_ms: NOW_MS,
        skew_ms: SKEW_MS,
        right: Right::Read,
        dataset: Some("a/späte Daten.feather"),
        certificate: Some(&[3; 32]),
    }
}

fn lifetime(not_after_ms: u64) -> Lifetime {
    Lifetime { created_ms: 0, signs_from_ms: 0, not_after_ms }
}

/// A ring of one key, valid for ever.
fn ring(algorithm: Algorithm) -> KeyRing {
    let mut ring = KeyRing::default();
    ring.add(Key::generate(algorithm, lifetime(u64::MAX)).unwrap(), 0).unwrap();
    ring
}

/// The one key there is, whatever it signs with.
fn signer(ring: &KeyRing) -> &Key {
    ring.signer(Algorithm::Hmac, 0).unwrap()
}

fn issued(claims: &Claims, ring: &KeyRing) -> Vec<u8> {
    issue(claims, signer(ring)).unwrap()
}

fn refusal(ticket: &[u8], ring: &KeyRing, presented: Presented<'_>) -> Option<Refusal> {
    VerifiedTicket::verify(ticket, ring, &presented).err()
}

/// What becomes of a good ticket when its claims or how it is presented are changed.
fn check(changed: impl FnOnce(&mut Claims, &mut Presented<'static>), expected: Option<Refusal>) {
    let (mut claims, mut presented, ring) = (claims(), presented(), ring(Algorithm::Hmac));
    changed(&mut claims, &mut presented);
    assert_eq!(refusal(&issued(&claims, &ring), &ring, presented), expected);
}

#[test]
fn a_ticket_reads_back_as_it_was_issued_by_every_algorithm() {
    let least = Claims {
        rights: Rights::only(Right::Write).and(Right::Read).and(Right::Delete),
        once: true,
        dataset: String::new(),
        rows: Rows::Groups { first: 0, count: 1 },
        bytes_max: None,
        subject: String::new(),
        certificate: None,
        tail: Vec::new(),
        ..claims()
    };
    let most = Claims {
        dataset: "n".repeat(limits::DATASET_BYTES_MAX),
        subject: "s".repeat(limits::SUBJECT_BYTES_MAX),
        tail: vec![0xff; limits::TAIL_BYTES_MAX],
        rows: Rows::ALL,
        ..claims()
    };
    for algorithm in Algorithm::ALL {
        let ring = ring(algorithm);
        for claims in [claims(), least.clone(), most.clone()] {
            let presented = Presented { dataset: None, ..presented() };
            let ticket = issued(&claims, &ring);
            let verified = VerifiedTicket::verify(&ticket, &ring, &presented).unwrap();
            assert_eq!(*verified.claims(), claims, "{algorithm}");
        }
    }
}

#[test]
fn every_flipped_bit_is_refused_by_every_algorithm() {
    for algorithm in Algorithm::ALL {
        let ring = ring(algorithm);
        let ticket = issued(&claims(), &ring);
        assert_eq!(refusal(&ticket, &ring, presented()), None);
        for bit in 0..ticket.len() * 8 {
            let mut flipped = ticket.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(refusal(&flipped, &ring, presented()).is_some(), "{algorithm}: bit {bit}");
        }
    }
}

#[test]
fn a_ticket_cut_or_extended_anywhere_is_refused_by_every_algorithm() {
    for algorithm in Algorithm::ALL {
        let ring = ring(algorithm);
        let ticket = issued(&claims(), &ring);
        for end in 0..ticket.len() {
            assert!(refusal(&ticket[..end], &ring, presented()).is_some(), "{algorithm}: {end}");
        }
        for more in [&[0][..], &[0xff], &ticket, &[0; 300]] {
            let longer = [&ticket[..], more].concat();
            assert!(refusal(&longer, &ring, presented()).is_some(), "{algorithm}: {more:?}");
        }
        for at in [0, 4, 20, 148, ticket.len() - algorithm.signature_bytes()] {
            let longer = [&ticket[..at], &[0], &ticket[at..]].concat();
            assert!(refusal(&longer, &ring, presented()).is_some(), "{algorithm}: at {at}");
        }
    }
}

#[test]
fn what_is_no_ticket_is_refused_before_anything_is_computed() {
    let ring = ring(Algorithm::Hmac);
    let plain = [b"FTK1", &[0; 200][..]].concat();
    let long = [b"FST1", &vec![0; limits::TICKET_BYTES_MAX][..]].concat();
    for bytes in [&b""[..], b"{\"dataset\":\"a\"}", b"FST1", &plain, &long] {
        assert_eq!(refusal(bytes, &ring, presented()), Some(Refusal::Malformed));
    }
}

#[test]
fn times_hold_to_the_millisecond() {
    let expires = claims().expires_ms;
    check(|_, p| p.now_ms = expires + SKEW_MS - 1, None);
    check(|_, p| p.now_ms = expires + SKEW_MS, Some(Refusal::Expired));
    check(|_, p| p.now_ms = u64::MAX - 1, Some(Refusal::Expired));
    check(|_, p| p.now_ms = NOW_MS - SKEW_MS, None);
    check(|_, p| p.now_ms = NOW_MS - SKEW_MS - 1, Some(Refusal::NotYetValid));
    check(|c, _| c.not_before_ms = NOW_MS + SKEW_MS, None);
    check(|c, _| c.not_before_ms = NOW_MS + SKEW_MS + 1, Some(Refusal::NotYetValid));
    check(|c, _| c.issued_ms = NOW_MS + SKEW_MS + 1, Some(Refusal::NotYetValid));
    check(|c, _| c.expires_ms = u64::MAX, None);
}

#[test]
fn a_ticket_is_for_one_server_one_dataset_one_right_one_bearer() {
    check(|_, p| p.audience = [8; 8], Some(Refusal::Audience));
    check(|_, p| p.dataset = Some("a/other"), Some(Refusal::Dataset));
    check(|_, p| p.dataset = Some(""), Some(Refusal::Dataset));
    check(|_, p| p.dataset = None, None);
    check(|_, p| p.right = Right::Write, Some(Refusal::Right));
    check(|_, p| p.right = Right::Delete, Some(Refusal::Right));
    check(|c, _| c.rights = Rights::only(Right::Write), Some(Refusal::Right));
    check(|c, p| (c.rights, p.right) = (c.rights.and(Right::Write), Right::Write), None);
    check(|_, p| p.certificate = Some(&[4; 32]), Some(Refusal::Certificate));
    check(|_, p| p.certificate = None, Some(Refusal::Certificate));
    // A bearer ticket is whoever's has it.
    check(|c, p| (c.certificate, p.certificate) = (None, None), None);
    check(|c, p| (c.certificate, p.certificate) = (None, Some(&[4; 32])), None);
}

#[test]
fn the_key_decides_and_its_state_counts() {
    let (id, secret) = (KeyId::from_bytes([1; 16]), || vec![1; 32].into());
    let key = |not_after_ms| Key::new(id, Algorithm::Hmac, lifetime(not_after_ms), secret());
    let mut ring = KeyRing::default();
    ring.add(key(NOW_MS).unwrap(), 0).unwrap();
    let ticket = issued(&claims(), &ring);
    let at = |now_ms| Presented { now_ms, ..presented() };
    assert_eq!(refusal(&ticket, &ring, at(NOW_MS - 1)), None);
    assert_eq!(refusal(&ticket, &ring, at(NOW_MS)), Some(Refusal::ExpiredKey));
    ring.revoke(id).unwrap();
    assert_eq!(refusal(&ticket, &ring, at(NOW_MS - 1)), Some(Refusal::RevokedKey));
    let empty = KeyRing::default();
    assert_eq!(refusal(&ticket, &empty, at(NOW_MS)), Some(Refusal::UnknownKey));
}

#[test]
fn no_algorithm_is_taken_for_another() {
    // A verifier whose key of this id is of another algorithm, one downgrade for each pair.
    let id = KeyId::from_bytes([1; 16]);
    let hmac_of = |secret: &[u8]| {
        Key::new(id, Algorithm::Hmac, lifetime(u64::MAX), secret[..32].to_vec().into()).unwrap()
    };
    for algorithm in Algorithm::ALL {
        let signing = ring(algorithm);
        let ticket = issued(&claims(), &signing);
        for other in Algorithm::ALL {
            let mut verifying = ring(other);
            verifying.add(hmac_of(&[6; 32]), 0).unwrap();
            // With the id of every key that the verifier has in the place of the signer's.
            for facts in verifying.facts(NOW_MS) {
                let mut forged = ticket.clone();
                forged[4..20].copy_from_slice(&facts.id.to_bytes());
                let refusal = refusal(&forged, &verifying, presented());
                let expected = [Some(Refusal::Signature), Some(Refusal::Malformed)];
                assert!(expected.contains(&refusal), "{algorithm} as {other}: {refusal:?}");
            }
        }
    }
}

#[test]
fn what_a_key_signed_for_another_purpose_is_no_ticket() {
    let ring = ring(Algorithm::Hmac);
    let ticket = issued(&claims(), &ring);
    let body = &ticket[..ticket.len() - 32];
    for label in [&b""[..], b"flight ticket v2\0", b"flight ticket v1"] {
        let signature = signer(&ring).sign(label, body).unwrap();
        let other = [body, &signature].concat();
        assert_eq!(refusal(&other, &ring, presented()), Some(Refusal::Signature), "{label:?}");
    }
}

#[test]
fn a_cancelled_ticket_is_refused_and_so_are_its_renewals() {
    let mut ring = ring(Algorithm::Hmac);
    let ticket = issued(&claims(), &ring);
    let verified = VerifiedTicket::verify(&ticket, &ring, &presented()).unwrap();
    let later = Presented { now_ms: NOW_MS + 400_000, ..presented() };
    let renewed = verified.renewed(NOW_MS + 200_000, 300_000);
    assert_eq!(renewed.expires_ms, NOW_MS + 500_000);
    let renewed = issued(&renewed, &ring);
    assert_eq!(refusal(&ticket, &ring, later), Some(Refusal::Expired));
    assert_eq!(refusal(&renewed, &ring, later), None);
    ring.cancel(&[claims().nonce], NOW_MS, u64::MAX).unwrap();
    for ticket in [ticket, renewed] {
        assert_eq!(refusal(&ticket, &ring, presented()), Some(Refusal::Cancelled));
    }
    let other = issued(&Claims { nonce: [6; 16], ..claims() }, &ring);
    assert_eq!(refusal(&other, &ring, presented()), None);
}

#[test]
fn a_ticket_for_one_use_is_used_once_and_others_often() {
    let ring = ring(Algorithm::Hmac);
    let verified = |once, nonce, issued_ms| {
        let claims = Claims { once, nonce: [nonce; 16], issued_ms, ..claims() };
        VerifiedTicket::verify(&issued(&claims, &ring), &ring, &presented()).unwrap()
    };
    let mut spent = Spent::since(NOW_MS);
    let mut spend = |ticket: &VerifiedTicket| spent.spend(ticket, NOW_MS, SKEW_MS);
    let used = Err(SpentError::Refused(Refusal::UsedBefore));
    let once = verified(true, 1, NOW_MS);
    assert_eq!([spend(&once), spend(&once)], [Ok(()), used]);
    assert_eq!(spend(&verified(true, 2, NOW_MS)), Ok(()));
    let often = verified(false, 3, NOW_MS);
    assert_eq!([spend(&often), spend(&often)], [Ok(()), Ok(())]);
    // Who began later cannot know what was used before.
    assert_eq!(spend(&verified(true, 4, NOW_MS - 1)), used);
    // A renewal is the same ticket.
    let renewed = issued(&once.renewed(NOW_MS, 1), &ring);
    let renewed = VerifiedTicket::verify(&renewed, &ring, &presented()).unwrap();
    assert_eq!(spend(&renewed), used);
}

#[test]
fn all_refusals_read_the_same() {
    let text = Refusal::Malformed.to_string();
    for refusal in [Refusal::Signature, Refusal::RevokedKey, Refusal::Expired, Refusal::Right] {
        assert_eq!(refusal.to_string(), text);
        assert!(!text.contains(refusal.reason()));
    }
}

const TARGET: FuzzTarget = FuzzTarget { name: "ticket", run: fuzzing::ticket };

fn seeds() -> Vec<(String, Vec<u8>)> {
    let read = Claims { issued_ms: 1, not_before_ms: 2, expires_ms: 5000, ..claims() };
    let read = Claims { certificate: None, ..read };
    let groups = Rows::Groups { first: 1, count: 2 };
    let bare =
        Claims { rows: groups, once: true, tail: vec![], dataset: "d".into(), ..read.clone() };
    [("read", read), ("bare", bare)]
        .map(|(name, claims)| (name.to_owned(), fuzzing::signed_part(&claims)))
        .into()
}

#[test]
fn seeds_get_through_their_target_and_findings_do_no_harm() {
    TARGET.replay(&seeds());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1000)))]

    #[test]
    fn mutated_tickets_do_no_harm(
        seed: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: prop::sample::Index,
        more in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let corpus = TARGET.corpus();
        let mut bytes = corpus[seed.index(corpus.len())].1.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        fuzzing::ticket(&bytes);
        bytes.truncate(cut.index(bytes.len() + 1));
        bytes.extend(more);
        fuzzing::ticket(&bytes);
    }
}
