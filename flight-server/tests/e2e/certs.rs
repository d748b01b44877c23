//! Certificates from the first to the last: made, served under a password, inspected, and checked by
//! OpenSSL where there is one.

use std::path::Path;
use std::process::{Command, Output};

use flight_testkit::{ServerCommand, ServerProcess, program};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// `flight-server certs` with these words; `@` stands for the folder.
fn certs(folder: &TempDir, line: &str) -> Output {
    let line = line.replace('@', &format!("{}/", folder.path().display()));
    let mut command = Command::new(program("flight-server"));
    command.arg("certs").args(line.split_whitespace());
    // Set for whoever writes certificates, and of no use to inspect.
    command.env("FLIGHT_SERVER_CERTS_OUT", folder.path());
    command.output().unwrap()
}

fn made(line: &str) -> TempDir {
    let folder = tempdir().unwrap();
    let output = certs(&folder, line);
    assert!(output.status.success(), "{line}: {output:?}");
    folder
}

/// Without the folder, in one line.
fn words(folder: &TempDir, bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let text = text.replace(&format!("{}/", folder.path().display()), "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn serve(data: &TempDir, folder: &TempDir, stem: &str) -> ServerCommand {
    let file = |end: &str| folder.path().join(format!("{stem}.{end}"));
    ServerCommand::serve(data.path())
        .args(["--listen", "grpc+tls://localhost:0", "--tls-cert"])
        .arg(file("pem"))
        .arg("--tls-key")
        .arg(file("key"))
}

fn check(folder: &TempDir, line: &str, code: i32, expected: &[&str]) {
    let output = certs(folder, line);
    let said = words(folder, &[output.stdout, output.stderr].concat());
    assert_eq!(output.status.code(), Some(code), "{line}: {said}");
    for part in expected {
        assert!(said.contains(part), "{line}: {part} is not in {said}");
    }
}

fn check_refused(data: &TempDir, command: ServerCommand, expected: &str) {
    let (code, said) = command.refused();
    let said = words(data, said.as_bytes());
    assert_eq!(code, 1, "{said}");
    assert!(said.contains(expected), "{expected} is not in {said}");
}

#[test]
fn a_server_is_inspected_over_its_handshake() {
    let (data, folder) = (tempdir().unwrap(), made("--key ec --intermediate"));
    let server = serve(&data, &folder, "server-ec").start();
    let uri = server.endpoint().replace("127.0.0.1", "localhost");
    let uri = uri.replace("[::1]", "localhost");
    check(
        &folder,
        &format!("inspect {uri} --tls-ca @ca.pem"),
        0,
        &[
            "handshake TLS 1.3",
            "protocol h2",
            "client's certificate not asked for",
            "certificate 2 subject O=flight development, CN=flight development intermediate CA",
            " days left",
            "client connecting to localhost and trusting ca.pem: accepted",
        ],
    );
    check(
        &folder,
        &format!("inspect {uri} --tls-ca @ca.pem --name db.example"),
        1,
        &[
            "refused: the server's certificate is for localhost, 127.0.0.1, 0::1, not for db.example",
        ],
    );
    // An authority of another set, which has the same name.
    let other = made("--only clients");
    let ca = other.path().join("ca.pem");
    check(
        &folder,
        &format!("inspect {uri} --tls-ca {}", ca.display()),
        1,
        &["refused: a signature of the server does not verify"],
    );
    let output = certs(&folder, &format!("inspect {uri} --tls-ca @ca.pem --json"));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["connection"]["protocol"], "h2");
    assert_eq!(json["connection"]["version"], "1.3");
    assert_eq!(json["certificates"].as_array().unwrap().len(), 2);
    assert_eq!(json["verdict"]["accepted"], true);
}

