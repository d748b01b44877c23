//! What the flags mean together.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use flight_files::DecodeOptions;
use flight_keys::ScheduleError;
use flight_net::Endpoint;
use flight_net::limits::ServerLimits;
use flight_tls::{CipherSuite, ClientAuth, Engine, Group, TlsVersion};
use flight_wire::limits::RECEIVE_MESSAGE_BYTES_MAX;

use super::args::{Args, Ready, Reload};
use super::tickets::TicketConfig;

/// A server as it was asked for.
#[derive(Debug)]
pub struct Config {
    pub data: PathBuf,
    pub read_only: bool,
    pub map_files: bool,
    pub listen: Vec<Endpoint>,
    pub rescan: Duration,
    pub perf: bool,
    /// Bytes that uploads may hold.
    pub budget_bytes: u64,
    pub decode: DecodeOptions,
    pub admin: Admin,
    pub tls: Option<Tls>,
    pub tickets: Option<TicketConfig>,
    pub limits: ServerLimits,
    pub stall: Duration,
    pub ready: Option<Ready>,
    pub exit_with_stdin: bool,
}

/// Where health and metrics are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admin {
    Off,
    /// Nobody asked for it: a port that is taken is no reason not to start.
    Default(SocketAddr),
    At(SocketAddr),
}

#[derive(Debug, Clone)]
pub struct Tls {
    pub cert: PathBuf,
    pub key: PathBuf,
    pub key_password: Option<PathBuf>,
    pub client_ca: Option<PathBuf>,
    pub client_crl: Option<PathBuf>,
    pub client_auth: ClientAuth,
    pub engine: Engine,
    pub groups: Vec<Group>,
    pub min: TlsVersion,
    pub ciphers: Vec<CipherSuite>,
    pub reload: Reload,
    pub allow_lost_names: bool,
}

/// Flags that do not go together.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "--listen {endpoint} needs --tls-cert and --tls-key; `flight-server certs` makes a pair"
    )]
    NoCertificate { endpoint: Endpoint },
    #[error(
        "--tls-cert is given but every --listen is plaintext; write --listen grpc+tls://HOST:PORT"
    )]
    UnusedCertificate,
    #[error("--admin {value}: write HOST:PORT with an IP address, or none")]
    Admin { value: String },
    #[error("--upload-memory {bytes} is less than {min}, the largest message that is taken")]
    Budget { bytes: u64, min: u64 },
    #[error("--key-valid, --key-rotate, --key-check, --ticket-ttl, --ticket-skew: {0}")]
    Schedule(ScheduleError),
    #[error("--keys and --ticket-bind are for signed tickets; write --tickets hmac")]
    UnusedKeys,
    #[error("--ticket-bind mtls needs clients with certificates; write --tls-client-ca FILE")]
    NothingToBind,
    #[error("{flag} {value:?} is less than {min:?}")]
    TooShort { flag: &'static str, value: Duration, min: Duration },
}

/// Share of this machine's memory that uploads may hold unless told otherwise.
const BUDGET_SHARE: u64 = 4;
const ADMIN_DEFAULT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9815);
const RESCAN_MIN: Duration = Duration::from_millis(100);
const RELOAD_MIN: Duration = Duration::from_millis(100);
const TIMEOUT_MIN: Duration = Duration::from_millis(100);
/// Share of this machine's memory that the receive windows of connections may promise.
const WINDOWS_SHARE: u64 = 16;
/// Share of this machine's memory that Parquet decoded ahead may take.
const DECODE_SHARE: u64 = 8;

impl TryFrom<Args> for Config {
    type Error = ConfigError;

