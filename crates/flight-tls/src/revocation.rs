//! Lists of revoked certificates (RFC 5280, 5), read and judged for all engines alike.

use std::path::Path;
use std::time::SystemTime;

use rustls_pki_types::CertificateRevocationListDer;
use webpki::OwnedCertRevocationList;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

use crate::chain;
use crate::error::TlsError;
use crate::pem;

/// Every list of `file`. One whose next was due before `now` is refused: what was revoked since
/// cannot be known, and nobody would be let in by it.
pub(crate) fn revocation_lists(
    file: &Path,
    now: SystemTime,
) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let lists = pem::revocation_lists(file)?;
    let now_s = chain::unix_seconds(now);
    for (index, der) in lists.iter().enumerate() {
        let bad = |reason: String| TlsError::BadRevocationList {
            file: file.to_owned(),
            position: index + 1,
            reason,
        };
        // Deltas and other kinds that one engine would take and another not.
        OwnedCertRevocationList::from_der(der).map_err(|error| bad(format!("{error:?}")))?;
        let (_, list) =
            CertificateRevocationList::from_der(der).map_err(|error| bad(error.to_string()))?;
        let next = list.next_update().ok_or_else(|| bad("it has no next update".to_owned()))?;
        if next.timestamp() < now_s {
            return Err(TlsError::ExpiredRevocationList {
                file: file.to_owned(),
                issuer: list.issuer().to_string(),
                date: chain::date(next),
            });
        }
    }
    Ok(lists)
}
