//! Puts a failed handshake into one sentence: what the other end did, and which option helps.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError, InvalidMessage, OtherError};
use rustls_pki_types::{ServerName, UnixTime};
use x509_parser::prelude::ASN1Time;

use crate::chain;
use crate::error::TlsError;

/// Why a client's connection failed, with the option of flight-bench that helps; `None` when it did
/// not fail in TLS.
///
/// Takes the error of [`ClientTls::connect`](crate::ClientTls::connect), or a later one that holds
/// one of rustls: in TLS 1.3 a server's answer to the client's certificate comes after the handshake.
pub fn explain(error: &(dyn Error + 'static)) -> Option<String> {
    let ours = || within::<TlsError>(error).map(ToString::to_string);
    within(error).map(explain_server).or_else(ours)
}

/// Why a server's handshake with a client failed ([`accept`](crate::ServerTls::accept)), for the server's log;
/// `None` when it did not fail in TLS.
pub fn explain_accept(error: &(dyn Error + 'static)) -> Option<String> {
    let ours = || within::<TlsError>(error).map(ToString::to_string);
    within(error).map(explain_client).or_else(ours)
}

/// Finds an error of type `T` within those around it.
fn within<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // `source` of an I/O error skips the error that it holds.
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match held {
            Some(held) => Some(held as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    None
}

fn explain_server(error: &rustls::Error) -> String {
    use rustls::Error as E;
    match error {
        E::InvalidCertificate(error) => explain_server_cert(error),
        E::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server does not answer in TLS; if it serves plaintext, use grpc:// instead of \
             grpc+tls://"
                .to_owned()
        }
        E::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server asks for a client certificate; give one with --tls-cert FILE and \
             --tls-key FILE"
                .to_owned()
        }
        E::AlertReceived(alert) if is_about_certificate(*alert) => format!(
            "the server refused this client's certificate ({alert:?}); give one that it trusts \
             with --tls-cert FILE and --tls-key FILE"
        ),
        E::AlertReceived(AlertDescription::NoApplicationProtocol) | E::NoApplicationProtocol => {
            "the server speaks TLS but not HTTP/2 (ALPN h2), so it is no Flight server".to_owned()
        }
        E::AlertReceived(
            AlertDescription::HandshakeFailure
            | AlertDescription::ProtocolVersion
            | AlertDescription::InsufficientSecurity,
        )
        | E::PeerIncompatible(_) => format!(
            "the server and this client have no TLS version, cipher suite or kind of certificate \
             in common ({error}); allow more with --tls-min and --tls-ciphers"
        ),
        other => format!("the TLS connection failed: {other}"),
    }
}

fn explain_server_cert(error: &CertificateError) -> String {
    use CertificateError as C;
    match error {
        C::UnknownIssuer => "the server's certificate is not signed by an authority that this \
             client trusts; name the authority with --tls-ca FILE, trust exactly this certificate \
             with --tls-pin FILE, or verify nothing with --tls-insecure"
            .to_owned(),
        C::BadSignature => "a signature of the server does not verify: its certificate is from \
             another authority of the same name (give the present one with --tls-ca FILE), or it \
             does not hold the key of the certificate that it shows"
            .to_owned(),
        C::ApplicationVerificationFailure => "the server's certificate is not the pinned one; \
             give the present one with --tls-pin FILE, or its authority with --tls-ca FILE"
            .to_owned(),
        C::NotValidForNameContext { expected, presented } => wrong_name(expected, presented),
        C::ExpiredContext { not_after, .. } => format!(
            "the server's certificate expired on {}; renew it on the server, or set the clock of \
             this machine right",
            day(*not_after)
        ),
        C::NotValidYetContext { not_before, .. } => format!(
            "the server's certificate is not valid before {}; wait, or set the clock of this \
             machine right",
            day(*not_before)
        ),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => "the server's certificate is not \
             meant for a server (extended key usage); have the server use another, or trust \
             exactly this one with --tls-pin FILE"
            .to_owned(),
        C::Other(OtherError(inner)) => match inner.downcast_ref::<webpki::Error>() {
            Some(webpki::Error::CaUsedAsEndEntity) => "the server's certificate is an \
                 authority's own, as plain `openssl req -x509` makes it; trust exactly this one \
                 with --tls-pin FILE, or verify nothing with --tls-insecure"
                .to_owned(),
            Some(webpki::Error::UnsupportedCertVersion) => "the server's certificate is X.509 \
                 version 1, which cannot be verified; have the server use one of version 3 \
                 (flight-server certs makes such)"
                .to_owned(),
            Some(webpki::Error::NameConstraintViolation) => "the server's certificate is for a \
                 name that the authority above it may not vouch for (name constraints); have the \
                 server use another, or trust exactly this one with --tls-pin FILE"
                .to_owned(),
            _ => format!("the server's certificate was refused: {error}"),
        },
        other => format!("the server's certificate was refused: {other}"),
    }
}

fn wrong_name(expected: &ServerName<'_>, presented: &[String]) -> String {
    let expected = expected.to_str();
    if presented.is_empty() {
        return format!(
            "the server's certificate names no host (subject alternative name), so not {expected} \
             either; trust exactly this certificate with --tls-pin FILE"
        );
    }
    // Names come as `DnsName("db")` and `IpAddress(10.0.0.7)`.
    let bare = |name: &String| {
        let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        inner.unwrap_or(name).trim_matches('"').to_owned()
    };
    let names: Vec<_> = presented.iter().map(bare).collect();
    format!(
        "the server's certificate is for {}, not for {expected}; connect by such a name, or \
         expect one with --tls-server-name NAME",
        names.join(", ")
    )
}

fn explain_client(error: &rustls::Error) -> String {
    use rustls::Error as E;
    match error {
        E::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the client does not speak TLS".to_owned()
        }
        E::NoCertificatesPresented => {
            "the client shows no certificate, which --tls-client-ca asks for".to_owned()
        }
        E::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the client's certificate is not signed by an authority in --tls-client-ca".to_owned()
        }
        E::InvalidCertificate(CertificateError::BadSignature) => "a signature of the client does \
             not verify: its certificate is from another authority of the same name as one in \
             --tls-client-ca, or it does not hold the key of that certificate"
            .to_owned(),
        E::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }) => {
            format!("the client's certificate expired on {}", day(*not_after))
        }
        E::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        ) => "the client's certificate is not meant for a client (extended key usage)".to_owned(),
        E::InvalidCertificate(CertificateError::Revoked) => {
            "the client's certificate is revoked (--tls-client-crl)".to_owned()
        }
        E::InvalidCertificate(CertificateError::UnknownRevocationStatus) => "whether the client's \
             certificate is revoked cannot be told: no list in --tls-client-crl is of the authority \
             that issued it, or one between; add that authority's list"
            .to_owned(),
        E::InvalidCertificate(
            CertificateError::ExpiredRevocationList
            | CertificateError::ExpiredRevocationListContext { .. },
        ) => "the list in --tls-client-crl of the client's authority is out of date, so nobody of \
             it is let in; put the present list there"
            .to_owned(),
        E::InvalidCertRevocationList(_) => format!(
            "the list in --tls-client-crl of the client's authority cannot be trusted ({error}); \
             put one there that the authority of --tls-client-ca has signed"
        ),
        E::InvalidCertificate(error) => format!("the client's certificate was refused: {error}"),
        E::AlertReceived(alert) if is_about_certificate(*alert) => {
            format!("the client does not trust the server's certificate ({alert:?})")
        }
        E::NoApplicationProtocol => "the client does not offer HTTP/2 (ALPN h2)".to_owned(),
        E::PeerIncompatible(_) => format!(
            "the client has no TLS version, cipher suite or kind of certificate in common ({error})"
        ),
        other => format!("the TLS handshake failed: {other}"),
    }
}

