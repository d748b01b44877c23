//! The options of `compare`.

use clap::{Args, ValueEnum};

use super::{FailIfArgs, JudgeArgs, RunsArgs};

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct CompareArgs {
    /// The runs: last, last~1, ids or their beginnings, baselines' names, or files.
    ///
    /// The first is the base, and each of the others is compared with it.
    #[arg(value_name = "RUN", num_args = 2.., required = true)]
    pub(crate) run: Vec<String>,

    #[command(flatten)]
    pub(crate) fail_if: FailIfArgs,

    #[command(flatten)]
    pub(crate) judge: JudgeArgs,

    /// Form of the comparison on stdout.
    ///
    /// text is for people, md is a table for a comment, json is a document flight-bench.compare/1.
    #[arg(short = 'o', long, value_name = "FORM", value_enum,
          default_value_t = CompareFormat::Text, help_heading = "Output")]
    pub(crate) format: CompareFormat,

    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    Text,
    Json,
    Md,
}
