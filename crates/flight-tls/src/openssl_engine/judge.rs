//! What is wrong with a peer's certificate, in the words that rustls has for it: OpenSSL's own
//! check, and what it lets pass that rustls does not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openssl::x509::{X509StoreContextRef, X509VerifyResult};
use rustls::{CertificateError, Error, OtherError};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::prelude::{ASN1Time, FromDer, GeneralName, X509Certificate, X509Version};

/// The first fault that a handshake found.
#[derive(Clone, Default)]
pub(super) struct Verdict(Arc<Mutex<Option<CertificateError>>>);

// x509_vfy.h: X509_V_ERR_….
const UNABLE_TO_GET_ISSUER_CERT: i32 = 2;
const UNABLE_TO_GET_CRL: i32 = 3;
const CERT_SIGNATURE_FAILURE: i32 = 7;
const CERT_NOT_YET_VALID: i32 = 9;
const CERT_HAS_EXPIRED: i32 = 10;
const CRL_HAS_EXPIRED: i32 = 12;
const DEPTH_ZERO_SELF_SIGNED_CERT: i32 = 18;
const SELF_SIGNED_CERT_IN_CHAIN: i32 = 19;
const UNABLE_TO_GET_ISSUER_CERT_LOCALLY: i32 = 20;
const UNABLE_TO_VERIFY_LEAF_SIGNATURE: i32 = 21;
const CERT_REVOKED: i32 = 23;
const INVALID_PURPOSE: i32 = 26;
const UNABLE_TO_GET_CRL_ISSUER: i32 = 33;
const HOSTNAME_MISMATCH: i32 = 62;
const IP_ADDRESS_MISMATCH: i32 = 64;

impl Verdict {
    pub(super) fn take(&self) -> Option<Error> {
        let fault = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        fault.map(Error::InvalidCertificate)
    }

    pub(super) fn of_servers(
        &self,
        name: ServerName<'static>,
    ) -> impl Fn(bool, &mut X509StoreContextRef) -> bool + Send + Sync + 'static {
        let verdict = self.clone();
        move |sound, context| verdict.judge(sound, context, Some(&name))
    }

    pub(super) fn of_clients(
        &self,
    ) -> impl Fn(bool, &mut X509StoreContextRef) -> bool + Send + Sync + 'static {
        let verdict = self.clone();
        move |sound, context| verdict.judge(sound, context, None)
    }

    /// Takes a peer for the certificate that it shows, whoever issued it.
    pub(super) fn of_pinned(
        &self,
        pins: Vec<CertificateDer<'static>>,
    ) -> impl Fn(bool, &mut X509StoreContextRef) -> bool + Send + Sync + 'static {
        let verdict = self.clone();
        move |_, context| {
            let shown = context.current_cert().and_then(|cert| cert.to_der().ok());
            let pinned = shown.is_some_and(|der| pins.iter().any(|pin| **pin == der[..]));
            if context.error_depth() > 0 || pinned {
                return true;
            }
            verdict.note(CertificateError::ApplicationVerificationFailure);
            false
        }
    }

    fn judge(
        &self,
        sound: bool,
        context: &X509StoreContextRef,
        expected: Option<&ServerName<'static>>,
    ) -> bool {
        let judged = || self.judge_calmly(sound, context, expected);
        // OpenSSL calls this, and a panic cannot pass through it.
        catch_unwind(AssertUnwindSafe(judged)).unwrap_or_else(|_| {
            self.note(CertificateError::BadEncoding);
            false
        })
    }

    fn judge_calmly(
        &self,
        sound: bool,
        context: &X509StoreContextRef,
        expected: Option<&ServerName<'static>>,
    ) -> bool {
        let der = context.current_cert().and_then(|cert| cert.to_der().ok()).unwrap_or_default();
        let form = if context.error_depth() == 0 { form(&der) } else { None };
        let fault = form.or_else(|| (!sound).then(|| fault(context.error(), &der, expected)));
        let Some(fault) = fault else { return true };
        self.note(fault);
        false
    }

    fn note(&self, fault: CertificateError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }
}

/// What rustls refuses in an end's own certificate before all else, and OpenSSL takes.
fn form(der: &[u8]) -> Option<CertificateError> {
    match X509Certificate::from_der(der) {
        Ok((_, cert)) if cert.version() != X509Version::V3 => {
            Some(other(webpki::Error::UnsupportedCertVersion))
        }
        Ok((_, cert)) if cert.is_ca() => Some(other(webpki::Error::CaUsedAsEndEntity)),
        Ok(_) => None,
        Err(_) => Some(CertificateError::BadEncoding),
    }
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> CertificateError {
    CertificateError::Other(OtherError(Arc::new(error)))
}

fn fault(
    result: X509VerifyResult,
    der: &[u8],
    expected: Option<&ServerName<'static>>,
) -> CertificateError {
    let cert = X509Certificate::from_der(der).ok().map(|(_, cert)| cert);
    let validity = cert.as_ref().map(|cert| cert.validity());
    let (now, name) = (UnixTime::now(), expected.cloned());
    match (result.as_raw(), validity, name) {
        (CERT_HAS_EXPIRED, Some(validity), _) => {
            CertificateError::ExpiredContext { time: now, not_after: unix(validity.not_after) }
        }
        (CERT_NOT_YET_VALID, Some(validity), _) => CertificateError::NotValidYetContext {
            time: now,
            not_before: unix(validity.not_before),
        },
        (HOSTNAME_MISMATCH | IP_ADDRESS_MISMATCH, _, Some(expected)) => {
            let presented = cert.as_ref().map(names).unwrap_or_default();
            CertificateError::NotValidForNameContext { expected, presented }
        }
        (
            UNABLE_TO_GET_ISSUER_CERT
            | DEPTH_ZERO_SELF_SIGNED_CERT
            | SELF_SIGNED_CERT_IN_CHAIN
            | UNABLE_TO_GET_ISSUER_CERT_LOCALLY
            | UNABLE_TO_VERIFY_LEAF_SIGNATURE,
            ..,
        ) => CertificateError::UnknownIssuer,
        (CERT_SIGNATURE_FAILURE, ..) => CertificateError::BadSignature,
        (CERT_REVOKED, ..) => CertificateError::Revoked,
        (UNABLE_TO_GET_CRL | UNABLE_TO_GET_CRL_ISSUER, ..) => {
            CertificateError::UnknownRevocationStatus
        }
        (CRL_HAS_EXPIRED, ..) => CertificateError::ExpiredRevocationList,
        (INVALID_PURPOSE, ..) => CertificateError::InvalidPurpose,
        _ => other(Refused(result.error_string())),
    }
}

/// OpenSSL's own words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(&'static str);

fn names(cert: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(names)) = cert.subject_alternative_name() else { return Vec::new() };
    let name = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match **bytes {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(a, b, c, d).to_string()),
            _ => {
                <[u8; 16]>::try_from(*bytes).ok().map(|v6| std::net::Ipv6Addr::from(v6).to_string())
            }
        },
        _ => None,
    };
    names.value.general_names.iter().filter_map(name).collect()
}

fn unix(time: ASN1Time) -> UnixTime {
    let seconds = u64::try_from(time.timestamp()).unwrap_or(0);
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}
