//! The options of `tls`.

use clap::{Args, ValueEnum};
use flight_tls::{Engine, Group};

use super::pace::PaceArgs;
use super::{CheckArgs, LoadArgs, OutputArgs, TargetArgs, TlsArgs};

#[derive(Debug, Args)]
pub(crate) struct TlsSubjectArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    #[command(flatten)]
    pub(crate) rows: TlsRowsArgs,

    #[command(flatten)]
    pub(crate) load: LoadArgs,

    #[command(flatten)]
    pub(crate) pace: PaceArgs,

    #[command(flatten)]
    pub(crate) check: CheckArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

/// What tells the rows of a run apart. Without a TARGET, each combination of what is named here is a
/// row.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct TlsRowsArgs {
    /// Whether sessions are resumed: full, ticket, or both.
    ///
    /// full: every handshake shows and checks certificates. ticket: every one but the first of the
    /// run resumes a session, which spares them. A handshake of the other kind is an error, so that
    /// it cannot pass unseen. Default: full.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub(crate) resume: Vec<Resume>,

    /// Keys of the certificates of the servers that are started, comma-separated.
    ///
    /// ec is EC P-256, rsa is RSA-4096, ed25519 is Ed25519. Default: ec. A TARGET has a key of its
    /// own.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub(crate) key: Vec<KeyKind>,

    /// Implementations of TLS, comma-separated: aws-lc, ring, openssl.
    ///
    /// Both ends of a row have the same. Default: that of --tls-engine. To a TARGET, --tls-engine
    /// chooses this side's.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) engines: Vec<Engine>,

    /// Key exchange groups, comma-separated; a client offers one alone.
    ///
    /// X25519MLKEM768, X25519, secp256r1, secp384r1. Default: what an engine prefers. A group that an
    /// engine lacks has no row, which the report says. To a TARGET, --tls-groups offers.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) groups: Vec<Group>,

    /// Whether clients show a certificate too: off, on, or both.
    ///
    /// Default: off. To a TARGET, --tls-cert shows one.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub(crate) mutual: Vec<Mutual>,
}

/// What a handshake makes use of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Resume {
    Full,
    Ticket,
}

impl Resume {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Ticket => "ticket",
        }
    }
}

/// Whether both ends show a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mutual {
    Off,
    On,
}

/// The key of a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyKind {
    Ec,
    Rsa,
    Ed25519,
}

impl KeyKind {
    /// As options and `flight-server certs` have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ec => "ec",
            Self::Rsa => "rsa",
            Self::Ed25519 => "ed25519",
        }
    }

    /// As reports name the certificate.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Ec => "EC P-256",
            Self::Rsa => "RSA-4096",
            Self::Ed25519 => "Ed25519",
        }
    }
}
