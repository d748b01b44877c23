//! TLS: whom the bench trusts, and what it says when it does not.

use std::path::{Path, PathBuf};
use std::process::Command;

use flight_testkit::{ServerCommand, ServerProcess, program};
use tempfile::TempDir;

use crate::support::{ROWS, bench, known, total};

#[test]
fn a_server_is_trusted_by_its_authority_for_reads_and_uploads() {
    let secure = Secure::start("ec");
    for call in ["get --source path:known", "put"] {
        let got =
            secure.bench(call, &format!("--tls-ca {}", secure.certs("ca.pem"))).ended(0).json();
        let tls = &got["variants"][0]["tls"];
        assert_eq!((&tls["trust"], &tls["verified"]), (&"ca".into(), &true.into()));
        assert_eq!(tls["version"], "1.3");
        assert!(tls["suite"].as_str().is_some_and(|suite| suite.contains("AES")), "{tls}");
        assert!(total(&got, "rows") > 0);
    }
}

#[test]
fn an_unknown_authority_gets_one_sentence_with_the_ways_out() {
    let secure = Secure::start("ec");
    let run = secure.bench("get --source path:known", "").ended(1);
    for want in ["not signed by an authority", "--tls-ca", "--tls-pin", "--tls-insecure"] {
        assert!(run.stderr.contains(want), "{want} is missing in: {}", run.stderr);
    }
    assert_eq!(run.stderr.matches('\n').count(), 1, "one sentence: {}", run.stderr);
}

#[test]
fn a_pinned_certificate_is_trusted_whoever_signed_it() {
    let secure = Secure::start("rsa");
    let pin = format!("--tls-pin {}", secure.certs("server-rsa.pem"));
    let got = secure.bench("get --source path:known", &pin).ended(0).json();
    assert_eq!(got["variants"][0]["tls"]["trust"], "pin");
    let wrong = format!("--tls-pin {}", secure.certs("server-ec.pem"));
    let run = secure.bench("get --source path:known", &wrong).ended(1);
    assert!(run.stderr.contains("is not the pinned one"), "{}", run.stderr);
}

#[test]
fn a_server_that_is_not_verified_is_marked() {
    let secure = Secure::start("ec");
    let got = secure.bench("get --source path:known", "--tls-insecure").ended(0).json();
    assert_eq!(got["variants"][0]["tls"]["verified"], false);
    assert!(got["warnings"].to_string().contains("not verified"), "{got}");
    let text = bench(&format!(
        "get {} --source path:known --passes 1 --repeats 1 --tls-insecure",
        secure.server.endpoint()
    ));
    assert!(text.ended(0).stdout.contains("NOT VERIFIED"));
}

