//! The options of `get`.

use clap::{Args, ValueEnum};

use super::source::Source;
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
    /// What to read: path:a/b, cmd:TEXT, ticket:TEXT or perf; can be given several times.
    ///
    /// path: and cmd: ask GetFlightInfo with a PATH or a CMD descriptor and read all endpoints it
    /// names. ticket: goes to DoGet as it is. cmd:@FILE and ticket:@FILE read the bytes from a
    /// file. perf is Arrow's benchmark protocol. With several, streams take them in turn.
    /// Default: the only dataset of the server, or the sample of the server that was started.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Vec<Source>,

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
    #[arg(long, value_name = "N", value_parser = units::count)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verify {
    None,
    Count,
    Checksum,
}
