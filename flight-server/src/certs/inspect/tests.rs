//! Files that are inspected, good and bad; servers are inspected end to end.

use std::fs;

use clap::Parser;
use flight_pki::{Authority, Bad, Host, KeyKind, Validity, issue_bad};
use tempfile::TempDir;

use super::*;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

/// A folder with a chain below an intermediate, in `server.pem`, and its authority, in `ca.pem`.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let root = Authority::new(Validity::starting(SystemTime::now(), 30).unwrap()).unwrap();
    let middle = root.intermediate().unwrap();
    let server = middle.server(&Host::loopback(), KeyKind::P256).unwrap();
    let client = middle.client(&"ann.example".parse().unwrap(), KeyKind::Ed25519).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("ca.pem", &root.cert_pem());
    write("server.pem", &server.cert_pem);
    write("server.key", &server.key_pem);
    write("client.pem", &client.cert_pem);
    write("both.pem", &(server.cert_pem + &server.key_pem));
    folder
}

fn inspected(folder: &TempDir, line: &str) -> Result<Findings, String> {
    let line = line.replace('@', &format!("{}/", folder.path().display()));
    let words = std::iter::once("inspect").chain(line.split_whitespace());
    inspect(&Cli::try_parse_from(words).unwrap().args)
        .map_err(|error| format!("{error:#}").replace(&format!("{}/", folder.path().display()), ""))
}

