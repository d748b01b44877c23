//! The flags of `flight-server serve`. Parsing only validates; [`super::Config`] holds the rules
//! that join them.

use std::path::PathBuf;

use clap::ValueEnum;
use flight_net::Endpoint;
use flight_tls::{CipherSuite, ClientAuth, Engine, Group, TlsVersion};

use super::tickets::TicketArgs;

/// More threads than any machine has cores.
const DECODE_THREADS_MAX: i64 = 1024;

/// Serves a folder of datasets
///
/// Every Feather (.feather, .arrow), Arrow stream (.arrows) and Parquet (.parquet) file below the
/// folder is a dataset, named by its path without the extension. Clients list them (ListFlights),
/// read them (GetFlightInfo, DoGet) and store new ones (DoPut).
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Folder whose files are served.
    ///
    /// Uploads are stored here too, unless --read-only. `.flight` within it belongs to the server.
    #[arg(long, value_name = "DIR", env = "FLIGHT_SERVER_DATA")]
    pub data: PathBuf,

    /// Where to listen; may be given several times. Port 0 takes a free port.
    ///
    /// grpc://HOST:PORT is plaintext, grpc+tls://HOST:PORT is TLS (needs --tls-cert and --tls-key),
    /// grpc+unix:///PATH is a Unix socket. Default: grpc://127.0.0.1:8815, or
    /// grpc+tls://127.0.0.1:8815 when a certificate is given.
    #[arg(long, value_name = "URI", env = "FLIGHT_SERVER_LISTEN", value_delimiter = ',')]
    pub listen: Vec<Endpoint>,

    /// Serve reads only: refuse uploads and deletions, and write nothing below --data.
    #[arg(long, env = "FLIGHT_SERVER_READ_ONLY")]
    pub read_only: bool,

    /// Map all Arrow files into memory, not only those that were uploaded, so that serving them
    /// copies nothing.
    ///
    /// A promise that files below --data are only ever replaced by rename. Streams of a mapped file
    /// that is rewritten in place may show some of that before they end with DATA_LOSS.
    #[arg(long, env = "FLIGHT_SERVER_MAP_FILES")]
    pub map_files: bool,

    /// How often the folder is scanned for new, changed and removed files.
    ///
    /// A change to a known file is seen at once when the file is asked for; the scan finds the rest.
    #[arg(long, value_name = "DURATION", env = "FLIGHT_SERVER_RESCAN", default_value = "2s",
          value_parser = parse_duration)]
    pub rescan: std::time::Duration,

    /// Also answer the protocol of Arrow's own benchmark, arrow-flight-benchmark.
    ///
    /// Generated streams of four int64 columns for DoGet; uploads without a name are counted and
    /// dropped.
    #[arg(long, env = "FLIGHT_SERVER_PERF")]
    pub perf: bool,

    /// Memory that uploads in progress may hold together; default: a quarter of this machine's.
    ///
    /// An upload waits while others hold it all. At least 256MiB, the largest message taken.
    #[arg(long, value_name = "SIZE", env = "FLIGHT_SERVER_UPLOAD_MEMORY",
          value_parser = parse_size)]
    pub upload_memory: Option<u64>,

    /// Threads that decode Parquet, shared by all streams; default: one for each core.
    ///
    /// They work ahead of the socket: one stream uses several, and several streams take turns. A
    /// stream whose reader takes nothing holds none of them.
    #[arg(long, value_name = "N", env = "FLIGHT_SERVER_DECODE_THREADS",
          value_parser = clap::value_parser!(u16).range(1..=DECODE_THREADS_MAX))]
    pub decode_threads: Option<u16>,

    /// Where health and metrics are served over HTTP: HOST:PORT, or `none`.
    ///
    /// GET /metrics is Prometheus text, GET /healthz answers ok. The default, 127.0.0.1:9815, is
    /// left out with a warning where the port is taken.
    #[arg(long, value_name = "HOST:PORT", env = "FLIGHT_SERVER_ADMIN")]
    pub admin: Option<String>,

    /// Certificate chain in PEM, the server's own certificate first.
    #[arg(
        long,
        value_name = "FILE",
        env = "FLIGHT_SERVER_TLS_CERT",
        help_heading = "TLS",
        requires = "tls_key"
    )]
    pub tls_cert: Option<PathBuf>,

    /// Private key in PEM: PKCS#8, PKCS#1 or SEC1.
    ///
    /// One that is encrypted (PKCS#8 alone) needs --tls-key-password-file.
    #[arg(
        long,
        value_name = "FILE",
        env = "FLIGHT_SERVER_TLS_KEY",
        help_heading = "TLS",
        requires = "tls_cert"
    )]
    pub tls_key: Option<PathBuf>,

    /// File whose first line is the password of --tls-key.
    ///
    /// The end of the line is left out. A file that others may read is warned about.
    #[arg(
        long,
        value_name = "FILE",
        env = "FLIGHT_SERVER_TLS_KEY_PASSWORD_FILE",
        help_heading = "TLS",
        requires = "tls_key"
    )]
    pub tls_key_password_file: Option<PathBuf>,

    /// Authorities in PEM of which every client must show a certificate (mutual TLS).
    #[arg(
        long,
        value_name = "FILE",
        env = "FLIGHT_SERVER_TLS_CLIENT_CA",
        help_heading = "TLS",
        requires = "tls_cert"
    )]
    pub tls_client_ca: Option<PathBuf>,

    /// Whether a client must show a certificate of --tls-client-ca, or may.
    ///
    /// With optional, a client without one is taken, and one that shows a bad one is refused.
    #[arg(
        long,
        value_name = "MODE",
        env = "FLIGHT_SERVER_TLS_CLIENT_AUTH",
        help_heading = "TLS",
        default_value = "required",
        requires = "tls_client_ca"
    )]
    pub tls_client_auth: ClientAuthMode,

    /// Certificates that --tls-client-ca revoked, in PEM (CRLs): their holders are refused.
    ///
    /// The file holds a list of each authority in a client's chain. A client for whose authority
    /// there is none, or one whose next is overdue, is refused too: it cannot be told whether its
    /// certificate still holds.
    #[arg(
        long,
        value_name = "FILE",
        env = "FLIGHT_SERVER_TLS_CLIENT_CRL",
        help_heading = "TLS",
        requires = "tls_client_ca"
    )]
    pub tls_client_crl: Option<PathBuf>,

    /// How often the files of TLS are looked at for new contents, or `off`.
    ///
    /// A new certificate with its key, new --tls-client-ca and --tls-client-crl are taken without a
    /// restart once they are the same at two looks, valid, and right for each other; connections
    /// that are open live on. Others are refused with a warning and the old ones stay. SIGHUP asks
    /// for a look at once, also with off.
    #[arg(
        long,
        value_name = "DURATION",
        env = "FLIGHT_SERVER_TLS_RELOAD",
        help_heading = "TLS",
        default_value = "500ms",
        value_parser = parse_reload
    )]
    pub tls_reload: Reload,

    /// Take a new certificate though it lacks names that the present one has.
    ///
    /// Without it such a certificate is refused: clients that connect by those names would be cut
    /// off.
    #[arg(
        long,
        env = "FLIGHT_SERVER_TLS_ALLOW_LOST_NAMES",
        help_heading = "TLS",
        requires = "tls_cert"
    )]
    pub tls_allow_lost_names: bool,

    /// Implementation of TLS: aws-lc, ring or openssl.
    ///
    /// The first two are rustls with that cryptography, the third is OpenSSL's whole stack, which
    /// is part of builds with the feature openssl.
    #[arg(
        long,
        value_name = "ENGINE",
        env = "FLIGHT_SERVER_TLS_ENGINE",
        help_heading = "TLS",
        default_value_t = Engine::AwsLc
    )]
    pub tls_engine: Engine,

    /// Key exchange groups, most preferred first.
    ///
    /// X25519MLKEM768, X25519, secp256r1, secp384r1. Default: all that the engine has, in that
    /// order. ring and OpenSSL before 3.5 lack the first.
    #[arg(
        long,
        value_name = "LIST",
        env = "FLIGHT_SERVER_TLS_GROUPS",
        help_heading = "TLS",
        value_delimiter = ','
    )]
    pub tls_groups: Vec<Group>,

    /// Oldest TLS version that is spoken.
    #[arg(
        long,
        value_name = "VERSION",
        env = "FLIGHT_SERVER_TLS_MIN",
        help_heading = "TLS",
        default_value = "1.2"
    )]
    pub tls_min: TlsVersion,

    /// Cipher suites, most preferred first, by their IANA or OpenSSL names.
    #[arg(
        long,
        value_name = "LIST",
        env = "FLIGHT_SERVER_TLS_CIPHERS",
        help_heading = "TLS",
        value_delimiter = ','
    )]
    pub tls_ciphers: Vec<CipherSuite>,

    #[command(flatten)]
    pub tickets: TicketArgs,

    /// Connections that are open at once.
    #[arg(
        long,
        value_name = "N",
        env = "FLIGHT_SERVER_MAX_CONNECTIONS",
        help_heading = "Limits",
        default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub max_connections: u32,

    /// Connections of one address; loopback is exempt.
    #[arg(
        long,
        value_name = "N",
        env = "FLIGHT_SERVER_MAX_CONNECTIONS_PER_ADDRESS",
        help_heading = "Limits",
        default_value_t = 256,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub max_connections_per_address: u32,

    /// Time for a TLS handshake.
    #[arg(long, value_name = "DURATION", env = "FLIGHT_SERVER_HANDSHAKE_TIMEOUT",
          help_heading = "Limits", default_value = "10s", value_parser = parse_duration)]
    pub handshake_timeout: std::time::Duration,

    /// Time from there to the first call.
    #[arg(
        long,
        value_name = "DURATION",
        env = "FLIGHT_SERVER_FIRST_CALL_TIMEOUT",
        help_heading = "Limits",
        default_value = "10s",
        value_parser = parse_duration
    )]
    pub first_call_timeout: std::time::Duration,

    /// A connection without an open call is closed after this time.
    #[arg(
        long,
        value_name = "DURATION",
        env = "FLIGHT_SERVER_IDLE_TIMEOUT",
        help_heading = "Limits",
        default_value = "5m",
        value_parser = parse_duration
    )]
    pub idle_timeout: std::time::Duration,

    /// A stream whose other end takes or sends nothing for this long is ended.
    #[arg(long, value_name = "DURATION", env = "FLIGHT_SERVER_STALL_TIMEOUT",
          help_heading = "Limits", default_value = "60s", value_parser = parse_duration)]
    pub stall_timeout: std::time::Duration,

    /// How long running streams may go on after SIGTERM.
    #[arg(long, value_name = "DURATION", env = "FLIGHT_SERVER_DRAIN", help_heading = "Limits",
          default_value = "30s", value_parser = parse_duration)]
    pub drain: std::time::Duration,

    /// Print one line of JSON to stdout once the server accepts calls.
    ///
    /// {"ready":true,"pid":…,"endpoints":["grpc://127.0.0.1:40213"],"version":"…"}
    #[arg(long, value_name = "FORMAT", env = "FLIGHT_SERVER_READY", help_heading = "Supervision")]
    pub ready: Option<Ready>,

    /// Stop when stdin closes, so that a parent that dies leaves no orphan.
    #[arg(long, env = "FLIGHT_SERVER_EXIT_WITH_STDIN", help_heading = "Supervision")]
    pub exit_with_stdin: bool,
}

