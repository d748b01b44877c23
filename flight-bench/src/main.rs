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
mod exit;
mod figure;
mod gate;
mod ladder;
mod limits;
mod load;
mod progress;
mod record;
mod report;
mod run;
mod saved;
mod target;
mod threshold;
mod workload;

use std::process::ExitCode;

use cli::Command;
use config::{Config, LadderConfig};
use exit::{Exit, Stop};
use load::Interrupt;
use progress::say;
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
    match cli.command {
        Some(Command::Ladder(args)) => return climb(&LadderConfig::from_args(args)?),
        Some(Command::LadderServe(args)) => return ladder::serve(&args),
        Some(Command::Report(args)) => return again::report(args),
        Some(Command::Baseline(args)) => return again::baseline(args),
        Some(Command::Compare(args)) => return again::compare(args),
        Some(Command::Ab(args)) => return in_turn(&ab::AbConfig::from_args(args)?),
        _ => {}
    }
    let config = Config::from_cli(cli)?;
    report::check_files(&config.output)?;
    let base = gate::base_of(&config)?;
    let mut results = on_this_thread(async |interrupt| run::run(&config, interrupt).await)?;
    if !config.output.quiet {
        for warning in &results.warnings {
            say(&format!("flight-bench: warning: {warning}"));
        }
    }
    if let Some(error) = &results.outcome.error {
        say(&format!("flight-bench: {error}"));
    }
    let comparison = gate::judge(&config.checks, &mut results, base.as_ref());
    if let Some(keep) = &config.output.keep
        && let Err(error) = keep.keep(&results)
    {
        say(&format!("flight-bench: warning: the run is not kept: {error:#} (--no-save)"));
    }
    report::publish(&results, &config.output)?;
    if let Some(comparison) = comparison {
        gate::tell(&comparison, &config.output)?;
    }
    Ok(results.outcome.exit)
}

fn climb(config: &LadderConfig) -> Result<Exit, Stop> {
    report::check_files(&config.output)?;
    let results = on_this_thread(async |interrupt| ladder::run(config, interrupt).await)?;
    if let Some(error) = &results.outcome.error {
        say(&format!("flight-bench: {error}"));
    }
    report::publish_as(&config.output, |format, reason| results.render(format, reason))?;
    Ok(results.outcome.exit)
}

fn in_turn(config: &ab::AbConfig) -> Result<Exit, Stop> {
    let results = on_this_thread(async |interrupt| ab::run(config, interrupt).await)?;
    if let Some(error) = &results.outcome().error {
        say(&format!("flight-bench: {error}"));
    }
    config.publish(&results)?;
    Ok(results.outcome().exit)
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
