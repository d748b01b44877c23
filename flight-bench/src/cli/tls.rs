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
    /// ec is EC P-256, rsa is RSA-4096. Default: ec. A TARGET has a key of its own.
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
}
