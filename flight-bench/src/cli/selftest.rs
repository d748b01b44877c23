//! The options of `selftest`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SelftestArgs {
    /// Also tries this program against real processes, for about three minutes.
    ///
    /// Starts flight-servers, stops and kills them, and starves a client of its core: the reports of
    /// flight-bench must tell what was done. On a machine that does nothing else meanwhile.
    #[arg(long, help_heading = "Experiments")]
    pub(crate) long: bool,

    /// The flight-server program that --long starts.
    ///
    /// Default: the file named flight-server beside this program.
    #[arg(long, value_name = "FILE", help_heading = "Experiments")]
    pub(crate) server_bin: Option<PathBuf>,
}
