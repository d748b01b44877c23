//! The password of a private key, read from a file, and the keys that it opens (PKCS#8, PBES2).
//!
//! What a key's file says about its own encryption is bytes from outside: how much work it asks for
//! is bounded before any is done.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pkcs8::pkcs5::{self, EncryptionScheme, pbes2::Kdf};
use pkcs8::{EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef};
use rustls_pki_types::PrivatePkcs8KeyDer;
use zeroize::Zeroizing;

use crate::error::TlsError;
use crate::limits::{
    PASSWORD_FILE_BYTES_MAX, PBKDF2_ITERATIONS_MAX, SCRYPT_MEMORY_BYTES_MAX, SCRYPT_WORK_BYTES_MAX,
};

/// A password: the first line of a file. Its memory is overwritten when it goes; `Debug` does not
/// show it.
pub struct KeyPassword {
    file: PathBuf,
    bytes: Zeroizing<Vec<u8>>,
}

impl KeyPassword {
    /// Reads the first line of `file`, without its end.
    ///
    /// # Errors
    /// When the file cannot be read, is too large, or begins with an empty line.
    pub fn read(file: &Path) -> Result<Self, TlsError> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(PASSWORD_FILE_BYTES_MAX as usize + 1));
        let opened: io::Result<File> = File::open(file);
        opened
            .and_then(|opened| opened.take(PASSWORD_FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
            .map_err(|cause| TlsError::Read { file: file.to_owned(), cause })?;
        if bytes.len() as u64 > PASSWORD_FILE_BYTES_MAX {
            return Err(TlsError::PasswordTooLarge { file: file.to_owned() });
        }
        let line = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
        bytes.truncate(line);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        if bytes.is_empty() {
            return Err(TlsError::PasswordEmpty { file: file.to_owned() });
        }
        Ok(Self { file: file.to_owned(), bytes })
    }

    /// The password itself, for whoever encrypts with it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A sentence about a password file that others than its owner may read.
    pub fn warning(file: &Path) -> Option<String> {
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mode = metadata.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| {
            format!(
                "the password in {0} can be read by others than its owner (mode {mode:o}); \
                 run: chmod 600 {0}",
                file.display()
            )
        })
    }

    /// Opens the key of `key_file`, an EncryptedPrivateKeyInfo (RFC 5958, 3).
    pub(crate) fn decrypt(
        &self,
        der: &[u8],
        key_file: &Path,
    ) -> Result<PrivatePkcs8KeyDer<'static>, TlsError> {
        let unknown = |what: String| TlsError::UnknownEncryption { file: key_file.into(), what };
        let sealed = EncryptedPrivateKeyInfoRef::try_from(der)
            .map_err(|_| unknown("a scheme that is not known".to_owned()))?;
        let EncryptionScheme::Pbes2(scheme) = &sealed.encryption_algorithm else {
            return Err(unknown("PBES1, which is weak".to_owned()));
        };
        affordable(&scheme.kdf)
            .map_err(|what| TlsError::CostlyKey { file: key_file.to_owned(), what })?;
        let wrong =
            || TlsError::WrongPassword { key: key_file.to_owned(), password: self.file.clone() };
        let opened = match sealed.decrypt(self.bytes()) {
            Ok(opened) => opened,
            Err(pkcs8::Error::EncryptedPrivateKey(
                error @ (pkcs5::Error::UnsupportedAlgorithm { .. }
                | pkcs5::Error::AlgorithmParametersInvalid { .. }),
            )) => return Err(unknown(error.to_string())),
            Err(_) => return Err(wrong()),
        };
        // A wrong password may leave something that looks like DER: one in hundreds does.
        PrivateKeyInfoRef::try_from(opened.as_bytes()).map_err(|_| wrong())?;
        Ok(PrivatePkcs8KeyDer::from(opened.as_bytes().to_vec()))
    }
}

