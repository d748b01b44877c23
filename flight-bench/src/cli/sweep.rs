//! The options of `sweep`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Format, KeepArgs, units};
use crate::figure::Figure;
use crate::sweep::Vary;
use crate::threshold::Threshold;

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) design: SweepDesignArgs,

    #[command(flatten)]
    pub(crate) output: SweepOutputArgs,

    /// What is measured: get, put, exchange, unary or tls, with its options.
    ///
    /// Options of sweep itself stand before it. --repeats, --format, --out and the checks of the
    /// command have no place here: a run is a repeat, and sweep reports and judges.
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        help_heading = "Workload"
    )]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sweep")]
pub(crate) struct SweepDesignArgs {
    /// Option of the command and its values: NAME=VALUES; can be given twice.
    ///
    /// VALUES is a list such as 1,2,4,8, a range of factors such as 256..64k:x4, or one of steps such
    /// as 10%..100%:10%; none goes beyond its end. With two parameters every pair is measured. Of
    /// rate, percentages are of a closed loop that is measured once, at the start.
    #[arg(long, value_name = "NAME=VALUES")]
    pub(crate) vary: Vec<Vary>,

    /// Searches the highest rate that keeps this promise, in place of --vary.
    ///
    /// METRIC OP VALUE, such as 'put.ack.p99 <= 5ms', of any command with --rate. From what a
    /// closed loop reaches down by halves, then between the last two rates until they are 5 % apart;
    /// then --rounds repeats confirm what was found, each of which has to hold. A rate that is not
    /// taken in does not hold. If it is not confirmed, up to three lower rates are
    /// tried. Exit code 3 if no rate does.
    #[arg(long, value_name = "EXPR", conflicts_with_all = ["vary", "metric"])]
    pub(crate) slo: Option<Threshold>,

    /// Figure by which settings are judged, such as put.ack.p99.
    ///
    /// Any that the command measures. Default: the throughput; where rate varies, whether a rate is
    /// held (all that is offered is taken in, in every round), and what it does to the p99 of the
    /// response time.
    #[arg(long, value_name = "METRIC", value_parser = Figure::parse)]
    pub(crate) metric: Option<Figure>,

    /// Rounds; each measures every setting once.
    ///
    /// The round is the unit of the 95 % intervals. With --slo, the repeats that confirm.
    #[arg(long, value_name = "N", default_value = "5", value_parser = units::count)]
    pub(crate) rounds: u64,

    /// Seed of the order in which a round measures the settings.
    ///
    /// Every other round is the mirror of the one before it.
    #[arg(long, value_name = "N", default_value = "42", value_parser = units::count)]
    pub(crate) order_seed: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SweepOutputArgs {
    /// Form of the report on stdout.
    ///
    /// text is for people. json is one document, also when the sweep ends early; its schema is
    /// docs/flight-bench.sweep.schema.json. csv has a line for each value, md is for a comment on a
    /// change, html a page with charts that holds the document.
    #[arg(short = 'o', long, value_name = "FORM", value_enum, default_value_t = SweepFormat::Text)]
    pub(crate) format: SweepFormat,

    /// File that also gets the report; can be given several times.
    ///
    /// The form follows the name: .txt, .json, .csv, .md or .html. The file is written whole or not
    /// at all.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Vec<PathBuf>,

    /// Say what would be measured, and how long it would take; measure nothing.
    ///
    /// Nothing is started, and no server is asked.
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) keep: KeepArgs,

    /// Print nothing on stderr but errors.
    ///
    /// Otherwise there is a line for every measurement.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SweepFormat {
    Text,
    Json,
    Csv,
    Md,
    Html,
}

impl From<SweepFormat> for Format {
    fn from(format: SweepFormat) -> Self {
        match format {
            SweepFormat::Text => Self::Text,
            SweepFormat::Json => Self::Json,
            SweepFormat::Csv => Self::Csv,
            SweepFormat::Md => Self::Md,
            SweepFormat::Html => Self::Html,
        }
    }
}
