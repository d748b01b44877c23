//! The options of `compare`, and the forms of any comparison.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FailIfArgs, Format, JudgeArgs, RunsArgs};

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
    /// text is for people, md is a table for a comment on a change, html a page with charts that
    /// holds what it shows, json a document; docs/flight-bench.compare.schema.json describes it.
    #[arg(short = 'o', long, value_name = "FORM", value_enum,
          default_value_t = CompareFormat::Text, help_heading = "Output")]
    pub(crate) format: CompareFormat,

    /// File that also gets the comparison; can be given several times.
    ///
    /// The form follows the name: .txt, .json, .md or .html. The file is written whole or not at all.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    Text,
    Json,
    Md,
    Html,
}

impl From<CompareFormat> for Format {
    fn from(format: CompareFormat) -> Self {
        match format {
            CompareFormat::Text => Self::Text,
            CompareFormat::Json => Self::Json,
            CompareFormat::Md => Self::Md,
            CompareFormat::Html => Self::Html,
        }
    }
}
