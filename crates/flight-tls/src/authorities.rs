//! The authorities that an end trusts: of a file, or the system's.

use std::path::Path;

use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;

use crate::chain;
use crate::error::TlsError;
use crate::pem;

/// Every certificate of `file` as an authority.
pub(crate) fn authorities(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let authorities = pem::certificates(file)?;
    for (index, der) in authorities.iter().enumerate() {
        let position = index + 1;
        chain::parse(der, file, position)?;
        // One that cannot be an authority is told here, by its position.
        RootCertStore::empty().add(der.clone()).map_err(|error| TlsError::BadCertificate {
            file: file.to_owned(),
            position,
            reason: error.to_string(),
        })?;
    }
    Ok(authorities)
}

/// The authorities that this machine trusts.
pub(crate) fn system_authorities() -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let first = found.errors.first();
        let reason = first.map_or_else(|| "no store was found".to_owned(), ToString::to_string);
        return Err(TlsError::NoSystemRoots { reason });
    }
    Ok(found.certs)
}
