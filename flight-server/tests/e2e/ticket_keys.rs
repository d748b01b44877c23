//! The keys of tickets: rotated under load, revoked, kept over restarts, shared, never shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flight_testkit::{ServerCommand, program};
use tempfile::{TempDir, tempdir};

use crate::client::Client;
use crate::tickets::{ALL, Signing, assert_refused, read, ticket};

/// A folder for the files of keys.
struct Keys(TempDir);

impl Keys {
    fn new() -> Self {
        let keys = Self(tempdir().unwrap());
        let made = keys.command(&["init"], &["--root-key"]);
        assert!(made.status.success(), "{made:?}");
        keys
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str], files: &[&str]) -> Output {
        let mut command = Command::new(program("flight-server"));
        command.arg("keys").args(words);
        for file in files {
            command.arg(file).arg(self.path(file.trim_start_matches('-')));
        }
        command.output().unwrap()
    }

    /// `flight-server keys` with these words.
    fn keys(&self, words: &[&str]) -> String {
        let output = self.command(words, &["--keys", "--root-key"]);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The flags of a server that uses them, and more.
    fn flags(&self, more: &[&str]) -> Vec<String> {
        let file = |name: &str| self.path(name).display().to_string();
        let mut flags = vec!["--keys".into(), file("keys"), "--root-key".into(), file("root-key")];
        flags.extend(more.iter().map(|flag| (*flag).to_owned()));
        flags
    }

    async fn serve(&self, data: TempDir, more: &[&str]) -> Signing {
        let flags = self.flags(more);
        Signing::over(data, &flags.iter().map(String::as_str).collect::<Vec<_>>()).await
    }
}

/// The key's id within a ticket, as `keys list` prints it.
fn key_of(ticket: &[u8]) -> String {
    ticket[4..20].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn rotation_under_load_loses_nothing() {
    let keys = Keys::new();
    let quick = ["--tickets", "hmac", "--key-rotate", "200ms", "--key-check", "50ms"];
    let mut signing = keys.serve(tempdir().unwrap(), &quick).await;
    let mut first_of: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    // Three rotations: tickets of four keys, each used at once.
    while first_of.len() < 4 {
        let ticket = signing.ticket().await;
        signing.read(&ticket).await.unwrap();
        first_of.entry(key_of(&ticket)).or_insert(ticket);
    }
    for ticket in first_of.values() {
        signing.read(ticket).await.unwrap();
    }
    let listed = keys.keys(&["list"]);
    for key in first_of.keys() {
        assert!(listed.contains(key), "{key} is not in\n{listed}");
    }
    assert_eq!(listed.matches(" signs ").count(), 2, "the heading and one key:\n{listed}");
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_the_next_look() {
    let keys = Keys::new();
    let quick = ["--tickets", "hmac", "--key-check", "50ms"];
    let mut signing = keys.serve(tempdir().unwrap(), &quick).await;
    let ticket = signing.ticket().await;
    let key = key_of(&ticket);
    let listed = keys.keys(&["revoke", &key]);
    assert!(listed.contains(&format!("{key}  hmac       revoked")), "{listed}");
    // Until the server looks; a test that waits for ever fails too.
    let refused = loop {
        if let Err(refused) = signing.read(&ticket).await {
            break refused;
        }
    };
    assert_refused(Err::<(), _>(refused), "revoked");
    let next = signing.ticket().await;
    assert_ne!(key_of(&next), key);
    signing.read(&next).await.unwrap();
    let unknown = keys.command(&["revoke", &key], &["--keys", "--root-key"]);
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no key"), "{unknown:?}");
}

#[tokio::test]
async fn a_key_that_is_added_by_hand_signs_after_a_look() {
    let keys = Keys::new();
    let quick = ["--tickets", "hmac", "--key-check", "50ms"];
    let mut signing = keys.serve(tempdir().unwrap(), &quick).await;
    let before = signing.ticket().await;
    keys.keys(&["rotate", "--key-check", "50ms"]);
    while key_of(&signing.ticket().await) == key_of(&before) {}
    signing.read(&before).await.unwrap();
}

#[tokio::test]
async fn tickets_outlive_a_restart_where_keys_are_kept() {
    let keys = Keys::new();
    for (kept, flags) in
        [(true, keys.flags(&["--tickets", "es256"])), (false, vec!["--tickets=es256".into()])]
    {
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        let mut signing = Signing::start(&flags).await;
        let ticket = signing.ticket().await;
        signing.server.terminate();
        let again = Signing::over(signing.data, &flags).await;
        match kept {
            true => again.read(&ticket).await.unwrap(),
            false => assert_refused(again.read(&ticket).await, "keys that went"),
        }
    }
}

#[tokio::test]
async fn servers_that_share_keys_take_each_others_tickets_within_their_cluster() {
    let keys = Keys::new();
    let mut first = keys.serve(tempdir().unwrap(), &["--tickets", "hmac"]).await;
    let serve = |cluster: &str| {
        let flags = keys.flags(&["--tickets", "hmac", "--cluster", cluster]);
        ServerCommand::serve(first.data.path()).args(flags).start()
    };
    let (same, other) = (serve("default"), serve("other"));
    let ticket = first.ticket().await;
    first.read(&ticket).await.unwrap();
    read(&Client::connect(same.endpoint()).await, &ticket).await.unwrap();
    let other = Client::connect(other.endpoint()).await;
    assert_refused(read(&other, &ticket).await, "another cluster");
    // What is read is the same everywhere: the version is the file's.
    let mut same = Client::connect(same.endpoint()).await;
    let theirs = self::ticket(&same.info(ALL).await.unwrap().endpoint[0]);
    first.read(&theirs).await.unwrap();
}

#[tokio::test]
async fn a_server_does_not_start_with_keys_that_it_cannot_open() {
    let (keys, data) = (Keys::new(), tempdir().unwrap());
    drop(keys.serve(tempdir().unwrap(), &["--tickets", "hmac"]).await);
    let refused = |keys: &Keys, expected: &str| {
        let flags = keys.flags(&["--tickets", "hmac"]);
        let (code, said) = ServerCommand::serve(data.path()).args(flags).refused();
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(expected), "{expected} is not in {said}");
    };
    let other = Keys::new();
    std::fs::copy(keys.path("keys"), other.path("keys")).unwrap();
    refused(&other, "--keys: ");
    refused(&other, "sealed under another root key");
    let sealed = std::fs::read(keys.path("keys")).unwrap();
    std::fs::write(keys.path("keys"), &sealed[..100]).unwrap();
    refused(&keys, "is cut short");
}

#[tokio::test]
async fn neither_tickets_nor_keys_are_logged() {
    let keys = Keys::new();
    let mut signing = keys.serve(tempdir().unwrap(), &["--tickets", "hmac"]).await;
    let good = signing.ticket().await;
    signing.read(&good).await.unwrap();
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    assert_refused(signing.read(&bad).await, "tampered");
    signing.server.terminate();
    let log = signing.server.stderr();
    assert!(log.contains("a ticket was refused") && log.contains("signature"), "{log}");
    let root = std::fs::read_to_string(keys.path("root-key")).unwrap();
    let mac: String = good[good.len() - 32..].iter().map(|byte| format!("{byte:02x}")).collect();
    let listed: Vec<_> = good[good.len() - 32..].iter().map(u8::to_string).collect();
    for secret in [root.trim(), &mac, &listed.join(", ")] {
        assert!(!log.contains(secret), "{log}");
    }
    let shown = keys.keys(&["list"]);
    assert!(!shown.contains(root.trim()));
    owner_alone(keys.0.path());
}

fn owner_alone(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.file_name());
    }
}