/// Whether a server's handshake failed because the client, asked for a certificate, has none.
pub(crate) fn asked_in_vain(error: &io::Error) -> bool {
    matches!(within(error), Some(rustls::Error::NoCertificatesPresented))
}

fn is_about_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::AccessDenied
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::DecryptError
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate
    )
}

/// The day of `time` in UTC.
fn day(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).ok();
    let time = seconds.and_then(|seconds| ASN1Time::from_timestamp(seconds).ok());
    time.map_or_else(|| "a day beyond all calendars".to_owned(), chain::date)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error of a layer above, as those of HTTP/2 clients are.
    #[derive(Debug, thiserror::Error)]
    #[error("the request failed")]
    struct Layer(#[source] io::Error);

    fn check(alert: AlertDescription, client: &str, server: &str) {
        let tls = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::AlertReceived(alert));
        let error = Layer(io::Error::other(tls));
        assert!(explain(&error).is_some_and(|sentence| sentence.starts_with(client)));
        assert!(explain_accept(&error).is_some_and(|sentence| sentence.starts_with(server)));
    }

    #[test]
    fn the_cause_is_found_within_the_errors_of_other_layers() {
        check(
            AlertDescription::CertificateRequired,
            "the server asks for a client certificate",
            "the TLS handshake failed",
        );
        check(
            AlertDescription::UnknownCA,
            "the server refused this client's certificate (UnknownCA)",
            "the client does not trust the server's certificate (UnknownCA)",
        );
    }
}
