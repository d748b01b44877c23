//! Bounds on the files of tokens and of policy, and on what a caller sends.

/// Bytes of a file of tokens or of policy.
pub const FILE_BYTES_MAX: usize = 4 << 20;

/// Tokens of a file.
pub const TOKENS_MAX: usize = 16_384;

/// Rules of a policy. Each call is held against all of them.
pub const RULES_MAX: usize = 1_024;

/// Names and patterns that one list holds: the members of a group, and each list of a rule.
pub const LIST_MAX: usize = 1_024;

/// Bytes of a principal's name.
pub const PRINCIPAL_BYTES_MAX: usize = 128;

/// Bytes of a pattern for datasets.
pub const PATTERN_BYTES_MAX: usize = 1_024;

/// Random bytes in a token: as many as its hash has, so that neither is easier to guess.
pub const TOKEN_RANDOM_BYTES: usize = 32;
