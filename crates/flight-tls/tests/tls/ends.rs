//! Two ends of a connection in memory, ours or deliberately odd ones, and what each saw.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use flight_pki::Issued;
use flight_tls::{
    ClientIdentity, ClientNames, ClientOptions, ClientTls, Engine, Group, Negotiated,
    ServerIdentity, ServerOptions, ServerTls, Trust, client_config, explain, explain_accept,
};
use futures_util::FutureExt;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};

use crate::folder::Folder;

thread_local! {
    /// The engines of the server and the client that are made.
    static ENGINES: Cell<(Engine, Engine)> = const { Cell::new((Engine::AwsLc, Engine::AwsLc)) };
}

/// Runs a test for each pair of engines: what holds for one holds for all.
pub(crate) async fn on_every_engine(test: impl AsyncFn()) {
    for server in Engine::built() {
        for client in Engine::built() {
            ENGINES.set((server, client));
            // Which pair it is: shown by a test that fails.
            let tested = std::panic::AssertUnwindSafe(test()).catch_unwind().await;
            assert!(tested.is_ok(), "server {server}, client {client}");
        }
    }
}

/// The engines of the server and the client that are made.
pub(crate) fn engines() -> (Engine, Engine) {
    ENGINES.get()
}

/// The key exchange that the two engines prefer.
pub(crate) fn group() -> Group {
    let (server, client) = ENGINES.get();
    let hybrid = Group::X25519MlKem768;
    let has_it = |engine| {
        let options = ClientOptions { engine, groups: vec![hybrid], ..ClientOptions::default() };
        client_config(Trust::Insecure, None, options).is_ok()
    };
    if has_it(server) && has_it(client) { hybrid } else { Group::X25519 }
}

/// Far beyond what a handshake in memory takes, so that a hang fails instead of hanging.
const HANG: Duration = Duration::from_secs(60);

/// What the two ends saw: what was negotiated, or the sentence that a person reads.
pub(crate) struct Seen {
    pub(crate) client: Result<Negotiated, String>,
    pub(crate) server: Result<Negotiated, String>,
}

/// Connects the two ends and exchanges a few bytes both ways.
pub(crate) async fn meet(server: &ServerTls, client: &ClientTls, host: &str) -> Seen {
    let (near, far) = tokio::io::duplex(1 << 16);
    let server_end = async {
        let mut stream = server.accept(far).await.map_err(|error| said(explain_accept(&error)))?;
        let agreed = stream.negotiated();
        echo(&mut stream).await.map_err(|error| said(explain_accept(&error)))?;
        Ok(agreed)
    };
    let both = async { tokio::join!(call(client, host, near), server_end) };
    let (client, server) = tokio::time::timeout(HANG, both).await.unwrap();
    Seen { client, server }
}

/// What a server knows of a client that it takes.
pub(crate) async fn names_of(
    server: &ServerTls,
    client: &ClientTls,
) -> (Negotiated, Option<ClientNames>) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let server_end = async {
        let mut stream = server.accept(far).await.unwrap();
        let known = (stream.negotiated(), stream.client_names());
        echo(&mut stream).await.unwrap();
        known
    };
    let both = async { tokio::join!(call(client, "localhost", near), server_end) };
    let (by_client, known) = tokio::time::timeout(HANG, both).await.unwrap();
    by_client.unwrap();
    known
}

/// A client's call to a server that says `greeting`, whatever it hears, and closes.
pub(crate) async fn meet_stranger(client: &ClientTls, greeting: &[u8]) -> Result<(), String> {
    let (near, mut far) = tokio::io::duplex(1 << 16);
    let stranger = async {
        let mut heard = [0; 16];
        far.read_exact(&mut heard).await.unwrap();
        far.write_all(greeting).await.unwrap();
        drop(far);
    };
    let both = async { tokio::join!(call(client, "localhost", near), stranger) };
    let (client, ()) = tokio::time::timeout(HANG, both).await.unwrap();
    client.map(|_| ())
}

/// A server's handshake with a client that says `words` and closes.
pub(crate) async fn be_met_by_stranger(server: &ServerTls, words: &[u8]) -> Result<(), String> {
    let (mut near, far) = tokio::io::duplex(1 << 16);
    near.write_all(words).await.unwrap();
    drop(near);
    let accepted = tokio::time::timeout(HANG, server.accept(far)).await.unwrap();
    accepted.map(|_| ()).map_err(|error| said(explain_accept(&error)))
}

