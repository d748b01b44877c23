//! What kind of key a certificate certifies, read from the certificate.

use std::fmt;

use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo, X509Certificate};
use x509_parser::public_key::PublicKey;

/// The kind of a certificate's key. Prints as `RSA-4096`, `EC P-256`, `Ed25519`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyOf {
    /// With the bits of its modulus.
    Rsa(usize),
    /// With the bits of its curve.
    Ec(usize),
    Ed25519,
    Other,
}

/// `1.3.101.112` (RFC 8410, 3).
const ED25519: &str = "1.3.101.112";

impl KeyOf {
    /// The key of a certificate (DER); `None` where it cannot be read.
    pub(crate) fn certificate(der: &[u8]) -> Option<Self> {
        let (_, cert) = X509Certificate::from_der(der).ok()?;
        Self::public_key(cert.public_key())
    }

    pub(crate) fn public_key(key: &SubjectPublicKeyInfo<'_>) -> Option<Self> {
        if key.algorithm.algorithm.to_id_string() == ED25519 {
            return Some(Self::Ed25519);
        }
        Some(match key.parsed().ok()? {
            PublicKey::RSA(rsa) => Self::Rsa(rsa.key_size()),
            PublicKey::EC(point) => Self::Ec(match point.key_size() {
                // The next multiple of eight, for a size that is none.
                528 => 521,
                bits => bits,
            }),
            _ => Self::Other,
        })
    }
}

impl fmt::Display for KeyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa(bits) => write!(f, "RSA-{bits}"),
            Self::Ec(bits) => write!(f, "EC P-{bits}"),
            Self::Ed25519 => f.write_str("Ed25519"),
            Self::Other => f.write_str("another kind of key"),
        }
    }
}
