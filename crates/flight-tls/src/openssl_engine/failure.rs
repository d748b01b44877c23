//! OpenSSL's failures in the words that rustls has for them, so that one sentence explains both.

use std::io;

use openssl::error::ErrorStack;
use openssl::ssl::Error;
use rustls::{AlertDescription, CertificateError, InvalidMessage, PeerIncompatible};

/// err.h: ERR_LIB_SSL.
const LIBRARY_SSL: i32 = 20;
// sslerr.h: SSL_R_….
const HTTP_REQUEST: i32 = 156;
const NO_SHARED_CIPHER: i32 = 193;
const PEER_DID_NOT_RETURN_A_CERTIFICATE: i32 = 199;
const NO_APPLICATION_PROTOCOL: i32 = 235;
const UNSUPPORTED_PROTOCOL: i32 = 258;
const WRONG_VERSION_NUMBER: i32 = 267;
const UNEXPECTED_EOF: i32 = 294;
const BAD_SIGNATURE: i32 = 123;
const NO_SUITABLE_KEY_SHARE: i32 = 101;
const NO_SUITABLE_SIGNATURE_ALGORITHM: i32 = 118;
/// A received alert is told as its number beyond this.
const ALERTS: i32 = 1000;

/// The error of a handshake, or the fault that was found in the peer's certificate meanwhile.
pub(super) fn of_handshake(error: Error, verdict: Option<rustls::Error>) -> io::Error {
    match verdict {
        Some(fault) => io::Error::new(io::ErrorKind::InvalidData, fault),
        None => of_connection(error),
    }
}

/// As reading and writing tell it.
pub(super) fn of_io(error: io::Error) -> io::Error {
    let held = error.get_ref().and_then(|held| held.downcast_ref::<Error>());
    match held.and_then(Error::ssl_error).and_then(translated) {
        Some(translated) => translated,
        None => error,
    }
}

fn of_connection(error: Error) -> io::Error {
    if let Some(translated) = error.ssl_error().and_then(translated) {
        return translated;
    }
    if error.ssl_error().is_none() && error.io_error().is_none() {
        return io::ErrorKind::UnexpectedEof.into();
    }
    error.into_io_error().unwrap_or_else(io::Error::other)
}

fn translated(stack: &ErrorStack) -> Option<io::Error> {
    let reasons = || stack.errors().iter().map(openssl::error::Error::reason_code);
    if reasons().any(|reason| reason == UNEXPECTED_EOF) {
        return Some(io::ErrorKind::UnexpectedEof.into());
    }
    of_stack(stack).map(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// What rustls would have said; `None` where it has no word for it.
fn of_stack(stack: &ErrorStack) -> Option<rustls::Error> {
    let of_ssl = stack.errors().iter().filter(|error| error.library_code() == LIBRARY_SSL);
    of_ssl.map(openssl::error::Error::reason_code).filter_map(of_reason).next()
}

fn of_reason(reason: i32) -> Option<rustls::Error> {
    use rustls::Error as E;
    Some(match reason {
        HTTP_REQUEST | WRONG_VERSION_NUMBER => {
            E::InvalidMessage(InvalidMessage::InvalidContentType)
        }
        BAD_SIGNATURE => E::InvalidCertificate(CertificateError::BadSignature),
        PEER_DID_NOT_RETURN_A_CERTIFICATE => E::NoCertificatesPresented,
        NO_APPLICATION_PROTOCOL => E::NoApplicationProtocol,
        NO_SHARED_CIPHER => E::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
        NO_SUITABLE_KEY_SHARE => E::PeerIncompatible(PeerIncompatible::NoKxGroupsInCommon),
        NO_SUITABLE_SIGNATURE_ALGORITHM => {
            E::PeerIncompatible(PeerIncompatible::NoSignatureSchemesInCommon)
        }
        UNSUPPORTED_PROTOCOL => E::PeerIncompatible(PeerIncompatible::Tls13RequiredForQuic),
        alert => {
            let number = u8::try_from(alert.checked_sub(ALERTS)?).ok()?;
            E::AlertReceived(AlertDescription::from(number))
        }
    })
}