/// Compares the last lines of the text, and whether the exit code is 0.
fn check(folder: &TempDir, line: &str, accepted: bool, expected: &str) {
    let findings = inspected(folder, line).unwrap();
    let text = text::text(&findings).replace(&format!("{}/", folder.path().display()), "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.ends_with(expected), "{line}: {text}");
    assert_eq!(findings.accepted(), accepted, "{line}");
}

#[test]
fn a_chain_is_described_certificate_by_certificate() {
    let folder = folder();
    let findings = inspected(&folder, "@both.pem --tls-ca @ca.pem").unwrap();
    let [leaf, middle] = &findings.certificates[..] else { panic!("two certificates") };
    assert_eq!(leaf.subject, "O=flight development, CN=localhost");
    assert_eq!(leaf.issuer, middle.subject);
    assert_eq!(leaf.names, ["localhost", "127.0.0.1", "::1"]);
    assert_eq!((leaf.key.as_str(), leaf.signature.as_str()), ("EC P-256", "ecdsa-with-SHA256"));
    assert_eq!((leaf.authority, middle.authority), (false, true));
    assert_eq!(leaf.purposes, ["server"]);
    assert!(middle.purposes.is_empty());
    assert_eq!(leaf.sha256.len(), 64);
    assert!((29 * 86_400..=30 * 86_400).contains(&leaf.seconds_left));
    let key = findings.key.as_ref().unwrap();
    assert_eq!((key.form, key.of_certificate), (Some("PKCS#8"), Some(1)));
    assert!(text::text(&findings).contains(" days left"));
    let json = serde_json::to_value(&findings).unwrap();
    assert_eq!(json["verdict"]["accepted"], true);
    assert_eq!(json["verdict"]["by"], "client");
    assert_eq!(json["certificates"][1]["x509_version"], 3);
}

#[test]
fn what_the_other_end_would_say_decides() {
    let folder = folder();
    check(
        &folder,
        "@server.pem --tls-ca @ca.pem",
        true,
        "flight-server serves it client connecting to localhost and trusting ca.pem: accepted",
    );
    check(&folder, "@server.pem --tls-ca @ca.pem --name ::1", true, "ca.pem: accepted");
    check(
        &folder,
        "@server.pem --tls-ca @ca.pem --name db.example",
        false,
        "client connecting to db.example and trusting ca.pem: refused: the server's certificate is \
         for localhost, 127.0.0.1, 0::1, not for db.example; connect by such a name, or expect one \
         with --tls-server-name NAME",
    );
    check(
        &folder,
        "@client.pem --tls-ca @ca.pem",
        false,
        "refused: the server's certificate is not meant for a server (extended key usage); have \
         the server use another, or trust exactly this one with --tls-pin FILE",
    );
    check(
        &folder,
        "@client.pem --tls-ca @ca.pem --as client",
        true,
        "server whose --tls-client-ca is ca.pem: accepted",
    );
    check(
        &folder,
        "@server.pem --tls-ca @ca.pem --as client",
        false,
        "refused: the client's certificate is not meant for a client (extended key usage)",
    );
}

#[test]
fn authorities_and_keys_are_taken_for_what_they_are() {
    let folder = folder();
    check(&folder, "@ca.pem", true, "--tls-ca as an authority that a client trusts: accepted");
    check(
        &folder,
        "@ca.pem --tls-ca @ca.pem --name localhost",
        false,
        "trust exactly this one with --tls-pin FILE, or verify nothing with --tls-insecure",
    );
    check(&folder, "@server.key", true, "server.key private key EC P-256, PKCS#8");
}

#[test]
fn every_broken_certificate_is_refused_with_the_sentence_of_its_readme() {
    let folder = TempDir::new().unwrap();
    let life = "7d".parse().unwrap();
    let (_, bad) = issue_bad(folder.path(), life, false, SystemTime::now()).unwrap();
    for Bad { name, client, .. } in bad {
        let line = format!("@{name}.pem --tls-ca @ca.pem --name localhost");
        match (inspected(&folder, &line), client) {
            // A file that cannot be read.
            (Err(error), None) => assert!(error.starts_with(&format!("{name}.pem")), "{error}"),
            (Ok(findings), client) => {
                let judged = findings.verdict.unwrap();
                // Their keys are not in the file that is looked at.
                let of_key = ["wrong-key", "encrypted-key"].contains(&name);
                assert_eq!(judged.why, client.filter(|_| !of_key), "{name}");
                assert_eq!(judged.accepted, of_key, "{name}");
            }
            (Err(error), Some(_)) => panic!("{name}: {error}"),
        }
    }
    check(
        &folder,
        "@encrypted-key.key",
        true,
        "encrypted; its password is given with \
        --key-password-file FILE",
    );
    let line = "@encrypted-key.key --key-password-file @encrypted-key.password";
    check(&folder, line, true, "private key EC P-256, PKCS#8");
    check(
        &folder,
        "@version-1.pem --tls-ca @ca.pem",
        false,
        "refused: the server's certificate is \
        X.509 version 1, which cannot be verified; have the server use one of version 3 \
        (flight-server certs makes such)",
    );
}

fn check_error(folder: &TempDir, line: &str, expected: &str) {
    assert_eq!(inspected(folder, line).unwrap_err(), expected, "{line}");
}

#[test]
fn what_cannot_be_inspected_is_one_sentence() {
    let folder = folder();
    fs::write(folder.path().join("text"), "hello").unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    check_error(
        &folder,
        "@text",
        "text is not PEM; give a file with a line -----BEGIN CERTIFICATE-----",
    );
    check_error(&folder, "@empty", "empty is empty; give the PEM file of a certificate");
    check_error(
        &folder,
        "@none",
        "cannot read none: No such file or directory (os error 2); give a file that this user may \
         read",
    );
    check_error(
        &folder,
        "@server.pem --tls-ca @server.key",
        "no certificate in server.key, only PRIVATE KEY; give the PEM file of a certificate",
    );
    check_error(
        &folder,
        "@server.pem --tls-ca @ca.pem --name a:b:c",
        "'a:b:c' is neither a DNS name nor an IP address that a certificate could hold",
    );
    check_error(&folder, "grpc://h:1", "grpc://h:1 is plaintext; write grpc+tls://HOST:PORT");
    check_error(
        &folder,
        "grpc+tls://h:1 --as client",
        "--as client is for files: what a server shows is a server's",
    );
    check_error(
        &folder,
        "https://h",
        "\"https://h\" names no scheme that Flight knows; write grpc://HOST:PORT, \
         grpc+tls://HOST:PORT or grpc+unix:///PATH",
    );
}
