//! Options about what is printed, and where.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::RunsArgs;

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Form of the report on stdout.
    ///
    /// text is for people. json is one document, also when the run fails midway; its schema is
    /// docs/flight-bench.run.schema.json. arrow prints the lines of Arrow's own benchmark with its
    /// definitions (MB/s there are MiB/s).
    #[arg(short = 'o', long, value_name = "FORM", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// File that also gets the report; can be given several times.
    ///
    /// The form follows the name: .json or .txt. It is written whole or not at all.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Vec<PathBuf>,

    /// Say what would be measured, and how long it would take; measure nothing.
    ///
    /// Nothing is started, and no server is asked.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print the options of this run as a file for --config; measure nothing.
    ///
    /// Flags, variables of the environment and --config together, and the defaults for the rest.
    #[arg(long)]
    pub(crate) print_config: bool,

    /// Do not keep the run on this machine.
    ///
    /// Otherwise 'flight-bench report' can tell it again, and 'flight-bench compare' can compare it.
    #[arg(long)]
    pub(crate) no_save: bool,

    #[command(flatten)]
    pub(crate) runs: RunsArgs,

    /// Live display of a running measurement.
    ///
    /// auto draws on a terminal and prints one line a repeat elsewhere, both on stderr.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Progress::Auto)]
    pub(crate) progress: Progress,

    /// Print nothing on stderr but errors.
    ///
    /// Results still go to stdout.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Arrow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    Auto,
    None,
}
