//! flight-bench measures Arrow Flight servers: DoGet and DoPut, in plaintext and over TLS.
//!
//! Flags become a configuration (`cli`, `config`), a configuration becomes servers, plans and jobs
//! (`run`, `target`, `workload`), jobs run on worker threads (`load`, `record`), and what they
//! recorded becomes figures and reports (`stats`, `report`). Sockets, TLS and messages are the
//! libraries'.

mod ab;
mod again;
mod cli;
mod compare;
mod config;
mod doctor;
mod exit;
mod figure;
mod floor;
mod gate;
mod ladder;
mod limits;
mod load;
mod pages;
mod plan;
mod progress;
mod record;
mod report;
mod run;
mod saved;
mod selftest;
mod sweep;
mod target;
mod threshold;
mod turn;
mod workload;

use std::process::ExitCode;

use cli::Command;
use config::{Config, LadderConfig, Output};
use exit::{Exit, Stop};
use floor::Known;
use load::Interrupt;
use progress::say;
use report::{Outcome, Results, Warning};
use saved::id_of;
use tokio::sync::watch;

/// Batches are megabytes, allocated and freed on every thread: measured faster than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match start() {
        Ok(exit) => exit.into(),
        Err(stop) => {
            say(&format!("flight-bench: {stop}"));
            stop.exit.into()
        }
    }
}

fn start() -> Result<Exit, Stop> {
    let cli = cli::parse();
    if let Some(file) = cli::printed_config() {
        report::print(&file)?;
        return Ok(Exit::Done);
    }
    match cli.command {
        Some(Command::Ladder(args)) => return climb(&LadderConfig::from_args(args)?),
        Some(Command::LadderServe(args)) => return ladder::serve(&args),
        Some(Command::Report(args)) => return again::report(args),
        Some(Command::Baseline(args)) => return again::baseline(args),
        Some(Command::Doctor(args)) => return doctor::run(&args),
        Some(Command::Selftest(args)) => return selftest::run(&args),
        Some(Command::Completions(args)) => return pages::completions(&args),
        Some(Command::Man) => return pages::man(),
        Some(Command::Compare(args)) => return again::compare(args),
        Some(Command::Ab(args)) => return in_turn(&ab::AbConfig::from_args(args)?),
        Some(Command::Sweep(args)) => return swept(&mut sweep::SweepConfig::from_args(args)?),
        _ => {}
    }
    let config = Config::from_cli(cli)?;
    if config.output.dry_run {
        report::print(&plan::told(&config))?;
        return Ok(Exit::Done);
    }
    report::check_files(&config.output)?;
    let base = gate::base_of(&config)?;
    let mut results = on_this_thread(async |interrupt| run::run(&config, interrupt).await)?;
    let found = report::findings(&results, load::clock_in_use().call_ns);
    results.warnings.extend(found);
    let known = Known::here(config.output.runs.as_ref());
    results.floor = known.floor().cloned();
    // Without a base nothing here is judged by it.
    let judged = base.is_some();
    results.warnings.extend(known.trouble.filter(|_| judged).map(Warning::from));
    let comparison = gate::judge(&config.checks, &mut results, base.as_ref());
    let not_kept = keep(&config.output, &results.id, || report::document(&results));
    if config.output.progress == cli::Progress::Json {
        // A line that is no JSON would break what reads it; the summary has the reason of a failure.
        not_kept.iter().for_each(|why| progress::say_json("warning", why));
        say(report::summary_line(&results).trim_end());
    } else {
        tell(&config.output, &results, not_kept);
    }
    report::publish(&results, &config.output)?;
    if let Some(comparison) = comparison {
        gate::tell(&comparison, &config.output)?;
    }
    Ok(results.outcome.exit)
}

/// Keeps what was measured, unless nobody wants that; the reason if it cannot be.
fn keep(output: &Output, id: &str, document: impl FnOnce() -> String) -> Option<String> {
    let kept = output.keep.as_ref()?.keep(id, &document());
    kept.err().map(|error| format!("the run is not kept: {error:#} (--no-save)"))
}

