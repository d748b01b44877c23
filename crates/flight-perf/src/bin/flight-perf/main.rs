//! `flight-perf`: flight-server and flight-bench beside stock arrow-flight, pyarrow and raw sockets.
//!
//! Starts all of them as child processes, runs each comparison in interleaved rounds, prints a
//! Markdown table and puts it into docs/performance.md or docs/security-cost.md. What it compares is
//! in `arms` and `rows`.
//! Programs that lack what a row needs are found by their --help, and the row is skipped.

mod arms;
mod bound;
mod machine;
mod measure;
mod process;
mod report;
mod rows;
mod stage;
mod statistics;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::Parser;
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::signal::unix::{SignalKind, signal};

use crate::arms::{ARMS, Arm};
use crate::bound::Limits;
use crate::machine::{Scheduling, Side};
use crate::measure::{Absent, Extent, Samples, say};
use crate::report::Report;
use crate::rows::{Page, ROWS, Row};
use crate::stage::{Programs, Stage};

/// As in the programs that are measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures flight-server and flight-bench beside stock arrow-flight, pyarrow and raw sockets.
#[derive(Debug, Parser)]
#[command(name = "flight-perf", version)]
struct Args {
    /// Rows to measure: those whose names contain one of these texts.
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    rows: Vec<String>,
    /// Interleaved rounds; an interval of 95 % needs six.
    #[arg(long, value_name = "N", default_value = "9", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    rounds: u64,
    /// About how long one run of one arm takes.
    #[arg(long, value_name = "SECONDS", default_value = "1.0")]
    seconds: f64,
    /// The page whose rows are measured.
    #[arg(long, value_name = "PAGE", value_enum, default_value_t = Page::Performance)]
    page: Page,
    /// Folder of flight-server, flight-bench and flight-stock; default: beside this program.
    #[arg(long, value_name = "DIR")]
    bin: Option<PathBuf>,
    /// Python with pyarrow, for the rows that need it.
    #[arg(long, value_name = "FILE", default_value = "target/venv/bin/python")]
    python: PathBuf,
    /// Folder of serve.py and get.py.
    #[arg(long, value_name = "DIR", default_value = "crates/flight-perf/py")]
    scripts: PathBuf,
    /// Page whose generated part is replaced.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Do not ask for real-time scheduling.
    #[arg(long)]
    no_real_time: bool,
    /// Measure memory and cipher in this process, and nothing else; how the program runs itself.
    #[arg(long, hide = true)]
    limits: bool,
}

/// The shortest and the longest run of an arm, in seconds.
const SECONDS: std::ops::RangeInclusive<f64> = 0.05..=60.0;

fn main() -> ExitCode {
    match start(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn start(args: Args) -> Result<()> {
    if !SECONDS.contains(&args.seconds) {
        let (min, max) = (SECONDS.start(), SECONDS.end());
        bail!("--seconds {} is outside {min} to {max}; choose a value in between", args.seconds);
    }
    let mut out = std::io::stdout().lock();
    if args.limits {
        let limits = serde_json::to_string(&bound::measure(args.seconds, &stage::folder())?)?;
        return writeln!(out, "{limits}").context("cannot write to stdout");
    }
    let rows = chosen(args.page, &args.rows)?;
    let folder = match args.bin {
        Some(folder) => folder,
        None => {
            let program = std::env::current_exe().context("this program cannot find itself")?;
            program.parent().unwrap_or(Path::new(".")).to_owned()
        }
    };
    let programs = Programs { folder, python: args.python, scripts: args.scripts };
    let extent = Extent { rounds: usize::try_from(args.rounds)?, seconds: args.seconds };
    let scheduling = Scheduling::probe(!args.no_real_time);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        tokio::select! {
            report = measure_all(programs, scheduling, rows, extent) => report,
            // Children are killed and the data, which lies in memory, is removed on the way out.
            () = interrupted() => bail!("interrupted; nothing was written"),
        }
    })?;
    let text = report.render();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to stdout")?;
    if let Some(page) = args.write {
        report::write_into(&page, &text)?;
    }
    if report.failed() {
        bail!("not everything could be run; the report says why");
    }
    Ok(())
}

/// Ctrl-C or SIGTERM.
async fn interrupted() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

