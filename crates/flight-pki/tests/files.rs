//! What a plan writes: names, rights, and what happens to files that are there already.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use flight_pki::{
    ClientName, GivenAuthority, KeyForm, KeyKind, Only, Password, PkiError, Plan, SignedBy,
    Written, issue, leftovers,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
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
        &Plan { life: "30d".parse().unwrap(), ..Plan::new(folder.path().join("new/certs")) },
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
    let written = carried_out(&Plan { signed_by: SignedBy::Itself, ..plan(&folder) });
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
    let written = carried_out(&Plan { keys, hosts, signed_by: SignedBy::Itself, ..plan(&folder) });
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
    let alone = Plan { signed_by: SignedBy::Itself, ..plan(&folder) };
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

/// The first certificate of a file, and how many the file holds.
fn first(file: &Path) -> (x509_parser::pem::Pem, usize) {
    let bytes = fs::read(file).unwrap();
    let mut blocks: Vec<_> =
        x509_parser::pem::Pem::iter_from_buffer(&bytes).collect::<Result<_, _>>().unwrap();
    let count = blocks.len();
    (blocks.remove(0), count)
}

/// The authority of a folder, as a program would read it.
fn given(folder: &Path, stem: &str) -> GivenAuthority {
    let file = folder.join(format!("{stem}.pem"));
    let certs = CertificateDer::pem_file_iter(&file).unwrap().collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(file.with_extension("key")).unwrap();
    GivenAuthority { file, certs, key }
}

#[test]
fn an_intermediate_signs_and_stands_in_every_chain() {
    let folder = TempDir::new().unwrap();
    let written = carried_out(&Plan { signed_by: SignedBy::Intermediate, ..plan(&folder) });
    assert_eq!(written.len(), 10);
    assert!(written[2].what.starts_with("intermediate authority, EC P-256"));
    let file = |name: &str| folder.path().join(name);
    let (root, middle) = (first(&file("ca.pem")).0, first(&file("intermediate.pem")).0);
    let (root, middle) = (root.parse_x509().unwrap(), middle.parse_x509().unwrap());
    middle.verify_signature(Some(root.public_key())).unwrap();
    for name in ["server-ec.pem", "server-ed25519.pem", "client.pem"] {
        let (leaf, count) = first(&file(name));
        assert_eq!(count, 2, "{name}");
        leaf.parse_x509().unwrap().verify_signature(Some(middle.public_key())).unwrap();
    }
}

#[test]
fn clients_have_the_names_that_were_asked_for() {
    let folder = TempDir::new().unwrap();
    let names = ["flight://role/data", "ann.example", "10.0.0.7", "Ann Example"];
    let clients = names.map(|name| name.parse::<ClientName>().unwrap()).to_vec();
    carried_out(&Plan { clients, only: Some(Only::Clients), ..plan(&folder) });
    let of = |stem: &str| {
        let (pem, _) = first(&folder.path().join(format!("client-{stem}.pem")));
        let cert = pem.parse_x509().unwrap();
        let names = cert.subject_alternative_name().unwrap();
        let names = names.map_or_else(Vec::new, |it| it.value.general_names.clone());
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        assert!(cert.extended_key_usage().unwrap().unwrap().value.client_auth);
        format!("{} {}", cert.subject(), names.join(" ")).trim().to_owned()
    };
    assert_eq!(
        of("flight-role-data"),
        "O=flight development, CN=flight://role/data URI(flight://role/data)"
    );
    assert_eq!(of("ann.example"), "O=flight development, CN=ann.example DNSName(ann.example)");
    assert_eq!(of("10.0.0.7"), "O=flight development, CN=10.0.0.7 IPAddress(0a:00:00:07)");
    assert_eq!(of("Ann-Example"), "O=flight development, CN=Ann Example");
    assert!(!folder.path().join("client.pem").exists());
    assert!(!folder.path().join("server-ec.pem").exists());
    assert!(folder.path().join("ca.pem").exists());
}

#[test]
fn clients_whose_files_would_be_the_same_are_refused() {
    let folder = TempDir::new().unwrap();
    let clients = ["a b", "A-b"].map(|name| name.parse().unwrap()).to_vec();
    check_error(
        &Plan { clients, ..plan(&folder) },
        "clients 'a b' and 'A-b' would have the same file; make them in two folders",
    );
    let clients = (0..101).map(|n| format!("c{n}").parse().unwrap()).collect();
    check_error(
        &Plan { clients, ..plan(&folder) },
        "101 clients in one run; at most 100 are allowed",
    );
    assert!(listing(folder.path()).is_empty());
}

