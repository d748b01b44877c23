//! What can be wrong with a file of tokens or of policy, and why a caller is refused.

/// What the operator has to put right. The texts name no secret: at most a principal or a pattern.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    #[error("the file is {len} bytes, more than the {max} that are read")]
    FileTooLong { len: usize, max: usize },
    /// Where the text is not TOML, or has a key that is not known.
    #[error("line {line}: {reason}")]
    NotUnderstood { line: usize, reason: String },
    #[error("{count} {what}, more than the {max} that are taken")]
    TooMany { what: &'static str, count: usize, max: usize },
    #[error("the name {name:?} {reason}")]
    BadPrincipal { name: String, reason: &'static str },
    #[error("the pattern {pattern:?} {reason}")]
    BadPattern { pattern: String, reason: &'static str },
    #[error(
        "token {number}, of {principal}: sha256 is not 64 hexadecimal digits; \
         give the SHA-256 of the whole token"
    )]
    BadHash { number: usize, principal: String },
    #[error(
        "token {number}, of {principal}: expires is not a date with a time in UTC; \
         write it like 2027-01-31T00:00:00Z"
    )]
    BadExpiry { number: usize, principal: String },
    #[error("token {number}, of {principal}: another entry has the same sha256; remove one")]
    DuplicateToken { number: usize, principal: String },
    #[error("rule {number} has an empty list of {what}; it would never apply")]
    EmptyRule { number: usize, what: &'static str },
    #[error("rule {number} names the group {group:?}, which is not defined")]
    UnknownGroup { number: usize, group: String },
    #[error("a group cannot hold anonymous callers; name anonymous in the rule itself")]
    AnonymousMember,
    /// Whoever hashes a text that is none of our tokens would let a guessable one in.
    #[error("this is not a token: a token is flt_ and 64 hexadecimal digits")]
    NotAToken,
}

/// Why a caller is refused: for the log. A peer may be told that a token has expired, since only
/// who bears a genuine one can learn it; the others are one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the authorization header is not 'Bearer TOKEN'")]
    Malformed,
    #[error("the token is not known")]
    Unknown,
    #[error("the token expired {late_s} s ago")]
    Expired { late_s: u64 },
}
