//! How a key signs.

use std::fmt;
use std::str::FromStr;

/// What a key signs with. It belongs to the key and is never read from what was signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// HMAC-SHA256. Whoever can verify can sign too.
    Hmac,
    Ed25519,
    /// ECDSA over P-256 with SHA-256, the signature of fixed length.
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256 and a key of 2048 bits.
    Rs256,
}

impl Algorithm {
    pub const ALL: [Self; 4] = [Self::Hmac, Self::Ed25519, Self::Es256, Self::Rs256];

    /// Bytes of each of its MACs or signatures.
    pub fn signature_bytes(self) -> usize {
        match self {
            Self::Hmac => 32,
            Self::Ed25519 | Self::Es256 => 64,
            Self::Rs256 => 256,
        }
    }

    pub(crate) fn to_code(self) -> u8 {
        match self {
            Self::Hmac => 1,
            Self::Ed25519 => 2,
            Self::Es256 => 3,
            Self::Rs256 => 4,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.to_code() == code)
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|algorithm| algorithm.to_string() == text);
        found.ok_or_else(|| format!("{text:?} is none of hmac, ed25519, es256, rs256"))
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Hmac => "hmac",
            Self::Ed25519 => "ed25519",
            Self::Es256 => "es256",
            Self::Rs256 => "rs256",
        })
    }
}
