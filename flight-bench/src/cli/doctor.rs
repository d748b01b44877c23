//! The options of the commands about this machine and this program.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::{RunsArgs, units};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Form of what is found.
    ///
    /// text is for people, json is one document.
    #[arg(short = 'o', long, value_name = "FORM", value_enum, default_value_t = DoctorFormat::Text,
          help_heading = "Output")]
    pub(crate) format: DoctorFormat,

    /// Also measures DoGet against itself: below which differences this machine shows noise.
    ///
    /// Two flight-servers that are the same, in ten pairs, A B B A, as 'flight-bench ab --aa' does,
    /// within --max-time: 60 s unless told otherwise. What is found is kept for 30 days, and ab,
    /// compare and --baseline call no difference within it improved or regressed.
    #[arg(long, help_heading = "Noise floor")]
    pub(crate) aa: bool,

    /// Time that --aa may take.
    ///
    /// Windows are as long as there is room for ten pairs: 1 s in a minute. Longer windows show
    /// smaller differences. Below six pairs there is no floor.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration,
          help_heading = "Noise floor")]
    pub(crate) max_time: Duration,

    /// The flight-server program that --aa starts.
    ///
    /// Default: the file named flight-server beside this program.
    #[arg(long, value_name = "FILE", help_heading = "Noise floor")]
    pub(crate) server_bin: Option<PathBuf>,

    /// Print nothing on stderr but errors.
    ///
    /// Otherwise --aa has a line for every pair.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    Text,
    Json,
}

impl DoctorFormat {
    pub(crate) fn is_json(self) -> bool {
        self == Self::Json
    }
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell whose completions are printed.
    ///
    /// For bash: flight-bench completions bash > ~/.local/share/bash-completion/completions/flight-bench
    #[arg(value_name = "SHELL", value_enum, help_heading = "Output")]
    pub(crate) shell: Shell,
}
