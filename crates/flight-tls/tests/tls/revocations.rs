//! Clients whose certificates were revoked, the names of those that were not, and sessions of
//! clients that are no longer taken.

use flight_pki::{Authority, Issued, KeyKind};
use flight_tls::{
    ClientAuth, ClientOptions, ClientTls, ServerIdentity, ServerOptions, ServerTls, TlsError, Trust,
};

use crate::check::{check, of_kind, preferred};
use crate::ends::{client_with, meet, names_of, on_every_engine, server_of};
use crate::folder::{Folder, authority, client, server};
use crate::key_forms::pem;

/// A server that takes clients of `clients` unless `lists` (PEM) revoke them, and its authority.
fn asking(clients: &Authority, lists: Option<&str>) -> (ServerTls, Authority) {
    let (root, issued) = of_kind(KeyKind::P256);
    let folder = Folder::new();
    let bundle = folder.write("clients.pem", clients.cert_pem());
    let lists = lists.map(|lists| folder.write("revoked.pem", lists));
    let options = ServerOptions {
        client_ca: Some(&bundle),
        client_crl: lists.as_deref(),
        ..ServerOptions::default()
    };
    (server_of(&issued, options), root)
}

fn showing(root: &Authority, shown: &Issued) -> ClientTls {
    client_with(Trust::Roots, &root.cert_pem(), Some(shown), ClientOptions::default())
}

/// What `server` says of a client that it refuses, which sees that it was for its certificate.
async fn refused(server: &ServerTls, client: &ClientTls) -> String {
    let seen = meet(server, client, "localhost").await;
    let by_client = seen.client.unwrap_err();
    assert!(by_client.starts_with("the server refused this client's certificate"), "{by_client}");
    seen.server.unwrap_err()
}

const REVOKED: &str = "the client's certificate is revoked (--tls-client-crl)";
const UNKNOWN: &str = "whether the client's certificate is revoked cannot be told: no list in \
    --tls-client-crl is of the authority that issued it, or one between; add that authority's list";

#[tokio::test]
async fn a_revoked_client_is_refused_and_others_of_its_authority_are_taken() {
    on_every_engine(async || {
        let clients = authority();
        let (good, bad) = (client(&clients), client(&clients));
        let (server, root) = asking(&clients, Some(&clients.revoke(&[&bad]).unwrap()));
        check(&server, &showing(&root, &good), "localhost", &preferred()).await;
        assert_eq!(refused(&server, &showing(&root, &bad)).await, REVOKED);
        let (lenient, root) = asking(&clients, None);
        check(&lenient, &showing(&root, &bad), "localhost", &preferred()).await;
    })
    .await;
}

#[tokio::test]
async fn each_authority_of_a_chain_needs_its_list() {
    on_every_engine(async || {
        let clients = authority();
        let middle = clients.intermediate().unwrap();
        let (good, bad) = (client(&middle), client(&middle));
        let of_root = clients.revoke(&[]).unwrap();
        let of_middle = middle.revoke(&[&bad]).unwrap();
        for lists in [&of_root, &of_middle] {
            let (server, root) = asking(&clients, Some(lists));
            assert_eq!(refused(&server, &showing(&root, &good)).await, UNKNOWN);
        }
        let (server, root) = asking(&clients, Some(&(of_root + &of_middle)));
        check(&server, &showing(&root, &good), "localhost", &preferred()).await;
        assert_eq!(refused(&server, &showing(&root, &bad)).await, REVOKED);
    })
    .await;
}

#[tokio::test]
async fn a_client_without_a_certificate_needs_no_list() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let clients = authority();
        let bad = client(&clients);
        let folder = Folder::new();
        let bundle = folder.write("clients.pem", clients.cert_pem());
        let lists = folder.write("revoked.pem", clients.revoke(&[&bad]).unwrap());
        let options = ServerOptions {
            client_ca: Some(&bundle),
            client_crl: Some(&lists),
            client_auth: ClientAuth::Optional,
            ..ServerOptions::default()
        };
        let server = server_of(&issued, options);
        let bare = client_with(Trust::Roots, &root.cert_pem(), None, ClientOptions::default());
        check(&server, &bare, "localhost", &preferred()).await;
        assert_eq!(refused(&server, &showing(&root, &bad)).await, REVOKED);
    })
    .await;
}

