//! Rings over their life, and their file under misuse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flight_keys::{
    Algorithm, Key, KeyError, KeyId, KeyRefusal, KeyState, KeyStore, RootKey, Schedule, limits,
};
use tempfile::{TempDir, tempdir};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// Tickets of 5 minutes, a new key each hour, valid for 3, clocks 30 s apart, a look each 10 s.
fn schedule() -> Schedule {
    let [ttl, rotate, valid, skew, check] = [300, 3600, 10_800, 30, 10].map(Duration::from_secs);
    Schedule::new(ttl, rotate, valid, skew, check).unwrap()
}

fn root(byte: u8) -> RootKey {
    RootKey::from_bytes([byte; RootKey::BYTES])
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempdir().unwrap())
    }

    fn keys(&self) -> PathBuf {
        self.0.path().join("keys")
    }

    fn open(&self) -> Result<KeyStore, KeyError> {
        KeyStore::open(self.keys(), root(1))
    }
}

/// The states of all keys, in the order in which they sign.
fn states(store: &KeyStore, now_ms: u64) -> Vec<KeyState> {
    store.ring().facts(now_ms).iter().map(|key| key.state).collect()
}

fn signer(store: &KeyStore, now_ms: u64) -> KeyId {
    store.ring().signer(Algorithm::Hmac, now_ms).unwrap().id()
}

#[test]
fn a_key_is_announced_then_signs_then_verifies_then_goes() {
    use KeyState::{Next, Signs, Verifies};
    let (store, start) = (KeyStore::in_memory(), 1_000_000_000);
    let look = |now_ms| store.rotate_if_due(&schedule(), Algorithm::Hmac, now_ms).unwrap();
    assert!(look(start));
    let first = signer(&store, start);
    assert!(!look(start + HOUR_MS - 10_001));
    assert!(look(start + HOUR_MS - 10_000));
    assert_eq!(states(&store, start + HOUR_MS - 1), [Signs, Next]);
    assert_eq!(signer(&store, start + HOUR_MS - 1), first);
    assert_eq!(states(&store, start + HOUR_MS), [Verifies, Signs]);
    assert_ne!(signer(&store, start + HOUR_MS), first);
    let ring = store.ring();
    assert_eq!(ring.verifier(first, start + 3 * HOUR_MS - 1).map(|key| key.id()), Ok(first));
    assert_eq!(ring.verifier(first, start + 3 * HOUR_MS).unwrap_err(), KeyRefusal::Expired);
    // An expired key is dropped when the next is made.
    assert!(look(start + 3 * HOUR_MS));
    assert_eq!(store.ring().verifier(first, start).unwrap_err(), KeyRefusal::Unknown);
}

#[test]
fn what_is_signed_last_is_good_to_its_end_however_late_a_look_comes() {
    let (store, start) = (KeyStore::in_memory(), 1_000_000_000);
    let look = |now_ms| store.rotate_if_due(&schedule(), Algorithm::Hmac, now_ms).unwrap();
    look(start);
    let first = signer(&store, start);
    // A look comes just before the successor is due, and the next one a full interval later.
    look(start + HOUR_MS - 10_001);
    look(start + HOUR_MS - 1);
    let last_signed = start + HOUR_MS + 9_998;
    assert_eq!(signer(&store, last_signed), first);
    assert_ne!(signer(&store, last_signed + 1), first);
    let over = last_signed + schedule().ttl_ms() + schedule().skew_ms();
    assert!(store.ring().verifier(first, over).is_ok());
}

#[test]
fn each_algorithm_has_its_own_keys_once_they_are_known() {
    let (store, start) = (KeyStore::in_memory(), 1_000_000_000);
    for look in 0..3 {
        for algorithm in Algorithm::ALL {
            let made = store.rotate_if_due(&schedule(), algorithm, start + look * 10_000).unwrap();
            assert_eq!(made, look == 0, "{algorithm} at look {look}");
        }
    }
    for algorithm in Algorithm::ALL {
        assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        let signs = |now_ms| store.ring().signer(algorithm, now_ms).unwrap().algorithm();
        assert_eq!((signs(start), signs(start + 10_000)), (Algorithm::Hmac, algorithm));
    }
    assert_eq!(states(&store, start + 10_000), [KeyState::Signs; 4]);
    assert!("off".parse::<Algorithm>().is_err());
}

