//! Whose servers a client takes, and the sentence that it gives for the others.

use flight_pki::{Flaw, Host, Issued, KeyKind};
use flight_tls::{ClientOptions, Engine, ServerOptions, Trust, client_config};

use crate::check::{check, of_kind, preferred};
use crate::ends::{
    Seen, client_of, client_with, engines, group, meet, on_every_engine, reckless_server, server_of,
};
use crate::folder::{arrow_certificates, authority, server, week};

const UNKNOWN_ISSUER: &str = "the server's certificate is not signed by an authority that this \
    client trusts; name the authority with --tls-ca FILE, trust exactly this certificate with \
    --tls-pin FILE, or verify nothing with --tls-insecure";
const BAD_SIGNATURE: &str = "a signature of the server does not verify: its certificate is from \
    another authority of the same name (give the present one with --tls-ca FILE), or it does not \
    hold the key of the certificate that it shows";
const NO_NAMES: &str = "the server's certificate names no host (subject alternative name), so not \
    localhost either; trust exactly this certificate with --tls-pin FILE";
const CA_AS_SERVER: &str = "the server's certificate is an authority's own, as plain `openssl req \
    -x509` makes it; trust exactly this one with --tls-pin FILE, or verify nothing with \
    --tls-insecure";

#[tokio::test]
async fn every_kind_of_key_is_served_and_verified() {
    on_every_engine(async || {
        for kind in KeyKind::ALL {
            let (root, issued) = of_kind(kind);
            let client = client_of(Trust::Roots, &root.cert_pem());
            let server = server_of(&issued, ServerOptions::default());
            for host in ["localhost", "127.0.0.1", "::1"] {
                check(&server, &client, host, &preferred()).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_chain_is_verified_with_the_root_alone() {
    on_every_engine(async || {
        let root = authority();
        let middle = root.intermediate().unwrap();
        let whole = server(&middle);
        let client = client_of(Trust::Roots, &root.cert_pem());
        check(&server_of(&whole, ServerOptions::default()), &client, "localhost", &preferred())
            .await;

        let with_root =
            Issued { cert_pem: whole.cert_pem.clone() + &root.cert_pem(), ..whole.clone() };
        check(&server_of(&with_root, ServerOptions::default()), &client, "localhost", &preferred())
            .await;

        // An authority that is named is trusted, whoever certified it.
        let middle_alone = client_of(Trust::Roots, &middle.cert_pem());
        check(
            &server_of(&whole, ServerOptions::default()),
            &middle_alone,
            "localhost",
            &preferred(),
        )
        .await;

        let leaf = whole.cert_pem.strip_suffix(&middle.cert_pem()).unwrap().to_owned();
        let leaf_only = server_of(&Issued { cert_pem: leaf, ..whole }, ServerOptions::default());
        check(&leaf_only, &client, "localhost", UNKNOWN_ISSUER).await;
    })
    .await;
}

#[tokio::test]
async fn a_self_signed_server_is_trusted_as_its_own_root_or_pinned() {
    on_every_engine(async || {
        let own = flight_pki::self_signed(&Host::loopback(), KeyKind::P256, week()).unwrap();
        let server = server_of(&own, ServerOptions::default());
        for trust in [Trust::Roots, Trust::Pin, |_| Trust::Insecure] {
            check(&server, &client_of(trust, &own.cert_pem), "localhost", &preferred()).await;
        }
        let stranger = client_of(Trust::Roots, &authority().cert_pem());
        check(&server, &stranger, "localhost", UNKNOWN_ISSUER).await;
    })
    .await;
}

#[tokio::test]
async fn what_plain_openssl_makes_can_be_pinned_and_nothing_else() {
    on_every_engine(async || {
        for kind in [KeyKind::P256, KeyKind::Rsa2048] {
            let openssl = flight_pki::ca_as_server(kind, week()).unwrap();
            let server = server_of(&openssl, ServerOptions::default());
            check(&server, &client_of(Trust::Pin, &openssl.cert_pem), "any.example", &preferred())
                .await;
            check(&server, &client_of(|_| Trust::Insecure, ""), "any.example", &preferred()).await;
            check(&server, &client_of(Trust::Roots, &openssl.cert_pem), "localhost", CA_AS_SERVER)
                .await;
        }
    })
    .await;
}

#[tokio::test]
async fn any_pin_of_several_will_do_and_no_other_certificate_will() {
    on_every_engine(async || {
        let root = authority();
        let (one, other) = (server(&root), server(&root));
        let shown = server_of(&one, ServerOptions::default());
        let both = other.cert_pem.clone() + &one.cert_pem;
        check(&shown, &client_of(Trust::Pin, &both), "localhost", &preferred()).await;
        for pem in [other.cert_pem, root.cert_pem()] {
            check(
            &shown,
            &client_of(Trust::Pin, &pem),
            "localhost",
            "the server's certificate is not the pinned one; give the present one with --tls-pin \
             FILE, or its authority with --tls-ca FILE",
        )
        .await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_without_the_key_of_its_certificate_is_refused_even_unverified() {
    on_every_engine(async || {
        let root = authority();
        let (one, other) = (server(&root), server(&root));
        let thief = reckless_server(&one.cert_pem, &other.key_pem);
        check(&thief, &client_of(Trust::Roots, &root.cert_pem()), "localhost", BAD_SIGNATURE).await;
        check(&thief, &client_of(Trust::Pin, &one.cert_pem), "localhost", BAD_SIGNATURE).await;
        check(&thief, &client_of(|_| Trust::Insecure, ""), "localhost", BAD_SIGNATURE).await;

        // The same in TLS 1.2, where another message is signed.
        let old = ClientOptions {
            ciphers: vec!["ECDHE-ECDSA-AES128-GCM-SHA256".parse().unwrap()],
            ..ClientOptions::default()
        };
        let pinned = client_with(Trust::Pin, &one.cert_pem, None, old);
        check(&thief, &pinned, "localhost", BAD_SIGNATURE).await;
    })
    .await;
}

#[tokio::test]
async fn an_authority_that_was_made_anew_is_told_from_an_unknown_one() {
    on_every_engine(async || {
        let (_, issued) = of_kind(KeyKind::P256);
        let server = server_of(&issued, ServerOptions::default());
        let earlier = client_of(Trust::Roots, &authority().cert_pem());
        // OpenSSL goes by the key's identifier, and so finds no issuer at all.
        let by_key = engines().1 == Engine::OpenSsl;
        let expected = if by_key { UNKNOWN_ISSUER } else { BAD_SIGNATURE };
        check(&server, &earlier, "localhost", expected).await;
        let other = flight_pki::self_signed(&Host::loopback(), KeyKind::P256, week()).unwrap();
        let stranger = client_of(Trust::Roots, &other.cert_pem);
        check(&server, &stranger, "localhost", UNKNOWN_ISSUER).await;
    })
    .await;
}

#[tokio::test]
async fn the_authorities_of_the_system_do_not_vouch_for_a_development_server() {
    on_every_engine(async || {
        let (_, issued) = of_kind(KeyKind::P256);
        let server = server_of(&issued, ServerOptions::default());
        match client_config(Trust::SystemRoots, None, ClientOptions::default()) {
            Ok(client) => check(&server, &client, "localhost", UNKNOWN_ISSUER).await,
            Err(error) => {
                let sentence = error.to_string();
                assert!(
                    sentence.starts_with("this machine trusts no certificate auth"),
                    "{sentence}"
                );
                assert!(sentence.contains("--tls-ca FILE"), "{sentence}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_name_must_be_in_the_certificate_unless_another_is_expected() {
    on_every_engine(async || {
        let root = authority();
        let hosts = ["db.example".parse().unwrap(), "10.0.0.7".parse().unwrap()];
        let issued = root.server(&hosts, KeyKind::P256).unwrap();
        let server = server_of(&issued, ServerOptions::default());
        let client = client_of(Trust::Roots, &root.cert_pem());
        check(&server, &client, "db.example", &preferred()).await;
        for host in ["localhost", "127.0.0.1"] {
            check(
            &server,
            &client,
            host,
            &format!(
                "the server's certificate is for db.example, 10.0.0.7, not for {host}; connect by \
                 such a name, or expect one with --tls-server-name NAME"
            ),
        )
        .await;
        }
        let expecting = ClientOptions {
            server_name: Some("db.example".to_owned()),
            ..ClientOptions::default()
        };
        let client = client_with(Trust::Roots, &root.cert_pem(), None, expecting);
        check(&server, &client, "localhost", &preferred()).await;
    })
    .await;
}

#[tokio::test]
async fn a_host_that_is_no_name_is_an_error_of_the_caller() {
    let (near, _far) = tokio::io::duplex(64);
    let error = client_of(|_| Trust::Insecure, "").connect("a b", near).await.unwrap_err();
    assert_eq!(
        flight_tls::explain(&error).as_deref(),
        Some("'a b' is neither a DNS name nor an IP address that a certificate could hold")
    );
}

#[tokio::test]
async fn flawed_servers_are_refused_each_with_its_reason() {
    on_every_engine(async || {
        let root = authority();
        let client = client_of(Trust::Roots, &root.cert_pem());
        for (flaw, start, way_out) in [
            (Flaw::Expired, "the server's certificate expired on 20", "renew it on the server"),
            (Flaw::NotYetValid, "the server's certificate is not valid before 20", "set the clock"),
            (
                Flaw::ForClients,
                "the server's certificate is not meant for a server (extended key usage)",
                "--tls-pin FILE",
            ),
            (Flaw::NoNames, NO_NAMES, "--tls-pin FILE"),
        ] {
            let Issued { cert_pem, key_pem } =
                root.flawed(flaw, &Host::loopback(), KeyKind::P256).unwrap();
            let server = reckless_server(&cert_pem, &key_pem);
            let Seen { client: saw, server: server_saw } =
                meet(&server, &client, "localhost").await;
            let sentence = saw.unwrap_err();
            assert!(
                sentence.starts_with(start) && sentence.contains(way_out),
                "{flaw:?}: {sentence}"
            );
            let server_saw = server_saw.unwrap_err();
            assert!(
                server_saw.starts_with("the client does not trust the server's certificate"),
                "{flaw:?}: {server_saw}"
            );
            // Pinned, it is what the operator asked for.
            let suite = format!("TLS 1.3 TLS_AES_256_GCM_SHA384 {}", group());
            let aes256 = ClientOptions {
                ciphers: vec!["TLS_AES_256_GCM_SHA384".parse().unwrap()],
                ..ClientOptions::default()
            };
            let pinned = client_with(Trust::Pin, &cert_pem, None, aes256);
            check(&server, &pinned, "localhost", &suite).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_certificate_of_version_1_is_served_and_refused_by_our_client_with_a_sentence() {
    on_every_engine(async || {
        let Some(folder) = arrow_certificates() else { return };
        let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
        let issued = Issued { cert_pem: read("cert0.pem"), key_pem: read("cert0.key") };
        check(
        &server_of(&issued, ServerOptions::default()),
        &client_of(Trust::Roots, &read("root-ca.pem")),
        "localhost",
        "the server's certificate is X.509 version 1, which cannot be verified; have the server \
         use one of version 3 (flight-server certs makes such)",
    )
    .await;
    })
    .await;
}
