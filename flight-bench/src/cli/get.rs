//! The options of `get`.

use clap::{Args, ValueEnum};

use super::source::{self, Source};
use super::{CheckArgs, Http2Args, LoadArgs, OutputArgs, PaceArgs, TargetArgs, TlsArgs, units};

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    #[command(flatten)]
    pub(crate) work: GetWorkArgs,

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
pub(crate) struct GetWorkArgs {
    /// What to read: path:a/b, cmd:TEXT, sql:QUERY, ticket:TEXT or perf; can be repeated.
    ///
    /// path: and cmd: ask GetFlightInfo with a PATH or a CMD descriptor and read all endpoints it
    /// names. sql: is a query, as with --sql. ticket: goes to DoGet as it is. cmd:@FILE, sql:@FILE
    /// and ticket:@FILE read the bytes from a file. perf is Arrow's benchmark protocol. With
    /// several, streams take them in turn.
    /// Default: the only dataset of the server, or the sample of the server that was started.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Vec<Source>,

    /// Query whose result is read from a Flight SQL server; can be given several times.
    ///
    /// The text, or @FILE. It is asked anew (GetFlightInfo) for each pass over its result, since
    /// servers may give tickets that are good for one reading alone: the figures have the time of
    /// the query in them, which get.info tells by itself. The text is part of reports.
    #[arg(long, value_name = "QUERY", value_parser = source::query, conflicts_with = "source")]
    pub(crate) sql: Vec<Source>,

    /// Places that the server names for its endpoints: which of them to read from.
    ///
    /// never reads all from TARGET, and says so in the report if the server names other places.
    /// same follows those on TARGET's host, always follows all; of several for one endpoint the
    /// first that can be reached is taken. A place is followed only if it is encrypted as TARGET
    /// is, and trusted as TARGET is: same shows the certificate of --tls-cert to no other host,
    /// always shows it to whichever server is named, and is refused where --tls-insecure verifies
    /// none of them. Places are looked at before the clock starts, for a minute at most.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Follow::Never,
          help_heading = "Target")]
    pub(crate) follow_locations: Follow,

    /// Rows of the sample, where a server is started without a TARGET.
    ///
    /// The sample is a table of taxi trips: 19 columns, about 140 bytes a row.
    #[arg(long, value_name = "N", default_value = "1M", value_parser = units::count)]
    pub(crate) sample_rows: u64,

    /// Records of each stream with --source perf.
    ///
    /// 32 bytes each. A stream that ends within the window is opened again.
    #[arg(long, value_name = "N", default_value = "10M", value_parser = units::count)]
    pub(crate) records_per_stream: u64,

    /// Rows of each batch that the server is asked for.
    ///
    /// Default: as the server sends them; 4096 with --source perf. With path: it needs a server
    /// that takes flight-server's requests.
    #[arg(long, alias = "records-per-batch", value_name = "N", value_parser = units::count)]
    pub(crate) batch_rows: Option<u64>,

    /// Largest message that the server is asked to send.
    ///
    /// Goes with --source path: and servers that take flight-server's requests. Default: as the
    /// server sends them.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub(crate) message_bytes: Option<u64>,

    /// Largest message that this client takes.
    ///
    /// A larger one ends its stream and counts as an error.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = units::bytes)]
    pub(crate) max_message_bytes: u64,

    /// How what arrived is checked.
    ///
    /// count compares rows and schema with what the server announced. checksum also reads the
    /// whole source once more on every stream, after the windows, and compares each batch with
    /// the XXH3-64 that a flight-server sends on request. none checks nothing beyond decoding.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Verify::Count)]
    pub(crate) verify: Verify,
}

/// Which of the places that a server names are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Follow {
    Never,
    Same,
    Always,
}

impl Follow {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Same => "same",
            Self::Always => "always",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verify {
    None,
    Count,
    Checksum,
}