#[test]
fn a_revoked_key_verifies_nothing_and_its_secret_is_gone() {
    let (folder, start) = (Folder::new(), 1_000_000_000);
    let store = folder.open().unwrap();
    store.rotate_if_due(&schedule(), Algorithm::Hmac, start).unwrap();
    let id = signer(&store, start);
    let before = fs::metadata(folder.keys()).unwrap().len();
    store.update(|ring| ring.revoke(id)).unwrap();
    for store in [store, folder.open().unwrap()] {
        assert_eq!(store.ring().verifier(id, start).unwrap_err(), KeyRefusal::Revoked);
        assert_eq!(states(&store, start), [KeyState::Revoked]);
        assert!(store.ring().signer(Algorithm::Hmac, start).is_none());
        let again = store.update(|ring| ring.revoke(id)).unwrap_err();
        assert!(matches!(again, KeyError::NoKey { .. }), "{again}");
    }
    assert!(fs::metadata(folder.keys()).unwrap().len() < before);
}

#[test]
fn cancelled_ids_are_remembered_as_long_as_they_matter_and_no_more_than_fit() {
    let folder = Folder::new();
    let store = folder.open().unwrap();
    let cancel = |ids: &[[u8; 16]], now_ms, until_ms| {
        store.update(|ring| ring.cancel(ids, now_ms, until_ms))
    };
    cancel(&[[1; 16], [2; 16]], 1000, 2000).unwrap();
    assert!(folder.open().unwrap().ring().is_cancelled(&[2; 16]));
    let many: Vec<_> =
        (0..limits::CANCELLED_MAX as u128).map(|n| (n << 8 | 0xff).to_le_bytes()).collect();
    let full = cancel(&many, 1999, 9000).unwrap_err();
    assert!(matches!(full, KeyError::TooManyCancelled), "{full}");
    assert!(store.ring().is_cancelled(&[1; 16]) && !store.ring().is_cancelled(&many[0]));
    cancel(&many, 2000, 9000).unwrap();
    assert!(!store.ring().is_cancelled(&[1; 16]) && store.ring().is_cancelled(&many[0]));
}

