//! The options of `exchange`.

use std::path::PathBuf;

use clap::Args;

use super::pace::PaceArgs;
use super::source::Source;
use super::{CheckArgs, Http2Args, LoadArgs, OutputArgs, TargetArgs, TlsArgs, units};

#[derive(Debug, Args)]
pub(crate) struct ExchangeArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    #[command(flatten)]
    pub(crate) work: ExchangeWorkArgs,

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
pub(crate) struct ExchangeWorkArgs {
    /// Descriptor that the exchange begins with: path:a/b or cmd:TEXT.
    ///
    /// It must name an exchange that sends every batch back, with its app_metadata. A flight-server
    /// that was started with --perf does so whatever the descriptor.
    #[arg(long, value_name = "SOURCE", default_value = "cmd:echo")]
    pub(crate) source: Source,

    /// Feather, IPC stream or Parquet file whose batches are sent.
    ///
    /// It is read into memory before the clock starts. Default: generated batches of four int64
    /// columns, as in Arrow's own benchmark.
    #[arg(long, value_name = "FILE")]
    pub(crate) data_file: Option<PathBuf>,

    /// Rows of each batch.
    ///
    /// Default: 4096 for generated batches; as they are in --data-file, which is sliced otherwise.
    #[arg(long, value_name = "N", value_parser = units::count)]
    pub(crate) batch_rows: Option<u64>,

    /// Distinct batches that are generated and sent in turn.
    ///
    /// One batch alone would stay in the processor's cache and flatter every copy.
    #[arg(long, value_name = "N", default_value = "16", value_parser = units::count,
          conflicts_with = "data_file")]
    pub(crate) pool: u64,

    /// Seed of the generated batches.
    ///
    /// The same seed gives the same bytes.
    #[arg(long, value_name = "N", default_value = "42", conflicts_with = "data_file")]
    pub(crate) seed: u64,

    /// Batches of a stream that may be on their way there and back.
    ///
    /// 1 measures the round trip alone. Default: what fits 16 MiB, between 4 and 64.
    #[arg(long, value_name = "N", value_parser = units::count)]
    pub(crate) inflight: Option<u64>,

    /// Largest message that is sent.
    ///
    /// Larger batches are split, at no cost of copying; a batch has come back when its last message
    /// has.
    #[arg(long, value_name = "SIZE", default_value = "3500KiB", value_parser = units::bytes)]
    pub(crate) message_bytes: u64,
}