/// The form of the ready line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ready {
    Json,
}

/// Whether the files of TLS are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    Every(std::time::Duration),
    Off,
}

fn parse_reload(text: &str) -> Result<Reload, String> {
    match text {
        "off" => Ok(Reload::Off),
        _ => parse_duration(text)
            .map(Reload::Every)
            .map_err(|_| format!("{text:?} is no interval; write for example 500ms, or off")),
    }
}

pub(crate) fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let wrong = || format!("{text:?} is not a duration; write for example 500ms, 10s or 2m");
    let amount: u64 = digits.parse().map_err(|_| wrong())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    amount.checked_mul(millis).map(std::time::Duration::from_millis).ok_or_else(wrong)
}

fn parse_size(text: &str) -> Result<u64, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let wrong = || format!("{text:?} is not a size; write for example 512MiB, 2GiB or 500MB");
    let amount: u64 = digits.parse().map_err(|_| wrong())?;
    let bytes = match unit {
        "" | "B" => 1,
        "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(wrong()),
    };
    amount.checked_mul(bytes).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_their_unit() {
        let check = |text: &str, millis: Option<u64>| {
            let read = parse_duration(text).ok().map(|d| d.as_millis() as u64);
            assert_eq!(read, millis, "{text}");
        };
        check("500ms", Some(500));
        check("10s", Some(10_000));
        check("2m", Some(120_000));
        check("1h", Some(3_600_000));
        for wrong in ["", "10", "s", "-1s", "1.5s", "10 s", "99999999999999999999s"] {
            check(wrong, None);
        }
    }

    #[test]
    fn sizes_carry_their_unit_and_a_bare_letter_is_refused() {
        let check = |text: &str, bytes: Option<u64>| {
            assert_eq!(parse_size(text).ok(), bytes, "{text}");
        };
        check("512MiB", Some(512 << 20));
        check("10kB", Some(10_000));
        check("7", Some(7));
        for wrong in ["", "k", "64k", "MiB", "1.5GiB", "99999999999GiB"] {
            check(wrong, None);
        }
    }
}

/// Whether clients must show a certificate.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuthMode {
    Required,
    Optional,
}

impl From<ClientAuthMode> for ClientAuth {
    fn from(mode: ClientAuthMode) -> Self {
        match mode {
            ClientAuthMode::Required => Self::Required,
            ClientAuthMode::Optional => Self::Optional,
        }
    }
}
