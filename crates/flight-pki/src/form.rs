//! The forms that a private key's file may have, and the password on it.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair,
};
use pkcs8::der::pem::{LineEnding, PemLabel};
use pkcs8::pkcs5::pbes2;
use pkcs8::{EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef, SecretDocument};
use zeroize::Zeroizing;

use crate::error::PkiError;
use crate::key::KeyKind;
use crate::limits::PBKDF2_ITERATIONS;

/// How a private key is written.
///
/// [`FromStr`] takes the names of [`KeyForm::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyForm {
    /// `pkcs8`: every kind of key has it (RFC 5958).
    #[default]
    Pkcs8,
    /// `pkcs1`: RSA alone (RFC 8017, A.1.2).
    Pkcs1,
    /// `sec1`: EC alone (RFC 5915).
    Sec1,
}

impl KeyForm {
    pub const ALL: [Self; 3] = [Self::Pkcs8, Self::Pkcs1, Self::Sec1];

    /// The name at the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pkcs8 => "pkcs8",
            Self::Pkcs1 => "pkcs1",
            Self::Sec1 => "sec1",
        }
    }

    pub(crate) fn suits(self, kind: KeyKind) -> bool {
        match self {
            Self::Pkcs8 => true,
            Self::Pkcs1 => matches!(kind, KeyKind::Rsa2048 | KeyKind::Rsa4096),
            Self::Sec1 => matches!(kind, KeyKind::P256 | KeyKind::P384),
        }
    }

    /// This form where keys of this kind have it, or the one that all have.
    pub(crate) fn or_pkcs8(self, kind: KeyKind) -> Self {
        if self.suits(kind) { self } else { Self::Pkcs8 }
    }

    /// The PEM of a key (PKCS#8, PEM) of this kind in this form.
    pub(crate) fn written(self, kind: KeyKind, key_pem: &str) -> Result<String, PkiError> {
        if !self.suits(kind) {
            return Err(PkiError::NoSuchForm { kind, form: self });
        }
        let (_, key) = SecretDocument::from_pem(key_pem)?;
        match self {
            Self::Pkcs8 => Ok(key_pem.to_owned()),
            Self::Pkcs1 => {
                let inner = PrivateKeyInfoRef::try_from(key.as_bytes())?.private_key;
                let inner = SecretDocument::try_from(inner.as_bytes())?;
                Ok(inner.to_pem("RSA PRIVATE KEY", LineEnding::LF)?.to_string())
            }
            Self::Sec1 => {
                let curve = match kind {
                    KeyKind::P384 => &ECDSA_P384_SHA384_ASN1_SIGNING,
                    _ => &ECDSA_P256_SHA256_ASN1_SIGNING,
                };
                let pair = EcdsaKeyPair::from_pkcs8(curve, key.as_bytes())
                    .map_err(|_| aws_lc_rs::error::Unspecified)?;
                let inner: EcPrivateKeyRfc5915Der<'_> = pair.private_key().as_der()?;
                let inner = SecretDocument::try_from(inner.as_ref())?;
                Ok(inner.to_pem("EC PRIVATE KEY", LineEnding::LF)?.to_string())
            }
        }
    }
}

/// A key (PKCS#8, PEM) under a password: PBES2 with PBKDF2, HMAC-SHA-256 and AES-256-CBC, which
/// every reader of encrypted keys knows.
pub(crate) fn encrypted(key_pem: &str, password: &[u8]) -> Result<String, PkiError> {
    let (_, key) = SecretDocument::from_pem(key_pem)?;
    let (mut salt, mut iv) = ([0; 16], [0; 16]);
    aws_lc_rs::rand::fill(&mut salt)?;
    aws_lc_rs::rand::fill(&mut iv)?;
    let scheme = pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(PBKDF2_ITERATIONS, &salt, iv)
        .map_err(pkcs8::Error::from)?;
    let info = PrivateKeyInfoRef::try_from(key.as_bytes())?;
    let sealed = info.encrypt_with_params(scheme, password)?;
    Ok(sealed.to_pem(EncryptedPrivateKeyInfoRef::PEM_LABEL, LineEnding::LF)?.to_string())
}

