//! One side of a comparison: what it is called, and one measurement of it.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, anyhow};
use tokio::process::Command;

use crate::cli::AbSidesArgs;
use crate::config::Config;
use crate::exit::Stop;
use crate::figure::Figure;
use crate::load::Interrupt;
use crate::report::{RunRecord, Warning};
use crate::run;
use crate::turn::{self, Series};

/// One measurement of a side.
pub(super) struct Measurement {
    /// The figures, the throughput first.
    pub(super) values: Vec<(Figure, f64)>,
    pub(super) warnings: Vec<Warning>,
}

pub(super) enum Side {
    /// A run of this program, of one repeat, by the words that differ from the other side.
    Bench { config: Box<Config>, label: String },
    /// A command of the user's.
    Command(String),
}

/// Both sides; with `equal`, the base twice.
///
/// # Errors
///
/// There is no COMMAND, a side's words are wrong, or nothing tells the sides apart.
pub(super) fn both(
    args: AbSidesArgs,
    command: &[OsString],
    equal: bool,
) -> Result<[Side; 2], Stop> {
    if let Some(base) = args.a_run {
        let other = if equal { Some(base.clone()) } else { args.b_run };
        let other = other.ok_or_else(|| {
            Stop::usage("--a-run has nothing to be compared with; give --b-run CMD, or --aa")
        })?;
        return Ok([Side::Command(base), Side::Command(other)]);
    }
    Series::Ab.check_command(command)?;
    let base = words(args.a, args.a_bin, args.a_target);
    let other = if equal { base.clone() } else { words(args.b, args.b_bin, args.b_target) };
    for side in [&base, &other] {
        Series::Ab.check_options(&[command, side].concat())?;
    }
    if !equal && base == other {
        return Err(Stop::usage(
            "both sides are the same; tell them apart with --a and --b, --a-bin and --b-bin or \
             --a-target and --b-target, or measure the noise of this machine with --aa",
        ));
    }
    Ok([Side::bench("A", command, base)?, Side::bench("B", command, other)?])
}

/// A command twice, with flight-servers of this program, or of the one that lies beside this one.
///
/// # Errors
///
/// As for [`both`].
pub(super) fn equal(
    program: Option<std::path::PathBuf>,
    command: &[OsString],
) -> Result<[Side; 2], Stop> {
    let added = words(None, program, None);
    Ok([Side::bench("A", command, added.clone())?, Side::bench("B", command, added)?])
}

/// The words that one side adds to the command.
fn words(
    flags: Option<String>,
    program: Option<std::path::PathBuf>,
    target: Option<String>,
) -> Vec<OsString> {
    let flags = flags.unwrap_or_default();
    let mut words: Vec<OsString> = flags.split_whitespace().map(OsString::from).collect();
    if let Some(program) = program {
        words.extend(["--server-bin".into(), program.into_os_string()]);
    }
    words.extend(target.map(OsString::from));
    words
}

impl Side {
    fn bench(letter: &str, command: &[OsString], added: Vec<OsString>) -> Result<Self, Stop> {
        let label = turn::shown_line(&added);
        let config = turn::config_of(command.iter().cloned().chain(added))
            .map_err(|sentence| Stop::usage(format!("side {letter}: {sentence}")))?;
        let label =
            if label.is_empty() { turn::name(&config.work).to_owned() } else { label.join(" ") };
        Ok(Self::Bench { config: Box::new(config), label })
    }

    /// What a run of this side was told; a command has nothing of the kind.
    pub(super) fn record(&self) -> Option<RunRecord> {
        match self {
            Self::Bench { config, .. } => Some(run::run_record(config)),
            Self::Command(_) => None,
        }
    }

    pub(super) fn label(&self) -> String {
        match self {
            Self::Bench { label, .. } => label.clone(),
            Self::Command(command) => command.clone(),
        }
    }

    /// Measures the side once, as one of a pair: both sides of it draw alike.
    ///
    /// # Errors
    ///
    /// The run or the command failed, or the user broke it off.
    pub(super) async fn measure(
        &self,
        pair: usize,
        interrupt: &Interrupt,
    ) -> Result<Measurement, Stop> {
        match self {
            Self::Bench { config, .. } => {
                let results = turn::measure(config, pair, interrupt).await?;
                let values = turn::figures(&results)?;
                Ok(Measurement { values, warnings: results.warnings })
            }
            Self::Command(command) => tokio::select! {
                took = time(command) => {
                    let values = vec![(Figure::WALL_TIME, took?)];
                    Ok(Measurement { values, warnings: Vec::new() })
                }
                () = interrupt.wait() => Err(Stop::interrupted()),
            },
        }
    }
}

/// How long a command takes, in nanoseconds. What it writes to stderr is the user's to see.
async fn time(command: &str) -> Result<f64, Stop> {
    let started = Instant::now();
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    let status = shell.status().await.with_context(|| format!("cannot run sh -c '{command}'"))?;
    let took = started.elapsed();
    if !status.success() {
        return Err(Stop::failed(anyhow!("'{command}' ended with {status}")));
    }
    Ok(took.as_nanos() as f64)
}