#[test]
fn an_authority_that_exists_renews_one_end_and_changes_nothing_else() {
    let folder = TempDir::new().unwrap();
    carried_out(&plan(&folder));
    let before = contents(folder.path());
    let renewal = |force| Plan {
        signed_by: SignedBy::Given(given(folder.path(), "ca")),
        keys: vec![KeyKind::P256],
        only: Some(Only::Servers),
        life: "90s".parse().unwrap(),
        force,
        ..plan(&folder)
    };
    check_error(
        &renewal(false),
        "OUT/server-ec.pem, OUT/server-ec.key would be overwritten; use --force to replace, or \
         another --out folder",
    );
    let written = carried_out(&renewal(true));
    assert_eq!(written.len(), 2);
    assert!(written[0].what.ends_with(" UTC"), "{}", written[0].what);
    let after = contents(folder.path());
    let changed: Vec<_> = before.iter().filter(|(name, bytes)| after[*name] != **bytes).collect();
    let names: Vec<_> = changed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["server-ec.key", "server-ec.pem"]);
    assert!(leftovers(&renewal(true)).is_empty());

    let (root, _) = first(&folder.path().join("ca.pem"));
    let (leaf, count) = first(&folder.path().join("server-ec.pem"));
    let (root, leaf) = (root.parse_x509().unwrap(), leaf.parse_x509().unwrap());
    assert_eq!((count, leaf.issuer().as_raw()), (1, root.subject().as_raw()));
    leaf.verify_signature(Some(root.public_key())).unwrap();
    let left = leaf.validity().time_to_expiration().unwrap();
    assert!(left.whole_seconds() <= 90, "{left}");
}

#[test]
fn an_intermediate_that_exists_signs_and_stands_in_the_chain() {
    let (folder, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    carried_out(&Plan { signed_by: SignedBy::Intermediate, ..plan(&folder) });
    let signed_by = SignedBy::Given(given(folder.path(), "intermediate"));
    carried_out(&Plan { signed_by, ..plan(&out) });
    let (middle, _) = first(&folder.path().join("intermediate.pem"));
    let (leaf, count) = first(&out.path().join("server-ec.pem"));
    let middle = middle.parse_x509().unwrap();
    leaf.parse_x509().unwrap().verify_signature(Some(middle.public_key())).unwrap();
    assert_eq!(count, 2);

    let (third, signed_by) =
        (TempDir::new().unwrap(), SignedBy::IntermediateOf(given(folder.path(), "ca")));
    carried_out(&Plan { signed_by, ..plan(&third) });
    assert_eq!(first(&third.path().join("client.pem")).1, 2);
    assert!(!third.path().join("ca.pem").exists());
}

#[test]
fn nothing_holds_longer_than_its_authority() {
    let folder = TempDir::new().unwrap();
    carried_out(&Plan { life: "1h".parse().unwrap(), ..plan(&folder) });
    let out = TempDir::new().unwrap();
    let signed_by = SignedBy::Given(given(folder.path(), "ca"));
    carried_out(&Plan { signed_by, ..plan(&out) });
    let end = |file: &Path| first(file).0.parse_x509().unwrap().validity().not_after;
    assert_eq!(end(&out.path().join("server-ec.pem")), end(&folder.path().join("ca.pem")));
}

#[test]
fn authorities_that_cannot_sign_are_refused() {
    let folder = TempDir::new().unwrap();
    carried_out(&Plan { keys: vec![KeyKind::P256], ..plan(&folder) });
    let out = TempDir::new().unwrap();
    let check = |given: GivenAuthority, at: SystemTime, expected: &str| {
        let plan = Plan { signed_by: SignedBy::Given(given), ..plan(&out) };
        let error = issue(&plan, at).unwrap_err().to_string();
        assert_eq!(error.replace(&format!("{}/", folder.path().display()), ""), expected);
        assert!(listing(out.path()).is_empty());
    };
    let now = SystemTime::now();
    check(
        given(folder.path(), "server-ec"),
        now,
        "the certificate in server-ec.pem is no authority's (CA:TRUE is missing), so it cannot sign",
    );
    let foreign =
        GivenAuthority { key: given(folder.path(), "client").key, ..given(folder.path(), "ca") };
    check(
        foreign,
        now,
        "the key does not belong to the authority in ca.pem; give the matching pair",
    );
    let year = std::time::Duration::from_secs(400 * 86_400);
    let error = {
        let plan = Plan { signed_by: SignedBy::Given(given(folder.path(), "ca")), ..plan(&out) };
        issue(&plan, now + year).unwrap_err().to_string()
    };
    assert!(error.contains("expired on") && error.ends_with("without --ca"), "{error}");
}

#[test]
fn keys_have_the_form_that_was_asked_for_where_their_kind_has_it() {
    let folder = TempDir::new().unwrap();
    let begins = |name: &str| {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    let sec1 = Plan {
        keys: vec![KeyKind::P256, KeyKind::P384],
        client_key: KeyKind::Ed25519,
        key_form: KeyForm::Sec1,
        ..plan(&folder)
    };
    carried_out(&sec1);
    for name in ["ca.key", "server-ec.key", "server-p384.key"] {
        assert_eq!(begins(name), "-----BEGIN EC PRIVATE KEY-----", "{name}");
    }
    assert_eq!(begins("client.key"), "-----BEGIN PRIVATE KEY-----");
    check_error(
        &Plan { key_form: KeyForm::Pkcs1, force: true, ..plan(&folder) },
        "an EC P-256 key has no PKCS#1 form; choose pkcs8 or sec1 with --key-format, or other \
         kinds with --key",
    );
    let password = Some(Password::new(b"p"));
    check_error(
        &Plan { password: password.clone(), ..sec1 },
        "only PKCS#8 keys are encrypted; leave out --key-format sec1",
    );
    carried_out(&Plan { password, force: true, ..plan(&folder) });
    for name in ["ca.key", "server-ec.key", "server-ed25519.key", "client.key"] {
        assert_eq!(begins(name), "-----BEGIN ENCRYPTED PRIVATE KEY-----", "{name}");
    }
}
