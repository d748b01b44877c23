//! The options of `mixed`.

use clap::Args;

use super::source::Source;
use super::{
    CheckArgs, Http2Args, LoadArgs, OutputArgs, PaceArgs, TargetArgs, TlsArgs, Verify, units,
};
use crate::workload::Mix;

#[derive(Debug, Args)]
pub(crate) struct MixedArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    #[command(flatten)]
    pub(crate) work: MixedWorkArgs,

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
pub(crate) struct MixedWorkArgs {
    /// Kinds of operations with their weights: get, put, exchange, info, schema, list.
    ///
    /// Weights are shares of operations, not of time or bytes: each stream draws its next operation
    /// by them. get is one whole DoGet of --source, put one whole upload of --upload-bytes to the
    /// server's answer, exchange one DoExchange of as many bytes, info, schema and list one call.
    /// With --batches each stream does so many operations; --rate paces operations.
    #[arg(long, value_name = "MIX", default_value = "get=70,put=20,info=10")]
    pub(crate) mix: Mix,

    /// What get reads and info and schema ask about: path:a/b or cmd:TEXT.
    ///
    /// Default: the only dataset of the server, or the sample of the server that was started.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<Source>,

    /// Rows of the sample, where a server is started without a TARGET.
    ///
    /// The sample is a table of taxi trips: 19 columns, about 140 bytes a row. A get reads all of
    /// it, so that a larger one makes for longer operations.
    #[arg(long, value_name = "N", default_value = "50k", value_parser = units::count)]
    pub(crate) sample_rows: u64,

    /// Bytes of one upload of put, and of one call of exchange.
    ///
    /// The last batch may go beyond. Uploads of a stream replace each other; they are deleted in the
    /// end, where the server can.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub(crate) upload_bytes: Option<u64>,

    /// Rows of each batch of put and exchange, of four int64 columns.
    ///
    /// Default: 4096, as in Arrow's own benchmark.
    #[arg(long, value_name = "N", value_parser = units::count)]
    pub(crate) batch_rows: Option<u64>,

    /// Batches of put and exchange that may be under way on a stream.
    ///
    /// As for these commands. Default: what fits 16 MiB, between 4 and 64.
    #[arg(long, value_name = "N", value_parser = units::count)]
    pub(crate) inflight: Option<u64>,

    /// Seed of the order of operations and of the generated batches.
    ///
    /// The same seed gives each stream the same operations in the same order, in every repeat.
    #[arg(long, value_name = "N", default_value = "42")]
    pub(crate) seed: u64,

    /// How what was read and stored is checked: none or count.
    ///
    /// count compares rows and schema with what the server announced, and the rows that it reports
    /// after each upload with those sent. none checks nothing beyond decoding and the server's answer.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Verify::Count)]
    pub(crate) verify: Verify,
}
