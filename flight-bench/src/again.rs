//! The commands about runs that were kept.

use crate::cli::{BaselineArgs, BaselineCommand, CompareArgs, Progress, ReportArgs, RunsArgs};
use crate::compare;
use crate::config::{Output, files_of};
use crate::exit::{Exit, Stop};
use crate::report;
use crate::saved::Saved;

/// Tells a run again.
///
/// # Errors
///
/// There is no such run, it cannot be read, or its report cannot be written.
pub(crate) fn report(args: ReportArgs) -> Result<Exit, Stop> {
    let output = Output {
        format: args.format,
        files: files_of(args.out)?,
        progress: Progress::None,
        quiet: true,
        dry_run: false,
        keep: None,
    };
    report::check_files(&output)?;
    let text = saved(&args.runs)?.find(&args.run)?;
    let results =
        report::read(&text).map_err(|error| Stop::usage(format!("run {}: {error:#}", args.run)))?;
    report::publish_kept(&results, &output)?;
    Ok(Exit::Done)
}

/// Compares runs.
///
/// # Errors
///
/// There is no such run, or the runs cannot be compared.
pub(crate) fn compare(args: CompareArgs) -> Result<Exit, Stop> {
    let saved = Saved::new(args.runs.runs_dir.as_deref());
    compare::compare(args, saved.as_ref())
}

/// Keeps, lists and removes baselines.
///
/// # Errors
///
/// There is no such run or baseline, or the folder cannot be written to.
pub(crate) fn baseline(args: BaselineArgs) -> Result<Exit, Stop> {
    let saved = saved(&args.runs)?;
    match args.command {
        BaselineCommand::Save { name, run } => saved.name(&run, &name)?,
        BaselineCommand::Rm { name } => saved.remove_baseline(&name)?,
        BaselineCommand::List => {
            let names = saved.baselines_by_name()?;
            report::print(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
        }
    }
    Ok(Exit::Done)
}

fn saved(args: &RunsArgs) -> Result<Saved, Stop> {
    Saved::new(args.runs_dir.as_deref()).ok_or_else(|| {
        Stop::usage("neither XDG_STATE_HOME nor HOME is set; say where runs are with --runs-dir")
    })
}
