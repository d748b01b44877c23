//! The keys there are: which of them signs, which verify, and what was taken back.
//!
//! No state is stored but what cannot be told from the clock: the newest key whose time has come
//! signs, every key verifies until it expires, and a revoked one is remembered by its id alone.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::KeyError;
use crate::limits::{CANCELLED_MAX, KEYS_MAX};
use crate::{Algorithm, Key, KeyId, Lifetime, Schedule};

/// Keys, revoked keys, and the ids of tickets that were cancelled.
#[derive(Debug, Clone, Default)]
pub struct KeyRing {
    /// In the order in which they sign.
    pub(crate) keys: Vec<Arc<Key>>,
    pub(crate) revoked: Vec<Revoked>,
    /// By id, the time at which it may be forgotten.
    pub(crate) cancelled: HashMap<[u8; 16], u64>,
}

/// What is left of a key that was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Revoked {
    pub(crate) id: KeyId,
    pub(crate) algorithm: Algorithm,
    pub(crate) lifetime: Lifetime,
}

/// Why a key verifies nothing. For logs and counters; peers are not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyRefusal {
    Unknown,
    Expired,
    Revoked,
}

/// What becomes of a key at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// Known, to sign later.
    Next,
    Signs,
    Verifies,
    Expired,
    Revoked,
}

/// What may be told of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFacts {
    pub id: KeyId,
    pub algorithm: Algorithm,
    pub lifetime: Lifetime,
    pub state: KeyState,
}

impl KeyRing {
    /// The key that signs at `now_ms` for who asks for this algorithm: of those whose time has come,
    /// the newest of it, or of any where it has none.
    pub fn signer(&self, algorithm: Algorithm, now_ms: u64) -> Option<&Arc<Key>> {
        let own = self.signing(now_ms).find(|key| key.algorithm() == algorithm);
        own.or_else(|| self.signing(now_ms).next())
    }

    /// Keys whose time has come and is not over, the newest first.
    fn signing(&self, now_ms: u64) -> impl Iterator<Item = &Arc<Key>> {
        self.keys.iter().rev().filter(move |key| {
            let Lifetime { signs_from_ms, not_after_ms, .. } = key.lifetime();
            (signs_from_ms..not_after_ms).contains(&now_ms)
        })
    }

    /// The key of this id, if what it signed is still taken.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn verifier(&self, id: KeyId, now_ms: u64) -> Result<&Arc<Key>, KeyRefusal> {
        match self.keys.iter().find(|key| key.id() == id) {
            Some(key) if now_ms < key.lifetime().not_after_ms => Ok(key),
            Some(_) => Err(KeyRefusal::Expired),
            None if self.revoked.iter().any(|revoked| revoked.id == id) => Err(KeyRefusal::Revoked),
            None => Err(KeyRefusal::Unknown),
        }
    }

    /// The life of the key to make now, if one is due.
    pub fn due(&self, schedule: &Schedule, algorithm: Algorithm, now_ms: u64) -> Option<Lifetime> {
        if self.signer(algorithm, now_ms).is_none() {
            return Some(schedule.at_once(now_ms));
        }
        // Servers of several algorithms may share a ring: each has its own keys follow each other.
        let newest = self.keys.iter().rev().find(|key| key.algorithm() == algorithm);
        let due_ms = newest.map(|key| schedule.successor_due_ms(key.lifetime().signs_from_ms));
        due_ms.is_none_or(|due_ms| due_ms <= now_ms).then(|| schedule.announced(now_ms))
    }

    /// Adds a key, and forgets what expired.
    ///
    /// # Errors
    ///
    /// [`KeyError::TooManyKeys`].
    pub fn add(&mut self, key: Key, now_ms: u64) -> Result<(), KeyError> {
        self.forget(now_ms);
        if KEYS_MAX <= self.keys.len() + self.revoked.len() {
            return Err(KeyError::TooManyKeys);
        }
        self.keys.push(Arc::new(key));
        self.keys.sort_by_key(|key| key.lifetime().signs_from_ms);
        Ok(())
    }

    /// Takes a key's secret away; nothing that it signed is taken any more.
    ///
    /// # Errors
    ///
    /// [`KeyError::NoKey`].
    pub fn revoke(&mut self, id: KeyId) -> Result<(), KeyError> {
        let at = self.keys.iter().position(|key| key.id() == id);
        let key = self.keys.remove(at.ok_or(KeyError::NoKey { id })?);
        let (algorithm, lifetime) = (key.algorithm(), key.lifetime());
        self.revoked.push(Revoked { id, algorithm, lifetime });
        Ok(())
    }

    /// Remembers ids as cancelled until `until_ms`.
    ///
    /// # Errors
    ///
    /// [`KeyError::TooManyCancelled`]; none is remembered then.
    pub fn cancel(&mut self, ids: &[[u8; 16]], now_ms: u64, until_ms: u64) -> Result<(), KeyError> {
        self.forget(now_ms);
        if CANCELLED_MAX < self.cancelled.len() + ids.len() {
            return Err(KeyError::TooManyCancelled);
        }
        self.cancelled.extend(ids.iter().map(|id| (*id, until_ms)));
        Ok(())
    }

    pub fn is_cancelled(&self, id: &[u8; 16]) -> bool {
        self.cancelled.contains_key(id)
    }

    /// All keys, in the order in which they sign, those that were revoked last.
    pub fn facts(&self, now_ms: u64) -> Vec<KeyFacts> {
        let signs = |key: &Key| {
            self.signer(key.algorithm(), now_ms).is_some_and(|signer| signer.id() == key.id())
        };
        let state = |key: &Key| match key.lifetime() {
            _ if signs(key) => KeyState::Signs,
            lifetime if lifetime.not_after_ms <= now_ms => KeyState::Expired,
            lifetime if now_ms < lifetime.signs_from_ms => KeyState::Next,
            _ => KeyState::Verifies,
        };
        let kept = self.keys.iter().map(|key| KeyFacts {
            id: key.id(),
            algorithm: key.algorithm(),
            lifetime: key.lifetime(),
            state: state(key),
        });
        let revoked = self.revoked.iter().map(|revoked| {
            let Revoked { id, algorithm, lifetime } = *revoked;
            KeyFacts { id, algorithm, lifetime, state: KeyState::Revoked }
        });
        kept.chain(revoked).collect()
    }

    fn forget(&mut self, now_ms: u64) {
        self.keys.retain(|key| now_ms < key.lifetime().not_after_ms);
        self.revoked.retain(|revoked| now_ms < revoked.lifetime.not_after_ms);
        self.cancelled.retain(|_, until_ms| now_ms < *until_ms);
    }
}
