//! The tokens that are known, from a TOML file that holds their hashes.
//!
//! ```toml
//! [[token]]
//! principal = "etl"
//! sha256 = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"
//! expires = 2027-01-31T00:00:00Z
//! ```

use std::collections::HashMap;
use std::fmt;

use aws_lc_rs::digest::SHA256_OUTPUT_LEN;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use time::{Date, Month, OffsetDateTime};
use toml::value::{Datetime, Offset};

use crate::bearer::BearerToken;
use crate::caller::Caller;
use crate::error::{AuthError, Refusal};
use crate::limits::{FILE_BYTES_MAX, TOKENS_MAX};
use crate::principal::Principal;

/// The tokens that are known, by their hashes.
#[derive(Debug)]
pub struct Tokens {
    // A lookup takes a time that depends on the hash, of which nobody can make a wanted beginning
    // without trying tokens; the tokens themselves are never compared.
    known: HashMap<[u8; SHA256_OUTPUT_LEN], Known>,
}

#[derive(Debug)]
struct Known {
    principal: Principal,
    expires_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensText {
    #[serde(default)]
    token: Vec<TokenText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenText {
    principal: String,
    sha256: String,
    expires: Option<Datetime>,
}

impl Tokens {
    /// Reads the file's text.
    ///
    /// # Errors
    /// When it is not understood; the error names the entry by its number and principal.
    pub fn parse(text: &str) -> Result<Self, AuthError> {
        let parsed: TokensText = understood(text)?;
        let count = parsed.token.len();
        if TOKENS_MAX < count {
            return Err(AuthError::TooMany { what: "tokens", count, max: TOKENS_MAX });
        }
        let mut known = HashMap::with_capacity(count);
        for (entry, number) in parsed.token.into_iter().zip(1..) {
            let principal = Principal::parse(&entry.principal)?;
            let named = || (number, entry.principal.clone());
            let Some(hash) = unhex(&entry.sha256) else {
                let (number, principal) = named();
                return Err(AuthError::BadHash { number, principal });
            };
            let expires_s = match entry.expires.map(seconds) {
                Some(None) => {
                    let (number, principal) = named();
                    return Err(AuthError::BadExpiry { number, principal });
                }
                expires => expires.flatten(),
            };
            if known.insert(hash, Known { principal, expires_s }).is_some() {
                let (number, principal) = named();
                return Err(AuthError::DuplicateToken { number, principal });
            }
        }
        Ok(Self { known })
    }

    /// Who bears `token` at `now_s` (Unix time). A token is good until the second before it expires.
    ///
    /// # Errors
    /// When it is not known, or no longer good.
    pub fn verify(&self, token: &BearerToken, now_s: u64) -> Result<Caller, Refusal> {
        let known = self.known.get(&token.hash()).ok_or(Refusal::Unknown)?;
        match known.expires_s {
            Some(expires_s) if expires_s <= now_s => {
                Err(Refusal::Expired { late_s: now_s - expires_s })
            }
            _ => Ok(Caller::verified(known.principal.clone())),
        }
    }
}

/// What a file of tokens says of one token, to be appended to it.
pub struct TokenEntry<'a> {
    pub principal: &'a Principal,
    pub token: &'a BearerToken,
    pub expires: Option<OffsetDateTime>,
}

impl fmt::Display for TokenEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let principal = toml::Value::from(self.principal.as_str());
        writeln!(f, "[[token]]\nprincipal = {principal}\nsha256 = \"{}\"", self.token.hash_hex())?;
        let Some(expires) = self.expires.map(|at| at.to_offset(time::UtcOffset::UTC)) else {
            return Ok(());
        };
        let (date, (hour, minute, second)) = (expires.date(), expires.to_hms());
        let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
        writeln!(f, "expires = {year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// A text of TOML as what it means, or the line where it means nothing.
pub(crate) fn understood<T: DeserializeOwned>(text: &str) -> Result<T, AuthError> {
    if FILE_BYTES_MAX < text.len() {
        return Err(AuthError::FileTooLong { len: text.len(), max: FILE_BYTES_MAX });
    }
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(start).filter(|&byte| byte == b'\n').count();
        AuthError::NotUnderstood { line, reason: error.message().to_owned() }
    })
}

fn unhex(text: &str) -> Option<[u8; SHA256_OUTPUT_LEN]> {
    let digits = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<_>>>()?;
    let bytes = digits.chunks(2).map(|pair| match *pair {
        [high, low] => u8::try_from(16 * high + low).ok(),
        _ => None,
    });
    bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()
}

