//! What is in the certificates: read back with an independent parser, signatures verified.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::time::SystemTime;

use flight_pki::{Authority, Flaw, Host, Issued, KeyKind, PkiError, Validity};
use x509_parser::pem::Pem;
use x509_parser::prelude::{GeneralName, X509Certificate};

fn authority() -> Authority {
    Authority::new(week()).unwrap()
}

fn week() -> Validity {
    Validity::starting(SystemTime::now(), 7).unwrap()
}

/// Describes each certificate of `pem` in one line.
fn described(pem: &str) -> Vec<String> {
    Pem::iter_from_buffer(pem.as_bytes())
        .map(|block| describe(&block.unwrap().parse_x509().unwrap()))
        .collect()
}

fn describe(cert: &X509Certificate<'_>) -> String {
    let constraints = cert.basic_constraints().unwrap();
    let ca = constraints.map(|extension| (extension.critical, extension.value.ca));
    let names = cert.subject_alternative_name().unwrap().map_or_else(Vec::new, |extension| {
        let names = extension.value.general_names.iter();
        names.map(general_name).collect()
    });
    let usage = cert.key_usage().unwrap().map(|extension| extension.value.to_string());
    let purpose = cert.extended_key_usage().unwrap().map_or("any", |extension| {
        match (extension.value.server_auth, extension.value.client_auth) {
            (true, false) => "server",
            (false, true) => "client",
            _ => "other",
        }
    });
    format!(
        "v{} CA {ca:?} [{}] for {purpose}, {}",
        cert.version().0 + 1,
        names.join(" "),
        usage.unwrap_or_default()
    )
}

fn general_name(name: &GeneralName<'_>) -> String {
    match name {
        GeneralName::DNSName(name) => (*name).to_owned(),
        GeneralName::IPAddress(bytes) => match <[u8; 4]>::try_from(*bytes) {
            Ok(v4) => std::net::Ipv4Addr::from(v4).to_string(),
            Err(_) => std::net::Ipv6Addr::from(<[u8; 16]>::try_from(*bytes).unwrap()).to_string(),
        },
        other => other.to_string(),
    }
}

fn check(pem: &str, expected: &[&str]) {
    assert_eq!(described(pem), expected);
}

/// Asserts that `child` is signed by the first certificate of `parent`.
fn check_signed(child: &str, parent: &str) {
    let first = |pem: &str| Pem::iter_from_buffer(pem.as_bytes()).next().unwrap().unwrap();
    let (child, parent) = (first(child), first(parent));
    let (child, parent) = (child.parse_x509().unwrap(), parent.parse_x509().unwrap());
    assert_eq!(child.issuer(), parent.subject());
    child.verify_signature(Some(parent.public_key())).unwrap();
}

#[test]
fn an_authority_may_sign_certificates() {
    let root = authority();
    check(&root.cert_pem(), &["v3 CA Some((true, true)) [] for any, Key Cert Sign, CRL Sign"]);
    check_signed(&root.cert_pem(), &root.cert_pem());
}

#[test]
fn a_server_of_each_kind_of_key_is_signed_by_its_authority() {
    let root = authority();
    for kind in KeyKind::ALL {
        let server = root.server(&Host::loopback(), kind).unwrap();
        check(
            &server.cert_pem,
            &["v3 CA Some((true, false)) [localhost 127.0.0.1 ::1] for server, \
               Digital Signature"],
        );
        check_signed(&server.cert_pem, &root.cert_pem());
        assert!(server.key_pem.starts_with("-----BEGIN PRIVATE KEY-----"), "{kind}");
    }
}

#[test]
fn a_key_has_the_size_that_its_kind_says() {
    let bits = |kind| {
        let server = authority().server(&Host::loopback(), kind).unwrap();
        let pem = Pem::iter_from_buffer(server.cert_pem.as_bytes()).next().unwrap().unwrap();
        let cert = pem.parse_x509().unwrap();
        cert.public_key().parsed().unwrap().key_size()
    };
    assert_eq!(bits(KeyKind::P256), 256);
    assert_eq!(bits(KeyKind::P384), 384);
    assert_eq!(bits(KeyKind::Rsa2048), 2048);
    assert_eq!(bits(KeyKind::Rsa4096), 4096);
}

