//! Lists of revoked certificates, for tests.

use rcgen::{
    CertificateRevocationListParams, KeyIdMethod, RevocationReason, RevokedCertParams, SerialNumber,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::authority::{Authority, Issued};
use crate::error::PkiError;
use crate::validity::Validity;

impl Authority {
    /// A list (PEM) of `revoked`, up to date as long as this authority is valid.
    ///
    /// # Errors
    /// When a certificate cannot be read.
    pub fn revoke(&self, revoked: &[&Issued]) -> Result<String, PkiError> {
        self.list(revoked, self.validity)
    }

    /// The same, whose next was due before this authority's validity began.
    ///
    /// # Errors
    /// As [`Authority::revoke`].
    pub fn revoke_long_ago(&self, revoked: &[&Issued]) -> Result<String, PkiError> {
        self.list(revoked, self.validity.past())
    }

    fn list(&self, revoked: &[&Issued], validity: Validity) -> Result<String, PkiError> {
        let entry = |issued: &&Issued| {
            Ok(RevokedCertParams {
                serial_number: SerialNumber::from(serial(issued)?),
                revocation_time: validity.not_before,
                reason_code: Some(RevocationReason::KeyCompromise),
                invalidity_date: None,
            })
        };
        let params = CertificateRevocationListParams {
            this_update: validity.not_before,
            next_update: validity.not_after,
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.iter().map(entry).collect::<Result<_, PkiError>>()?,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Ok(params.signed_by(&self.issuer)?.pem()?)
    }
}

fn serial(issued: &Issued) -> Result<Vec<u8>, PkiError> {
    let unreadable = || PkiError::from(rcgen::Error::CouldNotParseCertificate);
    let der = CertificateDer::from_pem_slice(issued.cert_pem.as_bytes());
    let der = der.map_err(|_| unreadable())?;
    let (_, cert) = X509Certificate::from_der(&der).map_err(|_| unreadable())?;
    Ok(cert.raw_serial().to_vec())
}