#[test]
fn keys_come_back_from_their_file_for_its_owner_alone() {
    let folder = Folder::new();
    let store = folder.open().unwrap();
    for algorithm in Algorithm::ALL {
        let key = Key::generate(algorithm, schedule().at_once(5)).unwrap();
        store.update(|ring| ring.add(key, 5)).unwrap();
    }
    let again = folder.open().unwrap();
    assert_eq!(again.ring().facts(6), store.ring().facts(6));
    for facts in store.ring().facts(6) {
        let sign = |store: &KeyStore| {
            let key = store.ring().verifier(facts.id, 6).map(std::sync::Arc::clone).unwrap();
            (key.sign(b"l", b"m").unwrap(), key)
        };
        let ((signature, _), (_, key)) = (sign(&store), sign(&again));
        assert!(key.verifies(b"l", b"m", &signature), "{facts:?}");
    }
    for file in fs::read_dir(folder.0.path()).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn processes_that_share_a_file_see_each_others_changes_and_lose_none() {
    let folder = Folder::new();
    let stores: Vec<_> = (0..4).map(|_| folder.open().unwrap()).collect();
    std::thread::scope(|scope| {
        for store in &stores {
            scope.spawn(|| {
                for _ in 0..10 {
                    let key = Key::generate(Algorithm::Hmac, schedule().at_once(5)).unwrap();
                    store.update(|ring| ring.add(key, 5)).unwrap();
                    store.rotate_if_due(&schedule(), Algorithm::Hmac, 6).unwrap();
                }
            });
        }
    });
    for store in &stores {
        store.refresh().unwrap();
        assert!(!store.refresh().unwrap());
        assert_eq!(store.ring().facts(6).len(), 40);
    }
}

fn refused(folder: &Folder, root: RootKey, expected: &str) {
    let Err(error) = KeyStore::open(folder.keys(), root) else { panic!("{expected}: opened") };
    assert!(error.to_string().contains(expected), "{expected} is not in {error}");
}

#[test]
fn a_file_that_does_not_open_says_why() {
    let folder = Folder::new();
    let store = folder.open().unwrap();
    store.rotate_if_due(&schedule(), Algorithm::Hmac, 5).unwrap();
    let good = fs::read(folder.keys()).unwrap();
    refused(&folder, root(2), "sealed under another root key");
    fs::write(folder.keys(), &good[..good.len() - 1]).unwrap();
    refused(&folder, root(1), "is cut short");
    fs::write(folder.keys(), b"").unwrap();
    refused(&folder, root(1), "is cut short: 0 of 52 bytes");
    fs::write(folder.keys(), b"{\"keys\":[]}").unwrap();
    refused(&folder, root(1), "is not a file of keys");
    fs::write(folder.keys(), [&good[..60], &[good[60] ^ 1], &good[61..]].concat()).unwrap();
    refused(&folder, root(1), "its seal is broken");
    // The keys in use stay, and nothing is written over what cannot be read.
    assert!(store.refresh().is_err());
    assert!(store.update(|_| Ok(())).is_err());
    assert!(store.ring().signer(Algorithm::Hmac, 6).is_some());
}

#[test]
fn a_file_put_back_from_before_is_refused_by_who_saw_more() {
    let folder = Folder::new();
    let store = folder.open().unwrap();
    store.rotate_if_due(&schedule(), Algorithm::Hmac, 5).unwrap();
    let old = fs::read(folder.keys()).unwrap();
    let id = signer(&store, 5);
    store.update(|ring| ring.revoke(id)).unwrap();
    fs::write(folder.keys(), old).unwrap();
    let error = store.refresh().unwrap_err().to_string();
    assert!(
        error.contains("is older than what was read from it before (change 1, not 2)"),
        "{error}"
    );
    assert!(store.update(|_| Ok(())).is_err());
    assert_eq!(store.ring().verifier(id, 6).unwrap_err(), KeyRefusal::Revoked);
}

#[test]
fn what_a_crash_left_half_written_is_written_over() {
    let folder = Folder::new();
    let store = folder.open().unwrap();
    fs::write(folder.0.path().join("keys.new"), b"FKS1 half").unwrap();
    store.rotate_if_due(&schedule(), Algorithm::Hmac, 5).unwrap();
    assert_eq!(folder.open().unwrap().ring().facts(5).len(), 1);
    assert!(!folder.0.path().join("keys.new").exists());
}

#[test]
fn a_root_key_is_made_once_and_read_back() {
    let folder = Folder::new();
    let path = folder.0.path().join("root");
    RootKey::create(&path).unwrap();
    assert!(RootKey::create(&path).is_err());
    assert!(RootKey::warning(&path).is_none());
    let store = KeyStore::open(folder.keys(), RootKey::read(&path).unwrap()).unwrap();
    store.rotate_if_due(&schedule(), Algorithm::Hmac, 5).unwrap();
    assert!(KeyStore::open(folder.keys(), RootKey::read(&path).unwrap()).is_ok());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(RootKey::warning(&path).unwrap().contains("mode 640"));
    check_root(&path, "00", "holds no root key");
    check_root(&path, &"0g".repeat(32), "holds no root key");
    check_root(&path, &"00".repeat(64), "holds no root key");
}

fn check_root(path: &Path, text: &str, expected: &str) {
    fs::write(path, text).unwrap();
    let Err(error) = RootKey::read(path) else { panic!("{text} was read") };
    assert!(error.to_string().contains(expected), "{error}");
    assert!(!error.to_string().contains(text), "what may be a secret is not printed");
}