fn chosen(page: Page, filters: &[String]) -> Result<Vec<&'static Row>> {
    let wanted = |row: &&Row| {
        filters.is_empty() || filters.iter().any(|text| row.id.contains(text.as_str()))
    };
    let of_page = || ROWS.iter().filter(|row| row.page == page);
    let rows: Vec<_> = of_page().filter(wanted).collect();
    if rows.is_empty() {
        let names: Vec<_> = of_page().map(|row| row.id).collect();
        bail!(
            "--rows {}: no row has such a name; there are {}",
            filters.join(","),
            names.join(", ")
        );
    }
    Ok(rows)
}

async fn measure_all(
    programs: Programs,
    scheduling: Scheduling,
    rows: Vec<&'static Row>,
    extent: Extent,
) -> Result<Report> {
    let conditions = conditions(&programs, &scheduling);
    say("making data and certificates");
    let mut stage = Stage::set_up(programs, scheduling).await?;
    let mut samples = Samples::new();
    let limits = limits(&stage, extent.seconds).await?;
    let wanted: BTreeSet<_> = rows.iter().flat_map(|row| row.arms()).map(|arm| arm.id).collect();
    let arms: Vec<&'static Arm> = ARMS.iter().filter(|arm| wanted.contains(arm.id)).collect();
    for together in arms.chunk_by(|a, b| a.group == b.group) {
        let mut runnable = Vec::new();
        for arm in together {
            match stage.programs.missing(arm).await {
                None => runnable.push(*arm),
                Some(why) => {
                    samples.insert(arm.id, Err(Absent::Missing(why)));
                }
            }
        }
        // What has nothing to be compared with is not measured either.
        let alone = |arm: &&Arm| {
            rows.iter().map(|row| row.arms()).any(|pair| {
                pair.iter().any(|one| one.id == arm.id)
                    && pair.iter().all(|one| runnable.iter().any(|other| other.id == one.id))
            })
        };
        let paired: Vec<_> = runnable.iter().copied().filter(alone).collect();
        if !paired.is_empty() {
            measure::group(&mut stage, &paired, extent, &mut samples).await;
        }
    }
    stage.take_down().await;
    Ok(Report { conditions, extent, limits: Some(limits), rows, samples })
}

/// What memory and cipher allow, measured as clients are: pinned and scheduled alike.
async fn limits(stage: &Stage, seconds: f64) -> Result<Limits> {
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let words = ["--limits".to_owned(), format!("--seconds={seconds}")];
    let printed = process::run(&stage.scheduling, Side::Client, &program, &words).await?;
    serde_json::from_slice(&printed).context("the limits of the machine were not printed")
}

/// Machine, versions, date and scheduling.
fn conditions(programs: &Programs, scheduling: &Scheduling) -> Vec<String> {
    let today = OffsetDateTime::now_utc().date();
    let today = today.format(format_description!("[year]-[month]-[day]"));
    let crates =
        ["arrow-flight", "tonic", "hyper", "h2", "tokio", "rustls", "aws-lc-rs", "parquet"];
    let versions: Vec<_> =
        crates.iter().map(|name| format!("{name} {}", locked_version(name))).collect();
    let python = "import pyarrow; print('pyarrow', pyarrow.__version__)";
    let commit = said("git", &["rev-parse", "--short", "HEAD"]);
    let mut conditions = vec![
        format!(
            "{}, commit {}",
            today.unwrap_or_default(),
            commit.unwrap_or_else(|| "unknown".to_owned())
        ),
        machine::name(),
        format!(
            "{}; {}; {}",
            said("rustc", &["--version"]).unwrap_or_else(|| "rustc unknown".to_owned()),
            versions.join(", "),
            said(&programs.python.display().to_string(), &["-c", python])
                .unwrap_or_else(|| "no pyarrow".to_owned()),
        ),
        scheduling.sentence(),
    ];
    if cfg!(debug_assertions) {
        conditions.push("this build has debug assertions: not a release's figures".to_owned());
    }
    conditions
}

/// The version of a crate that this program was built with.
fn locked_version(name: &str) -> &'static str {
    const LOCK: &str = include_str!("../../../../../Cargo.lock");
    let entry = LOCK
        .split("[[package]]")
        .find(|entry| entry.lines().any(|line| line == format!("name = \"{name}\"")));
    let version = entry.and_then(|entry| {
        entry.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
    });
    version.unwrap_or("unknown")
}

/// The first line that a command prints, if it does.
fn said(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().map(str::to_owned)).flatten()
}