#[test]
fn the_suite_that_was_asked_for_is_the_one_negotiated() {
    let secure = Secure::start("ec");
    let tls = format!(
        "--tls-ca {} --tls-ciphers TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        secure.certs("ca.pem")
    );
    let got = secure.bench("get --source path:known", &tls).ended(0).json();
    let tls = &got["variants"][0]["tls"];
    assert_eq!(tls["version"], "1.2");
    assert_eq!(tls["suite"], "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384");
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_one_or_is_told_how() {
    let secure = Secure::start_with("ec", &["--tls-client-ca"]);
    let ca = format!("--tls-ca {}", secure.certs("ca.pem"));
    // In TLS 1.3 the refusal comes after the handshake, and the broken connection may overtake it.
    let run = secure.bench("get --source path:known", &ca).ended(5);
    for want in ["client certificate", "--tls-cert", "--tls-key"] {
        assert!(run.stderr.contains(want), "{}", run.stderr);
    }
    let (cert, key) = (secure.certs("client.pem"), secure.certs("client.key"));
    let shown = format!("{ca} --tls-cert {cert} --tls-key {key}");
    let got = secure.bench("get --source path:known", &shown).ended(0).json();
    assert_eq!(got["variants"][0]["tls"]["client_certificate"], true);
}

#[test]
fn a_client_key_under_a_password_is_opened_by_its_file() {
    let secure = Secure::start_with("ec", &["--tls-client-ca"]);
    let (own, ca) = (secure.folder.path().join("own"), secure.certs("ca.pem"));
    let password = secure.folder.path().join("password");
    std::fs::write(&password, "open sesame\n").expect("a new file");
    let made = Command::new(program("flight-server"))
        .args(["certs", "--only", "clients", "--ca", &ca, "--key-password-file"])
        .args([&password, Path::new("--out"), &own])
        .output()
        .expect("flight-server starts");
    // The authority's key is not encrypted, and is opened all the same.
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let shown =
        format!("--tls-ca {ca} --tls-cert {0}/client.pem --tls-key {0}/client.key", own.display());
    let run = secure.bench("get --source path:known", &shown).ended(2);
    assert!(run.stderr.contains("--tls-key-password-file FILE"), "{}", run.stderr);
    let opened = format!("{shown} --tls-key-password-file {}", password.display());
    let got = secure.bench("get --source path:known", &opened).ended(0).json();
    assert_eq!(got["variants"][0]["tls"]["client_certificate"], true);
    // The file was written with the rights of files.
    assert!(got["warnings"].to_string().contains("password-readable"), "{got}");
    std::fs::write(&password, "open barley\n").expect("a file of ours");
    let run = secure.bench("get --source path:known", &opened).ended(2);
    assert!(run.stderr.contains("does not open the private key"), "{}", run.stderr);
}

#[test]
fn a_scheme_that_does_not_fit_the_server_is_told() {
    let secure = Secure::start("ec");
    let plain = secure.server.endpoint().replace("grpc+tls", "grpc");
    // The first call of each is another one: ListFlights, GetFlightInfo, ListActions, DoPut.
    for call in [
        "get",
        "get --source path:known",
        "get --source ticket:x",
        "put",
        "put --source path:x",
        "quick",
    ] {
        let run = bench(&format!("{call} {plain} --progress none")).ended(5);
        let want = "if the server serves TLS, use grpc+tls://";
        assert_eq!(run.stderr.matches(want).count(), 1, "{call}: {}", run.stderr);
        assert_eq!(run.stdout.matches("TLS").count(), 0, "{call}: {}", run.stdout);
    }
    let (server, _folder) = crate::support::serve_known();
    let tls = server.endpoint().replace("grpc", "grpc+tls");
    let run = bench(&format!("get {tls} --source path:known --tls-insecure")).ended(1);
    assert!(run.stderr.contains("use grpc:// instead of grpc+tls://"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_trusted_is_wrong_use() {
    let check = |tls: &str, want: &str| {
        let run = bench(&format!("get grpc+tls://127.0.0.1:1 --source path:x {tls}")).ended(2);
        assert!(run.stderr.contains(want), "{tls}: {}", run.stderr);
    };
    check("--tls-ca nowhere.pem", "nowhere.pem");
    check("--tls-ciphers ROT13", "ROT13");
    check("--tls-cert a.pem --tls-key nowhere.key", "a.pem");
}

/// A TLS server, and the folder of its certificates.
pub(crate) struct Secure {
    server: ServerProcess,
    folder: TempDir,
}

impl Secure {
    /// A server over the known dataset.
    fn start(kind: &str) -> Self {
        Self::start_with(kind, &[])
    }

    /// Each of `with_ca` is a flag that takes the authority's certificate.
    fn start_with(kind: &str, with_ca: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let data = folder.path().join("data");
        std::fs::create_dir(&data).expect("a new folder");
        known(&data);
        let ca = folder.path().join("certs").join("ca.pem");
        let args = with_ca.iter().flat_map(|flag| [PathBuf::from(flag), ca.clone()]).collect();
        Self::launch(folder, &data, kind, args)
    }

    /// A server over the folder `data`, with these options.
    pub(crate) fn over(data: &Path, kind: &str, args: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        Self::launch(folder, data, kind, args.iter().map(PathBuf::from).collect())
    }

    fn launch(folder: TempDir, data: &Path, kind: &str, args: Vec<PathBuf>) -> Self {
        let certs = folder.path().join("certs");
        let made = Command::new(program("flight-server"))
            .args(["certs", "--out"])
            .arg(&certs)
            .output()
            .expect("flight-server starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let pem = |suffix| certs.join(format!("server-{kind}.{suffix}"));
        let server = ServerCommand::serve(data)
            .args(["--admin", "none", "--listen", "grpc+tls://127.0.0.1:0"])
            .args([PathBuf::from("--tls-cert"), pem("pem"), "--tls-key".into(), pem("key")])
            .args(args)
            .start();
        Self { server, folder }
    }

    /// The words of a command line that reach and trust it.
    pub(crate) fn trusted(&self) -> String {
        format!("{} --tls-ca {}", self.server.endpoint(), self.certs("ca.pem"))
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.server.pid()
    }

    fn certs(&self, name: &str) -> String {
        self.folder.path().join("certs").join(name).display().to_string()
    }

    fn bench(&self, call: &str, tls: &str) -> crate::support::Run {
        let endpoint = self.server.endpoint();
        let run =
            bench(&format!("{call} {endpoint} --passes 1 --repeats 1 --format json --quiet {tls}"));
        if run.code == 0 && call.starts_with("get") {
            assert_eq!(total(&run.json(), "rows"), ROWS);
        }
        run
    }
}
