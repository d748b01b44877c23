//! What is refused for its size.

/// Keys of a ring. One that rotates each minute and lives a day has fewer.
pub const KEYS_MAX: usize = 4096;
/// Cancelled ids that a ring remembers.
pub const CANCELLED_MAX: usize = 1 << 16;
/// Bytes of a key's secret: an RSA key of 2048 bits in PKCS#8 is about 1 220.
pub const SECRET_BYTES_MAX: usize = 4096;
/// Bytes of a sealed file.
pub const SEALED_BYTES_MAX: usize = 16 << 20;
/// Bytes of a file with a root key: 64 hexadecimal digits and the end of their line.
pub const ROOT_FILE_BYTES_MAX: u64 = 66;

const _: () = assert!(KEYS_MAX * 1500 + CANCELLED_MAX * 24 < SEALED_BYTES_MAX, "a full ring fits");
