//! Private keys in the forms that other tools write, made from PKCS#8.

use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::der_parser::parse_der;

/// The curve P-256 as `[0] EXPLICIT` parameters of an ECPrivateKey (RFC 5915, 3).
const P256_PARAMETERS: [u8; 12] =
    [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// What `openssl ecparam -name prime256v1 -genkey` writes in front of the key.
pub(crate) const EC_PARAMETERS: &str =
    "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";

/// PKCS#1 (RFC 8017, A.1.2) of an RSA key.
pub(crate) fn pkcs1(pkcs8_pem: &str) -> String {
    pem("RSA PRIVATE KEY", &inner(pkcs8_pem))
}

/// SEC1 (RFC 5915) of a P-256 key, with its curve, as OpenSSL writes it.
pub(crate) fn sec1(pkcs8_pem: &str) -> String {
    let mut der = inner(pkcs8_pem);
    // SEQUENCE 2, version 3, private key 34: the parameters follow.
    der.splice(39..39, P256_PARAMETERS);
    der[1] += u8::try_from(P256_PARAMETERS.len()).unwrap();
    pem("EC PRIVATE KEY", &der)
}

/// A PEM block.
pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    let text = base64(der);
    let lines: Vec<_> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// The key inside PKCS#8: its third element (RFC 5958, 2).
fn inner(pkcs8_pem: &str) -> Vec<u8> {
    let der = PrivatePkcs8KeyDer::from_pem_slice(pkcs8_pem.as_bytes()).unwrap();
    let (_, pkcs8) = parse_der(der.secret_pkcs8_der()).unwrap();
    pkcs8.as_sequence().unwrap()[2].as_slice().unwrap().to_vec()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for digit in 0..4 {
            let value = (word >> (18 - 6 * digit)) & 63;
            text.push(if digit <= group.len() { DIGITS[value as usize].into() } else { '=' });
        }
    }
    text
}