/// Whether the work that a key's file asks for is within bounds; what is not, if any.
fn affordable(kdf: &Kdf) -> Result<(), String> {
    match kdf {
        Kdf::Pbkdf2(asked) => {
            let count = asked.iteration_count;
            let taken = 0 < count && count <= PBKDF2_ITERATIONS_MAX;
            let bound = format!("{count} iterations of PBKDF2, not 1 to {PBKDF2_ITERATIONS_MAX}");
            if taken { Ok(()) } else { Err(bound) }
        }
        Kdf::Scrypt(asked) => {
            let (n, r, p) = (asked.cost_parameter, asked.block_size, asked.parallelization);
            // RFC 7914, 6: N is a power of two above one.
            if n < 2 || !n.is_power_of_two() || r == 0 || p == 0 {
                return Err(format!("scrypt with N={n}, r={r}, p={p}, which does not exist"));
            }
            let memory = n.saturating_mul(128 * u64::from(r));
            if SCRYPT_MEMORY_BYTES_MAX < memory {
                return Err(format!(
                    "{memory} bytes of memory for scrypt, more than {SCRYPT_MEMORY_BYTES_MAX}"
                ));
            }
            let work = memory.saturating_mul(u64::from(p));
            if SCRYPT_WORK_BYTES_MAX < work {
                return Err(format!(
                    "{work} bytes of work for scrypt, more than {SCRYPT_WORK_BYTES_MAX}"
                ));
            }
            Ok(())
        }
        _ => Err("a key derivation that is not known".to_owned()),
    }
}

impl fmt::Debug for KeyPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPassword").field("file", &self.file).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use pkcs8::pkcs5::pbes2::{Pbkdf2Params, Pbkdf2Prf, ScryptParams};

    use super::*;

    fn salt() -> pkcs5::pbes2::Salt {
        b"saltsaltsaltsalt".as_slice().try_into().unwrap()
    }

    fn check_pbkdf2(iteration_count: u32, expected: Result<(), &str>) {
        let prf = Pbkdf2Prf::HmacWithSha256;
        let asked = Pbkdf2Params { salt: salt(), iteration_count, key_length: None, prf };
        assert_eq!(affordable(&asked.into()), expected.map_err(str::to_owned));
    }

    fn check_scrypt(n: u64, r: u16, p: u16, expected: Result<(), &str>) {
        let asked = ScryptParams {
            salt: salt(),
            cost_parameter: n,
            block_size: r,
            parallelization: p,
            key_length: None,
        };
        assert_eq!(affordable(&asked.into()), expected.map_err(str::to_owned));
    }

    #[test]
    fn iterations_are_bounded() {
        check_pbkdf2(1, Ok(()));
        check_pbkdf2(2_048, Ok(()));
        check_pbkdf2(10_000_000, Ok(()));
        check_pbkdf2(0, Err("0 iterations of PBKDF2, not 1 to 10000000"));
        check_pbkdf2(10_000_001, Err("10000001 iterations of PBKDF2, not 1 to 10000000"));
        check_pbkdf2(u32::MAX, Err("4294967295 iterations of PBKDF2, not 1 to 10000000"));
    }

    #[test]
    fn memory_and_work_of_scrypt_are_bounded() {
        check_scrypt(16_384, 8, 1, Ok(()));
        check_scrypt(262_144, 8, 4, Ok(()));
        check_scrypt(
            262_144,
            8,
            5,
            Err("1342177280 bytes of work for scrypt, more than 1073741824"),
        );
        check_scrypt(
            524_288,
            8,
            1,
            Err("536870912 bytes of memory for scrypt, more than 268435456"),
        );
        let most = "18446744073709551615 bytes of memory for scrypt, more than 268435456";
        check_scrypt(1 << 63, u16::MAX, u16::MAX, Err(most));
    }

    #[test]
    fn scrypt_that_does_not_exist_is_refused_before_it_is_computed() {
        for (n, r, p) in [(0, 8, 1), (1, 8, 1), (3, 8, 1), (16, 0, 1), (16, 8, 0)] {
            let expected = format!("scrypt with N={n}, r={r}, p={p}, which does not exist");
            check_scrypt(n, r, p, Err(&expected));
        }
    }
}
