//! Certificates, authorities and lists that change while the server runs: what is taken, what is
//! refused, and who notices.

use std::fs;

use flight_pki::{Flaw, Host, Issued, KeyKind};
use flight_testkit::ServerCommand;
use flight_tls::{ClientOptions, Engine};
use tempfile::tempdir;

use crate::client::table;
use crate::rotating::{Files, Rotating, authority, client_of, der, point, server_of};

const TAKEN: &str = "tls_reloads_taken_total";
const REFUSED: &str = "tls_reloads_refused_total";
const NOT_AFTER: &str = "tls_certificate_not_after_timestamp_seconds";

#[tokio::test]
async fn a_new_certificate_is_shown_to_new_connections_and_open_ones_live_on() {
    for engine in Engine::built() {
        let served = Files::new().serve(&["--tls-engine", engine.name()]);
        let tls = served.client_tls(None, ClientOptions::default());
        let mut open = served.call(&tls).await.unwrap();
        let batches: Vec<_> = (0..40).map(|_| table(1, 50_000)).collect();
        open.put(r#"{"dataset":"t"}"#, &batches).await.unwrap();
        let info = open.info(r#"{"dataset":"t"}"#).await.unwrap();
        let ticket = info.endpoint[0].ticket.clone().unwrap().ticket;
        let mut stream = open.stream(&ticket).await.unwrap();
        let mut rows = stream.next().await.unwrap().unwrap().num_rows();
        let before = served.figure(NOT_AFTER);

        let new = served.files.root.server(&Host::loopback(), KeyKind::P384).unwrap();
        served.files.write_pair(&new);
        served.until_served(&new).await;

        while let Some(batch) = stream.next().await.unwrap() {
            rows += batch.num_rows();
        }
        assert_eq!(rows, 40 * 50_000, "{engine}");
        assert_eq!(open.action("ping", "still here").await.unwrap(), "still here");
        served.call(&tls).await.unwrap();
        assert_eq!((served.figure(TAKEN), served.figure(REFUSED)), (1, 0), "{engine}");
        assert_eq!(served.figure("tls_handshakes_failed_total"), 0, "{engine}");
        assert!(served.figure(NOT_AFTER) >= before);
        served
            .until_logged(
                "now serving the certificate of O=flight development, CN=localhost for \
                 DNS:localhost, IP:127.0.0.1, IP:::1, issued by O=flight development, CN=flight \
                 development CA, valid until 20",
            )
            .await;
    }
}

#[tokio::test]
async fn a_pair_is_taken_once_both_halves_are_there() {
    let served = Files::new().serve(&[]);
    let old = served.served().await;
    let new = server_of(&served.files.root);
    served.files.write("tls.crt", &new.cert_pem);
    served.until_refused(1).await;
    assert_eq!(served.served().await, old);
    served.files.write("tls.key", &new.key_pem);
    served.until_served(&new).await;
    assert_eq!((served.figure(TAKEN), served.figure(REFUSED)), (1, 1));
    assert_eq!(served.logged("new files of TLS are refused"), 1, "{}", served.server.stderr());
    served.until_logged("tls.key does not match the certificate in").await;
}

#[tokio::test]
async fn a_bad_certificate_is_refused_with_its_reason_and_the_old_one_stays() {
    let served = Files::new().serve(&[]);
    let old = served.served().await;
    let root = &served.files.root;
    let flawed = |flaw| root.flawed(flaw, &Host::loopback(), KeyKind::P256).unwrap();
    let good = server_of(root);
    let pair = |cert: &str, key: &str| Issued { cert_pem: cert.into(), key_pem: key.into() };
    let cut = &good.cert_pem[..good.cert_pem.len() / 2];
    let large = "x".repeat(5 << 20);
    let elsewhere = root.server(&["a.example".parse().unwrap()], KeyKind::P256).unwrap();
    for (count, (bad, why)) in [
        (pair(&good.cert_pem, &server_of(root).key_pem), "does not match the certificate"),
        (flawed(Flaw::Expired), "expired on 20"),
        (flawed(Flaw::NotYetValid), "is not valid before 20"),
        (flawed(Flaw::ForClients), "is not meant for a server"),
        (pair(cut, &good.key_pem), "is cut off"),
        (pair("", ""), "is empty"),
        (pair(&large, &good.key_pem), "is larger than"),
        (elsewhere, "lacks names of the present one (DNS:localhost, IP:127.0.0.1, IP:::1)"),
    ]
    .into_iter()
    .enumerate()
    {
        served.files.write_pair(&bad);
        served.until_logged(why).await;
        // The first half of a pair may be told by itself.
        served.until("it is counted", async || served.figure(REFUSED) > count as i64).await;
        assert_eq!(served.served().await, old, "{why}");
    }
    assert_eq!(served.figure(TAKEN), 0);
    served.files.write_pair(&good);
    served.until_served(&good).await;
}

#[tokio::test]
async fn names_may_be_lost_where_that_is_said() {
    let served = Files::new().serve(&["--tls-allow-lost-names"]);
    let hosts = ["127.0.0.1".parse().unwrap()];
    let new = served.files.root.server(&hosts, KeyKind::P256).unwrap();
    served.files.write_pair(&new);
    served.until_served(&new).await;
}

#[tokio::test]
async fn a_folder_that_is_swapped_by_its_link_is_seen() {
    let files = Files::new();
    let put = |folder: &str, issued: &Issued| {
        fs::create_dir(files.path(folder)).unwrap();
        files.write(&format!("{folder}/tls.crt"), &issued.cert_pem);
        files.write(&format!("{folder}/tls.key"), &issued.key_pem);
    };
    let (old, new) = (server_of(&files.root), server_of(&files.root));
    put("..one", &old);
    put("..two", &new);
    point(&files.path("..data"), "..one");
    for name in ["tls.crt", "tls.key"] {
        point(&files.path(name), &format!("..data/{name}"));
    }
    let served = files.serve(&[]);
    assert_eq!(served.served().await, der(&old));
    point(&served.files.path("..data"), "..two");
    fs::remove_dir_all(served.files.path("..one")).unwrap();
    served.until_served(&new).await;
}

#[tokio::test]
async fn a_file_that_vanishes_and_returns_changes_nothing() {
    let served = Files::new().serve(&[]);
    let old = served.served().await;
    let (file, aside) = (served.files.path("tls.key"), served.files.path("aside"));
    fs::rename(&file, &aside).unwrap();
    served.until_logged("cannot read").await;
    assert_eq!(served.served().await, old);
    fs::rename(&aside, &file).unwrap();
    served.until_logged("the files of TLS are again what is in use").await;
    assert_eq!((served.figure(TAKEN), served.figure(REFUSED)), (0, 1));
    let new = server_of(&served.files.root);
    served.files.write_pair(&new);
    served.until_served(&new).await;
}

#[tokio::test]
async fn sighup_asks_at_once_and_is_answered_each_time() {
    let served = Files::new().serve(&["--tls-reload", "off"]);
    served.server.hang_up();
    served.until_logged("SIGHUP: the files of TLS are unchanged").await;
    let old = served.served().await;
    served.files.write("tls.crt", "no certificate");
    for count in 1..=2 {
        served.server.hang_up();
        served.until_refused(count).await;
    }
    assert_eq!(served.served().await, old);
    let new = server_of(&served.files.root);
    served.files.write_pair(&new);
    served.server.hang_up();
    served.until_served(&new).await;
}

/// A server that asks for certificates of `clients`.
fn asking(engine: Engine, write: impl FnOnce(&Files)) -> Rotating {
    let files = Files::new();
    write(&files);
    files.serve(&["--tls-engine", engine.name()])
}

#[tokio::test]
async fn clients_of_an_authority_that_is_gone_are_refused_and_open_ones_live_on() {
    for engine in Engine::built() {
        // Authorities of one name: only their keys tell them apart.
        let (before, after) = (authority(30), authority(30));
        let served = asking(engine, |files| files.write("clients.pem", &before.cert_pem()));
        let (old, new) = (client_of(&before, "old.example"), client_of(&after, "new.example"));
        let old = served.client_tls(Some(&old), ClientOptions { engine, ..Default::default() });
        let new = served.client_tls(Some(&new), ClientOptions { engine, ..Default::default() });
        let mut open = served.call(&old).await.unwrap();
        assert!(served.call(&new).await.is_err(), "{engine}");
        served.files.write("clients.pem", &after.cert_pem());
        served.until("the new one is taken", async || served.call(&new).await.is_ok()).await;
        // By a session too, of which the first connection left some.
        for _ in 0..3 {
            assert!(served.call(&old).await.is_err(), "{engine}");
        }
        assert_eq!(open.action("ping", "still here").await.unwrap(), "still here");
        served.until_logged("what TLS asks of clients has changed").await;
        served.until_logged("client=DNS:old.example").await;
        served.until_logged("client=DNS:new.example").await;
    }
}

#[tokio::test]
async fn a_client_that_is_revoked_is_refused_from_then_on() {
    for engine in Engine::built() {
        let clients = authority(30);
        let (good, bad) = (client_of(&clients, "good.example"), client_of(&clients, "bad.example"));
        let served = asking(engine, |files| {
            files.write("clients.pem", &clients.cert_pem());
            files.write("revoked.pem", &clients.revoke(&[]).unwrap());
        });
        let by = |shown| served.client_tls(Some(shown), ClientOptions::default());
        let (good, revoked) = (by(&good), by(&bad));
        served.call(&revoked).await.unwrap();
        served.files.write("revoked.pem", &clients.revoke_long_ago(&[&bad]).unwrap());
        served.until_logged("is out of date: its next was due on 20").await;
        served.call(&revoked).await.unwrap();
        served.files.write("revoked.pem", &clients.revoke(&[&bad]).unwrap());
        served.until("it is refused", async || served.call(&revoked).await.is_err()).await;
        served.until_logged("the client's certificate is revoked (--tls-client-crl)").await;
        served.call(&good).await.unwrap();
        assert_eq!((served.figure(TAKEN), served.figure(REFUSED)), (1, 1), "{engine}");
    }
}

#[test]
fn files_that_will_not_do_at_the_start_are_refused_by_name() {
    let files = Files::new();
    let clients = authority(30);
    files.write("clients.pem", &clients.cert_pem());
    files.write("revoked.pem", &clients.revoke_long_ago(&[]).unwrap());
    let data = tempdir().unwrap();
    let mut command =
        ServerCommand::serve(data.path()).args(["--listen", "grpc+tls://127.0.0.1:0"]);
    for (flag, name) in [
        ("--tls-cert", "tls.crt"),
        ("--tls-key", "tls.key"),
        ("--tls-client-ca", "clients.pem"),
        ("--tls-client-crl", "revoked.pem"),
    ] {
        command = command.arg(flag).arg(files.path(name));
    }
    let (code, text) = command.refused();
    assert_eq!(code, 1);
    assert!(text.contains("revoked.pem is out of date"), "{text}");
}

#[tokio::test]
async fn a_certificate_that_expires_soon_is_told_at_the_start() {
    let mut files = Files::new();
    files.root = authority(5);
    files.write_pair(&server_of(&files.root));
    let served = files.serve(&[]);
    served.until_logged("CN=localhost expires on 20").await;
    assert_eq!(served.logged("expires on"), 1, "{}", served.server.stderr());
    let week = 7 * 24 * 60 * 60;
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
    assert!((now..now + week).contains(&served.figure(NOT_AFTER)));
}
