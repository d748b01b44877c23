//! A server that listens in plaintext and over TLS.

use std::path::Path;
use std::process::Command;

use flight_net::client::{ConnectOptions, Connector, Transport};
use flight_testkit::{ServerCommand, ServerProcess};
use flight_tls::{ClientOptions, ClientTls, Trust, client_config};
use tempfile::{TempDir, tempdir};

use crate::client::Client;

pub struct Served {
    data: TempDir,
    certs: TempDir,
    server: ServerProcess,
}

impl Served {
    pub fn start(data: TempDir, flags: &[&str]) -> Self {
        let certs = tempdir().unwrap();
        let made = Command::new(flight_testkit::program("flight-server"))
            .args(["certs", "--out"])
            .arg(certs.path())
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let file = |name: &str| certs.path().join(name);
        let server = ServerCommand::serve(data.path())
            .args(["--listen", "grpc://127.0.0.1:0", "--listen", "grpc+tls://127.0.0.1:0"])
            .arg("--tls-cert")
            .arg(file("server-ec.pem"))
            .arg("--tls-key")
            .arg(file("server-ec.key"))
            .args(flags)
            .start();
        Self { data, certs, server }
    }

    /// The folder that is served.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    pub async fn client(&self, secure: bool, transport: Transport) -> Client {
        let endpoints = self.server.ready()["endpoints"].as_array().unwrap();
        let endpoints = endpoints.iter().map(|endpoint| endpoint.as_str().unwrap());
        let scheme = if secure { "grpc+tls:" } else { "grpc:" };
        let endpoint = endpoints.into_iter().find(|e| e.starts_with(scheme)).unwrap();
        let options = ConnectOptions { transport, ..ConnectOptions::default() };
        let tls = secure.then(|| self.tls());
        Client::over(Connector::new(endpoint.parse().unwrap(), tls, options)).await.unwrap()
    }

    fn tls(&self) -> ClientTls {
        let trust = Trust::Roots(self.certs.path().join("ca.pem"));
        client_config(trust, None, ClientOptions::default()).unwrap()
    }
}
