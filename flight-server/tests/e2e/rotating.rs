//! A server over TLS whose files change while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use flight_net::client::{ConnectOptions, Connector};
use flight_pki::{Authority, Host, Issued, KeyKind, Validity};
use flight_testkit::{ServerCommand, ServerProcess};
use flight_tls::{ClientIdentity, ClientOptions, ClientTls, Trust, client_config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tempfile::{TempDir, tempdir};
use tokio::net::TcpStream;
use tonic::Status;

use crate::client::{Client, admin_get};

/// Far beyond what anything here takes, so that what never comes fails.
const WITHIN: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

pub fn authority(days: u32) -> Authority {
    Authority::new(Validity::starting(SystemTime::now(), days).unwrap()).unwrap()
}

pub fn server_of(root: &Authority) -> Issued {
    root.server(&Host::loopback(), KeyKind::P256).unwrap()
}

pub fn client_of(root: &Authority, name: &str) -> Issued {
    root.client(&name.parse().unwrap(), KeyKind::P256).unwrap()
}

/// The files of a server, and the authority of its certificates.
pub struct Files {
    folder: TempDir,
    pub root: Authority,
}

pub struct Rotating {
    pub files: Files,
    _data: TempDir,
    pub server: ServerProcess,
}

impl Files {
    /// With a first certificate.
    pub fn new() -> Self {
        let files = Self { folder: tempdir().unwrap(), root: authority(30) };
        files.write_pair(&server_of(&files.root));
        files
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes the certificate, then its key, in place.
    pub fn write_pair(&self, issued: &Issued) {
        self.write("tls.crt", &issued.cert_pem);
        self.write("tls.key", &issued.key_pem);
    }

    /// Starts a server that looks at the files ten times a second, unless `flags` say otherwise.
    pub fn serve(self, flags: &[&str]) -> Rotating {
        self.serve_and_log("debug", flags)
    }

    pub fn serve_and_log(self, level: &str, flags: &[&str]) -> Rotating {
        let data = tempdir().unwrap();
        let mut command = ServerCommand::serve(data.path())
            .args(["--listen", "grpc+tls://127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .arg("--tls-cert")
            .arg(self.path("tls.crt"))
            .arg("--tls-key")
            .arg(self.path("tls.key"));
        if !flags.contains(&"--tls-reload") {
            command = command.args(["--tls-reload", "100ms"]);
        }
        for (flag, name) in
            [("--tls-client-ca", "clients.pem"), ("--tls-client-crl", "revoked.pem")]
        {
            if self.path(name).exists() {
                command = command.arg(flag).arg(self.path(name));
            }
        }
        let server = command.args(flags).env("RUST_LOG", level).start();
        Rotating { files: self, _data: data, server }
    }
}

impl Rotating {
    /// A client that trusts the authority, and shows `shown`.
    pub fn client_tls(&self, shown: Option<&Issued>, options: ClientOptions) -> ClientTls {
        let folder = tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::write(&file, text).unwrap();
            file
        };
        let identity = shown.map(|issued| {
            let (cert, key) = (write("c.pem", &issued.cert_pem), write("c.key", &issued.key_pem));
            ClientIdentity::load(&cert, &key).unwrap()
        });
        let trust = Trust::Roots(write("ca.pem", &self.files.root.cert_pem()));
        client_config(trust, identity, options).unwrap()
    }

    /// A connection that has answered a call.
    pub async fn call(&self, tls: &ClientTls) -> Result<Client, Status> {
        call(self.server.endpoint(), tls).await
    }

    /// The certificate (DER) that a full handshake shows.
    pub async fn served(&self) -> Vec<u8> {
        let options = ClientOptions { no_resumption: true, ..ClientOptions::default() };
        let tls = self.client_tls(None, options);
        let address = self.server.endpoint().strip_prefix("grpc+tls://").unwrap();
        let socket = TcpStream::connect(address).await.unwrap();
        let stream = tls.connect("127.0.0.1", socket).await.unwrap();
        stream.peer_certificates().swap_remove(0)
    }

    /// Waits until new handshakes show `issued`; how long it took.
    pub async fn until_served(&self, issued: &Issued) -> Duration {
        let expected = der(issued);
        let began = Instant::now();
        self.until("the new certificate is served", async || self.served().await == expected).await;
        began.elapsed()
    }

    pub async fn until_logged(&self, text: &str) {
        self.until(text, async || self.server.stderr().contains(text)).await;
    }

    /// Waits until so many changes were refused.
    pub async fn until_refused(&self, count: i64) {
        let refused = async || self.figure("tls_reloads_refused_total") == count;
        self.until("one more is refused", refused).await;
    }

    pub async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while !is_so().await {
            assert!(began.elapsed() < WITHIN, "never: {what}\n{}", self.server.stderr());
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// A figure of the metrics, by its name without the prefix.
    pub fn figure(&self, name: &str) -> i64 {
        let metrics = admin_get(&self.server, "/metrics");
        let line = format!("flight_server_{name} ");
        let value = metrics.lines().find_map(|metric| metric.strip_prefix(&line));
        value.unwrap_or_else(|| panic!("no {name} in\n{metrics}")).parse().unwrap()
    }

    pub fn logged(&self, text: &str) -> usize {
        self.server.stderr().matches(text).count()
    }
}

/// A connection to `endpoint` that has answered a call.
pub async fn call(endpoint: &str, tls: &ClientTls) -> Result<Client, Status> {
    let endpoint = endpoint.parse().unwrap();
    let connector = Connector::new(endpoint, Some(tls.clone()), ConnectOptions::default());
    let client = Client::over(connector).await;
    let mut client = client.map_err(|error| Status::unavailable(error.to_string()))?;
    client.action("healthcheck", "").await?;
    Ok(client)
}

pub fn der(issued: &Issued) -> Vec<u8> {
    CertificateDer::from_pem_slice(issued.cert_pem.as_bytes()).unwrap().to_vec()
}

/// Points the symbolic link `link` at `target` in one step.
pub fn point(link: &Path, target: &str) {
    let temporary = link.with_file_name("link.new");
    std::os::unix::fs::symlink(target, &temporary).unwrap();
    fs::rename(&temporary, link).unwrap();
}
