//! Mutual TLS: whose clients a server takes, and what each end reads of the others.

use flight_pki::{Authority, Flaw, Host, Issued, KeyKind};
use flight_tls::{ClientOptions, ClientTls, ServerOptions, ServerTls, Trust};

use crate::check::{check, check_refused, of_kind, preferred};
use crate::ends::{client_with, meet, odd_client, on_every_engine, reckless_client, server_of};
use crate::folder::{Folder, authority, client};

#[tokio::test]
async fn clients_of_every_authority_in_a_bundle_are_taken() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let (one, other) = (authority(), authority());
        let folder = Folder::new();
        let bundle = folder.write("clients.pem", one.cert_pem() + &other.cert_pem());
        let options = ServerOptions { client_ca: Some(&bundle), ..ServerOptions::default() };
        let server = server_of(&issued, options);
        let (root, show) = (root.cert_pem(), ClientOptions::default);
        for shown in [client(&one), client(&other), client(&other.intermediate().unwrap())] {
            let client = client_with(Trust::Roots, &root, Some(&shown), show());
            check(&server, &client, "localhost", &preferred()).await;
        }
    })
    .await;
}

const NO_CERTIFICATE: [&str; 2] = [
    "the server asks for a client certificate; give one with --tls-cert FILE and --tls-key FILE",
    "the client shows no certificate, which --tls-client-ca asks for",
];

/// A server that asks for certificates of `clients`, and a client that trusts it.
fn mutual(clients: &Authority, show: ClientOptions) -> (ServerTls, ClientTls) {
    let (server, root) = asking(clients);
    (server, client_with(Trust::Roots, &root.cert_pem(), None, show))
}

/// A server that asks for certificates of `clients`, and its authority.
fn asking(clients: &Authority) -> (ServerTls, Authority) {
    let (root, issued) = of_kind(KeyKind::P256);
    let folder = Folder::new();
    let bundle = folder.write("clients.pem", clients.cert_pem());
    let options = ServerOptions { client_ca: Some(&bundle), ..ServerOptions::default() };
    (server_of(&issued, options), root)
}

fn refused(reason: &str) -> String {
    format!(
        "the server refused this client's certificate ({reason}); give one that it trusts with \
         --tls-cert FILE and --tls-key FILE"
    )
}

#[tokio::test]
async fn a_client_without_a_certificate_is_refused_in_both_versions() {
    on_every_engine(async || {
        let old = vec!["ECDHE-ECDSA-AES128-GCM-SHA256".parse().unwrap()];
        for ciphers in [Vec::new(), old] {
            let show = ClientOptions { ciphers, ..ClientOptions::default() };
            let (server, client) = mutual(&authority(), show);
            check_refused(&server, &client, NO_CERTIFICATE[0], NO_CERTIFICATE[1]).await;
        }
    })
    .await;
}

#[tokio::test]
async fn clients_of_other_authorities_and_thieves_are_refused() {
    on_every_engine(async || {
        let clients = authority();
        let (server, root) = asking(&clients);
        let base = odd_client(Trust::Roots, &root.cert_pem());
        let elsewhere = authority().intermediate().unwrap();
        let Issued { cert_pem, key_pem } = client(&elsewhere);
        let unknown = Issued { cert_pem: cert_pem.replace(&elsewhere.cert_pem(), ""), key_pem };
        check_refused(
            &server,
            &reckless_client(&base, &unknown),
            &refused("UnknownCA"),
            "the client's certificate is not signed by an authority in --tls-client-ca",
        )
        .await;
        let (one, other) = (client(&clients), client(&clients));
        let thief = Issued { key_pem: other.key_pem, ..one };
        for forged in [client(&authority()), thief] {
            check_refused(
            &server,
            &reckless_client(&base, &forged),
            &refused("DecryptError"),
            "a signature of the client does not verify: its certificate is from another authority \
             of the same name as one in --tls-client-ca, or it does not hold the key of that \
             certificate",
        )
        .await;
        }
    })
    .await;
}

#[tokio::test]
async fn clients_whose_certificate_does_not_hold_are_refused() {
    on_every_engine(async || {
        let clients = authority();
        let (server, root) = asking(&clients);
        let base = odd_client(Trust::Roots, &root.cert_pem());
        check_refused(
        &server,
        &reckless_client(&base, &crate::folder::server(&clients)),
        &refused("UnsupportedCertificate"),
        "the client's certificate was refused: certificate does not allow extended key usage for \
         client authentication, allows server authentication",
    )
    .await;
        let expired = clients.flawed(Flaw::Expired, &Host::loopback(), KeyKind::P256).unwrap();
        let seen = meet(&server, &reckless_client(&base, &expired), "localhost").await;
        assert_eq!(seen.client.unwrap_err(), refused("CertificateExpired"));
        let sentence = seen.server.unwrap_err();
        assert!(sentence.starts_with("the client's certificate expired on 20"), "{sentence}");
    })
    .await;
}