async fn call(client: &ClientTls, host: &str, stream: DuplexStream) -> Result<Negotiated, String> {
    let mut stream = client.connect(host, stream).await.map_err(|error| said(explain(&error)))?;
    let before = stream.negotiated();
    // In TLS 1.3 the server's refusal of a client comes with the first bytes.
    ask(&mut stream).await.map_err(|error| said(explain(&error)))?;
    Ok(before)
}

async fn ask<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<()> {
    stream.write_all(b"ping").await?;
    stream.flush().await?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).await?;
    assert_eq!(&answer, b"ping");
    stream.shutdown().await
}

async fn echo<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<()> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).await?;
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    // The client says that it closes; without that, an end is an error.
    assert_eq!(stream.read(&mut bytes).await?, 0);
    Ok(())
}

fn said(sentence: Option<String>) -> String {
    sentence.unwrap_or_else(|| "not a failure of TLS".to_owned())
}

/// Our server, with files in a folder of its own.
pub(crate) fn server_of(issued: &Issued, options: ServerOptions<'_>) -> ServerTls {
    let folder = Folder::new();
    let (cert, key) = folder.write_pair("server", issued);
    let options = ServerOptions { engine: ENGINES.get().0, ..options };
    ServerTls::new(&ServerIdentity::load(&cert, &key).unwrap(), options).unwrap()
}

/// Our client, which trusts the certificates in `pem` as `trust` says.
pub(crate) fn client_of(trust: fn(std::path::PathBuf) -> Trust, pem: &str) -> ClientTls {
    client_with(trust, pem, None, ClientOptions::default())
}

/// A client of rustls, to be made odd.
pub(crate) fn odd_client(trust: fn(std::path::PathBuf) -> Trust, pem: &str) -> ClientTls {
    // What is made of it is rustls'.
    ENGINES.set((ENGINES.get().0, Engine::AwsLc));
    let folder = Folder::new();
    let trusted = folder.write("trusted.pem", pem);
    client_config(trust(trusted), None, ClientOptions::default()).unwrap()
}

pub(crate) fn client_with(
    trust: fn(std::path::PathBuf) -> Trust,
    pem: &str,
    identity: Option<&Issued>,
    options: ClientOptions,
) -> ClientTls {
    let folder = Folder::new();
    let identity = identity.map(|issued| {
        let (cert, key) = folder.write_pair("client", issued);
        ClientIdentity::load(&cert, &key).unwrap()
    });
    let options = ClientOptions { engine: ENGINES.get().1, ..options };
    client_config(trust(folder.write("trusted.pem", pem)), identity, options).unwrap()
}

/// A server that shows a certificate which ours would refuse to load, with any key.
pub(crate) fn reckless_server(cert_pem: &str, key_pem: &str) -> ServerTls {
    ENGINES.set((Engine::AwsLc, ENGINES.get().1));
    let config = ServerConfig::builder_with_provider(engine())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(reckless_identity(cert_pem, key_pem)));
    ServerTls::of_rustls(Arc::new(config))
}

/// A client that trusts `base` does, and shows a certificate which ours would refuse to load.
pub(crate) fn reckless_client(base: &ClientTls, issued: &Issued) -> ClientTls {
    let mut config = ClientConfig::clone(base.rustls().unwrap());
    config.client_auth_cert_resolver =
        Arc::new(reckless_identity(&issued.cert_pem, &issued.key_pem));
    base.with_rustls(Arc::new(config))
}

/// `base` with other protocols in its ALPN.
pub(crate) fn with_alpn(base: &ClientTls, protocols: &[&str]) -> ClientTls {
    let mut config = ClientConfig::clone(base.rustls().unwrap());
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    base.with_rustls(Arc::new(config))
}

fn reckless_identity(cert_pem: &str, key_pem: &str) -> SingleCertAndKey {
    let certs = CertificateDer::pem_slice_iter(cert_pem.as_bytes()).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes()).unwrap();
    let key = engine().key_provider.load_private_key(key).unwrap();
    SingleCertAndKey::from(CertifiedKey::new(certs, key))
}

fn engine() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}
