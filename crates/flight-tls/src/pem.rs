//! Reads certificates and private keys from PEM files (RFC 7468), and says what is wrong with others.
//!
//! Text around the blocks, blocks of other kinds, CRLF and a byte order mark do no harm. Keys come
//! in PKCS#8, PKCS#1 and SEC1, those in PKCS#8 encrypted where there is a password. What the contents mean is judged in `chain` and `identity`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustls_pki_types::pem::{self, PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use zeroize::Zeroizing;

use crate::error::{TlsError, Wanted};
use crate::limits::PEM_FILE_BYTES_MAX;
use crate::password::KeyPassword;

const BEGIN: &str = "-----BEGIN ";
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY-----";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// First byte of every certificate and key in DER: a sequence.
const DER_SEQUENCE: u8 = 0x30;

/// All certificates of `file`, at least one, in order.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let blocks = blocks(file, &text(file, Wanted::Certificate)?, Wanted::Certificate)?;
    Ok(blocks.into_iter().filter_map(|(kind, der)| CertificateDer::from_pem(kind, der)).collect())
}

/// All lists of revoked certificates of `file`, at least one.
pub(crate) fn revocation_lists(
    file: &Path,
) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let text = text(file, Wanted::RevocationList)?;
    let blocks = blocks(file, &text, Wanted::RevocationList)?.into_iter();
    Ok(blocks.filter_map(|(kind, der)| CertificateRevocationListDer::from_pem(kind, der)).collect())
}

/// The one private key of `file`; `password` opens it where it is encrypted.
pub(crate) fn private_key(
    file: &Path,
    password: Option<&KeyPassword>,
) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = text(file, Wanted::PrivateKey)?;
    let (text, encrypted) = match text.contains(ENCRYPTED) {
        false => (text, false),
        // The reader of PEM passes over blocks that are encrypted.
        true => (Zeroizing::new(text.replace(ENCRYPTED, "PRIVATE KEY-----")), true),
    };
    let blocks = blocks(file, &text, Wanted::PrivateKey)?;
    let keys = blocks.into_iter().filter_map(|(kind, der)| PrivateKeyDer::from_pem(kind, der));
    let mut keys: Vec<_> = keys.collect();
    if keys.len() > 1 {
        return Err(TlsError::SeveralKeys { file: file.to_owned(), count: keys.len() });
    }
    let key = keys.pop().expect("blocks holds at least one of what was wanted");
    match (encrypted, password) {
        (false, _) => Ok(key),
        (true, Some(password)) => Ok(password.decrypt(key.secret_der(), file)?.into()),
        (true, None) => Err(TlsError::EncryptedKey { file: file.to_owned() }),
    }
}

/// What `file` says, the byte order mark left out.
fn text(file: &Path, wanted: Wanted) -> Result<Zeroizing<String>, TlsError> {
    let bytes = read(file, wanted)?;
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    Ok(Zeroizing::new(String::from_utf8_lossy(bytes).into_owned()))
}

/// The blocks of `file`, at least one of them of the kind that is `wanted`.
fn blocks(
    file: &Path,
    text: &str,
    wanted: Wanted,
) -> Result<Vec<(SectionKind, Vec<u8>)>, TlsError> {
    if text.trim().is_empty() {
        return Err(TlsError::Empty { file: file.to_owned(), wanted });
    }
    if !text.contains(BEGIN) {
        let file = file.to_owned();
        return Err(match text.as_bytes()[0] {
            DER_SEQUENCE => TlsError::Der { file, wanted },
            _ => TlsError::NotPem { file, wanted },
        });
    }
    refuse_special_forms(file, text, wanted)?;
    let blocks: Vec<_> = PemObject::pem_slice_iter(text.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable(file, error))?;
    if !blocks.iter().any(|(kind, _)| is_wanted(*kind, wanted)) {
        let found = labels(text);
        return Err(TlsError::Missing { file: file.to_owned(), wanted, found });
    }
    Ok(blocks)
}

fn read(file: &Path, wanted: Wanted) -> Result<Zeroizing<Vec<u8>>, TlsError> {
    let mut bytes = Zeroizing::new(Vec::new());
    let opened: io::Result<File> = File::open(file);
    opened
        .and_then(|opened| opened.take(PEM_FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|cause| TlsError::Read { file: file.to_owned(), cause })?;
    if bytes.len() as u64 > PEM_FILE_BYTES_MAX {
        return Err(TlsError::TooLarge { file: file.to_owned(), wanted });
    }
    Ok(bytes)
}

/// Blocks that the parser would pass over or fail on, and for which there is a better sentence.
fn refuse_special_forms(file: &Path, text: &str, wanted: Wanted) -> Result<(), TlsError> {
    // It stands inside a PKCS#1 or SEC1 block (RFC 1421, 4.6.1.1).
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(TlsError::OldEncryption { file: file.to_owned() });
    }
    let trusted = text.contains("-----BEGIN TRUSTED CERTIFICATE-----");
    if wanted == Wanted::Certificate && trusted {
        return Err(TlsError::TrustedCertificate { file: file.to_owned() });
    }
    Ok(())
}

fn is_wanted(kind: SectionKind, wanted: Wanted) -> bool {
    match wanted {
        Wanted::Certificate => kind == SectionKind::Certificate,
        Wanted::RevocationList => kind == SectionKind::Crl,
        Wanted::PrivateKey => matches!(
            kind,
            SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey
        ),
    }
}

fn unreadable(file: &Path, error: pem::Error) -> TlsError {
    let file = file.to_owned();
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            TlsError::Cut { file, label: String::from_utf8_lossy(&end_marker).into_owned() }
        }
        pem::Error::IllegalSectionStart { line } => {
            let line = String::from_utf8_lossy(&line).chars().take(80).collect::<String>();
            TlsError::Damaged { file, reason: format!("the line '{}' is broken", line.trim_end()) }
        }
        pem::Error::Base64Decode(_) => {
            TlsError::Damaged { file, reason: "a block is not base64".to_owned() }
        }
        other => TlsError::Damaged { file, reason: format!("{other:?}") },
    }
}

/// The kinds of blocks in `text`, each once, for people.
fn labels(text: &str) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for line in text.lines() {
        let label = line.strip_prefix(BEGIN).and_then(|rest| rest.split("-----").next());
        if let Some(label) = label.filter(|label| !labels.contains(label)) {
            labels.push(label);
        }
    }
    labels.truncate(5);
    if labels.is_empty() { "broken lines".to_owned() } else { labels.join(", ") }
}