    fn try_from(args: Args) -> Result<Self, ConfigError> {
        let admin = admin(args.admin.as_deref())?;
        let tls = args.tls_cert.zip(args.tls_key).map(|(cert, key)| Tls {
            cert,
            key,
            key_password: args.tls_key_password_file,
            client_ca: args.tls_client_ca,
            client_crl: args.tls_client_crl,
            client_auth: args.tls_client_auth.into(),
            engine: args.tls_engine,
            groups: args.tls_groups,
            min: args.tls_min,
            ciphers: args.tls_ciphers,
            reload: args.tls_reload,
            allow_lost_names: args.tls_allow_lost_names,
        });
        let client_ca = tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        let tickets = TicketConfig::new(args.tickets, client_ca)?;
        if let Reload::Every(interval) = args.tls_reload {
            at_least("--tls-reload", interval, RELOAD_MIN)?;
        }
        at_least("--rescan", args.rescan, RESCAN_MIN)?;
        at_least("--stall-timeout", args.stall_timeout, TIMEOUT_MIN)?;
        at_least("--handshake-timeout", args.handshake_timeout, TIMEOUT_MIN)?;
        at_least("--first-call-timeout", args.first_call_timeout, TIMEOUT_MIN)?;
        at_least("--idle-timeout", args.idle_timeout, TIMEOUT_MIN)?;
        Ok(Self {
            data: args.data,
            read_only: args.read_only,
            map_files: args.map_files,
            listen: listen(args.listen, tls.is_some())?,
            rescan: args.rescan,
            perf: args.perf,
            budget_bytes: budget(args.upload_memory)?,
            decode: decode(args.decode_threads),
            admin,
            tls,
            tickets,
            limits: ServerLimits {
                connections: args.max_connections as usize,
                connections_per_address: args.max_connections_per_address as usize,
                handshake: args.handshake_timeout,
                first_call: args.first_call_timeout,
                idle: args.idle_timeout,
                window_bytes: memory_bytes() / WINDOWS_SHARE,
                drain: args.drain,
                ..ServerLimits::default()
            },
            stall: args.stall_timeout,
            ready: args.ready,
            exit_with_stdin: args.exit_with_stdin,
        })
    }
}

#[cfg(test)]
impl Tls {
    /// A certificate and its key, and all else as without options.
    pub(super) fn of_files(cert: PathBuf, key: PathBuf) -> Self {
        Self {
            cert,
            key,
            key_password: None,
            client_ca: None,
            client_crl: None,
            client_auth: ClientAuth::default(),
            engine: Engine::default(),
            groups: Vec::new(),
            min: TlsVersion::default(),
            ciphers: Vec::new(),
            reload: Reload::Off,
            allow_lost_names: false,
        }
    }
}

fn at_least(flag: &'static str, value: Duration, min: Duration) -> Result<(), ConfigError> {
    if value < min {
        return Err(ConfigError::TooShort { flag, value, min });
    }
    Ok(())
}

/// A certificate is never ignored, and TLS never falls back to plaintext.
fn listen(listen: Vec<Endpoint>, certificate: bool) -> Result<Vec<Endpoint>, ConfigError> {
    if listen.is_empty() {
        let host = "127.0.0.1".to_owned();
        let port = flight_net::DEFAULT_PORT;
        return Ok(vec![if certificate {
            Endpoint::Tls { host, port }
        } else {
            Endpoint::Tcp { host, port }
        }]);
    }
    let secure = listen.iter().find(|endpoint| endpoint.is_tls());
    match (secure, certificate) {
        (Some(endpoint), false) => Err(ConfigError::NoCertificate { endpoint: endpoint.clone() }),
        (None, true) => Err(ConfigError::UnusedCertificate),
        _ => Ok(listen),
    }
}

fn admin(value: Option<&str>) -> Result<Admin, ConfigError> {
    match value {
        None => Ok(Admin::Default(ADMIN_DEFAULT)),
        Some("none") => Ok(Admin::Off),
        Some(value) => match value.parse() {
            Ok(address) => Ok(Admin::At(address)),
            Err(_) => Err(ConfigError::Admin { value: value.to_owned() }),
        },
    }
}

fn budget(asked: Option<u64>) -> Result<u64, ConfigError> {
    let min = RECEIVE_MESSAGE_BYTES_MAX as u64;
    match asked {
        None => Ok((memory_bytes() / BUDGET_SHARE).max(min)),
        Some(bytes) if bytes < min => Err(ConfigError::Budget { bytes, min }),
        Some(bytes) => Ok(bytes),
    }
}

/// As many bytes as usual, or what a small machine can spare.
fn decode(threads: Option<u16>) -> DecodeOptions {
    let threads = threads.and_then(|threads| NonZeroUsize::new(threads.into()));
    let usual = threads.map_or_else(DecodeOptions::default, DecodeOptions::for_threads);
    let bytes = usual.bytes.min(memory_bytes() / DECODE_SHARE).max(usual.scan_bytes);
    DecodeOptions { bytes, ..usual }
}

