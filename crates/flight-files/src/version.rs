//! A dataset file's version: tells two states of a file apart, alike in every process.

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::Xxh3;

use crate::access::FileAccess;
use crate::error::FileError;

/// 128 bits over a file's size, modification time and footer. Not a secret and not a signature: it
/// finds changes, it does not prove who made them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u128);

impl Version {
    /// Of the open file and the `index` that its readers go by: the footer, or the list of a
    /// stream's messages.
    pub(crate) fn of(file: &FileAccess, index: &[u8]) -> Self {
        let mut hash = Xxh3::new();
        hash.update(&file.bytes().to_le_bytes());
        hash.update(&file.modified_ns().to_le_bytes());
        hash.update(index);
        Self(hash.digest128())
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Version {
    type Err = FileError;

    fn from_str(text: &str) -> Result<Self, FileError> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = digits.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        value.map(Self).ok_or_else(|| {
            FileError::invalid("a version is 32 hexadecimal digits, as GetFlightInfo gives it")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_survives_text_and_bytes() {
        for version in [Version(0), Version(7), Version(u128::MAX)] {
            assert_eq!(version.to_string().len(), 32);
            assert_eq!(version.to_string().parse::<Version>().unwrap(), version);
            assert_eq!(Version::from_bytes(version.to_bytes()), version);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "7", "+0000000000000000000000000000007", &"0".repeat(33), &"g".repeat(32)]
        {
            let error = text.parse::<Version>().unwrap_err().to_string();
            assert!(error.contains("32 hexadecimal digits"), "{text}: {error}");
        }
    }
}
