//! Files that are read: the forms in which other tools write certificates and keys.

use flight_pki::{Host, Issued, KeyKind};
use flight_tls::{ClientIdentity, ServerIdentity};

use crate::folder::{Folder, arrow_certificates, authority, client, server, week};
use crate::key_forms::{EC_PARAMETERS, pkcs1, sec1};

/// Asserts that the pair of texts is read as a server's, and what is warned about.
fn check(cert: &str, key: &str, warnings: &[&str]) {
    let folder = Folder::new();
    let (cert, key) = (folder.write("server.pem", cert), folder.write("server.key", key));
    let identity = ServerIdentity::load(&cert, &key).unwrap();
    let found: Vec<_> = identity.warnings().iter().map(|it| folder.without_path(it)).collect();
    assert_eq!(found, warnings);
}

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

#[test]
fn keys_of_every_kind_are_read_as_pkcs8() {
    for kind in KeyKind::ALL {
        let Issued { cert_pem, key_pem } = authority().server(&Host::loopback(), kind).unwrap();
        check(&cert_pem, &key_pem, &[]);
    }
}

#[test]
fn rsa_keys_are_read_as_pkcs1() {
    let rsa = authority().server(&Host::loopback(), KeyKind::Rsa2048).unwrap();
    check(&rsa.cert_pem, &pkcs1(&rsa.key_pem), &[]);
}

#[test]
fn ec_keys_are_read_as_sec1_with_and_without_parameters() {
    let ec = server(&authority());
    check(&ec.cert_pem, &sec1(&ec.key_pem), &[]);
    check(&ec.cert_pem, &(EC_PARAMETERS.to_owned() + &sec1(&ec.key_pem)), &[]);
}

#[test]
fn line_ends_byte_order_marks_and_text_around_do_no_harm() {
    let Issued { cert_pem, key_pem } = server(&authority());
    check(&crlf(&cert_pem), &crlf(&key_pem), &[]);
    check(&cert_pem.replace('\n', "\r"), &key_pem, &[]);
    check(&format!("\u{feff}{cert_pem}"), &format!("\u{feff}{key_pem}"), &[]);
    let text = format!("Bag Attributes\n  friendlyName: x\n{cert_pem}Certificate:\n  Data: é\n");
    check(&text, &key_pem, &[]);
    check(cert_pem.trim_end(), key_pem.trim_end(), &[]);
}

#[test]
fn key_and_certificates_may_share_a_file_in_any_order() {
    let Issued { cert_pem, key_pem } = server(&authority().intermediate().unwrap());
    for both in [key_pem.clone() + &cert_pem, cert_pem + &key_pem] {
        check(&both, &both, &[]);
    }
}

#[test]
fn a_chain_may_end_with_its_root() {
    let root = authority();
    let Issued { cert_pem, key_pem } = server(&root.intermediate().unwrap());
    check(&cert_pem, &key_pem, &[]);
    check(&(cert_pem + &root.cert_pem()), &key_pem, &[]);
}

#[test]
fn a_certificate_that_is_its_own_root_is_read() {
    let own = flight_pki::self_signed(&Host::loopback(), KeyKind::P256, week()).unwrap();
    check(&own.cert_pem, &own.key_pem, &[]);
}

#[test]
fn certificates_that_many_clients_refuse_are_warned_about() {
    let openssl = flight_pki::ca_as_server(KeyKind::P256, week()).unwrap();
    check(
        &openssl.cert_pem,
        &openssl.key_pem,
        &[
            "the certificate in server.pem is an authority's own (CA:TRUE), which many clients \
             refuse from a server unless they pin it (--tls-pin)",
            "the certificate in server.pem names no host (subject alternative name), so many \
             clients refuse it unless they pin it (--tls-pin)",
        ],
    );
}

#[test]
fn a_client_pair_is_read_as_a_clients() {
    let folder = Folder::new();
    let (cert, key) = folder.write_pair("client", &client(&authority()));
    assert!(ClientIdentity::load(&cert, &key).is_ok());
}

#[test]
fn debug_output_shows_no_key() {
    let folder = Folder::new();
    let (cert, key) = folder.write_pair("server", &server(&authority()));
    let identity = ServerIdentity::load(&cert, &key).unwrap();
    assert_eq!(
        format!("{identity:?}"),
        "ServerIdentity { pair: Pair { certs: 1, .. }, warnings: [] }"
    );
}

/// Arrow's keys: `cert0.key` is PKCS#1, `cert0.pkcs1` is in truth PKCS#8.
#[test]
fn the_certificates_of_arrow_are_read_with_a_warning() {
    let Some(folder) = arrow_certificates() else { return };
    for (cert, key) in
        [("cert0.pem", "cert0.key"), ("cert0.pem", "cert0.pkcs1"), ("cert1.pem", "cert1.key")]
    {
        let cert = folder.join(cert);
        let identity = ServerIdentity::load(&cert, &folder.join(key)).unwrap();
        assert_eq!(
            identity.warnings(),
            [format!(
                "the certificate in {} is X.509 version 1, which many clients refuse; use one of \
                 version 3 with the server's names",
                cert.display()
            )]
        );
    }
}