/// Unix time of a date with a time and an offset of nought; what is less exact is none.
fn seconds(at: Datetime) -> Option<u64> {
    let (date, clock, offset) = (at.date?, at.time?, at.offset?);
    if !matches!(offset, Offset::Z | Offset::Custom { minutes: 0 }) {
        return None;
    }
    let month = Month::try_from(date.month).ok()?;
    let date = Date::from_calendar_date(i32::from(date.year), month, date.day).ok()?;
    let at = date.with_hms(clock.hour, clock.minute, clock.second.unwrap_or(0)).ok()?;
    u64::try_from(at.assume_utc().unix_timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2027-01-31T00:00:00Z, as `date -u -d` has it.
    const EXPIRY_S: u64 = 1_801_353_600;

    fn token(seed: u8) -> BearerToken {
        BearerToken::issue(&[seed; 32])
    }

    fn file(expires: &str) -> String {
        let hash = token(1).hash_hex();
        format!("[[token]]\nprincipal = \"etl\"\nsha256 = \"{hash}\"\n{expires}\n")
    }

    fn check(seed: u8, now_s: u64, expected: Result<&str, Refusal>) {
        let tokens = Tokens::parse(&file("expires = 2027-01-31T00:00:00Z")).unwrap();
        let found = tokens.verify(&token(seed), now_s);
        let name = found.map(|caller| caller.principal().unwrap().to_string());
        assert_eq!(name.as_deref(), expected.as_ref().copied());
    }

    fn check_fault(text: &str, expected: &str) {
        assert_eq!(Tokens::parse(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_token_is_good_until_it_expires() {
        check(1, 0, Ok("etl"));
        check(1, EXPIRY_S - 1, Ok("etl"));
        check(1, EXPIRY_S, Err(Refusal::Expired { late_s: 0 }));
        check(1, EXPIRY_S + 9, Err(Refusal::Expired { late_s: 9 }));
    }

    #[test]
    fn a_token_that_is_not_in_the_file_is_nobodys() {
        check(2, 0, Err(Refusal::Unknown));
        let none = Tokens::parse("").unwrap();
        assert_eq!(none.verify(&token(1), 0), Err(Refusal::Unknown));
    }

    #[test]
    fn an_entry_without_expiry_never_expires() {
        let tokens = Tokens::parse(&file("")).unwrap();
        assert!(tokens.verify(&token(1), u64::MAX).is_ok());
    }

    #[test]
    fn an_entry_that_we_write_is_one_that_we_read() {
        let principal = Principal::parse("a\"b\\c").unwrap();
        let expires = OffsetDateTime::from_unix_timestamp(EXPIRY_S as i64).unwrap();
        for (expires, last_s) in [(Some(expires), EXPIRY_S - 1), (None, u64::MAX)] {
            let entry = TokenEntry { principal: &principal, token: &token(3), expires };
            let tokens = Tokens::parse(&entry.to_string()).unwrap();
            let caller = tokens.verify(&token(3), last_s).unwrap();
            assert_eq!(caller.principal(), Some(&principal));
            assert_eq!(tokens.verify(&token(3), EXPIRY_S).is_ok(), expires.is_none());
        }
    }

    #[test]
    fn an_expiry_is_a_moment_in_utc() {
        let fault = "token 1, of etl: expires is not a date with a time in UTC; \
                     write it like 2027-01-31T00:00:00Z";
        for expires in [
            "2027-01-31",
            "2027-01-31T00:00:00",
            "2027-01-31T00:00:00+01:00",
            "1960-01-01T00:00:00Z",
        ] {
            check_fault(&file(&format!("expires = {expires}")), fault);
        }
    }

    #[test]
    fn a_hash_is_64_digits() {
        let fault = "token 1, of etl: sha256 is not 64 hexadecimal digits; \
                     give the SHA-256 of the whole token";
        let digits = "0".repeat(64);
        for hash in
            ["", &digits[1..], &format!("{digits}0"), &format!("{digits}00"), &"g".repeat(64)]
        {
            check_fault(&format!("[[token]]\nprincipal = 'etl'\nsha256 = '{hash}'"), fault);
        }
    }

    #[test]
    fn one_token_is_of_one_principal() {
        let text = file("") + &file("").replace("etl", "other");
        check_fault(&text, "token 2, of other: another entry has the same sha256; remove one");
    }

    #[test]
    fn a_key_that_is_not_known_is_refused_with_its_line() {
        let fault = Tokens::parse(&file("expiry = 1")).unwrap_err();
        assert!(matches!(fault, AuthError::NotUnderstood { line: 4, .. }), "{fault}");
    }
}
