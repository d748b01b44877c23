//! Bounds on what a caller may ask for.

/// Ten years: a development certificate that outlives this is a mistake.
pub const DAYS_MAX: u32 = 3_650;

/// Default lifetime in days.
pub const DAYS_DEFAULT: u32 = 365;

/// Names in one certificate. It is sent in each handshake, so it must stay small.
pub const HOSTS_MAX: usize = 100;

/// Names of clients for each of which a certificate is made in one run.
pub const CLIENTS_MAX: usize = 100;

/// Of a client's name; the name stands in a file's name too.
pub const CLIENT_NAME_BYTES_MAX: usize = 255;

/// `ub-common-name` of X.520 (RFC 5280, A.1).
pub const COMMON_NAME_BYTES_MAX: usize = 64;

/// What OWASP advises for HMAC-SHA-256. Opening such a key takes some tenths of a second.
pub const PBKDF2_ITERATIONS: u32 = 600_000;