/// Compares the sentence about a file of lists that will not do.
fn check_lists(lists: &str, expected: &str) {
    let folder = Folder::new();
    let (cert, key) = folder.write_pair("server", &server(&authority()));
    let bundle = folder.write("clients.pem", authority().cert_pem());
    let lists = folder.write("revoked.pem", lists);
    let options = ServerOptions {
        client_ca: Some(&bundle),
        client_crl: Some(&lists),
        ..ServerOptions::default()
    };
    let identity = ServerIdentity::load(&cert, &key).unwrap();
    let sentence = folder.without_path(&ServerTls::new(&identity, options).unwrap_err());
    let found = sentence.contains(expected);
    assert!(found && sentence.contains("revoked.pem"), "{sentence}");
    let nobody = ServerOptions { client_crl: Some(&lists), ..ServerOptions::default() };
    let error = ServerTls::new(&identity, nobody).unwrap_err();
    assert!(matches!(error, TlsError::RevocationWithoutClients), "{error}");
}

#[test]
fn lists_that_will_not_do() {
    let root = authority();
    check_lists("", "is empty; give the PEM file of a list of revoked certificates");
    check_lists(&root.cert_pem(), "no list of revoked certificates in revoked.pem, only CERT");
    let good = root.revoke(&[]).unwrap();
    check_lists(&good[..good.len() / 2], "revoked.pem is cut off: X509 CRL does not end");
    let second = good + &pem("X509 CRL", b"0123");
    check_lists(&second, "list 2 of revoked certificates in revoked.pem cannot be used");
    check_lists(
        &root.revoke_long_ago(&[]).unwrap(),
        "the list of revoked certificates of O=flight development, CN=flight development CA in \
         revoked.pem is out of date: its next was due on 20",
    );
}

#[tokio::test]
async fn the_server_knows_a_client_by_name_in_full_and_resumed_handshakes() {
    on_every_engine(async || {
        let clients = authority();
        let (server, root) = asking(&clients, None);
        let known = showing(&root, &client(&clients));
        for resumed in [false, true] {
            let (agreed, names) = names_of(&server, &known).await;
            assert_eq!(agreed.resumed, resumed);
            assert_eq!(names.unwrap().to_string(), "DNS:ann.example");
        }
        let plain = server_of(&crate::folder::server(&root), ServerOptions::default());
        let bare = client_with(Trust::Roots, &root.cert_pem(), None, ClientOptions::default());
        for _ in 0..2 {
            assert_eq!(names_of(&plain, &bare).await.1, None);
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_is_no_longer_taken_cannot_come_back_by_a_session() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let (before, after) = (authority(), authority().intermediate().unwrap());
        let folder = Folder::new();
        let (old, new) = (
            folder.write("before.pem", before.cert_pem()),
            folder.write("after.pem", after.cert_pem()),
        );
        let shown = client(&before);
        let lists = folder.write("revoked.pem", before.revoke(&[&shown]).unwrap());
        let with = |client_ca, client_crl| {
            let options = ServerOptions { client_ca, client_crl, ..ServerOptions::default() };
            server_of(&issued, options)
        };
        let first = with(Some(old.as_path()), None);
        for ciphers in [vec![], vec!["ECDHE-ECDSA-AES128-GCM-SHA256".parse().unwrap()]] {
            let options = ClientOptions { ciphers, ..ClientOptions::default() };
            let renewed =
                [with(Some(new.as_path()), None), with(Some(old.as_path()), Some(lists.as_path()))];
            for renewed in renewed {
                let client =
                    client_with(Trust::Roots, &root.cert_pem(), Some(&shown), options.clone());
                for resumed in [false, true] {
                    let seen = meet(&first, &client, "localhost").await;
                    assert_eq!(seen.server.unwrap().resumed, resumed);
                }
                let seen = meet(&renewed, &client, "localhost").await;
                assert!(seen.client.is_err() && seen.server.is_err(), "it came back");
            }
        }
    })
    .await;
}
