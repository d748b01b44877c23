//! Options that turn figures into an exit code.

use clap::Args;
use flight_stats::Band;

use super::units;
use crate::threshold::Threshold;

#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct FailIfArgs {
    /// Fails the run, with exit code 3, if this holds; can be given several times.
    ///
    /// METRIC OP VALUE, such as 'put.ack.p99 > 5ms' or 'get.bytes_per_s < 2GB/s'. 'errors > 0' is told, but
    /// calls that fail give exit code 1 in any case.
    /// 'METRIC vs base OP N%' is the change from the base, such as
    /// 'get.bytes_per_s vs base < -3%'. OP is <, <=, > or >=. It holds only if the whole 95 %
    /// interval over repeats is on that side. Several against the base are corrected for each other
    /// (Holm), so that of many one fails by chance as often as one alone. What was not measured fails.
    #[arg(long, value_name = "EXPR")]
    pub(crate) fail_if: Vec<Threshold>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct JudgeArgs {
    /// Differences up to this are none.
    ///
    /// Of throughput and the middle of latencies; of p99, 10 % where this is less. Default 5%: runs
    /// that were not interleaved differ by what the machine did meanwhile. What lies within the noise
    /// floor that 'flight-bench doctor --aa' found here in the last 30 days is inconclusive.
    #[arg(long, value_name = "N%", value_parser = units::band)]
    pub(crate) equivalence: Option<Band>,

    /// Part of the configuration in which the runs may differ; can be given several times.
    ///
    /// As the error about different configurations names it, such as streams. Otherwise runs that
    /// did different things are not compared.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_diff: Vec<String>,

    /// Exit with code 4 if the figures are not to be trusted, or the verdict is inconclusive.
    ///
    /// Not to be trusted: the client or other processes limited, the server was saturated, the rate
    /// was not steady or stood still, repeats differ much, the hypervisor or a quota took time,
    /// repeats were short. Otherwise only a regression is told by the exit code. A debug build of this
    /// program that is to measure ends so at once.
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) fail_if: FailIfArgs,

    /// Compares the run with this one: last, an id, a baseline's name, or a file.
    ///
    /// As 'flight-bench compare' does; the table follows the report. A throughput that regressed
    /// gives exit code 3. Needs --repeats 4 or more. last is the run before this one.
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: Option<String>,

    #[command(flatten)]
    pub(crate) judge: JudgeArgs,

    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct BuildArgs {
    /// Lets --strict take the figures of a debug build of this program.
    ///
    /// It refuses them otherwise, with exit code 4 and before anything is measured: they are not
    /// those of a release. Without --strict a debug build only warns.
    #[arg(long)]
    pub(crate) allow_debug: bool,
}
