//! Which settings may take the place of those of a running server.

use flight_pki::{Authority, Host, Issued, KeyKind};
use flight_tls::{ServerOptions, ServerTls, TlsVersion};

use crate::check::of_kind;
use crate::ends::{on_every_engine, reckless_server, server_of};
use crate::folder::{Folder, arrow_certificates, authority, server};

fn of_hosts(root: &Authority, hosts: &[&str]) -> ServerTls {
    let hosts: Vec<Host> = hosts.iter().map(|host| host.parse().unwrap()).collect();
    let issued = root.server(&hosts, KeyKind::P256).unwrap();
    server_of(&issued, ServerOptions::default())
}

/// Compares what is said of `new` in the place of `present`, where lost names matter.
async fn check(present: &ServerTls, new: &ServerTls, expected: Option<&str>) {
    let said = present.check_successor(new, false).await.err().map(|error| error.to_string());
    match (said, expected) {
        (Some(said), Some(expected)) => assert!(said.contains(expected), "{said}"),
        (said, expected) => assert_eq!(said.as_deref(), expected),
    }
}

#[tokio::test]
async fn a_certificate_must_have_all_names_of_the_one_before_unless_it_may_lose_them() {
    on_every_engine(async || {
        let root = authority();
        let present = of_hosts(&root, &["a.example", "b.example", "10.0.0.7"]);
        for kept in [
            &["a.example", "b.example", "10.0.0.7"][..],
            &["10.0.0.7", "B.EXAMPLE", "a.example", "c.example"],
        ] {
            check(&present, &of_hosts(&root, kept), None).await;
        }
        let fewer = of_hosts(&root, &["b.example", "c.example"]);
        let lost = "lacks names of the present one (DNS:a.example, IP:10.0.0.7)";
        check(&present, &fewer, Some(lost)).await;
        present.check_successor(&fewer, true).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn every_kind_of_key_may_follow_every_other() {
    on_every_engine(async || {
        let servers: Vec<_> =
            KeyKind::ALL.map(|kind| server_of(&of_kind(kind).1, ServerOptions::default())).into();
        for new in &servers {
            check(&servers[0], new, None).await;
            check(new, &servers[0], None).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_asks_for_certificates_is_tried_too() {
    on_every_engine(async || {
        let folder = Folder::new();
        let clients = folder.write("clients.pem", authority().cert_pem());
        let (_, issued) = of_kind(KeyKind::P256);
        let asking = |min_version| {
            let client_ca = Some(clients.as_path());
            server_of(&issued, ServerOptions { client_ca, min_version, ..ServerOptions::default() })
        };
        for min in [TlsVersion::V1_2, TlsVersion::V1_3] {
            check(&server_of(&issued, ServerOptions::default()), &asking(min), None).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_kind_of_key_that_loses_clients_of_a_version_is_refused() {
    on_every_engine(async || {
        let parse = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
        let with = |kind, ciphers: &[&str]| {
            let options = ServerOptions { ciphers: parse(ciphers), ..ServerOptions::default() };
            server_of(&of_kind(kind).1, options)
        };
        let both = ["TLS_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"];
        let (present, new) = (with(KeyKind::P256, &both), with(KeyKind::Rsa2048, &both));
        check(&present, &new, Some("a handshake of TLS 1.2 with the new certificate fails: "))
            .await;
        // Who has no TLS 1.2 cannot lose it.
        check(&new, &with(KeyKind::Rsa2048, &both), None).await;
        check(&with(KeyKind::P256, &both[..1]), &with(KeyKind::Rsa2048, &both[..1]), None).await;
        let old = &both[1..];
        let (none, present) = (with(KeyKind::Rsa2048, old), with(KeyKind::P256, old));
        for present in [&none, &present] {
            check(present, &none, Some("a handshake of TLS 1.2 with the new certif")).await;
        }
    })
    .await;
}

#[tokio::test]
async fn settings_that_were_made_elsewhere_are_not_judged() {
    let root = authority();
    let Issued { cert_pem, key_pem } = server(&root);
    let odd = reckless_server(&cert_pem, &key_pem);
    check(&odd, &of_hosts(&root, &["a.example"]), None).await;
}

#[tokio::test]
async fn what_cannot_be_pinned_is_taken_as_it_was_loaded() {
    let Some(folder) = arrow_certificates() else { return };
    let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
    let issued = Issued { cert_pem: read("cert0.pem"), key_pem: read("cert0.key") };
    on_every_engine(async || {
        let version_1 = server_of(&issued, ServerOptions::default());
        let (_, of_now) = of_kind(KeyKind::P256);
        check(&version_1, &server_of(&of_now, ServerOptions::default()), None).await;
        check(&version_1, &version_1, None).await;
    })
    .await;
}
