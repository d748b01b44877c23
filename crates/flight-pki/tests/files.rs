//! What a plan writes: names, rights, and what happens to files that are there already.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use flight_pki::{KeyKind, PkiError, Plan, Written, issue, leftovers};
use tempfile::TempDir;

/// Fast keys: RSA is covered where it matters.
fn plan(folder: &TempDir) -> Plan {
    Plan { keys: vec![KeyKind::P256, KeyKind::Ed25519], ..Plan::new(folder.path()) }
}

fn carried_out(plan: &Plan) -> Vec<Written> {
    issue(plan, SystemTime::now()).unwrap()
}

/// Each file's name and rights, hidden ones included.
fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            format!("{} {mode:o}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    names
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn check_error(plan: &Plan, expected: &str) {
    let error = issue(plan, SystemTime::now()).unwrap_err();
    assert_eq!(error.to_string().replace(&plan.out.display().to_string(), "OUT"), expected);
}

#[test]
fn the_standard_plan_writes_an_authority_two_servers_and_a_client() {
    let folder = TempDir::new().unwrap();
    let written = issue(
        &Plan { days: 30, ..Plan::new(folder.path().join("new/certs")) },
        SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_800_000_000),
    )
    .unwrap();
    let told: Vec<_> = written
        .iter()
        .map(|written| {
            format!("{}: {}", written.file.file_name().unwrap().to_string_lossy(), written.what)
        })
        .collect();
    assert_eq!(
        told,
        [
            "ca.pem: certificate authority, EC P-256, until 2027-02-14",
            "ca.key: private key of ca.pem",
            "server-ec.pem: server certificate, EC P-256, until 2027-02-14",
            "server-ec.key: private key of server-ec.pem",
            "server-rsa.pem: server certificate, RSA-4096, until 2027-02-14",
            "server-rsa.key: private key of server-rsa.pem",
            "client.pem: client certificate, EC P-256, until 2027-02-14",
            "client.key: private key of client.pem",
        ]
    );
    assert_eq!(contents(&folder.path().join("new/certs")).len(), told.len());
}

#[test]
fn keys_are_for_their_owner_only_and_nothing_temporary_is_left() {
    let folder = TempDir::new().unwrap();
    carried_out(&plan(&folder));
    let listed = listing(folder.path());
    let names: Vec<_> = listed.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "ca.key",
            "ca.pem",
            "client.key",
            "client.pem",
            "server-ec.key",
            "server-ec.pem",
            "server-ed25519.key",
            "server-ed25519.pem"
        ]
    );
    for line in listed.iter().filter(|line| line.contains(".key")) {
        assert!(line.ends_with(" 600"), "{line}");
    }
}

#[test]
fn a_self_signed_plan_has_no_authority_and_no_client() {
    let folder = TempDir::new().unwrap();
    let written = carried_out(&Plan { self_signed: true, ..plan(&folder) });
    assert!(written[0].what.starts_with("self-signed server certificate, EC P-256"));
    assert_eq!(
        contents(folder.path()).into_keys().collect::<Vec<_>>(),
        ["server-ec.key", "server-ec.pem", "server-ed25519.key", "server-ed25519.pem"]
    );
}

#[test]
fn a_key_kind_or_host_given_twice_counts_once() {
    let folder = TempDir::new().unwrap();
    let keys = vec![KeyKind::P256, KeyKind::P256];
    let hosts = vec!["localhost".parse().unwrap(), "db".parse().unwrap(), "DB".parse().unwrap()];
    let written = carried_out(&Plan { keys, hosts, self_signed: true, ..plan(&folder) });
    assert_eq!(written.len(), 2);
    let pem = fs::read(folder.path().join("server-ec.pem")).unwrap();
    let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).unwrap();
    let cert = pem.parse_x509().unwrap();
    let names = cert.subject_alternative_name().unwrap().unwrap();
    assert_eq!(names.value.general_names.len(), 4);
}

#[test]
fn files_in_the_way_are_all_named_and_nothing_is_touched() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("ca.pem"), "mine").unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("client.key")).unwrap();
    check_error(
        &plan(&folder),
        "OUT/ca.pem, OUT/client.key would be overwritten; \
         use --force to replace, or another --out folder",
    );
    assert_eq!(fs::read(folder.path().join("ca.pem")).unwrap(), b"mine");
    assert_eq!(listing(folder.path()).len(), 2);
}

#[test]
fn a_second_run_is_refused_and_a_forced_one_replaces_every_file() {
    let folder = TempDir::new().unwrap();
    carried_out(&plan(&folder));
    let first = contents(folder.path());
    assert!(matches!(
        issue(&plan(&folder), SystemTime::now()),
        Err(PkiError::InTheWay { files }) if files.len() == 8
    ));
    assert_eq!(contents(folder.path()), first);

    // A key that others could read gets its rights back.
    let key = folder.path().join("ca.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    carried_out(&Plan { force: true, ..plan(&folder) });
    let second = contents(folder.path());
    assert!(first.keys().eq(second.keys()));
    assert!(first.iter().all(|(name, bytes)| second[name] != *bytes));
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn files_of_an_earlier_authority_are_told_apart() {
    let folder = TempDir::new().unwrap();
    carried_out(&plan(&folder));
    fs::write(folder.path().join("notes.pem"), "not ours").unwrap();
    assert!(leftovers(&plan(&folder)).is_empty());

    let only_ec = Plan { keys: vec![KeyKind::P256], ..plan(&folder) };
    let names = |plan: &Plan| -> Vec<_> {
        leftovers(plan).iter().map(|f| f.file_name().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&only_ec), ["server-ed25519.pem", "server-ed25519.key"]);
    let alone = Plan { self_signed: true, ..plan(&folder) };
    assert_eq!(names(&alone), ["ca.pem", "ca.key", "client.pem", "client.key"]);
}

#[test]
fn a_file_that_cannot_be_replaced_is_named_and_no_temporary_file_stays() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("ca.key")).unwrap();
    let error = issue(&Plan { force: true, ..plan(&folder) }, SystemTime::now()).unwrap_err();
    assert!(matches!(&error, PkiError::Write { file, .. } if file.ends_with("ca.key")), "{error}");
    assert!(listing(folder.path()).iter().all(|line| !line.starts_with('.')));
}

#[test]
fn an_out_that_is_no_folder_is_named() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    check_error(
        &Plan { out: file, ..plan(&folder) },
        "cannot create folder OUT: File exists (os error 17)",
    );
}

#[test]
fn a_plan_out_of_bounds_writes_nothing() {
    let folder = TempDir::new().unwrap();
    check_error(
        &Plan { days: 0, ..plan(&folder) },
        "0 days of validity; give a number from 1 to 3650",
    );
    check_error(
        &Plan { keys: Vec::new(), ..plan(&folder) },
        "no key kind is given; name at least one of ec, p384, rsa, rsa2048, ed25519",
    );
    let hosts = (0..98).map(|n| format!("h{n}").parse().unwrap()).collect();
    check_error(
        &Plan { hosts, ..plan(&folder) },
        "101 host names in one certificate; at most 100 are allowed",
    );
    assert!(listing(folder.path()).is_empty());
}
