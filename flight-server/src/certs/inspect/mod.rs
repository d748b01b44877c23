//! `flight-server certs inspect`: what certificates say, and whether the other end would take them.
//!
//! Certificates are read from a file or from a server's handshake; what is said about them is put
//! together in `findings` and written by `text`, or as JSON.

mod findings;
mod text;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use flight_net::Endpoint;
use flight_net::client::ConnectError;
use flight_tls::{
    KeyFacts, KeyPassword, Look, TlsError, explain, look, read_certificates, read_private_key,
};
use tokio::net::TcpStream;

use crate::serve::parse_duration;
use findings::{Findings, KeyFound};

/// Says what is in certificates, and whether a client would take them.
///
/// Exit code 0: it would; 1: it would not, or they cannot be read. Files of authorities are judged
/// by their dates alone, unless --name or --as client is given.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// A PEM file (chain, authorities, key), or a server: grpc+tls://HOST:PORT.
    #[arg(value_name = "FILE|URI")]
    pub source: String,

    /// Authorities in PEM that the other end trusts; those of this machine when not given.
    #[arg(long, value_name = "FILE", env = "FLIGHT_SERVER_CERTS_INSPECT_TLS_CA")]
    pub tls_ca: Option<PathBuf>,

    /// Name by which a client connects; default: the URI's host, or a file's first name.
    #[arg(long, value_name = "NAME", env = "FLIGHT_SERVER_CERTS_INSPECT_NAME")]
    pub name: Option<String>,

    /// Whose certificate it is to be: a server's, which a client judges, or a client's.
    ///
    /// A client's is judged as by a server with --tls-client-ca.
    #[arg(
        long = "as",
        value_name = "END",
        default_value = "server",
        env = "FLIGHT_SERVER_CERTS_INSPECT_AS"
    )]
    pub end: End,

    /// File whose first line is the password of a key in FILE.
    ///
    /// Without it, of a key that is encrypted only that is said.
    #[arg(long, value_name = "FILE", env = "FLIGHT_SERVER_CERTS_INSPECT_KEY_PASSWORD_FILE")]
    pub key_password_file: Option<PathBuf>,

    /// Time for connecting and the handshake together.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "10s",
        value_parser = parse_duration,
        env = "FLIGHT_SERVER_CERTS_INSPECT_TIMEOUT"
    )]
    pub timeout: Duration,

    /// Prints JSON in place of text.
    #[arg(long, env = "FLIGHT_SERVER_CERTS_INSPECT_JSON")]
    pub json: bool,
}

/// Whose certificate it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum End {
    Server,
    Client,
}

/// Inspects and prints.
///
/// # Errors
/// When the file cannot be read, or the server not be reached.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let findings = inspect(args)?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&findings).context("JSON")? + "\n",
        false => text::text(&findings),
    };
    io::stdout().write_all(text.as_bytes()).context("standard output")?;
    Ok(if findings.accepted() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn inspect(args: &Args) -> anyhow::Result<Findings> {
    if !args.source.contains("://") {
        return inspect_file(args, Path::new(&args.source));
    }
    let endpoint: Endpoint = args.source.parse()?;
    let Endpoint::Tls { host, port } = &endpoint else {
        bail!("{endpoint} is plaintext; write grpc+tls://HOST:PORT");
    };
    if args.end == End::Client {
        bail!("--as client is for files: what a server shows is a server's");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let looked = runtime.block_on(async {
        let looking = look_at(&endpoint, host, *port);
        match tokio::time::timeout(args.timeout, looking).await {
            Ok(looked) => looked,
            Err(_) => {
                let endpoint = endpoint.to_string();
                Err(ConnectError::Timeout { endpoint, after: args.timeout })
            }
        }
    })?;
    findings::of_server(args, &endpoint, host, &looked, now())
}

async fn look_at(endpoint: &Endpoint, host: &str, port: u16) -> Result<Look, ConnectError> {
    let unreachable = |cause| ConnectError::Unreachable { endpoint: endpoint.to_string(), cause };
    let stream = TcpStream::connect((host, port)).await.map_err(unreachable)?;
    look(host, stream).await.map_err(|error| {
        let why = explain(&error).unwrap_or_else(|| error.to_string());
        ConnectError::Tls { endpoint: endpoint.to_string(), why }
    })
}

fn inspect_file(args: &Args, file: &Path) -> anyhow::Result<Findings> {
    let password = match &args.key_password_file {
        None => None,
        Some(file) => Some(KeyPassword::read(file).context("--key-password-file")?),
    };
    let (key, found) = match read_private_key(file, password.as_ref()) {
        Ok(key) => {
            let facts = KeyFacts::read(&key)
                .ok_or_else(|| TlsError::UnusableKey { file: file.to_owned() })?;
            (Some(key), Some(KeyFound::Readable(facts)))
        }
        Err(TlsError::EncryptedKey { .. }) => (None, Some(KeyFound::Encrypted)),
        // Without a key it is to hold certificates: what is wrong is said of these.
        Err(
            TlsError::Missing { .. }
            | TlsError::Empty { .. }
            | TlsError::NotPem { .. }
            | TlsError::Der { .. },
        ) => (None, None),
        Err(error) => return Err(error.into()),
    };
    let certs = match read_certificates(file) {
        Ok(certs) => certs,
        Err(TlsError::Missing { .. }) if found.is_some() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    findings::of_file(args, file, &certs, found, key.as_ref(), now())
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
