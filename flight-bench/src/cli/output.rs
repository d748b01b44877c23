//! Options about what is printed, and where.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::RunsArgs;

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Form of the report on stdout.
    ///
    /// text is for people. json is one document, also when the run fails midway; its schema is
    /// docs/flight-bench.run.schema.json. ndjson has a line for each repeat and one for the whole
    /// run, csv one for each value; the order of its columns never changes. md is for a comment on a
    /// change, html a page with charts that holds its run. arrow prints the lines of Arrow's own
    /// benchmark, for scripts that read them.
    #[arg(short = 'o', long, value_name = "FORM", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) semantics: SemanticsArgs,

    /// File that also gets the report; can be given several times.
    ///
    /// The form follows the name: .txt, .json, .ndjson, .csv, .md or .html. The file is written
    /// whole or not at all.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Vec<PathBuf>,

    /// Say what would be measured, and how long it would take; measure nothing.
    ///
    /// Nothing is started, and no server is asked.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print the options of this run as a file for --config; measure nothing.
    ///
    /// Flags, variables of the environment and --config together, and the defaults for the rest; as
    /// they were written, so that a ticket belongs into a file, as ticket:@FILE.
    #[arg(long)]
    pub(crate) print_config: bool,

    #[command(flatten)]
    pub(crate) keep: KeepArgs,

    /// Live display of a running measurement.
    ///
    /// On stderr. auto is bar on a terminal and plain elsewhere. bar redraws one line, and is silent
    /// without a terminal; plain prints a line a repeat, and every 10 s within one; json prints an
    /// object a second, a repeat and a step, and at the end the summary in place of warnings and of
    /// the reason of a failure, whatever --quiet says; none prints none of it. SIGUSR1 asks for a line
    /// at any time.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Progress::Auto)]
    pub(crate) progress: Progress,

    /// Print nothing on stderr but errors.
    ///
    /// Results still go to stdout.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// By whose definitions the lines of `--format arrow` are filled.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SemanticsArgs {
    /// Whose definitions the figures of --format arrow follow: this program's or Arrow's.
    ///
    /// own: MB are 10^6 bytes, and time is that of the window, in which all streams run. arrow: MB
    /// are 2^20 bytes, and time runs from the question for the plan (GetFlightInfo, asked once), and
    /// for each repeat from its first connection, to the end of its last stream; a run must end by
    /// itself for that (--batches or --passes). Arrow's program also has the making of its batches
    /// in its time; here they are made before. In both, latency is how long a client was blocked in
    /// reading or writing a batch.
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t = Semantics::Own)]
    pub(crate) semantics: Semantics,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Semantics {
    Own,
    Arrow,
}

/// Whether what was measured is kept, and where.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct KeepArgs {
    /// Do not keep what was measured on this machine.
    ///
    /// Otherwise 'flight-bench report' can tell it again, and 'flight-bench compare' can compare the
    /// runs of single commands.
    #[arg(long)]
    pub(crate) no_save: bool,

    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Ndjson,
    Csv,
    Md,
    Html,
    Arrow,
    /// Its lines by its definitions: both options in one.
    #[value(skip)]
    ArrowsOwn,
}

impl Format {
    /// The form that both options ask for.
    ///
    /// # Errors
    ///
    /// Definitions for a form that has but one: a sentence that says so.
    pub(crate) fn with(self, semantics: Semantics) -> Result<Self, &'static str> {
        match (self, semantics) {
            (Self::Arrow, Semantics::Arrow) => Ok(Self::ArrowsOwn),
            (_, Semantics::Arrow) => Err(
                "--semantics arrow is for the lines of Arrow's benchmark; give --format arrow too",
            ),
            (format, Semantics::Own) => Ok(format),
        }
    }

    /// The form that a file's name says.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Self::Text),
            "json" => Some(Self::Json),
            "ndjson" => Some(Self::Ndjson),
            "csv" => Some(Self::Csv),
            "md" => Some(Self::Md),
            "html" => Some(Self::Html),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    Auto,
    Bar,
    Plain,
    Json,
    None,
}
