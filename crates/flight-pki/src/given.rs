//! An authority that was made before, from its certificate and key as somebody else read them.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use pkcs8::Document;
use pkcs8::der::pem::LineEnding;
use rcgen::{CertificateParams, Issuer, KeyPair, PublicKeyData};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::authority::Authority;
use crate::error::PkiError;
use crate::validity::{Life, Validity};

/// The certificate of an authority, with those between it and its root where there are any, and its
/// key. `Debug` does not show the key.
pub struct GivenAuthority {
    /// Where it was read, for sentences.
    pub file: PathBuf,
    /// The authority's own first.
    pub certs: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

pub(crate) fn authority(
    given: &GivenAuthority,
    now: SystemTime,
    life: Life,
) -> Result<Authority, PkiError> {
    let file = || given.file.clone();
    let unusable = |reason: String| PkiError::AuthorityUnusable { file: file(), reason };
    let der = given.certs.first().ok_or_else(|| unusable("there is none".to_owned()))?;
    let (_, cert) = X509Certificate::from_der(der).map_err(|error| unusable(error.to_string()))?;
    if !cert.is_ca() {
        return Err(PkiError::NoAuthority { file: file() });
    }
    let key = KeyPair::try_from(&given.key).map_err(|error| unusable(error.to_string()))?;
    if key.subject_public_key_info() != cert.public_key().raw {
        return Err(PkiError::AuthorityKey { file: file() });
    }
    let mut validity = Validity::lasting(now, life)?;
    let mut chain_pem = String::new();
    for der in &given.certs {
        let (_, cert) =
            X509Certificate::from_der(der).map_err(|error| unusable(error.to_string()))?;
        let end = cert.validity().not_after.to_datetime();
        if end <= now {
            return Err(PkiError::AuthorityExpired { file: file(), date: end.date().to_string() });
        }
        validity = validity.until(end);
        // A root is the reader's to have.
        if cert.subject().as_raw() != cert.issuer().as_raw() {
            chain_pem += &pem(der)?;
        }
    }
    let issuer = Issuer::from_ca_cert_der(der, key).map_err(|error| unusable(error.to_string()))?;
    // Clients look for the issuer by the bytes of its name, which are put together anew.
    let probe = CertificateParams::default().signed_by(issuer.key(), &issuer)?;
    let (_, probe) =
        X509Certificate::from_der(probe.der()).map_err(|error| unusable(error.to_string()))?;
    if probe.issuer().as_raw() != cert.subject().as_raw() {
        return Err(unusable(format!("its name, {}, cannot be copied", cert.subject())));
    }
    Ok(Authority::of_parts(issuer, pem(der)?, chain_pem, validity))
}

fn pem(der: &CertificateDer<'_>) -> Result<String, PkiError> {
    Ok(Document::try_from(der.as_ref())?.to_pem("CERTIFICATE", LineEnding::LF)?)
}

impl fmt::Debug for GivenAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GivenAuthority");
        shown.field("file", &self.file).field("certs", &self.certs.len()).finish_non_exhaustive()
    }
}
