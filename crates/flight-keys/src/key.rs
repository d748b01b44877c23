//! A key: its secret, what it signs with, and when.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair,
    Ed25519KeyPair, KeyPair as _, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use aws_lc_rs::{hmac, rand};
use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::{Algorithm, KeyId};

/// When a key is of use, in milliseconds of Unix time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    pub created_ms: u64,
    /// From here on it signs, so that all who verify have heard of it before.
    pub signs_from_ms: u64,
    /// The first millisecond at which nothing of it is taken any more.
    pub not_after_ms: u64,
}

/// A secret that signs and verifies. `Debug` does not show it.
pub struct Key {
    id: KeyId,
    algorithm: Algorithm,
    lifetime: Lifetime,
    /// HMAC: 32 bytes; else PKCS#8.
    secret: Zeroizing<Vec<u8>>,
    ready: Ready,
}

/// The secret, taken in by the library.
enum Ready {
    Hmac(Box<hmac::Key>),
    Ed25519(Ed25519KeyPair, ParsedPublicKey),
    Es256(EcdsaKeyPair, ParsedPublicKey),
    Rs256(RsaKeyPair, ParsedPublicKey),
}

const HMAC_SECRET_BYTES: usize = 32;

impl Key {
    /// A new key with a random id.
    ///
    /// # Errors
    ///
    /// [`KeyError::Crypto`] without randomness.
    pub fn generate(algorithm: Algorithm, lifetime: Lifetime) -> Result<Self, KeyError> {
        let id = crate::random()?;
        let failed = KeyError::Crypto { what: "generate a key" };
        let secret = match algorithm {
            Algorithm::Hmac => {
                let mut secret = Zeroizing::new(vec![0; HMAC_SECRET_BYTES]);
                rand::fill(&mut secret).ok().map(|()| secret)
            }
            Algorithm::Ed25519 => Ed25519KeyPair::generate()
                .and_then(|pair| pair.to_pkcs8())
                .ok()
                .map(|document| Zeroizing::new(document.as_ref().to_vec())),
            Algorithm::Es256 => EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
                .and_then(|pair| pair.to_pkcs8v1())
                .ok()
                .map(|document| Zeroizing::new(document.as_ref().to_vec())),
            Algorithm::Rs256 => RsaKeyPair::generate(KeySize::Rsa2048)
                .and_then(|pair| AsDer::<Pkcs8V1Der<'_>>::as_der(&pair))
                .ok()
                .map(|document| Zeroizing::new(document.as_ref().to_vec())),
        };
        Self::new(KeyId::from_bytes(id), algorithm, lifetime, secret.ok_or(failed)?)
    }

    /// The key of a secret: 32 bytes for HMAC, else PKCS#8.
    ///
    /// # Errors
    ///
    /// [`KeyError::Crypto`] for what is no secret of the algorithm.
    pub fn new(
        id: KeyId,
        algorithm: Algorithm,
        lifetime: Lifetime,
        secret: Zeroizing<Vec<u8>>,
    ) -> Result<Self, KeyError> {
        let ready = Ready::new(algorithm, &secret);
        let ready = ready.ok_or(KeyError::Crypto { what: "read the secret of a key" })?;
        Ok(Self { id, algorithm, lifetime, secret, ready })
    }

    pub fn id(&self) -> KeyId {
        self.id
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub fn lifetime(&self) -> Lifetime {
        self.lifetime
    }

    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Signs `label` and `message`, one after the other. The label says what kind of thing is
    /// signed, so that nothing made for one purpose is taken for another.
    ///
    /// # Errors
    ///
    /// [`KeyError::Crypto`] where the library fails.
    pub fn sign(&self, label: &[u8], message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let failed = |_| KeyError::Crypto { what: "sign" };
        let all = || [label, message].concat();
        Ok(match &self.ready {
            Ready::Hmac(key) => {
                let mut context = hmac::Context::with_key(key);
                context.update(label);
                context.update(message);
                context.sign().as_ref().to_vec()
            }
            Ready::Ed25519(pair, _) => pair.try_sign(&all()).map_err(failed)?.as_ref().to_vec(),
            Ready::Es256(pair, _) => {
                let random = SystemRandom::new();
                pair.sign(&random, &all()).map_err(failed)?.as_ref().to_vec()
            }
            Ready::Rs256(pair, _) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let random = SystemRandom::new();
                pair.sign(&RSA_PKCS1_SHA256, &random, &all(), &mut signature).map_err(failed)?;
                signature
            }
        })
    }

    /// Whether `signature` is this key's of `label` and `message`. MACs are compared in constant
    /// time.
    pub fn verifies(&self, label: &[u8], message: &[u8], signature: &[u8]) -> bool {
        match &self.ready {
            Ready::Hmac(key) => {
                let mut context = hmac::Context::with_key(key);
                context.update(label);
                context.update(message);
                let expected = context.sign();
                let same = aws_lc_rs::constant_time::verify_slices_are_equal;
                same(expected.as_ref(), signature).is_ok()
            }
            Ready::Ed25519(_, public) | Ready::Es256(_, public) | Ready::Rs256(_, public) => {
                public.verify_sig(&[label, message].concat(), signature).is_ok()
            }
        }
    }
}

impl Ready {
    fn new(algorithm: Algorithm, secret: &[u8]) -> Option<Self> {
        Some(match algorithm {
            Algorithm::Hmac if secret.len() == HMAC_SECRET_BYTES => {
                Self::Hmac(Box::new(hmac::Key::new(hmac::HMAC_SHA256, secret)))
            }
            Algorithm::Hmac => return None,
            Algorithm::Ed25519 => {
                let pair = Ed25519KeyPair::from_pkcs8(secret).ok()?;
                let public = ParsedPublicKey::new(&ED25519, pair.public_key()).ok()?;
                Self::Ed25519(pair, public)
            }
            Algorithm::Es256 => {
                let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let pair = EcdsaKeyPair::from_pkcs8(signing, secret).ok()?;
                let public = pair.public_key();
                let public = ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public).ok()?;
                Self::Es256(pair, public)
            }
            Algorithm::Rs256 => {
                let pair = RsaKeyPair::from_pkcs8(secret).ok()?;
                if pair.public_modulus_len() != Algorithm::Rs256.signature_bytes() {
                    return None;
                }
                let public = pair.public_key();
                let public = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public).ok()?;
                Self::Rs256(pair, public)
            }
        })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, algorithm, lifetime, .. } = self;
        write!(f, "Key({id}, {algorithm}, {lifetime:?}, secret not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Lifetime = Lifetime { created_ms: 1, signs_from_ms: 2, not_after_ms: 3 };

    #[test]
    fn a_signature_is_of_one_key_one_label_and_one_message() {
        for algorithm in Algorithm::ALL {
            let key = Key::generate(algorithm, LIFETIME).unwrap();
            let other = Key::generate(algorithm, LIFETIME).unwrap();
            assert_ne!(key.id(), other.id());
            let signature = key.sign(b"label", b"message").unwrap();
            assert_eq!(signature.len(), algorithm.signature_bytes(), "{algorithm}");
            assert!(key.verifies(b"label", b"message", &signature), "{algorithm}");
            assert!(!other.verifies(b"label", b"message", &signature), "{algorithm}");
            assert!(!key.verifies(b"Label", b"message", &signature), "{algorithm}");
            assert!(!key.verifies(b"label", b"messages", &signature), "{algorithm}");
            assert!(!key.verifies(b"label", b"message", &signature[1..]), "{algorithm}");
            assert!(!key.verifies(b"label", b"message", b""), "{algorithm}");
        }
    }

    #[test]
    fn a_key_comes_back_from_its_secret_and_from_no_other() {
        for algorithm in Algorithm::ALL {
            let key = Key::generate(algorithm, LIFETIME).unwrap();
            let secret = |bytes: &[u8]| Zeroizing::new(bytes.to_vec());
            let again = Key::new(key.id(), algorithm, LIFETIME, secret(key.secret())).unwrap();
            assert!(again.verifies(b"", b"m", &key.sign(b"", b"m").unwrap()), "{algorithm}");
            for other in Algorithm::ALL.into_iter().filter(|other| *other != algorithm) {
                assert!(Key::new(key.id(), other, LIFETIME, secret(key.secret())).is_err());
            }
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let secret = Zeroizing::new(vec![0xab; 32]);
        let key = Key::new(KeyId::from_bytes([1; 16]), Algorithm::Hmac, LIFETIME, secret).unwrap();
        let text = format!("{key:?} {key:#?}");
        assert!(!text.contains("171") && !text.to_lowercase().contains("abab"), "{text}");
    }
}
