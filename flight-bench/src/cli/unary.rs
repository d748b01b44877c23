//! The options of `unary`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::connect::Connect;
use super::pace::PaceArgs;
use super::source::{self, Source};
use super::{CheckArgs, Http2Args, LoadArgs, OutputArgs, TargetArgs, TlsArgs, units};

#[derive(Debug, Args)]
pub(crate) struct UnaryArgs {
    /// What is called.
    ///
    /// info is GetFlightInfo, schema GetSchema, list ListFlights, action DoAction, poll
    /// PollFlightInfo.
    #[arg(value_name = "CALL", value_enum, help_heading = "Workload")]
    pub(crate) call: Call,

    #[command(flatten)]
    pub(crate) target: TargetArgs,

    #[command(flatten)]
    pub(crate) work: UnaryWorkArgs,

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

    #[command(flatten)]
    pub(crate) http2: Http2Args,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct UnaryWorkArgs {
    /// What info, schema and poll ask about: path:a/b, cmd:TEXT, sql:QUERY or perf.
    ///
    /// Default: the only dataset of the server, or the sample of the server that was started.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<Source>,

    /// Query that info, schema and poll ask a Flight SQL server about.
    ///
    /// The text, or @FILE. A server executes it at info. The text is part of reports.
    #[arg(long, value_name = "QUERY", value_parser = source::query, conflicts_with = "source")]
    pub(crate) sql: Option<Source>,

    /// Type of the action that is called, with action.
    ///
    /// As the server's ListActions names it; all of its results are read. Default: ping, which
    /// flight-server and Arrow's perf server have.
    #[arg(long, value_name = "TYPE")]
    pub(crate) action: Option<String>,

    /// Body of the action, as text, with action.
    ///
    /// Default: empty.
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,

    /// Connections that the calls go over: shared, per-call, resumed, pooled or pooled:N.
    ///
    /// shared: those of --connections are made once and kept, and each stream calls over its own
    /// one. pooled:N: up to N are kept (4 where no N is given), and each call takes the one with the
    /// fewest calls; each worker thread has its share of them. per-call: every call makes a
    /// connection, with a full handshake over TLS, and closes it. resumed: the same, but TLS resumes
    /// the session of an earlier one, and a full handshake fails the call; the first of each stream
    /// is made before. The time of a connection that a call makes is part of the call's.
    #[arg(long, value_name = "HOW", default_value_t = Connect::Shared)]
    pub(crate) connect: Connect,

    /// How long a connection stays open after its call, with --connect per-call or resumed.
    ///
    /// As clients do that keep a connection alive and never use it again. At most 16384 are open so
    /// at once, and those beyond are closed with their call; the descriptors of this process
    /// (ulimit -n) and the limits of the server may be fewer, and calls fail then. Connections of a
    /// pool stay open in any case. Default: closed with the call.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) linger: Option<Duration>,
}

/// A call without batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Call {
    Info,
    Schema,
    List,
    Action,
    Poll,
}

impl Call {
    /// As the Flight specification writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Info => "GetFlightInfo",
            Self::Schema => "GetSchema",
            Self::List => "ListFlights",
            Self::Action => "DoAction",
            Self::Poll => "PollFlightInfo",
        }
    }
}
