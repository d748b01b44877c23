//! The options of the commands about this machine and this program.

use clap::{Args, ValueEnum};
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Form of what is found.
    ///
    /// text is for people, json is one document.
    #[arg(short = 'o', long, value_name = "FORM", value_enum, default_value_t = DoctorFormat::Text,
          help_heading = "Output")]
    pub(crate) format: DoctorFormat,
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
