//! What two good ends agree on: versions, suites, protocols, sessions; and ends that cannot agree.

use flight_pki::KeyKind;
use flight_tls::{CipherSuite, ClientOptions, Group, ServerOptions, TlsVersion, Trust};

use crate::check::{check, check_refused, of_kind, preferred};
use crate::ends::{
    Seen, client_of, client_with, group, meet, odd_client, on_every_engine, server_of, with_alpn,
};

#[tokio::test]
async fn no_default_provider_of_the_process_is_used_or_installed() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let client = client_of(Trust::Roots, &root.cert_pem());
        check(&server_of(&issued, ServerOptions::default()), &client, "localhost", &preferred())
            .await;
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_suite_that_either_end_pins_is_the_one_that_is_used() {
    on_every_engine(async || {
        let ec = of_kind(KeyKind::P256);
        let rsa = of_kind(KeyKind::Rsa2048);
        for suite in CipherSuite::all() {
            let (root, issued) = if suite.to_string().contains("_RSA_") { &rsa } else { &ec };
            let ca = root.cert_pem();
            let expected = match suite.version() {
                TlsVersion::V1_3 => format!("TLS 1.3 {suite} {}", group()),
                TlsVersion::V1_2 => format!("TLS 1.2 {suite} X25519"),
            };
            let pinned = ClientOptions { ciphers: vec![suite], ..ClientOptions::default() };
            let client = client_with(Trust::Roots, &ca, None, pinned);
            let server = server_of(issued, ServerOptions::default());
            check(&server, &client, "localhost", &expected).await;

            let pinned = ServerOptions { ciphers: vec![suite], ..ServerOptions::default() };
            let server = server_of(issued, pinned);
            check(&server, &client_of(Trust::Roots, &ca), "localhost", &expected).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_servers_order_of_suites_decides() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let parse = |names: [&str; 2]| names.map(|name| name.parse().unwrap()).to_vec();
        let server = server_of(
            &issued,
            ServerOptions {
                ciphers: parse(["TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"]),
                ..ServerOptions::default()
            },
        );
        let options = ClientOptions {
            ciphers: parse(["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"]),
            ..ClientOptions::default()
        };
        let client = client_with(Trust::Roots, &root.cert_pem(), None, options);
        let expected = format!("TLS 1.3 TLS_CHACHA20_POLY1305_SHA256 {}", group());
        check(&server, &client, "localhost", &expected).await;
    })
    .await;
}

#[tokio::test]
async fn ends_that_have_nothing_in_common_say_so() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let strict = ServerOptions { min_version: TlsVersion::V1_3, ..ServerOptions::default() };
        let with = |suite: &str| {
            let ciphers = vec![suite.parse().unwrap()];
            let options = ClientOptions { ciphers, ..ClientOptions::default() };
            client_with(Trust::Roots, &root.cert_pem(), None, options)
        };
        let common = "no TLS version, cipher suite or kind of certificate in common";
        let lenient = ServerOptions::default();
        for (options, client) in [
            (strict, with("ECDHE-ECDSA-AES128-GCM-SHA256")),
            (lenient, with("ECDHE-RSA-AES128-GCM-SHA256")),
            (
                ServerOptions {
                    ciphers: vec!["TLS_AES_256_GCM_SHA384".parse().unwrap()],
                    ..ServerOptions::default()
                },
                with("TLS_AES_128_GCM_SHA256"),
            ),
        ] {
            let Seen { client, server } =
                meet(&server_of(&issued, options), &client, "localhost").await;
            let (client, server) = (client.unwrap_err(), server.unwrap_err());
            assert!(client.contains(common) && client.contains("--tls-ciphers"), "{client}");
            assert!(server.contains(common), "{server}");
        }
    })
    .await;
}

#[tokio::test]
async fn alpn_is_http2_or_absent() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let server = server_of(&issued, ServerOptions::default());
        let client = odd_client(Trust::Roots, &root.cert_pem());
        check(&server, &with_alpn(&client, &[]), "localhost", &preferred()).await;
        check(&server, &with_alpn(&client, &["http/1.1", "h2"]), "localhost", &preferred()).await;
        check_refused(
            &server,
            &with_alpn(&client, &["http/1.1"]),
            "the server speaks TLS but not HTTP/2 (ALPN h2), so it is no Flight server",
            "the client does not offer HTTP/2 (ALPN h2)",
        )
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_second_connection_resumes_the_first() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let server = server_of(&issued, ServerOptions::default());
        let old = vec!["ECDHE-ECDSA-AES128-GCM-SHA256".parse().unwrap()];
        for ciphers in [Vec::new(), old] {
            let options = ClientOptions { ciphers, ..ClientOptions::default() };
            let client = client_with(Trust::Roots, &root.cert_pem(), None, options);
            for resumed in [false, true, true, true] {
                let seen = meet(&server, &client, "localhost").await;
                assert_eq!(seen.client.unwrap().resumed, resumed);
                assert_eq!(seen.server.unwrap().resumed, resumed);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_resumes_nothing_and_one_that_was_renewed_make_full_handshakes() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let client = client_of(Trust::Roots, &root.cert_pem());
        let full = ServerOptions { no_resumption: true, ..ServerOptions::default() };
        let full = server_of(&issued, full);
        for _ in 0..2 {
            assert!(!meet(&full, &client, "localhost").await.client.unwrap().resumed);
        }
        let server = || server_of(&issued, ServerOptions::default());
        let (one, renewed) = (server(), server());
        assert!(!meet(&one, &client, "localhost").await.client.unwrap().resumed);
        assert!(!meet(&renewed, &client, "localhost").await.client.unwrap().resumed);
    })
    .await;
}

#[tokio::test]
async fn a_chosen_group_is_the_one_that_is_used() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        for group in [Group::X25519, Group::Secp256r1, Group::Secp384r1] {
            let groups = vec![group];
            let chosen = ClientOptions { groups: groups.clone(), ..ClientOptions::default() };
            let client = client_with(Trust::Roots, &root.cert_pem(), None, chosen);
            let expected = format!("TLS 1.3 {} {group}", CipherSuite::all()[0]);
            let server = server_of(&issued, ServerOptions::default());
            check(&server, &client, "localhost", &expected).await;
            let server = server_of(&issued, ServerOptions { groups, ..ServerOptions::default() });
            check(&server, &client_of(Trust::Roots, &root.cert_pem()), "localhost", &expected)
                .await;
        }
    })
    .await;
}
