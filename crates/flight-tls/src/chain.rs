//! Judges a certificate chain before it is used: order, dates, purpose, and whose key it certifies.
//!
//! Signatures and trust are the peer's to check: this end does not hold the peer's roots.

use std::path::Path;
use std::time::SystemTime;

use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate, X509Version};

use crate::error::{Purpose, TlsError};

/// A chain and the files that it and its key came from.
pub(crate) struct Chain<'a> {
    pub(crate) cert_file: &'a Path,
    pub(crate) key_file: &'a Path,
    pub(crate) certs: &'a [CertificateDer<'static>],
}

impl Chain<'_> {
    /// Checks that the chain certifies `public_key` (SubjectPublicKeyInfo), is in order, holds at
    /// `now`, and is meant for `purpose`. Returns what is legal but will be refused by many peers.
    pub(crate) fn judge(
        &self,
        public_key: Option<&[u8]>,
        now: SystemTime,
        purpose: Purpose,
    ) -> Result<Vec<String>, TlsError> {
        let certs = self.parse()?;
        if let Some(public_key) = public_key {
            self.check_key(&certs, public_key)?;
        }
        self.check_order(&certs)?;
        for cert in &certs {
            self.check_dates(cert, now)?;
        }
        let leaf = certs.first().expect("a file without certificates is refused when read");
        self.check_purpose(leaf, purpose)?;
        Ok(match purpose {
            Purpose::Server => self.warnings(leaf),
            Purpose::Client => Vec::new(),
        })
    }

    fn parse(&self) -> Result<Vec<X509Certificate<'_>>, TlsError> {
        let numbered = self.certs.iter().enumerate();
        numbered.map(|(index, der)| parse(der, self.cert_file, index + 1)).collect()
    }

    fn check_key(&self, certs: &[X509Certificate<'_>], public_key: &[u8]) -> Result<(), TlsError> {
        match certs.iter().position(|cert| cert.public_key().raw == public_key) {
            Some(0) => Ok(()),
            Some(index) => {
                Err(TlsError::LeafNotFirst { file: self.cert_file.to_owned(), position: index + 1 })
            }
            None => Err(TlsError::KeyMismatch {
                cert: self.cert_file.to_owned(),
                key: self.key_file.to_owned(),
            }),
        }
    }

    /// TLS 1.2 demands the order, and not every client of TLS 1.3 sorts (RFC 8446, 4.4.2).
    fn check_order(&self, certs: &[X509Certificate<'_>]) -> Result<(), TlsError> {
        for (index, pair) in certs.windows(2).enumerate() {
            if pair[0].issuer().as_raw() != pair[1].subject().as_raw() {
                return Err(TlsError::ChainOrder {
                    file: self.cert_file.to_owned(),
                    position: index + 2,
                    subject: pair[1].subject().to_string(),
                    issuer: pair[0].issuer().to_string(),
                });
            }
        }
        Ok(())
    }

    fn check_dates(&self, cert: &X509Certificate<'_>, now: SystemTime) -> Result<(), TlsError> {
        let now = unix_seconds(now);
        let file = self.cert_file.to_owned();
        let subject = cert.subject().to_string();
        let validity = cert.validity();
        if now < validity.not_before.timestamp() {
            return Err(TlsError::NotYetValid { file, subject, date: date(validity.not_before) });
        }
        if validity.not_after.timestamp() < now {
            return Err(TlsError::Expired { file, subject, date: date(validity.not_after) });
        }
        Ok(())
    }

    /// A certificate without extended key usage is good for anything (RFC 5280, 4.2.1.12).
    fn check_purpose(&self, leaf: &X509Certificate<'_>, purpose: Purpose) -> Result<(), TlsError> {
        let Ok(Some(usage)) = leaf.extended_key_usage() else {
            return Ok(());
        };
        let allowed = match purpose {
            Purpose::Server => usage.value.server_auth,
            Purpose::Client => usage.value.client_auth,
        };
        if allowed || usage.value.any {
            return Ok(());
        }
        Err(TlsError::WrongPurpose { file: self.cert_file.to_owned(), purpose })
    }

    fn warnings(&self, leaf: &X509Certificate<'_>) -> Vec<String> {
        let file = self.cert_file.display();
        if leaf.version() != X509Version::V3 {
            let version = leaf.version().0 + 1;
            return vec![format!(
                "the certificate in {file} is X.509 version {version}, which many clients refuse; \
                 use one of version 3 with the server's names"
            )];
        }
        let mut warnings = Vec::new();
        if leaf.is_ca() {
            warnings.push(format!(
                "the certificate in {file} is an authority's own (CA:TRUE), which many clients \
                 refuse from a server unless they pin it (--tls-pin)"
            ));
        }
        if !matches!(leaf.subject_alternative_name(), Ok(Some(_))) {
            warnings.push(format!(
                "the certificate in {file} names no host (subject alternative name), so many \
                 clients refuse it unless they pin it (--tls-pin)"
            ));
        }
        warnings
    }
}

/// Parses a certificate; `position` counts from 1.
pub(crate) fn parse<'a>(
    der: &'a CertificateDer<'_>,
    file: &Path,
    position: usize,
) -> Result<X509Certificate<'a>, TlsError> {
    match X509Certificate::from_der(der) {
        Ok(([], cert)) => Ok(cert),
        Ok(_) => Err(bad(file, position, "bytes follow it".to_owned())),
        Err(error) => Err(bad(file, position, error.to_string())),
    }
}

/// Seconds since 1970; 0 before.
pub(crate) fn unix_seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// The day of `time` in UTC: `2027-11-30`.
pub(crate) fn date(time: ASN1Time) -> String {
    time.to_datetime().date().to_string()
}

fn bad(file: &Path, position: usize, reason: String) -> TlsError {
    TlsError::BadCertificate { file: file.to_owned(), position, reason }
}
