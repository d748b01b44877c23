//! What a server's certificate says of itself, for people and for what goes by its dates.

use std::fmt;

use x509_parser::prelude::{ASN1Time, X509Certificate};

use crate::chain;
use crate::names::{Name, alternative_names};

/// The certificate that a server shows. Prints as `SUBJECT for NAMES, issued by ISSUER, valid until
/// 2027-11-30`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    pub subject: String,
    pub names: Vec<Name>,
    pub issuer: String,
    /// Its last second, in seconds of Unix time.
    pub not_after_s: i64,
}

impl Certificate {
    pub(crate) fn of(cert: &X509Certificate<'_>) -> Self {
        Self {
            subject: cert.subject().to_string(),
            names: alternative_names(cert),
            issuer: cert.issuer().to_string(),
            not_after_s: cert.validity().not_after.timestamp(),
        }
    }

    /// The last day of its validity in UTC: `2027-11-30`.
    pub fn last_day(&self) -> String {
        ASN1Time::from_timestamp(self.not_after_s)
            .map_or_else(|_| "a day beyond all calendars".to_owned(), chain::date)
    }

    /// Names of this certificate that `other` lacks.
    pub(crate) fn names_beyond(&self, other: &Self) -> Vec<String> {
        let lost = self.names.iter().filter(|name| !other.names.contains(name));
        lost.map(ToString::to_string).collect()
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.names.iter().map(ToString::to_string).collect();
        let names = if names.is_empty() { "no host".to_owned() } else { names.join(", ") };
        write!(
            f,
            "{} for {names}, issued by {}, valid until {}",
            self.subject.escape_debug(),
            self.issuer.escape_debug(),
            self.last_day()
        )
    }
}
