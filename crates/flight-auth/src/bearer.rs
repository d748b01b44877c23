//! Bearer tokens: made from randomness, kept as hashes.

use aws_lc_rs::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use zeroize::Zeroizing;

use crate::error::{AuthError, Refusal};
use crate::limits::TOKEN_RANDOM_BYTES;

const PREFIX: &str = "flt_";
const TOKEN_BYTES: usize = PREFIX.len() + 2 * TOKEN_RANDOM_BYTES;

/// A token that whoever bears it is known by. It has no `Debug`, and is overwritten when it goes.
///
/// A plain SHA-256 is enough to keep it by: its 256 random bits cannot be searched, unlike a
/// password's.
pub struct BearerToken(Zeroizing<String>);

impl BearerToken {
    /// Makes a token of `random`, which must come from a cryptographic source and be used once.
    pub fn issue(random: &[u8; TOKEN_RANDOM_BYTES]) -> Self {
        let mut text = Zeroizing::new(String::with_capacity(TOKEN_BYTES));
        text.push_str(PREFIX);
        push_hex(&mut text, random);
        Self(text)
    }

    /// Checks that `text` has the form of a token, which says nothing about whose it is.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(text: &str) -> Result<Self, AuthError> {
        let digits = text.strip_prefix(PREFIX).ok_or(AuthError::NotAToken)?;
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != TOKEN_BYTES || !digits.bytes().all(hex) {
            return Err(AuthError::NotAToken);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// The token of an `authorization` header. The scheme is matched in any case (RFC 9110, 11.1).
    ///
    /// # Errors
    /// [`Refusal::Malformed`] for another scheme or none; [`Refusal::Unknown`] for what is no token
    /// of ours.
    pub fn of_header(authorization: &str) -> Result<Self, Refusal> {
        let (scheme, token) = authorization.split_once(' ').ok_or(Refusal::Malformed)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refusal::Malformed);
        }
        Self::parse(token.trim_matches(' ')).map_err(|_| Refusal::Unknown)
    }

    /// The token itself, for whoever hands it out.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(crate) fn hash(&self) -> [u8; SHA256_OUTPUT_LEN] {
        let mut sum = [0; SHA256_OUTPUT_LEN];
        sum.copy_from_slice(digest(&SHA256, self.0.as_bytes()).as_ref());
        sum
    }

    /// The SHA-256 of the token in hexadecimal, as the file of tokens has it.
    pub fn hash_hex(&self) -> String {
        let mut text = String::with_capacity(2 * SHA256_OUTPUT_LEN);
        push_hex(&mut text, &self.hash());
        text
    }
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(half), 16).expect("four bits are one digit"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_header(header: &str, expected: Result<(), Refusal>) {
        let found = BearerToken::of_header(header).map(|token| {
            assert_eq!(token.expose(), BearerToken::issue(&[7; 32]).expose());
        });
        assert_eq!(found, expected, "{header:?}");
    }

    #[test]
    fn a_token_is_its_random_bytes_in_hexadecimal() {
        let token = BearerToken::issue(&[0xa5; 32]);
        assert_eq!(token.expose(), format!("flt_{}", "a5".repeat(32)));
        assert!(BearerToken::parse(token.expose()).is_ok());
    }

    #[test]
    fn the_hash_is_that_of_the_whole_text() {
        // printf 'flt_%064d' 0 | sha256sum
        let hash = BearerToken::issue(&[0; 32]).hash_hex();
        assert_eq!(hash, "247756101b46b922590b1c8b9c692c7a068996f085f0633d1223dfaaa46eb14e");
    }

    #[test]
    fn the_scheme_is_read_in_any_case() {
        let text = "07".repeat(32);
        for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
            check_header(&format!("{scheme} flt_{text}"), Ok(()));
            check_header(&format!("{scheme}  flt_{text} "), Ok(()));
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let text = "07".repeat(32);
        let malformed = ["", "Bearer", "Basic YTpi", "Token flt_x", "Bearerflt_"];
        for header in malformed {
            check_header(header, Err(Refusal::Malformed));
        }
        let odd = text.replace('7', "G");
        let unknown = ["", "flt_", &text, &format!("flt_{text}0"), &format!("flt_{odd}")];
        for token in unknown {
            check_header(&format!("Bearer {token}"), Err(Refusal::Unknown));
        }
    }
}
