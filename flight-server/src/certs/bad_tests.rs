//! Holds our own server and client to what is said about each broken certificate.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use flight_pki::{Bad, ByServer, issue_bad};
use flight_tls::{
    ClientOptions, KeyPassword, ServerIdentity, ServerTls, Trust, client_config, client_verdict,
    explain, read_certificates, read_private_key,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tempfile::TempDir;

fn set() -> (TempDir, Vec<Bad>) {
    let folder = TempDir::new().unwrap();
    let life = "7d".parse().unwrap();
    let (_, bad) = issue_bad(folder.path(), life, false, SystemTime::now()).unwrap();
    (folder, bad)
}

/// A sentence without the folder, as the README has it.
fn bare(folder: &TempDir, sentence: &str) -> String {
    sentence.replace(&format!("{}/", folder.path().display()), "")
}

fn served(folder: &TempDir, name: &str) -> ByServer {
    let file = |end: &str| folder.path().join(format!("{name}.{end}"));
    match ServerIdentity::load(&file("pem"), &file("key")) {
        Err(error) => ByServer::Refuses(bare(folder, &error.to_string())),
        Ok(identity) if identity.warnings().is_empty() => ByServer::Serves,
        Ok(identity) => {
            ByServer::Warns(identity.warnings().iter().map(|it| bare(folder, it)).collect())
        }
    }
}

/// A server that shows the pair whatever is wrong with it.
fn careless(folder: &Path, name: &str) -> ServerTls {
    let certs = read_certificates(&folder.join(format!("{name}.pem"))).unwrap();
    let key = read_private_key(&folder.join(format!("{name}.key")), None).unwrap();
    let provider = aws_lc_rs::default_provider();
    let key = provider.key_provider.load_private_key(key).unwrap();
    let shown = SingleCertAndKey::from(CertifiedKey::new(certs, key));
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(shown));
    ServerTls::of_rustls(Arc::new(config))
}

/// What a client that trusts `ca.pem` says after a handshake in memory.
async fn met(folder: &Path, name: &str) -> Result<(), String> {
    let server = careless(folder, name);
    let trust = Trust::Roots(folder.join("ca.pem"));
    let client = client_config(trust, None, ClientOptions::default()).unwrap();
    let (near, far) = tokio::io::duplex(1 << 16);
    let (connected, _) = tokio::join!(client.connect("localhost", near), server.accept(far));
    connected.map(|_| ()).map_err(|error| explain(&error).unwrap())
}

#[test]
fn our_server_says_of_each_what_the_table_has() {
    let (folder, bad) = set();
    for Bad { name, server, .. } in bad {
        assert_eq!(served(&folder, name), server, "{name}");
    }
    assert_eq!(served(&folder, "good"), ByServer::Serves);
}

#[tokio::test]
async fn our_client_refuses_each_with_the_sentence_of_the_table() {
    let (folder, bad) = set();
    assert!(15 < bad.len());
    for Bad { name, client, .. } in bad {
        match client {
            Some(sentence) => {
                assert_eq!(met(folder.path(), name).await, Err(sentence), "{name}");
            }
            // Then our server cannot be told to show it.
            None => assert!(matches!(served(&folder, name), ByServer::Refuses(_)), "{name}"),
        }
    }
    assert_eq!(met(folder.path(), "good").await, Ok(()));
}

#[test]
fn a_verdict_without_a_handshake_is_the_same_but_for_the_key() {
    let (folder, bad) = set();
    let ca = folder.path().join("ca.pem");
    for Bad { name, client, .. } in bad {
        let Some(sentence) = client else { continue };
        let certs = read_certificates(&folder.path().join(format!("{name}.pem"))).unwrap();
        let expected = if name == "wrong-key" { Ok(()) } else { Err(sentence) };
        assert_eq!(client_verdict(&certs, "localhost", Some(&ca)).unwrap(), expected, "{name}");
    }
}

#[test]
fn the_readme_is_written_from_the_table() {
    let (folder, bad) = set();
    let readme = fs::read_to_string(folder.path().join("README.md")).unwrap();
    let sections: Vec<_> = readme.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections, bad.iter().map(|bad| bad.name).collect::<Vec<_>>());
    for Bad { name, wrong, server, client } in bad {
        let said = match server {
            ByServer::Refuses(sentence) => vec![sentence],
            ByServer::Warns(sentences) => sentences,
            ByServer::Serves => Vec::new(),
        };
        for sentence in said.into_iter().chain(client).chain([wrong.to_owned()]) {
            assert!(readme.contains(&sentence), "{name}: {sentence}");
        }
        assert!(folder.path().join(format!("{name}.pem")).exists(), "{name}");
        assert!(folder.path().join(format!("{name}.key")).exists(), "{name}");
    }
    assert!(!readme.contains('{'), "a gap was left open");
}

#[test]
fn the_encrypted_key_is_good_under_its_password() {
    let (folder, _) = set();
    let file = |end: &str| folder.path().join(format!("encrypted-key.{end}"));
    let password = KeyPassword::read(&file("password")).unwrap();
    ServerIdentity::load_with(&file("pem"), &file("key"), Some(&password)).unwrap();
    assert_eq!(KeyPassword::warning(&file("password")), None);
}

#[test]
fn a_second_set_needs_force_and_spoils_nothing() {
    let (folder, _) = set();
    let again = |force| issue_bad(folder.path(), "7d".parse().unwrap(), force, SystemTime::now());
    let before = fs::read(folder.path().join("good.key")).unwrap();
    let error = again(false).unwrap_err().to_string();
    assert!(error.contains("README.md") && error.contains("--force"), "{error}");
    assert_eq!(fs::read(folder.path().join("good.key")).unwrap(), before);
    again(true).unwrap();
    assert_ne!(fs::read(folder.path().join("good.key")).unwrap(), before);
}
