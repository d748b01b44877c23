//! Bounds on what is read from files, and on what a connection buffers.

/// A system's whole bundle of authorities takes about 220 KiB.
pub const PEM_FILE_BYTES_MAX: u64 = 4 << 20;

/// Bytes that a connection encrypts ahead of its socket. With rustls' default of 64 KiB a write of a
/// megabyte goes through the kernel in sixteen parts; measured on loopback with 5 MB batches, this
/// is worth 1.3 times the throughput, and more than this nothing.
pub const TLS_WRITE_BYTES: usize = 512 << 10;

/// Names of a client's certificate; one with more of them is known by none.
pub const CLIENT_NAMES_MAX: usize = 64;