#[test]
fn a_server_that_asks_for_client_certificates_is_inspected_too() {
    let (data, folder) = (tempdir().unwrap(), made("--key ed25519"));
    let command = serve(&data, &folder, "server-ed25519").arg("--tls-client-ca");
    let server = command.arg(folder.path().join("ca.pem")).start();
    check(
        &folder,
        &format!("inspect {} --tls-ca @ca.pem --name localhost", server.endpoint()),
        0,
        &["client's certificate asked for", "key Ed25519", "signature ecdsa-with-SHA256"],
    );
}

#[test]
fn servers_that_cannot_be_inspected_are_one_sentence() {
    let (data, folder) = (tempdir().unwrap(), tempdir().unwrap());
    let plain = ServerProcess::start(data.path());
    let uri = plain.endpoint().replace("grpc://", "grpc+tls://");
    let refused = ["use grpc:// instead of grpc+tls://"];
    check(&folder, &format!("inspect {uri}"), 1, &refused);

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("grpc+tls://{}", silent.local_addr().unwrap());
    let late = format!("cannot reach {uri} within 200ms");
    check(&folder, &format!("inspect {uri} --timeout 200ms"), 1, &[&late]);
    let address = silent.local_addr().unwrap();
    drop(silent);
    let gone = format!("cannot reach grpc+tls://{address}");
    check(&folder, &format!("inspect grpc+tls://{address}"), 1, &[&gone]);
}

#[test]
fn a_key_under_a_password_is_served_with_it_and_not_without() {
    let (data, folder) = (tempdir().unwrap(), tempdir().unwrap());
    let password = folder.path().join("password");
    std::fs::write(&password, "open sesame\n").unwrap();
    let line = "--out @ --key ec --key-password-file @password";
    assert!(certs(&folder, line).status.success());
    let with =
        |file: &Path| serve(&data, &folder, "server-ec").arg("--tls-key-password-file").arg(file);
    let server = with(&password).start();
    let line = format!("inspect {} --tls-ca @ca.pem --name localhost", server.endpoint());
    check(&folder, &line, 0, &["accepted"]);
    // The file was written with the rights of files.
    let warning = "can be read by others than its owner";
    assert!(server.stderr().contains(warning), "{}", server.stderr());

    check_refused(
        &folder,
        serve(&data, &folder, "server-ec"),
        "the private key in server-ec.key is encrypted; give its password with \
         --tls-key-password-file FILE",
    );
    let wrong = folder.path().join("wrong");
    std::fs::write(&wrong, "open barley\n").unwrap();
    check_refused(
        &folder,
        with(&wrong),
        "the password in wrong does not open the private key in server-ec.key; give the one that \
         it was encrypted with",
    );
    // The authority's key opens with it too.
    let renewed = "--out @ --ca @ --only clients --force --valid 90s";
    check(&folder, renewed, 1, &["--ca: the private key in ca.key is encrypted"]);
    check(&folder, &format!("{renewed} --key-password-file @password"), 0, &["client.pem"]);
    check(&folder, "inspect @client.pem --as client --tls-ca @ca.pem", 0, &["accepted"]);
}