/// Says on stderr what is to be known of the figures, unless stdout does, and why a run failed.
fn tell(output: &Output, results: &Results, not_kept: Option<String>) {
    // The text on stdout has them, condensed.
    if !output.quiet && output.format != cli::Format::Text {
        for warning in &results.warnings {
            say(&format!("flight-bench: warning: {warning}"));
        }
    }
    say_error(&results.outcome);
    warn(not_kept);
}

fn say_error(outcome: &Outcome) {
    if let Some(error) = &outcome.error {
        say(&format!("flight-bench: {error}"));
    }
}

fn warn(why: Option<String>) {
    if let Some(why) = why {
        say(&format!("flight-bench: warning: {why}"));
    }
}

fn climb(config: &LadderConfig) -> Result<Exit, Stop> {
    if config.output.dry_run {
        report::print(&plan::of_ladder(config))?;
        return Ok(Exit::Done);
    }
    report::check_files(&config.output)?;
    let results = on_this_thread(async |interrupt| ladder::run(config, interrupt).await)?;
    let not_kept = keep(&config.output, &id_of(results.started), || {
        results.render(cli::Format::Json, report::Reason::InReport)
    });
    if config.output.progress == cli::Progress::Json {
        not_kept.iter().for_each(|why| progress::say_json("warning", why));
        say(results.summary_line().trim_end());
    } else {
        say_error(&results.outcome);
        // Its report has no warnings.
        let debug = run::debug_build(cfg!(debug_assertions)).filter(|_| !config.output.quiet);
        warn(debug.map(|warning| warning.to_string()));
        warn(not_kept);
    }
    report::publish_as(&config.output, |format, reason| results.render(format, reason))?;
    Ok(results.outcome.exit)
}

fn in_turn(config: &ab::AbConfig) -> Result<Exit, Stop> {
    let results = on_this_thread(async |interrupt| ab::run(config, interrupt).await)?;
    say_error(results.outcome());
    let output = config.output();
    warn(keep(output, &id_of(results.started), || results.render(cli::Format::Json)));
    report::publish_as(output, |format, _| results.render(format))?;
    Ok(results.outcome().exit)
}

fn swept(config: &mut sweep::SweepConfig) -> Result<Exit, Stop> {
    if config.dry_run() {
        report::print(&config.plan())?;
        return Ok(Exit::Done);
    }
    let results = on_this_thread(async |interrupt| sweep::run(config, interrupt).await)?;
    say_error(&results.outcome);
    warn(keep(config.output(), &id_of(results.started), || {
        results.render(cli::Format::Json, report::Reason::InReport)
    }));
    report::publish_as(config.output(), |format, reason| results.render(format, reason))?;
    Ok(results.outcome.exit)
}

/// Runs `work` on this thread. Streams are measured on threads of their own; this one plans, waits
/// and shows progress. The ladder, which has one stream, measures here.
fn on_this_thread<T>(work: impl AsyncFnOnce(&Interrupt) -> T) -> Result<T, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::failed(anyhow::anyhow!("cannot start the runtime: {error}")))?;
    Ok(runtime.block_on(async {
        let (sender, interrupt) = Interrupt::new();
        tokio::spawn(watch_for_interrupts(sender));
        work(&interrupt).await
    }))
}

/// The first Ctrl-C or SIGTERM ends the run in order, with its partial results; the second at once.
async fn watch_for_interrupts(sender: watch::Sender<bool>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut ctrl_c), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the signals keep their default: they end the process.
        return std::future::pending().await;
    };
    for second in [false, true] {
        tokio::select! {
            _ = ctrl_c.recv() => {}
            _ = terminate.recv() => {}
        }
        if second {
            // Children stop by themselves: their input closes with this process.
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        sender.send_replace(true);
    }
}
