//! A message's checksum, by which a client can tell that what arrived is what was sent.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

/// XXH3-64 over a message's header and body, as they stand in `FlightData`.
///
/// It travels in `app_metadata` as `xxh3:` and 16 hexadecimal digits when the request asks for it.
/// It finds damage, not forgery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum(u64);

impl Checksum {
    /// The checksum of a message whose body lies in `body`, piece after piece.
    pub fn of<'a>(header: &[u8], body: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Xxh3::new();
        hash.update(header);
        for piece in body {
            hash.update(piece);
        }
        Self(hash.digest())
    }

    /// Reads what [`Display`](fmt::Display) writes; `None` for anything else.
    pub fn parse(app_metadata: &[u8]) -> Option<Self> {
        let digits = app_metadata.strip_prefix(b"xxh3:")?;
        if digits.len() != 16 {
            return None;
        }
        u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().map(Self)
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "xxh3:{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_body_is_cut_does_not_matter() {
        let whole = Checksum::of(b"head", [b"body and more".as_slice()]);
        assert_eq!(whole, Checksum::of(b"head", [b"body".as_slice(), b" and more"]));
        assert_ne!(whole, Checksum::of(b"head", [b"body and morf".as_slice()]));
    }

    #[test]
    fn its_text_reads_back_and_nothing_else_does() {
        let sum = Checksum::of(b"a", [b"b".as_slice()]);
        assert_eq!(Checksum::parse(sum.to_string().as_bytes()), Some(sum));
        for other in ["", "xxh3:", "xxh3:12", "xxh3:zzzzzzzzzzzzzzzz", "12345678"] {
            assert_eq!(Checksum::parse(other.as_bytes()), None, "{other:?}");
        }
    }
}
