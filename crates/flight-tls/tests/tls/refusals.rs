//! Files and options that are refused, each with its sentence.

use std::fs;
use std::path::PathBuf;

use flight_pki::{Flaw, Host, Issued, KeyKind};
use flight_tls::{
    ClientIdentity, ClientOptions, ServerIdentity, ServerOptions, ServerTls, TlsError, TlsVersion,
    Trust, client_config,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::folder::{Folder, arrow_certificates, authority, client, server};
use crate::key_forms::pem;

/// Loads `server.pem` and `server.key` with these contents and compares the sentence.
fn check(cert: impl AsRef<[u8]>, key: impl AsRef<[u8]>, expected: &str) {
    let folder = Folder::new();
    let (cert, key) = (folder.write("server.pem", cert), folder.write("server.key", key));
    let error = ServerIdentity::load(&cert, &key).unwrap_err();
    assert_eq!(folder.without_path(&error), expected);
}

fn check_client_options(trust: Trust, options: ClientOptions, expected: &str) {
    let error = client_config(trust, None, options).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

fn der(cert_pem: &str) -> Vec<u8> {
    CertificateDer::from_pem_slice(cert_pem.as_bytes()).unwrap().to_vec()
}

#[test]
fn files_without_pem() {
    let Issued { cert_pem, key_pem } = server(&authority());
    check("", &key_pem, "server.pem is empty; give the PEM file of a certificate");
    check(" \r\n", &key_pem, "server.pem is empty; give the PEM file of a certificate");
    check(&cert_pem, "", "server.key is empty; give the PEM file of a private key");
    check(
        "hello",
        &key_pem,
        "server.pem is not PEM; give a file with a line -----BEGIN CERTIFICATE-----",
    );
    check(
        &cert_pem,
        [0xff, 0xfe, 0],
        "server.key is not PEM; give a file with a line -----BEGIN PRIVATE KEY-----",
    );
    check(
        der(&cert_pem),
        &key_pem,
        "server.pem is DER, not PEM; convert it: \
         openssl x509 -inform DER -in server.pem -out server.pem.pem",
    );
    check(
        &cert_pem,
        der(&cert_pem),
        "server.key is DER, not PEM; convert it: \
         openssl pkey -inform DER -in server.key -out server.key.pem",
    );
}

#[test]
fn files_without_what_was_asked_for() {
    let Issued { cert_pem, key_pem } = server(&authority());
    check(
        &key_pem,
        &cert_pem,
        "no certificate in server.pem, only PRIVATE KEY; give the PEM file of a certificate",
    );
    check(
        &cert_pem,
        cert_pem.repeat(3),
        "no private key in server.key, only CERTIFICATE; give the PEM file of a private key",
    );
    check(
        &cert_pem,
        pem("DSA PRIVATE KEY", b"123"),
        "no private key in server.key, only DSA PRIVATE KEY; give the PEM file of a private key",
    );
    check(
        "x-----BEGIN CERTIFICATE-----",
        &key_pem,
        "no certificate in server.pem, only broken lines; give the PEM file of a certificate",
    );
}

#[test]
fn a_form_that_openssl_alone_reads() {
    let Issued { cert_pem, key_pem } = server(&authority());
    check(
        cert_pem.replace("CERTIFICATE", "TRUSTED CERTIFICATE"),
        &key_pem,
        "server.pem holds a TRUSTED CERTIFICATE, a form of OpenSSL's own; convert it: \
         openssl x509 -in server.pem -out server.pem.new",
    );
}

#[test]
fn cut_and_damaged_files() {
    let Issued { cert_pem, key_pem } = server(&authority());
    check(
        &cert_pem[..cert_pem.len() / 2],
        &key_pem,
        "server.pem is cut off: CERTIFICATE does not end; copy the whole file again",
    );
    check(
        &cert_pem,
        &key_pem[..key_pem.len() / 2],
        "server.key is cut off: PRIVATE KEY does not end; copy the whole file again",
    );
    check(
        cert_pem.replacen("-----\n", "----\n", 1),
        &key_pem,
        "server.pem is damaged: the line '-----BEGIN CERTIFICATE----' is broken; \
         copy the whole file again",
    );
    check(
        cert_pem.replacen("MII", "M*I", 1),
        &key_pem,
        "server.pem is damaged: a block is not base64; copy the whole file again",
    );
    check(
        pem("CERTIFICATE", &[der(&cert_pem), vec![0]].concat()),
        &key_pem,
        "certificate 1 in server.pem cannot be read: bytes follow it; copy it again",
    );
    let usable = "the private key in server.key is of no use for TLS; give an EC (P-256, P-384, \
                  P-521), Ed25519 or RSA key (2048 bits or more)";
    check(&cert_pem, pem("PRIVATE KEY", b"0123456789"), usable);
}

#[test]
fn a_certificate_cut_inside_is_refused_at_every_length() {
    let Issued { cert_pem, key_pem } = server(&authority());
    let whole = der(&cert_pem);
    let folder = Folder::new();
    let key = folder.write("server.key", key_pem);
    for length in 1..whole.len() {
        let cert = folder.write("server.pem", pem("CERTIFICATE", &whole[..length]));
        let error = ServerIdentity::load(&cert, &key).unwrap_err();
        assert!(matches!(error, TlsError::BadCertificate { position: 1, .. }), "{length}: {error}");
    }
}

#[test]
fn pairs_that_do_not_belong_together() {
    let root = authority();
    let (one, other) = (server(&root), server(&root));
    let mismatch = "the private key in server.key does not match the certificate in server.pem; \
                    give the matching pair";
    check(&one.cert_pem, &other.key_pem, mismatch);
    let rsa = root.server(&Host::loopback(), KeyKind::Rsa2048).unwrap();
    check(&one.cert_pem, &rsa.key_pem, mismatch);
    check(
        &one.cert_pem,
        one.key_pem.clone() + &other.key_pem,
        "server.key holds 2 private keys; leave the one that is meant",
    );
}

#[test]
fn chains_out_of_order() {
    let root = authority();
    let middle = root.intermediate().unwrap();
    let Issued { cert_pem, key_pem } = server(&middle);
    let leaf = cert_pem.strip_suffix(&middle.cert_pem()).unwrap();
    check(
        middle.cert_pem() + leaf,
        &key_pem,
        "the private key belongs to certificate 2 in server.pem, not to the first; put the \
         certificate of the server or client first, then those that signed it",
    );
    check(
        leaf.to_owned() + &root.cert_pem() + &middle.cert_pem(),
        &key_pem,
        "certificate 2 in server.pem (O=flight development, CN=flight development CA) did not \
         issue the one before it, which O=flight development, CN=flight development intermediate \
         CA issued; put each certificate after the one that it signed",
    );
}

#[test]
fn certificates_out_of_their_time() {
    let flawed = |flaw| authority().flawed(flaw, &Host::loopback(), KeyKind::P256).unwrap();
    let sentence = |flaw| {
        let folder = Folder::new();
        let (cert, key) = folder.write_pair("server", &flawed(flaw));
        folder.without_path(&ServerIdentity::load(&cert, &key).unwrap_err())
    };
    let day = |at: std::time::SystemTime| {
        let time: u64 = at.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let time = i64::try_from(time).unwrap();
        let time = x509_parser::time::ASN1Time::from_timestamp(time).unwrap();
        time.to_datetime().date().to_string()
    };
    let days = |count: u64| std::time::Duration::from_secs(count * 86_400);
    let hour = std::time::Duration::from_secs(3_600);
    let now = std::time::SystemTime::now();
    // The day may change while this runs.
    let near = |found: String, at: std::time::SystemTime, form: fn(&str) -> String| {
        let moments = [at - hour / 60, at];
        assert!(moments.iter().any(|at| found == form(&day(*at))), "{found}");
    };
    near(sentence(Flaw::Expired), now - hour - days(1), |day| {
        format!(
            "the certificate of O=flight development, CN=localhost in server.pem expired on \
             {day}; renew it"
        )
    });
    near(sentence(Flaw::NotYetValid), now + days(8), |day| {
        format!(
            "the certificate of O=flight development, CN=localhost in server.pem is not valid \
             before {day}; wait, or set the clock of this machine right"
        )
    });
}

#[test]
fn certificates_for_the_other_end() {
    let root = authority();
    let Issued { cert_pem, key_pem } = client(&root);
    check(
        &cert_pem,
        &key_pem,
        "the certificate in server.pem is not meant for a server (extended key usage); \
         give one that is",
    );
    let folder = Folder::new();
    let (cert, key) = folder.write_pair("client", &server(&root));
    assert_eq!(
        folder.without_path(&ClientIdentity::load(&cert, &key).unwrap_err()),
        "the certificate in client.pem is not meant for a client (extended key usage); \
         give one that is"
    );
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new();
    let (cert, key) = folder.write_pair("server", &server(&authority()));
    let sentence = |cert: &PathBuf, key: &PathBuf| {
        folder.without_path(&ServerIdentity::load(cert, key).unwrap_err())
    };
    assert_eq!(
        sentence(&folder.path().join("none.pem"), &key),
        "cannot read none.pem: No such file or directory (os error 2); \
         give a file that this user may read"
    );
    fs::create_dir(folder.path().join("folder")).unwrap();
    assert_eq!(
        sentence(&cert, &folder.path().join("folder")),
        "cannot read folder: Is a directory (os error 21); give a file that this user may read"
    );
    let large = folder.write("large.pem", vec![b'\n'; (4 << 20) + 1]);
    assert_eq!(
        sentence(&large, &key),
        "large.pem is larger than 4194304 bytes; give the PEM file of a certificate"
    );
}

#[test]
fn bundles_of_authorities_that_will_not_do() {
    let folder = Folder::new();
    let root = authority();
    let (cert, key) = folder.write_pair("server", &server(&root));
    let identity = ServerIdentity::load(&cert, &key).unwrap();
    let broken = folder.write("cas.pem", root.cert_pem() + &pem("CERTIFICATE", b"0123"));
    for file in [key, folder.write("empty.pem", ""), broken] {
        let options = ServerOptions { client_ca: Some(&file), ..ServerOptions::default() };
        let by_server = ServerTls::new(&identity, options).unwrap_err();
        let by_client = |trust| client_config(trust, None, ClientOptions::default()).unwrap_err();
        let sentence = by_server.to_string();
        assert_eq!(by_client(Trust::Roots(file.clone())).to_string(), sentence);
        assert_eq!(by_client(Trust::Pin(file.clone())).to_string(), sentence);
        assert!(sentence.contains(file.to_str().unwrap()), "{sentence}");
    }
}

#[test]
fn options_that_contradict_each_other() {
    let old = vec!["ECDHE-RSA-AES128-GCM-SHA256".parse().unwrap()];
    let no_suite = "no cipher suite is left for TLS 1.3 or later; add one, or lower the version";
    let folder = Folder::new();
    let (cert, key) = folder.write_pair("server", &server(&authority()));
    let identity = ServerIdentity::load(&cert, &key).unwrap();
    let options = ServerOptions {
        ciphers: old.clone(),
        min_version: TlsVersion::V1_3,
        ..ServerOptions::default()
    };
    assert_eq!(ServerTls::new(&identity, options).unwrap_err().to_string(), no_suite);
    check_client_options(
        Trust::Insecure,
        ClientOptions { ciphers: old, min_version: TlsVersion::V1_3, ..ClientOptions::default() },
        no_suite,
    );
    check_client_options(
        Trust::Insecure,
        ClientOptions { server_name: Some("a b".to_owned()), ..ClientOptions::default() },
        "'a b' is neither a DNS name nor an IP address that a certificate could hold",
    );
}

#[test]
fn a_certificate_of_version_1_cannot_be_pinned() {
    let Some(folder) = arrow_certificates() else { return };
    let file = folder.join("cert0.pem");
    let expected = format!(
        "the certificate in {} is X.509 version 1, which cannot be pinned; have the server use one \
         of version 3",
        file.display()
    );
    check_client_options(Trust::Pin(file), ClientOptions::default(), &expected);
}
