//! The options of `put`.

use std::path::PathBuf;

use clap::Args;

use super::source::Source;
use super::{
    CheckArgs, Http2Args, LoadArgs, OutputArgs, PaceArgs, TargetArgs, TlsArgs, Verify, units,
};

#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    #[command(flatten)]
    pub(crate) work: PutWorkArgs,

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
pub(crate) struct PutWorkArgs {
    /// Where to write: path:a/b, cmd:TEXT or perf.
    ///
    /// Default: datasets of this run alone, flight-bench/RUN/STREAM, which are deleted afterwards
    /// where the server can. With a --source all streams write there and nothing is deleted.
    /// path: creates a dataset, so that a server may refuse the second upload; a flight-server
    /// replaces it with cmd:{"dataset":"a/b","mode":"replace"}.
    /// perf is Arrow's benchmark protocol, whose server keeps nothing.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<Source>,

    /// Feather, IPC stream or Parquet file to upload.
    ///
    /// It is read into memory before the clock starts. Default: generated batches of four int64
    /// columns, as in Arrow's own benchmark.
    #[arg(long, value_name = "FILE")]
    pub(crate) data_file: Option<PathBuf>,

    /// Rows of each batch.
    ///
    /// Default: 4096 for generated batches; as they are in --data-file, which is sliced otherwise.
    #[arg(long, alias = "records-per-batch", value_name = "N", value_parser = units::count)]
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

    /// Batches of a stream that may wait for their acknowledgement.
    ///
    /// A stream that has so many in flight waits. More lengthen the acknowledgement's round trip by
    /// the queue; fewer cost throughput. Default: what fits 16 MiB, between 4 and 64.
    #[arg(long, value_name = "N", value_parser = units::count)]
    pub(crate) inflight: Option<u64>,

    /// Bytes after which an upload is committed and the next one begins.
    ///
    /// Batches are sent in turn until an upload holds so many bytes; the next one replaces it. With
    /// --passes, an upload is the whole data instead.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub(crate) upload_bytes: Option<u64>,

    /// Largest message that is sent.
    ///
    /// Larger batches are split, at no cost of copying, and each part is acknowledged. The default
    /// stays below the 4 MiB that many servers take.
    #[arg(long, value_name = "SIZE", default_value = "3500KiB", value_parser = units::bytes)]
    pub(crate) message_bytes: u64,

    /// How what was stored is checked.
    ///
    /// count compares the rows that the server reports after each upload. checksum also uploads
    /// the data once more on every stream, after the windows, reads it back and compares every
    /// value. none checks nothing beyond the server's answer.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Verify::Count)]
    pub(crate) verify: Verify,
}
