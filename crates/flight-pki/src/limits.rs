//! Bounds on what a caller may ask for.

/// Ten years: a development certificate that outlives this is a mistake.
pub const DAYS_MAX: u32 = 3_650;

/// Default lifetime in days.
pub const DAYS_DEFAULT: u32 = 365;

/// Names in one certificate. It is sent in each handshake, so it must stay small.
pub const HOSTS_MAX: usize = 100;
