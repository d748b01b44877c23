//! The options of `quick`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{FailIfArgs, OutputArgs, TargetArgs, TlsArgs, units};

#[derive(Debug, Args)]
pub(crate) struct QuickArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    #[command(flatten)]
    pub(crate) work: QuickWorkArgs,

    #[command(flatten)]
    pub(crate) load: QuickLoadArgs,

    #[command(flatten)]
    pub(crate) check: FailIfArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct QuickWorkArgs {
    /// Folder with datasets that the started server serves.
    ///
    /// Default: a temporary folder with a sample. Uploads of the run go below flight-bench/ in it
    /// and are deleted afterwards. Needs --dataset.
    #[arg(long, value_name = "DIR", requires = "dataset")]
    pub(crate) data: Option<PathBuf>,

    /// Dataset that is read and uploaded.
    ///
    /// With --data, its file is DIR/NAME.feather or DIR/NAME.parquet. With a TARGET, a dataset of
    /// that server; default: its only one.
    #[arg(long, value_name = "NAME")]
    pub(crate) dataset: Option<String>,

    /// Folder with the certificates of the started server.
    ///
    /// As 'flight-server certs' writes it: ca.pem, server-ec.pem and .key, server-rsa.pem and
    /// .key. Default: made for the run, in a temporary folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) certs: Option<PathBuf>,

    /// Rows of the sample, where none is given by --data.
    ///
    /// The sample is a table of taxi trips: 19 columns, about 140 bytes a row.
    #[arg(long, value_name = "N", default_value = "1M", value_parser = units::count)]
    pub(crate) sample_rows: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct QuickLoadArgs {
    /// Streams that run at the same time, each on a connection of its own.
    ///
    /// Each reads or writes as fast as it can.
    #[arg(short, long, value_name = "N", default_value = "4", value_parser = units::count)]
    pub(crate) streams: u64,

    /// Worker threads of this client.
    ///
    /// Default: half of the processors, at most one for each stream, at least 1.
    #[arg(short, long, value_name = "N", value_parser = units::count)]
    pub(crate) threads: Option<u64>,

    /// Length of each measured window.
    ///
    /// There is one for each row and round.
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = units::duration)]
    pub(crate) duration: Duration,

    /// Time that streams run before a window opens.
    ///
    /// They keep running into the window.
    #[arg(short, long, value_name = "TIME", default_value = "300ms",
          value_parser = units::duration)]
    pub(crate) warmup: Duration,

    /// Rounds; each measures every row once.
    ///
    /// The round is the unit of the 95 % intervals.
    #[arg(long, value_name = "N", default_value = "5", value_parser = units::count)]
    pub(crate) repeats: u64,
}