/// A password that overwrites its memory when it goes. `Debug` does not show it.
#[derive(Clone)]
pub struct Password(Zeroizing<Vec<u8>>);

impl Password {
    pub fn new(bytes: &[u8]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl FromStr for KeyForm {
    type Err = PkiError;

    fn from_str(name: &str) -> Result<Self, PkiError> {
        let found = Self::ALL.into_iter().find(|form| form.name() == name);
        found.ok_or_else(|| PkiError::KeyForm { name: name.to_owned() })
    }
}

/// What people call it: `PKCS#8`.
impl fmt::Display for KeyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pkcs8 => "PKCS#8",
            Self::Pkcs1 => "PKCS#1",
            Self::Sec1 => "SEC1",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: KeyKind, form: KeyForm, expected: &str) {
        let key = kind.generate().unwrap().serialize_pem();
        let found = match form.written(kind, &key) {
            Ok(pem) => pem.lines().next().unwrap().to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{kind} {form}");
    }

    #[test]
    fn every_kind_has_pkcs8_and_some_an_older_form() {
        for kind in [KeyKind::P256, KeyKind::P384, KeyKind::Rsa2048, KeyKind::Ed25519] {
            check(kind, KeyForm::Pkcs8, "-----BEGIN PRIVATE KEY-----");
        }
        check(KeyKind::Rsa2048, KeyForm::Pkcs1, "-----BEGIN RSA PRIVATE KEY-----");
        check(KeyKind::P256, KeyForm::Sec1, "-----BEGIN EC PRIVATE KEY-----");
        check(KeyKind::P384, KeyForm::Sec1, "-----BEGIN EC PRIVATE KEY-----");
    }

    #[test]
    fn a_form_that_a_kind_lacks_is_refused() {
        check(
            KeyKind::Rsa2048,
            KeyForm::Sec1,
            "an RSA-2048 key has no SEC1 form; choose pkcs8 or pkcs1 with --key-format, or other \
             kinds with --key",
        );
        check(
            KeyKind::P256,
            KeyForm::Pkcs1,
            "an EC P-256 key has no PKCS#1 form; choose pkcs8 or sec1 with --key-format, or other \
             kinds with --key",
        );
        check(
            KeyKind::Ed25519,
            KeyForm::Sec1,
            "an Ed25519 key has no SEC1 form; choose pkcs8 with --key-format, or other kinds with \
             --key",
        );
    }

    #[test]
    fn forms_are_found_by_their_names_and_no_others() {
        for form in KeyForm::ALL {
            assert_eq!(form.name().parse::<KeyForm>().unwrap(), form);
        }
        let error = "PKCS8".parse::<KeyForm>().unwrap_err().to_string();
        assert_eq!(error, "unknown key format 'PKCS8'; the known ones are pkcs8, pkcs1, sec1");
    }

    #[test]
    fn a_password_opens_what_it_closed_and_another_does_not() {
        let key = KeyKind::P256.generate().unwrap().serialize_pem();
        let sealed = encrypted(&key, b"open sesame").unwrap();
        assert!(sealed.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
        let (_, der) = SecretDocument::from_pem(&sealed).unwrap();
        let sealed = EncryptedPrivateKeyInfoRef::try_from(der.as_bytes()).unwrap();
        let opened = sealed.decrypt(b"open sesame").unwrap();
        assert_eq!(*opened.to_pem("PRIVATE KEY", LineEnding::LF).unwrap(), key);
        assert!(sealed.decrypt(b"open barley").is_err());
        assert_eq!(format!("{:?}", Password::new(b"open sesame")), "Password");
    }
}