#[test]
fn a_set_of_broken_certificates_is_written_below_out() {
    let folder = made("--bad");
    let readme = std::fs::read_to_string(folder.path().join("bad/README.md")).unwrap();
    assert!(readme.contains("## expired"), "{readme}");
    check(
        &folder,
        "inspect @bad/expired.pem --tls-ca @bad/ca.pem --name localhost",
        1,
        &["ago", "flight-server refuses it", "refused: the server's certificate"],
    );
    check(&folder, "--bad", 1, &["--force"]);
    check(&folder, "--bad @other", 0, &["Broken certificates in other"]);
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that did not run says so")]
fn the_certificates_of_arrow_are_told_for_what_they_are() {
    let Some(corpus) = std::env::var_os("FLIGHT_CORPUS") else {
        eprintln!("did not run: FLIGHT_CORPUS is unset");
        return;
    };
    let arrow = Path::new(&corpus).join("arrow-testing/flight");
    let (data, folder) = (tempdir().unwrap(), tempdir().unwrap());
    for name in ["cert0.pem", "cert0.key", "root-ca.pem"] {
        std::fs::copy(arrow.join(name), folder.path().join(name)).unwrap();
    }
    let version = "X.509 version 1";
    let line = "--tls-ca @root-ca.pem --name localhost";
    let told = ["X.509 version 1 SHA-256", "refused: the server's certificate is X.509 version 1"];
    check(&folder, &format!("inspect @cert0.pem {line}"), 1, &told);
    let server = serve(&data, &folder, "cert0").start();
    assert!(server.stderr().contains(version), "{}", server.stderr());
    check(&folder, &format!("inspect {} {line}", server.endpoint()), 1, &told);
}

/// Runs openssl in the folder; `None` where there is none.
#[allow(clippy::print_stderr, reason = "a test that did not run says so")]
fn openssl(folder: &Path, line: &str) -> Option<Output> {
    let ran = Command::new("openssl").args(line.split(' ')).current_dir(folder).output();
    if ran.is_err() {
        eprintln!("did not run: there is no openssl");
    }
    ran.ok()
}

#[test]
fn openssl_agrees_with_every_chain_and_reads_every_key() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("password"), "open sesame\n").unwrap();
    let kinds = "ec,p384,rsa2048,ed25519";
    let client = "--client flight://role/data";
    for (out, line) in [
        ("chain", format!("--intermediate --ca-key p384 --key {kinds} {client}")),
        ("sec1", "--key ec,p384 --key-format sec1".to_owned()),
        ("pkcs1", "--key rsa2048 --key-format pkcs1".to_owned()),
        ("sealed", format!("--key {kinds} --key-password-file @password")),
    ] {
        check(&folder, &format!("--out @{out} {line}"), 0, &["How to use them"]);
        let set = folder.path().join(out);
        for entry in std::fs::read_dir(&set).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let line = match name.strip_suffix(".key") {
                Some(_) => format!("pkey -noout -in {name} -passin file:../password"),
                None if name == "intermediate.pem" => format!("verify -CAfile ca.pem {name}"),
                None => format!("verify -x509_strict -CAfile ca.pem -untrusted {name} {name}"),
            };
            let Some(output) = openssl(&set, &line) else { return };
            assert!(output.status.success(), "{out}: {line}: {output:?}");
        }
    }
    let chain = folder.path().join("chain");
    let line = "x509 -noout -ext subjectAltName -in client-flight-role-data.pem";
    let names = openssl(&chain, line).unwrap();
    assert!(words(&folder, &names.stdout).contains("URI:flight://role/data"), "{names:?}");
}

#[test]
fn openssl_refuses_broken_certificates_of_which_it_sees_the_fault() {
    let folder = made("--bad @");
    for (name, fault) in [
        ("expired", "certificate has expired"),
        ("not-yet-valid", "certificate is not yet valid"),
        ("wrong-host", "hostname mismatch"),
        ("self-signed", "self-signed certificate"),
        ("unknown-ca", "unable to get local issuer certificate"),
        ("broken-signature", "certificate signature failure"),
        ("client-only", "unsuitable certificate purpose"),
        ("missing-intermediate", "unable to get local issuer certificate"),
        ("expired-intermediate", "certificate has expired"),
        ("name-constraints", "permitted subtree violation"),
    ] {
        let verify = "verify -purpose sslserver -verify_hostname localhost -CAfile ca.pem";
        let line = format!("{verify} -untrusted {name}.pem {name}.pem");
        let Some(output) = openssl(folder.path(), &line) else { return };
        let said = words(&folder, &[output.stdout, output.stderr].concat());
        assert!(!output.status.success(), "{name}: {said}");
        assert!(said.contains(fault), "{name}: {fault} is not in {said}");
    }
    let good = "verify -purpose sslserver -verify_hostname localhost -CAfile ca.pem good.pem";
    assert!(openssl(folder.path(), good).unwrap().status.success());
}
