//! What a certificate or a private key says about itself, in words. Names come from outside: control
//! characters in them are written as escapes.

use aws_lc_rs::digest::{SHA256, digest};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::objects::{oid_registry, oid2sn};
use x509_parser::prelude::{
    ASN1Time, ExtendedKeyUsage, FromDer, GeneralName, SubjectPublicKeyInfo, X509Certificate,
};

use crate::error::TlsError;
use crate::key::KeyOf;

/// A certificate's contents.
#[derive(Clone, Debug)]
pub struct CertificateFacts {
    pub subject: String,
    pub issuer: String,
    /// Subject alternative names: `db.example.com`, `10.0.0.7`, `flight://role/data`.
    pub names: Vec<String>,
    /// Of X.509: 1 to 3.
    pub version: u32,
    /// Seconds since 1970.
    pub not_before: i64,
    /// Seconds since 1970.
    pub not_after: i64,
    pub key: KeyOf,
    pub signature: String,
    /// Whether it may sign others (CA:TRUE).
    pub authority: bool,
    /// Extended key usage; empty: good for anything.
    pub purposes: Vec<String>,
    /// Of the whole certificate, in hexadecimal.
    pub sha256: String,
    /// SubjectPublicKeyInfo (DER).
    pub public_key: Vec<u8>,
}

impl CertificateFacts {
    /// Reads a certificate (DER).
    ///
    /// # Errors
    /// What the parser says, as a reason.
    pub fn read(der: &CertificateDer<'_>) -> Result<Self, String> {
        let (_, cert) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let names = match cert.subject_alternative_name() {
            Ok(Some(names)) => names.value.general_names.iter().map(general_name).collect(),
            _ => Vec::new(),
        };
        let purposes = match cert.extended_key_usage() {
            Ok(Some(usage)) => purposes(usage.value),
            _ => Vec::new(),
        };
        Ok(Self {
            subject: printable(&cert.subject().to_string()),
            issuer: printable(&cert.issuer().to_string()),
            names,
            version: cert.version().0 + 1,
            not_before: cert.validity().not_before.timestamp(),
            not_after: cert.validity().not_after.timestamp(),
            key: KeyOf::public_key(cert.public_key()).unwrap_or(KeyOf::Other),
            signature: signature(&cert),
            authority: cert.is_ca(),
            purposes,
            sha256: hexadecimal(digest(&SHA256, der).as_ref()),
            public_key: cert.public_key().raw.to_vec(),
        })
    }
}

/// A private key's contents, as far as they are public.
#[derive(Clone, Debug)]
pub struct KeyFacts {
    /// `PKCS#8`, `PKCS#1` or `SEC1`.
    pub form: &'static str,
    pub key: KeyOf,
    /// SubjectPublicKeyInfo (DER), to compare with a certificate's.
    pub public_key: Vec<u8>,
}

impl KeyFacts {
    /// Reads a private key; `None` where it is of no use for TLS.
    pub fn read(key: &PrivateKeyDer<'_>) -> Option<Self> {
        let form = match key {
            PrivateKeyDer::Pkcs1(_) => "PKCS#1",
            PrivateKeyDer::Sec1(_) => "SEC1",
            _ => "PKCS#8",
        };
        let public_key = any_supported_type(key).ok()?.public_key()?.to_vec();
        let (_, info) = SubjectPublicKeyInfo::from_der(&public_key).ok()?;
        Some(Self { form, key: KeyOf::public_key(&info)?, public_key: public_key.clone() })
    }
}

/// `2027-11-30 12:00:00 UTC`, of seconds since 1970.
pub fn moment(seconds: i64) -> String {
    let Ok(time) = ASN1Time::from_timestamp(seconds) else {
        return "a moment beyond all calendars".to_owned();
    };
    let time = time.to_datetime();
    let (hour, minute, second) = time.time().as_hms();
    format!("{} {hour:02}:{minute:02}:{second:02} UTC", time.date())
}

/// All certificates of a PEM file, at least one, in order.
///
/// # Errors
/// As those of [`ServerIdentity::load`](crate::ServerIdentity::load) that are about the file.
pub fn read_certificates(file: &std::path::Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    crate::pem::certificates(file)
}

/// The one private key of a PEM file; `password` opens it where it is encrypted.
///
/// # Errors
/// As those of [`ServerIdentity::load_with`](crate::ServerIdentity::load_with) that are about the
/// file.
pub fn read_private_key(
    file: &std::path::Path,
    password: Option<&crate::KeyPassword>,
) -> Result<PrivateKeyDer<'static>, TlsError> {
    crate::pem::private_key(file, password)
}

fn general_name(name: &GeneralName<'_>) -> String {
    match name {
        GeneralName::DNSName(text) | GeneralName::URI(text) | GeneralName::RFC822Name(text) => {
            printable(text)
        }
        GeneralName::IPAddress(bytes) => {
            if let Ok(bytes) = <[u8; 4]>::try_from(*bytes) {
                std::net::Ipv4Addr::from(bytes).to_string()
            } else if let Ok(bytes) = <[u8; 16]>::try_from(*bytes) {
                std::net::Ipv6Addr::from(bytes).to_string()
            } else {
                format!("an address of {} bytes", bytes.len())
            }
        }
        other => printable(&other.to_string()),
    }
}

fn purposes(usage: &ExtendedKeyUsage<'_>) -> Vec<String> {
    let known = [
        (usage.any, "any"),
        (usage.server_auth, "server"),
        (usage.client_auth, "client"),
        (usage.code_signing, "code signing"),
        (usage.email_protection, "email"),
        (usage.time_stamping, "time stamping"),
        (usage.ocsp_signing, "OCSP signing"),
    ];
    let known = known.into_iter().filter(|(allowed, _)| *allowed).map(|(_, name)| name.to_owned());
    known.chain(usage.other.iter().map(ToString::to_string)).collect()
}

fn signature(cert: &X509Certificate<'_>) -> String {
    let oid = &cert.signature_algorithm.algorithm;
    match oid.to_id_string().as_str() {
        // RFC 8410, 3; the registry lacks it.
        "1.3.101.112" => "Ed25519".to_owned(),
        number => oid2sn(oid, oid_registry()).map_or_else(|_| number.to_owned(), str::to_owned),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn printable(text: &str) -> String {
    let shown = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_outside_cannot_write_to_a_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{9b}d é"), "a\\u{1b}[2Jb\\nc\\u{9b}d é");
    }

    #[test]
    fn moments_are_told_to_the_second() {
        assert_eq!(moment(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(moment(1_800_000_000), "2027-01-15 08:00:00 UTC");
        assert_eq!(moment(i64::MAX), "a moment beyond all calendars");
    }
}
