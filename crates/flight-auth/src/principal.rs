//! Names of those who call.

use std::fmt;

use crate::error::AuthError;
use crate::limits::PRINCIPAL_BYTES_MAX;

/// The word that stands for callers without credentials in a policy.
pub(crate) const ANONYMOUS: &str = "anonymous";

/// The name of a person or a program, compared byte for byte: visible ASCII, so that two names
/// that look the same are the same. Neither `anonymous`, nor `*`, nor a group (`@…`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal(String);

impl Principal {
    /// Checks a name.
    ///
    /// # Errors
    /// When it is empty, too long, not visible ASCII, or a word that means something else.
    pub fn parse(name: &str) -> Result<Self, AuthError> {
        let reason = if name.is_empty() {
            "is empty"
        } else if PRINCIPAL_BYTES_MAX < name.len() {
            "is longer than 128 bytes"
        } else if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            "holds something else than visible ASCII characters"
        } else if name == ANONYMOUS {
            "stands for callers without credentials"
        } else if name.starts_with('@') {
            "starts with @, which only groups do"
        } else if name.contains('*') {
            "holds *, which a policy reads as everyone"
        } else {
            return Ok(Self(name.to_owned()));
        };
        let shown = name.chars().take(PRINCIPAL_BYTES_MAX).collect();
        Err(AuthError::BadPrincipal { name: shown, reason })
    }

    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Result<(), &str>) {
        let parsed = Principal::parse(name);
        let found = parsed.as_ref().map(|kept| assert_eq!(kept.as_str(), name));
        let reason = |error: &AuthError| error.to_string();
        assert_eq!(found.map_err(reason), expected.map_err(str::to_owned));
    }

    #[test]
    fn a_name_is_visible_ascii() {
        check("etl", Ok(()));
        check("CN=reader,O=example", Ok(()));
        check(&"a".repeat(128), Ok(()));
        check("", Err("the name \"\" is empty"));
        let seen = "holds something else than visible ASCII characters";
        check("a b", Err(&format!("the name \"a b\" {seen}")));
        check("a\n", Err(&format!("the name \"a\\n\" {seen}")));
        check("é", Err(&format!("the name \"é\" {seen}")));
        let long = "a".repeat(129);
        let shown = "a".repeat(128);
        check(&long, Err(&format!("the name {shown:?} is longer than 128 bytes")));
    }

    #[test]
    fn a_name_is_no_word_of_the_policy() {
        let stands = "the name \"anonymous\" stands for callers without credentials";
        check("anonymous", Err(stands));
        check("@readers", Err("the name \"@readers\" starts with @, which only groups do"));
        check("*", Err("the name \"*\" holds *, which a policy reads as everyone"));
    }
}
