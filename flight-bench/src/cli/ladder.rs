//! The options of `ladder`, and of the process that it starts as its own other end.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{OutputArgs, units};

#[derive(Debug, Args)]
pub(crate) struct LadderArgs {
    #[command(flatten)]
    pub(crate) target: LadderTargetArgs,

    #[command(flatten)]
    pub(crate) work: LadderWorkArgs,

    #[command(flatten)]
    pub(crate) load: LadderLoadArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct LadderTargetArgs {
    /// The flight-server program that is started for the Flight rungs.
    ///
    /// Default: the file named flight-server beside this program.
    #[arg(long, value_name = "FILE")]
    pub(crate) server_bin: Option<PathBuf>,

    /// Argument that flight-server is started with, besides those of the ladder.
    ///
    /// May be given several times; one that begins with a dash follows an equals sign.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) server_arg: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct LadderWorkArgs {
    /// Rows of the sample that every rung moves.
    ///
    /// The sample is a table of taxi trips: 19 columns, about 140 bytes a row. It should be larger
    /// than the caches of the processor, or every copy is flattered.
    #[arg(long, value_name = "N", default_value = "1M", value_parser = units::count)]
    pub(crate) sample_rows: u64,

    /// Largest message.
    ///
    /// Every rung moves messages of the sizes that Flight sends.
    #[arg(long, value_name = "SIZE", default_value = "3500KiB", value_parser = units::bytes)]
    pub(crate) message_bytes: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LadderLoadArgs {
    /// Length of each measured window.
    ///
    /// There is one for each rung and round.
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = units::duration)]
    pub(crate) duration: Duration,

    /// Time that a rung runs before its window opens.
    ///
    /// It keeps running into the window.
    #[arg(short, long, value_name = "TIME", default_value = "300ms",
          value_parser = units::duration)]
    pub(crate) warmup: Duration,

    /// Rounds; each measures every rung once.
    ///
    /// The round is the unit of the 95 % intervals.
    #[arg(long, value_name = "N", default_value = "5", value_parser = units::count)]
    pub(crate) repeats: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct LadderServeArgs {
    /// File whose batches are served, in the messages that Flight would send.
    ///
    /// Feather, IPC stream or Parquet. Its messages stay in memory.
    #[arg(long, value_name = "FILE")]
    pub(crate) data_file: PathBuf,

    /// Largest message.
    ///
    /// As for the server that is compared.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub(crate) message_bytes: u64,

    /// Certificate chain (PEM) of the TLS rung.
    ///
    /// Made by the ladder for the run.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: PathBuf,

    /// Private key (PEM) of --tls-cert.
    ///
    /// PKCS#8, PKCS#1 or SEC1, not encrypted.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: PathBuf,
}