#[test]
fn an_ed25519_key_is_pkcs8_version_1_which_openssl_reads() {
    let server = authority().server(&Host::loopback(), KeyKind::Ed25519).unwrap();
    let pem = Pem::iter_from_buffer(server.key_pem.as_bytes()).next().unwrap().unwrap();
    // SEQUENCE, its length, INTEGER 0: the version (RFC 5958, 2).
    assert_eq!(pem.contents[..5], [0x30, 46, 2, 1, 0]);
}

#[test]
fn a_client_is_for_clients() {
    let root = authority();
    let client = root.client(&"ann.example".parse().unwrap(), KeyKind::P256).unwrap();
    check(
        &client.cert_pem,
        &["v3 CA Some((true, false)) [ann.example] for client, Digital Signature"],
    );
    check_signed(&client.cert_pem, &root.cert_pem());
}

#[test]
fn a_server_below_an_intermediate_carries_it_along_but_not_the_root() {
    let root = authority();
    let middle = root.intermediate().unwrap();
    let server = middle.server(&Host::loopback(), KeyKind::P256).unwrap();
    check(
        &server.cert_pem,
        &[
            "v3 CA Some((true, false)) [localhost 127.0.0.1 ::1] for server, Digital Signature",
            "v3 CA Some((true, true)) [] for any, Key Cert Sign, CRL Sign",
        ],
    );
    check_signed(&server.cert_pem, &middle.cert_pem());
    check_signed(&middle.cert_pem(), &root.cert_pem());
}

#[test]
fn self_signed_is_no_authority_and_what_openssl_makes_is_one() {
    let ours = flight_pki::self_signed(&Host::loopback(), KeyKind::P256, week()).unwrap();
    // No key usage: OpenSSL would want one that signs certificates.
    check(&ours.cert_pem, &["v3 CA Some((true, false)) [localhost 127.0.0.1 ::1] for server, "]);
    check_signed(&ours.cert_pem, &ours.cert_pem);

    let openssl = flight_pki::ca_as_server(KeyKind::P256, week()).unwrap();
    check(&openssl.cert_pem, &["v3 CA Some((true, true)) [] for any, "]);
    check_signed(&openssl.cert_pem, &openssl.cert_pem);
}

#[test]
fn a_flaw_is_in_the_certificate_and_all_else_is_right() {
    let root = authority();
    let flawed = |flaw| {
        let issued: Issued = root.flawed(flaw, &Host::loopback(), KeyKind::P256).unwrap();
        check_signed(&issued.cert_pem, &root.cert_pem());
        issued.cert_pem
    };
    let valid = "v3 CA Some((true, false)) [localhost 127.0.0.1 ::1] for server, Digital Signature";
    check(&flawed(Flaw::Expired), &[valid]);
    check(&flawed(Flaw::NotYetValid), &[valid]);
    check(&flawed(Flaw::NoNames), &[&valid.replace("localhost 127.0.0.1 ::1", "")]);
    check(&flawed(Flaw::ForClients), &[&valid.replace("server", "client")]);

    let validity = |pem: &str| {
        let pem = Pem::iter_from_buffer(pem.as_bytes()).next().unwrap().unwrap();
        pem.parse_x509().unwrap().validity().clone()
    };
    let now = x509_parser::time::ASN1Time::now();
    assert!(validity(&flawed(Flaw::Expired)).not_after < now);
    assert!(now < validity(&flawed(Flaw::NotYetValid)).not_before);
    assert!(validity(&flawed(Flaw::NoNames)).is_valid());
}

#[test]
fn a_certificate_holds_a_bounded_number_of_names() {
    let hosts: Vec<Host> = (0..101).map(|n| format!("host-{n}.example").parse().unwrap()).collect();
    assert!(authority().server(&hosts[..100], KeyKind::P256).is_ok());
    let error = authority().server(&hosts, KeyKind::P256).unwrap_err();
    assert!(matches!(error, PkiError::HostCount { count: 101 }), "{error}");
}

#[test]
fn debug_output_does_not_show_a_key() {
    let root = authority();
    let server = root.server(&Host::loopback(), KeyKind::P256).unwrap();
    let shown = format!("{root:?} {server:?}");
    assert!(shown.contains("BEGIN CERTIFICATE"));
    assert!(!shown.contains("PRIVATE KEY"));
}