/// Memory of this machine; zero where it cannot be told, which leaves the least budget.
fn memory_bytes() -> u64 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn check(flags: &str, answer: &str) {
        let words = ["serve", "--data", "d"].into_iter().chain(flags.split_whitespace());
        let text = match Cli::try_parse_from(words).map(|cli| Config::try_from(cli.args)) {
            Ok(Ok(config)) => format!("{config:?}"),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(answer), "{flags}: {text}");
    }

    #[test]
    fn it_listens_on_loopback_unless_told_otherwise() {
        check("", r#"listen: [Tcp { host: "127.0.0.1", port: 8815 }]"#);
        check("--tls-cert c --tls-key k", r#"listen: [Tls { host: "127.0.0.1", port: 8815 }]"#);
        check("--listen grpc://[::1]:0", r#"listen: [Tcp { host: "::1", port: 0 }]"#);
    }

    #[test]
    fn a_certificate_is_never_ignored_and_tls_never_goes_without() {
        check("--listen grpc+tls://h:1", "needs --tls-cert and --tls-key");
        check("--tls-cert c --tls-key k --listen grpc://h:1", "every --listen is plaintext");
        check("--tls-cert c", "--tls-key");
        check("--tls-client-ca c", "--tls-cert");
        check("--tls-key-password-file p", "--tls-key");
    }

    #[test]
    fn files_of_tls_are_watched_unless_told_otherwise() {
        let pair = "--tls-cert c --tls-key k";
        check(pair, "reload: Every(500ms), allow_lost_names: false");
        check(
            &format!("{pair} --tls-reload off --tls-allow-lost-names"),
            "reload: Off, allow_lost",
        );
        check(&format!("{pair} --tls-reload 10ms"), "--tls-reload 10ms is less than 100ms");
        check(&format!("{pair} --tls-reload never"), "write for example 500ms, or off");
        check(&format!("{pair} --tls-client-crl f"), "--tls-client-ca");
        check("--tls-allow-lost-names", "--tls-cert");
    }

    #[test]
    fn tickets_are_signed_on_request_with_durations_that_go_together() {
        check("", "tickets: None");
        check("--tickets hmac", "tickets: Some(TicketConfig { algorithm: Hmac");
        check("--tickets rs512", "[possible values: off, hmac, ed25519, es256, rs256]");
        check("--tickets hmac --key-valid 1h", "--key-valid, --key-rotate");
        check("--tickets hmac --key-rotate 10s", "need a shorter time between looks than 10s");
        check("--tickets hmac --ticket-ttl 0s", "must last a millisecond or more");
        check("--tickets hmac --keys k", "--root-key");
        check("--keys k --root-key r", "are for signed tickets");
        check("--tickets hmac --ticket-bind mtls", "write --tls-client-ca FILE");
        let mtls = "--tls-cert c --tls-key k --tls-client-ca a --tickets es256 --ticket-bind mtls";
        check(mtls, "bind: Mtls");
    }

    #[test]
    fn the_admin_port_can_be_moved_and_switched_off() {
        check("", "admin: Default(127.0.0.1:9815)");
        check("--admin none", "admin: Off");
        check("--admin [::1]:0", "admin: At([::1]:0)");
        check("--admin here", "--admin here: write HOST:PORT");
    }

    #[test]
    fn threads_that_decode_are_counted() {
        check("--decode-threads 3", "threads: 3, bytes:");
        check("--decode-threads 0", "0 is not in 1..=1024");
        check("--decode-threads 1025", "1025 is not in 1..=1024");
        check("--decode-threads all", "invalid digit");
    }

    #[test]
    fn values_are_checked_with_their_bounds() {
        check("--upload-memory 1MiB", "is less than 268435456");
        check("--upload-memory 64k", "is not a size");
        check("--rescan 5", "is not a duration");
        check("--rescan 1ms", "--rescan 1ms is less than 100ms");
        check("--stall-timeout 0s", "--stall-timeout 0ns is less than 100ms");
        check("--max-connections 0", "0 is not in 1..");
        check("--listen localhost", "write grpc://HOST:PORT");
        check("--tls-min 1.1", "1.2");
    }
}
