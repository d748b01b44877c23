//! A certificate chain with its private key, as one end of a connection shows it.
//!
//! A value of these types is proof that the pair was checked when it was loaded.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::certificate::Certificate;
use crate::chain::{self, Chain};
use crate::error::{Purpose, TlsError};
use crate::password::KeyPassword;
use crate::pem;

/// What a server shows to its clients.
#[derive(Debug)]
pub struct ServerIdentity {
    pair: Pair,
    warnings: Vec<String>,
}

/// What a client shows to a server that asks for it.
#[derive(Debug)]
pub struct ClientIdentity {
    pair: Pair,
}

impl ServerIdentity {
    /// Reads a chain (the server's certificate first) and its key; both may be in the same file.
    ///
    /// # Errors
    /// Everything that would make clients fail later: see [`TlsError`].
    pub fn load(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        Self::load_with(cert, key, None)
    }

    /// As [`ServerIdentity::load`]; `password` opens the key where it is encrypted.
    ///
    /// # Errors
    /// As there, and when the password does not open the key.
    pub fn load_with(
        cert: &Path,
        key: &Path,
        password: Option<&KeyPassword>,
    ) -> Result<Self, TlsError> {
        let (pair, warnings) = Pair::load(cert, key, password, Purpose::Server)?;
        Ok(Self { pair, warnings })
    }

    /// Sentences about what the server may use and many clients refuse, to be logged at start.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What the server's own certificate says of itself.
    ///
    /// # Errors
    /// None is to be expected: loading has parsed it.
    pub(crate) fn certificate(&self) -> Result<Certificate, TlsError> {
        let der = self.pair.certs.first().expect("a file without certificates is refused");
        Ok(Certificate::of(&chain::parse(der, Path::new(""), 1)?))
    }

    pub(crate) fn pair(&self) -> &Pair {
        &self.pair
    }
}

impl ClientIdentity {
    /// As [`ServerIdentity::load`], for a client.
    ///
    /// # Errors
    /// As there.
    pub fn load(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        Self::load_with(cert, key, None)
    }

    /// As [`ServerIdentity::load_with`], for a client.
    ///
    /// # Errors
    /// As there.
    pub fn load_with(
        cert: &Path,
        key: &Path,
        password: Option<&KeyPassword>,
    ) -> Result<Self, TlsError> {
        let (pair, _) = Pair::load(cert, key, password, Purpose::Client)?;
        Ok(Self { pair })
    }

    pub(crate) fn pair(&self) -> &Pair {
        &self.pair
    }
}

/// Holds bytes, not a key of the engine, so that each engine can make its own from them.
pub(crate) struct Pair {
    pub(crate) certs: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Pair {
    fn load(
        cert_file: &Path,
        key_file: &Path,
        password: Option<&KeyPassword>,
        purpose: Purpose,
    ) -> Result<(Self, Vec<String>), TlsError> {
        let certs = pem::certificates(cert_file)?;
        let pair = Self { certs, key: pem::private_key(key_file, password)? };
        let engine_key = aws_lc_rs::default_provider()
            .key_provider
            .load_private_key(pair.key.clone_key())
            .map_err(|_| TlsError::UnusableKey { file: key_file.to_owned() })?;
        let public_key = engine_key.public_key();
        let chain = Chain { cert_file, key_file, certs: &pair.certs };
        let warnings = chain.judge(public_key.as_deref(), SystemTime::now(), purpose)?;
        Ok((pair, warnings))
    }

    /// Skips rustls' own comparison of key and certificate, which was made with a better sentence
    /// and which cannot read X.509 version 1.
    pub(crate) fn certified_key(&self, engine: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        let key: Arc<_> = engine.key_provider.load_private_key(self.key.clone_key())?;
        Ok(CertifiedKey::new(self.certs.clone(), key))
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("certs", &self.certs.len()).finish_non_exhaustive()
    }
}
