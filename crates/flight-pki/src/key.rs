//! Key kinds, their names at the command line, and how a key of each is made.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::signature::Ed25519KeyPair;
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256,
    RsaKeySize,
};
use rustls_pki_types::PrivatePkcs8KeyDer;

use crate::error::PkiError;

/// The kind of key that a certificate certifies.
///
/// [`FromStr`] takes the names of [`KeyKind::ALL`] and the longer `p256` and `rsa4096`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// `ec`: ECDSA over NIST P-256.
    P256,
    /// `p384`: ECDSA over NIST P-384.
    P384,
    /// `rsa`: RSA with 4096 bits.
    Rsa4096,
    /// `rsa2048`: RSA with 2048 bits.
    Rsa2048,
    /// `ed25519`: EdDSA over Curve25519.
    Ed25519,
}

impl KeyKind {
    pub const ALL: [Self; 5] =
        [Self::P256, Self::P384, Self::Rsa4096, Self::Rsa2048, Self::Ed25519];

    /// The name at the command line and in file names: `server-ec.pem`.
    pub fn name(self) -> &'static str {
        match self {
            Self::P256 => "ec",
            Self::P384 => "p384",
            Self::Rsa4096 => "rsa",
            Self::Rsa2048 => "rsa2048",
            Self::Ed25519 => "ed25519",
        }
    }

    /// All names, as a sentence lists them.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Makes a key of this kind. RSA takes up to seconds.
    pub(crate) fn generate(self) -> Result<KeyPair, PkiError> {
        match self {
            Self::P256 => Ok(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?),
            Self::P384 => Ok(KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384)?),
            Self::Rsa4096 => Ok(KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_4096)?),
            Self::Rsa2048 => Ok(KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?),
            Self::Ed25519 => ed25519(),
        }
    }
}

/// PKCS#8 version 1: OpenSSL and BoringSSL cannot read the version 2 that rcgen would write.
fn ed25519() -> Result<KeyPair, PkiError> {
    let pkcs8 = Ed25519KeyPair::generate()?.to_pkcs8v1()?;
    let key = PrivatePkcs8KeyDer::from(pkcs8.as_ref());
    Ok(KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ED25519)?)
}

impl FromStr for KeyKind {
    type Err = PkiError;

    fn from_str(name: &str) -> Result<Self, PkiError> {
        match name {
            "p256" => Ok(Self::P256),
            "rsa4096" => Ok(Self::Rsa4096),
            _ => Self::ALL
                .into_iter()
                .find(|kind| kind.name() == name)
                .ok_or_else(|| PkiError::KeyKind { name: name.to_owned() }),
        }
    }
}

/// What people call it: `RSA-4096`.
impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P256 => "EC P-256",
            Self::P384 => "EC P-384",
            Self::Rsa4096 => "RSA-4096",
            Self::Rsa2048 => "RSA-2048",
            Self::Ed25519 => "Ed25519",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in KeyKind::ALL {
            assert_eq!(kind.name().parse::<KeyKind>().unwrap(), kind);
        }
        assert_eq!("p256".parse::<KeyKind>().unwrap(), KeyKind::P256);
        assert_eq!("rsa4096".parse::<KeyKind>().unwrap(), KeyKind::Rsa4096);
    }

    #[test]
    fn an_unknown_kind_is_refused_with_the_known_ones() {
        for name in ["dsa", "", "EC", "rsa1024"] {
            assert_eq!(
                name.parse::<KeyKind>().unwrap_err().to_string(),
                format!(
                    "unknown key kind '{name}'; the known ones are ec, p384, rsa, rsa2048, ed25519"
                )
            );
        }
    }
}
