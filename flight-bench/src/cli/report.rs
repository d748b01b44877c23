//! The options of the commands about saved runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Format, SemanticsArgs};

/// Where runs are kept.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct RunsArgs {
    /// Folder in which runs are kept.
    ///
    /// Default: $XDG_STATE_HOME/flight-bench, or ~/.local/state/flight-bench. The last 500 runs,
    /// ladders, sweeps and pairs of ab are kept, and runs that were made a baseline.
    #[arg(long, value_name = "DIR")]
    pub(crate) runs_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportArgs {
    /// The run: last, last~1, an id or its beginning, a baseline's name, or a file.
    ///
    /// last is whatever was measured last, by ladder, ab and sweep too. Files are those that
    /// --out FILE.json and --out FILE.html wrote, also those of compare; a page holds what it shows.
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) run: String,

    /// Form of the report on stdout.
    ///
    /// As for the measuring commands. Comparisons have text, json, md and html; sweeps csv as well.
    #[arg(short = 'o', long, value_name = "FORM", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) semantics: SemanticsArgs,

    /// File that also gets the report; can be given several times.
    ///
    /// The form follows the name, as for the measuring commands.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) command: BaselineCommand,

    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Keeps a run for good, under a name.
    Save {
        /// Name of the baseline: letters, digits, '-', '_' and '.'.
        ///
        /// A baseline of that name is replaced.
        #[arg(value_name = "NAME", help_heading = "Output")]
        name: String,

        /// The run: last, last~1, an id or its beginning, or a file.
        ///
        /// It must have been measured to its end.
        #[arg(value_name = "RUN", default_value = "last", help_heading = "Output")]
        run: String,
    },
    /// Lists the baselines.
    List,
    /// Removes a baseline.
    Rm {
        /// Name of the baseline that is removed.
        ///
        /// As 'flight-bench baseline list' shows it.
        #[arg(value_name = "NAME", help_heading = "Output")]
        name: String,
    },
}
