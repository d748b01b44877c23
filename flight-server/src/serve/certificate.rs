//! The certificate of the listeners: how it is loaded, and when it expires.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use flight_tls::{Certificate, Content, KeyPassword, ServerIdentity, ServerOptions, ServerTls};

use super::config::Tls;

/// What the files of a certificate and its clients hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contents {
    /// Certificate, key, and the password of the key.
    pub(super) pair: [Option<Content>; 3],
    /// The clients' authorities, and what they revoked.
    clients: [Option<Content>; 2],
}

impl Contents {
    /// Reads the files, which blocks.
    pub(super) fn read(tls: &Tls) -> Self {
        let optional = |file: &Option<_>| file.as_deref().map(|file: &Path| Content::of(file));
        Self {
            pair: [
                Some(Content::of(&tls.cert)),
                Some(Content::of(&tls.key)),
                optional(&tls.key_password),
            ],
            clients: [optional(&tls.client_ca), optional(&tls.client_crl)],
        }
    }
}

/// The settings of all listeners, and what they were made of.
#[derive(Clone)]
pub(super) struct Loaded {
    pub(super) identity: Arc<ServerIdentity>,
    pub(super) tls: ServerTls,
    pub(super) certificate: Certificate,
}

impl Loaded {
    /// Reads and judges all files, which blocks.
    pub(super) fn load(tls: &Tls) -> anyhow::Result<Self> {
        let password = match &tls.key_password {
            None => None,
            Some(file) => {
                if let Some(warning) = KeyPassword::warning(file) {
                    tracing::warn!("{warning}");
                }
                Some(KeyPassword::read(file).context("--tls-key-password-file")?)
            }
        };
        let identity = ServerIdentity::load_with(&tls.cert, &tls.key, password.as_ref());
        Self::with(tls, Arc::new(identity.context("--tls-cert, --tls-key")?))
    }

    /// Reads and judges the files about clients, which blocks.
    pub(super) fn with(tls: &Tls, identity: Arc<ServerIdentity>) -> anyhow::Result<Self> {
        let options = ServerOptions {
            client_ca: tls.client_ca.as_deref(),
            client_crl: tls.client_crl.as_deref(),
            min_version: tls.min,
            ciphers: tls.ciphers.clone(),
            engine: tls.engine,
            client_auth: tls.client_auth,
            groups: tls.groups.clone(),
            no_resumption: false,
        };
        let tls = ServerTls::new(&identity, options).context("TLS")?;
        let certificate = tls.certificate().context("TLS settings without a certificate")?.clone();
        Ok(Self { identity, tls, certificate })
    }
}

/// Warns of a certificate that expires soon, once a day.
#[derive(Debug, Default)]
pub(super) struct Expiry {
    told: Option<SystemTime>,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Time in which people can still do something about it.
const SOON: Duration = DAY.saturating_mul(14);

impl Expiry {
    /// What is to be said of `certificate` at `now`, if it is time to say something.
    pub(super) fn warning(&mut self, certificate: &Certificate, now: SystemTime) -> Option<String> {
        let not_after_s = u64::try_from(certificate.not_after_s).unwrap_or(0);
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(not_after_s);
        // A clock that was set back must not silence it.
        let told =
            self.told.is_some_and(|told| now.duration_since(told).is_ok_and(|since| since < DAY));
        let left = end.duration_since(now).ok();
        if told || left.is_some_and(|left| left >= SOON) {
            return None;
        }
        self.told = Some(now);
        let (subject, day) = (certificate.subject.escape_debug(), certificate.last_day());
        Some(match left {
            Some(left) => {
                let days = left.as_secs() / DAY.as_secs();
                format!("the certificate of {subject} expires on {day}, in {days} days; renew it")
            }
            None => {
                format!(
                    "the certificate of {subject} expired on {day}: clients refuse it; renew it"
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END_S: u64 = 1_800_000_000;

    /// What is said with `left` to go, at once and half a day later.
    fn check(left_s: i64, at_once: &str, later: &str) {
        let certificate = Certificate {
            subject: "CN=a".to_owned(),
            names: Vec::new(),
            issuer: "CN=b".to_owned(),
            not_after_s: END_S as i64,
        };
        let start = SystemTime::UNIX_EPOCH
            + Duration::from_secs(END_S.checked_add_signed(-left_s).unwrap());
        let mut expiry = Expiry::default();
        let mut said = |now| expiry.warning(&certificate, now).unwrap_or_default();
        assert_eq!(said(start), at_once);
        assert_eq!(said(start + DAY / 2), later);
        let tomorrow = said(start + DAY * 3 / 2);
        assert!(!tomorrow.is_empty(), "a day and a half later it is said again");
        assert!(!said(start + DAY / 2).is_empty(), "a clock that is set back does not silence it");
    }

    #[test]
    fn a_certificate_that_expires_soon_is_told_once_a_day() {
        let day = 24 * 60 * 60;
        let soon = "the certificate of CN=a expires on 2027-01-15, in 13 days; renew it";
        check(14 * day - 1, soon, "");
        let later = soon.to_owned();
        check(14 * day + day / 2 - 1, "", &later);
        check(0, "the certificate of CN=a expires on 2027-01-15, in 0 days; renew it", "");
        let over = "the certificate of CN=a expired on 2027-01-15: clients refuse it; renew it";
        check(-1, over, "");
    }
}
