//! Options that several commands share: the server, how it is trusted, and the load.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use flight_net::Endpoint;
use flight_tls::{CipherSuite, Engine, Group, TlsVersion};

use super::units;

#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct TargetArgs {
    /// Server to measure; without it a flight-server is started for the run.
    ///
    /// grpc://HOST:PORT is plaintext, grpc+tls://HOST:PORT is TLS and grpc+unix:///PATH is a Unix
    /// socket. Without a TARGET, flight-server is started as a child process on a free port of
    /// 127.0.0.1, over sample data in a temporary folder, and stopped at the end.
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<Endpoint>,

    /// The flight-server program that is started when there is no TARGET.
    ///
    /// Default: the file named flight-server beside this program.
    #[arg(long, value_name = "FILE")]
    pub(crate) server_bin: Option<PathBuf>,

    /// How long a connection may take to be ready, TLS included.
    ///
    /// Applies to every connection of the run. A target where nothing answers gives exit code 5.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = units::duration)]
    pub(crate) connect_timeout: Duration,

    /// How long the server may take to come up; TARGET is asked until it answers.
    ///
    /// Any answer will do, a refusal too; past it, exit code 5. Default: a TARGET has to be there at
    /// once, so that a wrong address is told at once, and a server that is started here has 30s.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) ready_timeout: Option<Duration>,

    /// Process of TARGET, where it runs on this machine.
    ///
    /// Its processor time, memory and descriptors are then part of the report, and say what limits
    /// the rate. Of a server that this program starts they are known.
    #[arg(long, value_name = "PID")]
    pub(crate) server_pid: Option<u32>,

    /// Metadata that every call to TARGET carries, as 'NAME: VALUE'; can be given several times.
    ///
    /// Such as 'database: trips'. A value @FILE is read from the file, since everybody on a machine can
    /// see its command lines. Reports tell the names alone.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// File with a bearer token, which every call to TARGET carries.
    ///
    /// It is sent as 'authorization: Bearer TOKEN', and over TLS, a Unix socket or to this machine
    /// alone. White space around it does not count.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// HTTP/2 that carries the batches.
    ///
    /// own reads from the socket straight into the memory of each batch, and writes many frames at
    /// once. hyper is the implementation that other Rust clients use. Calls without batches always
    /// go over hyper.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = TransportName::Own,
          help_heading = "HTTP/2")]
    pub(crate) transport: TransportName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportName {
    Own,
    Hyper,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsArgs {
    /// Trust servers whose certificate is signed by a certificate in this PEM file.
    ///
    /// Without --tls-ca, --tls-pin and --tls-insecure, the roots of the operating system are
    /// trusted.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tls_pin", "tls_insecure"])]
    pub(crate) tls_ca: Option<PathBuf>,

    /// Trust exactly the certificate in this PEM file.
    ///
    /// For self-signed certificates, such as plain 'openssl req -x509' makes: names and chains are
    /// not looked at, but the server must prove that it holds the certificate's key.
    #[arg(long, value_name = "FILE", conflicts_with = "tls_insecure")]
    pub(crate) tls_pin: Option<PathBuf>,

    /// Trust any certificate; the report marks the run as unverified.
    ///
    /// Anyone on the way can read and change what is sent, and the cost of checking certificates
    /// is missing from the figures.
    #[arg(long)]
    pub(crate) tls_insecure: bool,

    /// Certificate chain (PEM) that this client shows to the server.
    ///
    /// For servers that ask for one (mutual TLS). Needs --tls-key.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key (PEM) of --tls-cert.
    ///
    /// PKCS#8, PKCS#1 or SEC1. One that is encrypted (PKCS#8 alone) needs
    /// --tls-key-password-file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// File whose first line is the password of --tls-key.
    ///
    /// The end of the line is left out. A file that others may read is warned about.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_key_password_file: Option<PathBuf>,

    /// Name that the server's certificate must hold.
    ///
    /// Default: the host of TARGET. For servers reached through an address or a tunnel.
    #[arg(long, value_name = "NAME")]
    pub(crate) tls_server_name: Option<String>,

    /// Cipher suites to offer, comma-separated, the preferred one first.
    ///
    /// Names as in TLS_AES_128_GCM_SHA256. The suite that was negotiated is in the report.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) tls_ciphers: Vec<CipherSuite>,

    /// Implementation of TLS: aws-lc, ring or openssl.
    ///
    /// The first two are rustls with that cryptography, the third is OpenSSL's whole stack, which
    /// is part of builds with the feature openssl. The engine is in the report.
    #[arg(long, value_name = "ENGINE", default_value_t = Engine::AwsLc)]
    pub(crate) tls_engine: Engine,

    /// Key exchange groups to offer, comma-separated, the preferred one first.
    ///
    /// X25519MLKEM768, X25519, secp256r1, secp384r1; default: all that the engine has, in that
    /// order. The group that was negotiated is in the report.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) tls_groups: Vec<Group>,

    /// Oldest version of TLS that is accepted.
    ///
    /// 1.2 or 1.3. The version that was negotiated is in the report.
    #[arg(long, value_name = "VERSION", default_value_t = TlsVersion::V1_2)]
    pub(crate) tls_min: TlsVersion,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP/2")]
pub(crate) struct Http2Args {
    /// Bytes that the server may send on one stream before it waits for this client.
    ///
    /// A window below bandwidth × round trip caps a stream, whatever the network can do.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub(crate) h2_stream_window: Option<u64>,

    /// Bytes that the server may send on one connection before it waits for this client.
    ///
    /// Matters where several streams share a connection (--connections).
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub(crate) h2_connection_window: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Streams that run at the same time.
    ///
    /// Each reads or writes as fast as it can.
    #[arg(short, long, alias = "num-streams", value_name = "N", default_value = "1",
          value_parser = units::count)]
    pub(crate) streams: u64,

    /// Connections that carry the streams.
    ///
    /// Default: one for each stream. With fewer, streams share them in turn.
    #[arg(short, long, value_name = "N", value_parser = units::count)]
    pub(crate) connections: Option<u64>,

    /// Worker threads of this client.
    ///
    /// Each owns its connections, and nothing moves between threads. Default: half of the
    /// processors, at most one for each connection, at least 1.
    #[arg(short, long, alias = "num-threads", value_name = "N", value_parser = units::count)]
    pub(crate) threads: Option<u64>,

    /// Length of the measured window of each repeat.
    ///
    /// Streams are under full load for the whole window and are cancelled at its end: what is in
    /// flight then counts nowhere. Default 3s.
    #[arg(short, long, value_name = "TIME", value_parser = units::duration,
          conflicts_with_all = ["batches", "passes"])]
    pub(crate) duration: Option<Duration>,

    /// Batches that each stream moves, instead of --duration.
    ///
    /// The clock runs from the first call to the last stream's last batch. No warm-up.
    #[arg(long, value_name = "N", value_parser = units::count, conflicts_with = "passes")]
    pub(crate) batches: Option<u64>,

    /// How often each stream moves the whole source, instead of --duration.
    ///
    /// For get: reads it to its end. For put: uploads all batches and waits for the commit. The
    /// clock runs from the first call to the last stream's end. No warm-up.
    #[arg(long, value_name = "N", value_parser = units::count)]
    pub(crate) passes: Option<u64>,

    /// Time that streams run before the window opens.
    ///
    /// They keep running into the window. It begins once every stream has moved a batch. Goes with
    /// --duration only. Default 1s.
    #[arg(short, long, value_name = "TIME", value_parser = units::duration,
          conflicts_with_all = ["batches", "passes"])]
    pub(crate) warmup: Option<Duration>,

    /// How often the measurement is repeated, with new connections each time.
    ///
    /// The repeat is the unit of the 95 % intervals: one repeat has none.
    #[arg(long, alias = "num-perf-runs", value_name = "N", default_value = "5",
          value_parser = units::count)]
    pub(crate) repeats: u64,
}
