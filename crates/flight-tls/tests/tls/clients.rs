//! Mutual TLS: whose clients a server takes, and what each end reads of the others.

use flight_pki::{Authority, Flaw, Host, Issued, KeyKind};
use flight_tls::{ClientAuth, ClientOptions, ClientTls, Engine, ServerOptions, ServerTls, Trust};

use crate::check::{check, check_refused, of_kind, preferred};
use crate::ends::{
    client_with, engines, meet, odd_client, on_every_engine, reckless_client, server_of,
};
use crate::folder::{Folder, authority, client};

/// Why a server's certificate that has expired is refused from a client: each engine begins with
/// another of its two faults.
fn expired_server() -> (&'static str, &'static str) {
    match engines().0 {
        Engine::OpenSsl => ("UnsupportedCertificate", "the client's certificate is not meant for"),
        _ => ("CertificateExpired", "the client's certificate expired on 20"),
    }
}

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

const UNKNOWN_CLIENT: &str =
    "the client's certificate is not signed by an authority in --tls-client-ca";
const FORGED_CLIENT: &str = "a signature of the client does not verify: its certificate is from \
    another authority of the same name as one in --tls-client-ca, or it does not hold the key of \
    that certificate";

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
        let (server, client) = mutual(&authority(), ClientOptions::default());
        check_refused(&server, &client, NO_CERTIFICATE[0], NO_CERTIFICATE[1]).await;
        let ciphers = vec!["ECDHE-ECDSA-AES128-GCM-SHA256".parse().unwrap()];
        let old = ClientOptions { ciphers, ..ClientOptions::default() };
        let (server, client) = mutual(&authority(), old);
        let seen = meet(&server, &client, "localhost").await;
        assert_eq!(seen.server.unwrap_err(), NO_CERTIFICATE[1]);
        let sentence = seen.client.unwrap_err();
        // TLS 1.2 has no alert of its own for it (RFC 5246, 7.4.6).
        let general = engines().0 == Engine::OpenSsl && sentence.contains("HandshakeFailure");
        assert!(sentence == NO_CERTIFICATE[0] || general, "{sentence}");
    })
    .await;
}

#[tokio::test]
async fn a_client_may_go_without_a_certificate_where_that_is_said() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let clients = authority();
        let folder = Folder::new();
        let bundle = folder.write("clients.pem", clients.cert_pem());
        let options = ServerOptions {
            client_ca: Some(&bundle),
            client_auth: ClientAuth::Optional,
            ..ServerOptions::default()
        };
        let server = server_of(&issued, options);
        let root = root.cert_pem();
        for shown in [None, Some(&client(&clients))] {
            let client = client_with(Trust::Roots, &root, shown, ClientOptions::default());
            check(&server, &client, "localhost", &preferred()).await;
        }
        let expired = clients.flawed(Flaw::Expired, &Host::loopback(), KeyKind::P256).unwrap();
        let odd = reckless_client(&odd_client(Trust::Roots, &root), &expired);
        let seen = meet(&server, &odd, "localhost").await;
        assert_eq!(seen.client.unwrap_err(), refused(expired_server().0));
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
            UNKNOWN_CLIENT,
        )
        .await;
        let (one, other) = (client(&clients), client(&clients));
        let thief = Issued { key_pem: other.key_pem, ..one };
        let thief = reckless_client(&base, &thief);
        check_refused(&server, &thief, &refused("DecryptError"), FORGED_CLIENT).await;
        // OpenSSL goes by the key's identifier, and so finds no issuer at all.
        let (reason, sentence) = match engines().0 {
            Engine::OpenSsl => ("UnknownCA", UNKNOWN_CLIENT),
            _ => ("DecryptError", FORGED_CLIENT),
        };
        let renamed = reckless_client(&base, &client(&authority()));
        check_refused(&server, &renamed, &refused(reason), sentence).await;
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
            "the client's certificate is not meant for a client (extended key usage)",
        )
        .await;
        let expired = clients.flawed(Flaw::Expired, &Host::loopback(), KeyKind::P256).unwrap();
        let seen = meet(&server, &reckless_client(&base, &expired), "localhost").await;
        let (reason, sentence) = expired_server();
        assert_eq!(seen.client.unwrap_err(), refused(reason));
        let said = seen.server.unwrap_err();
        assert!(said.starts_with(sentence), "{said}");
    })
    .await;
}
