//! The options of `ab`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use flight_stats::Band;

use super::{BuildArgs, CompareFormat, KeepArgs, units};

#[derive(Debug, Args)]
pub(crate) struct AbArgs {
    #[command(flatten)]
    pub(crate) sides: AbSidesArgs,

    #[command(flatten)]
    pub(crate) design: AbDesignArgs,

    #[command(flatten)]
    pub(crate) output: AbOutputArgs,

    /// What both sides do: get, put, exchange, unary, tls or mixed, with options.
    ///
    /// Options of ab itself stand before it. --repeats, --format, --out and the checks of the
    /// command have no place here: a run is a repeat, and ab reports and judges.
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        help_heading = "Workload"
    )]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sides")]
pub(crate) struct AbSidesArgs {
    /// Options of the base alone, as one word with spaces in it.
    ///
    /// They are added to those of COMMAND. Spaces separate them; there is no quoting within.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) a: Option<String>,

    /// Options of the other side alone, as one word with spaces in it.
    ///
    /// As --a, for what is compared with it.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) b: Option<String>,

    /// The flight-server program of the base.
    ///
    /// It is started anew for every run. Default: as COMMAND says.
    #[arg(long, value_name = "FILE")]
    pub(crate) a_bin: Option<PathBuf>,

    /// The flight-server program of the other side.
    ///
    /// It is started anew for every run. Default: as COMMAND says.
    #[arg(long, value_name = "FILE")]
    pub(crate) b_bin: Option<PathBuf>,

    /// Running server that the base is measured against.
    ///
    /// As the TARGET of COMMAND. What it keeps between runs is not reset.
    #[arg(long, value_name = "URI", conflicts_with = "a_bin")]
    pub(crate) a_target: Option<String>,

    /// Running server that the other side is measured against.
    ///
    /// As the TARGET of COMMAND. What it keeps between runs is not reset.
    #[arg(long, value_name = "URI", conflicts_with = "b_bin")]
    pub(crate) b_target: Option<String>,

    /// Command line that is the base, in place of a COMMAND: any program.
    ///
    /// Run by sh -c, with nothing on stdin and its stdout thrown away. What is compared is how long
    /// it takes. A command that fails ends ab.
    #[arg(long, value_name = "CMD", allow_hyphen_values = true,
          conflicts_with_all = ["a", "b", "a_bin", "b_bin", "a_target", "b_target", "command"])]
    pub(crate) a_run: Option<String>,

    /// Command line that is the other side; goes with --a-run.
    ///
    /// Run as that is.
    #[arg(long, value_name = "CMD", allow_hyphen_values = true, requires = "a_run")]
    pub(crate) b_run: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct AbDesignArgs {
    /// How often both sides are measured: one after the other, each first in turn.
    ///
    /// Below 6 pairs nothing can be settled at 95 %.
    #[arg(long, value_name = "N", default_value = "10", value_parser = units::count)]
    pub(crate) pairs: u64,

    /// Differences up to this are none.
    ///
    /// Of throughput and of the time of a command; of the middle of latencies 5 % and of p99 10 %
    /// where this is less. A difference within the noise floor that 'flight-bench doctor --aa' found
    /// on this machine in the last 30 days is inconclusive whatever stands here.
    #[arg(long, value_name = "N%", default_value = "3%", value_parser = units::band)]
    pub(crate) equivalence: Band,

    /// Measures the base against itself: how far equal sides differ on this machine.
    ///
    /// 'flight-bench doctor --aa' does so for DoGet, and has what it finds taken into account. What else is given for the other side is refused. Never ends with exit code 3.
    #[arg(long, conflicts_with_all = ["b", "b_bin", "b_target", "b_run"])]
    pub(crate) aa: bool,

    /// Exit with code 4 if the verdict on the throughput is inconclusive.
    ///
    /// Otherwise only a regression is told by the exit code. A debug build of this program ends so at
    /// once, unless --allow-debug is given.
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct AbOutputArgs {
    /// Form of the comparison on stdout.
    ///
    /// text is for people, md is a table for a comment on a change, html a page that draws every
    /// pair and holds what it shows, json a document; docs/flight-bench.ab.schema.json describes it.
    #[arg(short = 'o', long, value_name = "FORM", value_enum, default_value_t = CompareFormat::Text)]
    pub(crate) format: CompareFormat,

    /// File that also gets the comparison; can be given several times.
    ///
    /// The form follows the name: .txt, .json, .md or .html. The file is written whole or not at all.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) keep: KeepArgs,

    /// Print nothing on stderr but errors.
    ///
    /// Otherwise there is a line for every pair.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
