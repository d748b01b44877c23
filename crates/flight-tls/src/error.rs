//! What can be wrong with files and options, one sentence each, and the way out.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::engine::Engine;
use crate::group::Group;
use crate::limits::{PASSWORD_FILE_BYTES_MAX, PEM_FILE_BYTES_MAX};
use crate::suite::{CipherSuite, TlsVersion};

/// Writes a key as PKCS#8 under PBES2, whatever form it had.
const TO_PBES2: &str = "openssl pkcs8 -topk8 -v2 aes-256-cbc -v2prf hmacWithSHA256";

/// Why a secure connection cannot be set up. Where nothing else is said, the operator can mend it.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {cause}; give a file that this user may read", file.display())]
    Read { file: PathBuf, cause: io::Error },
    #[error(
        "{} is larger than {PEM_FILE_BYTES_MAX} bytes; give the PEM file of a {wanted}",
        file.display()
    )]
    TooLarge { file: PathBuf, wanted: Wanted },
    #[error("{} is empty; give the PEM file of a {wanted}", file.display())]
    Empty { file: PathBuf, wanted: Wanted },
    #[error("{} is DER, not PEM; convert it: {}", file.display(), wanted.conversion(file))]
    Der { file: PathBuf, wanted: Wanted },
    #[error("{} is not PEM; give a file with a line -----BEGIN {}-----", file.display(), wanted.label())]
    NotPem { file: PathBuf, wanted: Wanted },
    #[error("{} is cut off: {label} does not end; copy the whole file again", file.display())]
    Cut { file: PathBuf, label: String },
    #[error("{} is damaged: {reason}; copy the whole file again", file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error("no {wanted} in {}, only {found}; give the PEM file of a {wanted}", file.display())]
    Missing { file: PathBuf, wanted: Wanted, found: String },
    #[error(
        "{0} holds a TRUSTED CERTIFICATE, a form of OpenSSL's own; convert it: \
         openssl x509 -in {0} -out {0}.new",
        file.display()
    )]
    TrustedCertificate { file: PathBuf },
    #[error(
        "the private key in {0} is encrypted; give its password with --tls-key-password-file FILE, \
         or decrypt it into a file that only this user may read: openssl pkey -in {0} -out {0}.new",
        file.display()
    )]
    EncryptedKey { file: PathBuf },
    #[error(
        "the private key in {0} is encrypted in OpenSSL's old way (Proc-Type: 4,ENCRYPTED), which \
         is not read; convert it: {convert} -in {0} -out {0}.new",
        file.display(), convert = TO_PBES2
    )]
    OldEncryption { file: PathBuf },
    #[error(
        "the private key in {0} is encrypted with {what}; convert it: {convert} -in {0} -out {0}.new",
        file.display(), convert = TO_PBES2
    )]
    UnknownEncryption { file: PathBuf, what: String },
    #[error(
        "the private key in {0} asks for {what}; encrypt it anew: {convert} -in {0} -out {0}.new",
        file.display(), convert = TO_PBES2
    )]
    CostlyKey { file: PathBuf, what: String },
    #[error(
        "the password in {} does not open the private key in {}; give the one that it was \
         encrypted with",
        password.display(), key.display()
    )]
    WrongPassword { key: PathBuf, password: PathBuf },
    #[error(
        "{} is larger than {PASSWORD_FILE_BYTES_MAX} bytes; give a file whose first line is the \
         password",
        file.display()
    )]
    PasswordTooLarge { file: PathBuf },
    #[error("the first line of {} is empty; write the password there", file.display())]
    PasswordEmpty { file: PathBuf },
    #[error("{} holds {count} private keys; leave the one that is meant", file.display())]
    SeveralKeys { file: PathBuf, count: usize },
    #[error(
        "the private key in {} is of no use for TLS; give an EC (P-256, P-384, P-521), Ed25519 \
         or RSA key (2048 bits or more)",
        file.display()
    )]
    UnusableKey { file: PathBuf },
    #[error("certificate {position} in {} cannot be read: {reason}; copy it again", file.display())]
    BadCertificate { file: PathBuf, position: usize, reason: String },
    #[error(
        "the private key in {} does not match the certificate in {}; give the matching pair",
        key.display(), cert.display()
    )]
    KeyMismatch { cert: PathBuf, key: PathBuf },
    #[error(
        "the private key belongs to certificate {position} in {}, not to the first; put the \
         certificate of the server or client first, then those that signed it",
        file.display()
    )]
    LeafNotFirst { file: PathBuf, position: usize },
    #[error(
        "certificate {position} in {} ({subject}) did not issue the one before it, which \
         {issuer} issued; put each certificate after the one that it signed",
        file.display()
    )]
    ChainOrder { file: PathBuf, position: usize, subject: String, issuer: String },
    #[error("the certificate of {subject} in {} expired on {date}; renew it", file.display())]
    Expired { file: PathBuf, subject: String, date: String },
    #[error(
        "the certificate of {subject} in {} is not valid before {date}; wait, or set the clock \
         of this machine right",
        file.display()
    )]
    NotYetValid { file: PathBuf, subject: String, date: String },
    #[error(
        "the certificate in {} is not meant for a {purpose} (extended key usage); give one that is",
        file.display()
    )]
    WrongPurpose { file: PathBuf, purpose: Purpose },
    #[error(
        "the certificate in {} is X.509 version {version}, which cannot be pinned; have the \
         server use one of version 3",
        file.display()
    )]
    PinVersion { file: PathBuf, version: u32 },
    #[error(
        "list {position} of revoked certificates in {} cannot be used: {reason}; give a full list \
         (no delta) of the authority",
        file.display()
    )]
    BadRevocationList { file: PathBuf, position: usize, reason: String },
    #[error(
        "the list of revoked certificates of {issuer} in {} is out of date: its next was due on \
         {date}; get the present one",
        file.display()
    )]
    ExpiredRevocationList { file: PathBuf, issuer: String, date: String },
    #[error(
        "a list of revoked client certificates is given and no authority of clients; name it with \
         --tls-client-ca FILE"
    )]
    RevocationWithoutClients,
    #[error(
        "the new certificate lacks names of the present one ({names}), by which clients may \
         connect; have it issued with all of them, or allow it with --tls-allow-lost-names"
    )]
    LostNames { names: String },
    #[error("a handshake of TLS {version} with the new certificate fails: {reason}")]
    Rehearsal { version: TlsVersion, reason: String },
    /// The machine has no store of trusted authorities, or it cannot be read.
    #[error(
        "this machine trusts no certificate authority ({reason}); name one with --tls-ca FILE, or \
         the server's own certificate with --tls-pin FILE"
    )]
    NoSystemRoots { reason: String },
    #[error("unknown TLS engine '{name}'; the known ones are {}", Engine::ALL.map(Engine::name).join(", "))]
    UnknownEngine { name: String },
    #[error(
        "the TLS engine {engine} is not part of this build; build with --features openssl, which \
         takes the development files of OpenSSL (Debian: libssl-dev)"
    )]
    NotBuilt { engine: Engine },
    #[error("unknown key exchange group '{name}'; the known ones are {}", Group::ALL.map(Group::name).join(", "))]
    UnknownGroup { name: String },
    #[error(
        "the TLS engine {engine} has no key exchange {group}; leave it out of --tls-groups, or \
         choose another --tls-engine"
    )]
    GroupOfEngine { group: Group, engine: Engine },
    #[error("unknown cipher suite '{name}'; the known ones are {}", CipherSuite::names())]
    UnknownSuite { name: String },
    #[error("no cipher suite is left for TLS {min} or later; add one, or lower the version")]
    NoSuite { min: TlsVersion },
    #[error("unknown TLS version '{value}'; give 1.2 or 1.3")]
    UnknownVersion { value: String },
    #[error("'{name}' is neither a DNS name nor an IP address that a certificate could hold")]
    ServerName { name: String },
    /// The peer, or something on the way to it.
    #[error(
        "the server closed the connection during the TLS handshake; if it serves plaintext, use \
         grpc:// instead of grpc+tls://"
    )]
    ServerClosed,
    /// The peer, or something on the way to it.
    #[error("the client closed the connection during the TLS handshake")]
    ClientClosed,
    /// The engine refused what passed the checks above; not the operator's fault.
    #[error("TLS cannot be set up: {0}")]
    Engine(#[from] rustls::Error),
    /// As [`TlsError::Engine`].
    #[error("client certificates cannot be verified: {0}")]
    ClientVerifier(#[from] rustls::server::VerifierBuilderError),
    /// As [`TlsError::Engine`].
    #[cfg(feature = "openssl")]
    #[error("TLS cannot be set up: {0}")]
    OpenSsl(#[from] openssl::error::ErrorStack),
}

/// Tells apart an end that came during the handshake from one that comes later.
pub(crate) fn during_handshake(error: io::Error, closed: TlsError) -> io::Error {
    match error.kind() {
        kind @ (io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe) => io::Error::new(kind, closed),
        _ => error,
    }
}

/// What a file was read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Certificate,
    PrivateKey,
    RevocationList,
}

impl Wanted {
    fn label(self) -> &'static str {
        match self {
            Self::Certificate => "CERTIFICATE",
            Self::PrivateKey => "PRIVATE KEY",
            Self::RevocationList => "X509 CRL",
        }
    }

    fn conversion(self, file: &Path) -> String {
        let command = match self {
            Self::Certificate => "x509",
            Self::PrivateKey => "pkey",
            Self::RevocationList => "crl",
        };
        format!("openssl {command} -inform DER -in {0} -out {0}.pem", file.display())
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "certificate",
            Self::PrivateKey => "private key",
            Self::RevocationList => "list of revoked certificates",
        })
    }
}

/// Which end of a connection a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Server,
    Client,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Client => "client",
        })
    }
}
