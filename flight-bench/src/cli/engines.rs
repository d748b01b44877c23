//! The options of `engines`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use flight_tls::{CipherSuite, Engine};

use super::quick::{QuickLoadArgs, QuickWorkArgs};
use super::tls::KeyKind;
use super::{FailIfArgs, OutputArgs, TargetArgs, TransportName, units};

#[derive(Debug, Args)]
pub(crate) struct EnginesArgs {
    #[command(flatten)]
    pub(crate) server: EnginesServerArgs,

    #[command(flatten)]
    pub(crate) rows: EnginesRowsArgs,

    #[command(flatten)]
    pub(crate) work: QuickWorkArgs,

    #[command(flatten)]
    pub(crate) load: QuickLoadArgs,

    #[command(flatten)]
    pub(crate) check: FailIfArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct EnginesServerArgs {
    /// The flight-server program, of which one is started for each engine.
    ///
    /// Default: the file named flight-server beside this program.
    #[arg(long, value_name = "FILE")]
    pub(crate) server_bin: Option<PathBuf>,

    /// How long each server may take to be ready.
    ///
    /// Default 30s; past it, exit code 1.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) ready_timeout: Option<Duration>,

    /// HTTP/2 that carries the batches.
    ///
    /// As for get and put: own is this program's, hyper is that of other Rust clients.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = TransportName::Own,
          help_heading = "HTTP/2")]
    pub(crate) transport: TransportName,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct EnginesRowsArgs {
    /// Implementations of TLS, comma-separated: aws-lc, ring, openssl.
    ///
    /// Both ends of a row have the same. Default: all that this build has; what it lacks is named
    /// in the report.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) engines: Vec<Engine>,

    /// Cipher suites of TLS 1.3, comma-separated.
    ///
    /// TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256; default: these.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = suite)]
    pub(crate) suites: Vec<CipherSuite>,

    /// Key of the servers' certificate.
    ///
    /// ec is EC P-256, rsa is RSA-4096. A connection uses it once, in its handshake, so that the
    /// rates of whole windows hardly depend on it.
    #[arg(long, value_name = "KEY", value_enum, default_value_t = KeyKind::Ec)]
    pub(crate) key: KeyKind,
}

impl From<EnginesServerArgs> for TargetArgs {
    fn from(args: EnginesServerArgs) -> Self {
        Self {
            target: None,
            server_bin: args.server_bin,
            connect_timeout: CONNECT_TIMEOUT,
            ready_timeout: args.ready_timeout,
            server_pid: None,
            header: Vec::new(),
            token_file: None,
            transport: args.transport,
        }
    }
}

/// To a server on this machine: as long as the other commands have by default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A cipher suite of TLS 1.3: the older ones differ in more than the cipher.
fn suite(name: &str) -> Result<CipherSuite, String> {
    let of_tls13 = |suite: &CipherSuite| CipherSuite::of_tls13().any(|known| known == *suite);
    name.parse().ok().filter(of_tls13).ok_or_else(|| {
        let known: Vec<String> = CipherSuite::of_tls13().map(|suite| suite.to_string()).collect();
        format!("'{name}' is no cipher suite of TLS 1.3; those are {}", known.join(", "))
    })
}
