//! Bounds on what is read from files, and on what a connection buffers.

/// A system's whole bundle of authorities takes about 220 KiB.
pub const PEM_FILE_BYTES_MAX: u64 = 4 << 20;

/// A password is one line.
pub const PASSWORD_FILE_BYTES_MAX: u64 = 4 << 10;

/// Work that an encrypted key may ask for. OWASP advises 600 000 for SHA-256; this many take seconds.
pub const PBKDF2_ITERATIONS_MAX: u32 = 10_000_000;

/// Memory that scrypt may be asked to fill: sixteen times what OpenSSL's default takes.
pub const SCRYPT_MEMORY_BYTES_MAX: u64 = 256 << 20;

/// Memory times passes over it (`p`) that scrypt may be asked for.
pub const SCRYPT_WORK_BYTES_MAX: u64 = 1 << 30;

const _: () = assert!(SCRYPT_MEMORY_BYTES_MAX <= SCRYPT_WORK_BYTES_MAX, "one pass is allowed");

/// Bytes that a connection encrypts ahead of its socket. With rustls' default of 64 KiB a write of a
/// megabyte goes through the kernel in sixteen parts; measured on loopback with 5 MB batches, this
/// is worth 1.3 times the throughput, and more than this nothing.
pub const TLS_WRITE_BYTES: usize = 512 << 10;

/// Sessions that a client keeps of one server. Each of TLS 1.3 is good for one connection (RFC 8446,
/// C.4), and servers give two with each: enough for as many callers that connect at once.
pub const SESSIONS_PER_SERVER: usize = 1024;

/// Servers whose sessions a client keeps; beyond, tickets of all are forgotten.
pub const SESSION_SERVERS_MAX: usize = 256;

/// Names of a client's certificate; one with more of them is known by none.
pub const CLIENT_NAMES_MAX: usize = 64;
