//! The name of a key: random, and no secret.

use std::fmt;
use std::str::FromStr;

/// Sixteen bytes, printed as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId([u8; 16]);

impl KeyId {
    pub const BYTES: usize = 16;

    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for KeyId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = from_hex(text.as_bytes()).and_then(|bytes| bytes.as_slice().try_into().ok());
        bytes.map(Self).ok_or_else(|| {
            format!("{text:?} is no key's id: 32 hexadecimal digits, as `list` prints")
        })
    }
}

/// The bytes of hexadecimal digits; their memory is overwritten when they go.
pub(crate) fn from_hex(digits: &[u8]) -> Option<zeroize::Zeroizing<Vec<u8>>> {
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut bytes = zeroize::Zeroizing::new(Vec::with_capacity(pairs.len()));
    for [high, low] in pairs {
        bytes.push(digit(*high)? << 4 | digit(*low)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_prints() {
        let id = KeyId::from_bytes(*b"\x00\x01key of a test\xff");
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "00", "zz016b6579206f66206120746573740ff", &"é".repeat(16)] {
            assert!(wrong.parse::<KeyId>().unwrap_err().contains("32 hexadecimal"), "{wrong}");
        }
    }
}
