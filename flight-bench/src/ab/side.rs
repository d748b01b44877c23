//! One side of a comparison: what it is called, and one measurement of it.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, anyhow};
use tokio::process::Command;

use crate::cli::{self, AbSidesArgs, Progress};
use crate::config::{Config, Work};
use crate::exit::{Exit, Stop};
use crate::figure::Figure;
use crate::load::Interrupt;
use crate::report::{RunRecord, Warning};
use crate::run;

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
    check_command(command)?;
    let base = words(args.a, args.a_bin, args.a_target);
    let other = if equal { base.clone() } else { words(args.b, args.b_bin, args.b_target) };
    check_words(&base)?;
    check_words(&other)?;
    if !equal && base == other {
        return Err(Stop::usage(
            "both sides are the same; tell them apart with --a and --b, --a-bin and --b-bin or \
             --a-target and --b-target, or measure the noise of this machine with --aa",
        ));
    }
    Ok([Side::bench("A", command, base)?, Side::bench("B", command, other)?])
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

fn check_command(command: &[OsString]) -> Result<(), Stop> {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    match words.first().map(AsRef::as_ref) {
        Some("get" | "put" | "exchange" | "unary" | "tls" | "mixed") => {}
        Some(other) => {
            return Err(Stop::usage(format!(
                "ab compares get, put, exchange, unary, tls or mixed, not {other}; for other \
                 programs give --a-run and --b-run"
            )));
        }
        None => {
            return Err(Stop::usage(
                "ab has no COMMAND; end with get, put, exchange, unary, tls or mixed and its \
                 options, or give --a-run and --b-run",
            ));
        }
    }
    check_words(command)
}

/// Options of a single run that mean something else here, or nothing. Set in the environment they
/// are for other commands, and are passed over.
fn check_words(words: &[OsString]) -> Result<(), Stop> {
    for word in words {
        let word = word.to_string_lossy();
        let name = word.split('=').next().unwrap_or_default();
        let refused = match name {
            "--repeats" => "a run of ab is one repeat; give --pairs in place of --repeats".into(),
            "--fail-if" | "--baseline" | "--strict" | "--equivalence" | "--allow-diff" => {
                format!("ab judges both sides together; leave {name} out of the command")
            }
            "--format" | "--out" => {
                format!("{name} is an option of ab; write it before the command")
            }
            short if short.starts_with("-o") => {
                "-o is an option of ab; write it before the command".into()
            }
            _ => continue,
        };
        return Err(Stop::usage(refused));
    }
    Ok(())
}

impl Side {
    fn bench(letter: &str, command: &[OsString], added: Vec<OsString>) -> Result<Self, Stop> {
        let label: Vec<_> = added.iter().map(|word| shown(&word.to_string_lossy())).collect();
        let line = std::iter::once(OsString::from("flight-bench"))
            .chain(command.iter().cloned())
            .chain(added);
        let refused = |sentence: String| Stop::usage(format!("side {letter}: {sentence}"));
        let cli = cli::from(line).map_err(|error| {
            let text = error.to_string();
            // clap's usage and hints are those of another command line than the user's.
            let first = text.lines().next().unwrap_or_default();
            refused(first.trim_start_matches("error: ").to_owned())
        })?;
        let mut config = Config::from_cli(cli).map_err(|stop| refused(stop.to_string()))?;
        config.load.repeats = 1;
        config.output.progress = Progress::None;
        config.output.keep = None;
        let label = if label.is_empty() { name(&config.work).to_owned() } else { label.join(" ") };
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

    /// Measures the side once.
    ///
    /// # Errors
    ///
    /// The run or the command failed, or the user broke it off.
    pub(super) async fn measure(&self, interrupt: &Interrupt) -> Result<Measurement, Stop> {
        match self {
            Self::Bench { config, .. } => bench(config, interrupt).await,
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

/// A word of a side as it may be told: tickets are secrets.
fn shown(word: &str) -> String {
    match word.find("ticket:") {
        Some(at) => format!("{}ticket:<redacted>", &word[..at]),
        None => word.to_owned(),
    }
}

fn name(work: &Work) -> &'static str {
    match work {
        Work::Quick(_) => "quick",
        Work::Get(_) => "get",
        Work::Put(_) => "put",
        Work::Unary(_) => "unary",
        Work::Tls(_) => "tls",
        Work::Exchange(_) => "exchange",
        Work::Mixed(_) => "mixed",
    }
}

async fn bench(config: &Config, interrupt: &Interrupt) -> Result<Measurement, Stop> {
    let results = Box::pin(run::run(config, interrupt)).await;
    let outcome = &results.outcome;
    if outcome.exit != Exit::Done {
        let why = outcome.error.clone().unwrap_or_else(|| "the run failed".to_owned());
        return Err(Stop::with_exit(outcome.exit, anyhow::Error::msg(why)));
    }
    let value = |figure: Figure| {
        let value = *figure.values(&results)?.first()?;
        Some((figure, value))
    };
    let values: Vec<_> = Figure::of_run(&results).into_iter().filter_map(value).collect();
    if values.is_empty() {
        return Err(Stop::failed(anyhow!("nothing was moved: the source is empty")));
    }
    Ok(Measurement { values, warnings: results.warnings })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_told_without_its_tickets() {
        assert_eq!(shown("--streams"), "--streams");
        assert_eq!(shown("--source=ticket:abc"), "--source=ticket:<redacted>");
    }
}
