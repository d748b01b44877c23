//! The options of `tls`.

use clap::{Args, ValueEnum};

use super::pace::PaceArgs;
use super::{CheckArgs, LoadArgs, OutputArgs, TargetArgs, TlsArgs};

#[derive(Debug, Args)]
pub(crate) struct TlsSubjectArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// Whether sessions are resumed.
    ///
    /// full: every handshake shows and checks certificates. ticket: every one but the first of the
    /// run resumes a session, which spares them. A handshake of the other kind is an error, so that
    /// it cannot pass unseen.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Resume::Full,
          help_heading = "Workload")]
    pub(crate) resume: Resume,

    /// Key of the certificate of the server that is started.
    ///
    /// ec is EC P-256, rsa is RSA-4096, ed25519 is Ed25519. Default: ec. A TARGET has a key of its own.
    #[arg(long, value_name = "KEY", value_enum, help_heading = "Workload")]
    pub(crate) key: Option<KeyKind>,

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

/// What a handshake makes use of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Resume {
    Full,
    Ticket,
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
