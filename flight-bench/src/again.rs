//! The commands about runs that were kept.

use clap::ValueEnum;

use crate::ab::{self, AbResults};
use crate::cli::{
    BaselineArgs, BaselineCommand, CompareArgs, Format, Progress, ReportArgs, RunsArgs,
};
use crate::compare::{self, Compared};
use crate::config::{Output, files_of};
use crate::exit::{Exit, Stop};
use crate::report::{self, Kind, LadderResults, Reason, Results, SweepResults};
use crate::saved::Saved;

/// Tells a run, a ladder, a comparison or a sweep again.
///
/// # Errors
///
/// There is no such run, it cannot be read, or its report cannot be written.
pub(crate) fn report(args: ReportArgs) -> Result<Exit, Stop> {
    let output = Output {
        format: args.format.with(args.semantics.semantics).map_err(Stop::usage)?,
        files: files_of(args.out)?,
        progress: Progress::None,
        quiet: true,
        dry_run: false,
        keep: None,
        runs: None,
    };
    report::check_files(&output)?;
    let refused = |error: anyhow::Error| Stop::usage(format!("run {}: {error:#}", args.run));
    let text = saved(&args.runs)?.find(&args.run).map_err(refused)?;
    let told = Told::read(&text).map_err(refused)?;
    told.check_forms(&output)?;
    report::publish_as(&output, |format, _| told.render(format))?;
    Ok(Exit::Done)
}

/// What a document is of.
enum Told {
    Run(Box<Results>),
    Ladder(Box<LadderResults>),
    Pairs(Box<AbResults>),
    Comparisons(Compared),
    Sweep(Box<SweepResults>),
}

impl Told {
    fn read(text: &str) -> anyhow::Result<Self> {
        Ok(match Kind::of(text)? {
            Kind::Run => Self::Run(Box::new(report::read(text)?)),
            Kind::Ladder => Self::Ladder(Box::new(report::read_ladder(text)?)),
            Kind::Pairs => Self::Pairs(Box::new(ab::read(text)?)),
            Kind::Comparisons => Self::Comparisons(compare::read(text)?),
            Kind::Sweep => Self::Sweep(Box::new(report::read_sweep(text)?)),
        })
    }

    /// Refuses a form that such a document has not.
    fn check_forms(&self, output: &Output) -> Result<(), Stop> {
        let (kind, missing, others): (_, &[Format], _) = match self {
            Self::Run(results) if output.format == Format::ArrowsOwn => {
                return report::check_arrows_own(results);
            }
            Self::Run(_) => return Ok(()),
            Self::Ladder(_) => {
                (Kind::Ladder, &[Format::Arrow, Format::ArrowsOwn], "json, ndjson, csv, md")
            }
            Self::Sweep(_) => {
                (Kind::Sweep, &[Format::Arrow, Format::ArrowsOwn, Format::Ndjson], "json, csv, md")
            }
            Self::Pairs(_) | Self::Comparisons(_) => (
                Kind::Pairs,
                &[Format::Arrow, Format::ArrowsOwn, Format::Csv, Format::Ndjson],
                "json, md",
            ),
        };
        let files = output.files.iter().map(|(path, format)| (path.display().to_string(), *format));
        let asked = std::iter::once(("--format".to_owned(), output.format)).chain(files);
        match asked.into_iter().find(|(_, format)| missing.contains(format)) {
            None => Ok(()),
            Some((asked, format)) => Err(Stop::usage(format!(
                "{asked}: {} has no form {}; take text, {others} or html",
                kind.name(),
                format
                    .to_possible_value()
                    .map_or_else(String::new, |name| name.get_name().to_owned())
            ))),
        }
    }

    /// Its failure, if there was one, is part of the report.
    fn render(&self, format: Format) -> String {
        match self {
            Self::Run(results) => report::render(results, format, Reason::InReport),
            Self::Sweep(results) => results.render(format, Reason::InReport),
            Self::Ladder(results) => results.render(format, Reason::InReport),
            Self::Pairs(results) => results.render(format),
            Self::Comparisons(all) => all.render(format),
        }
    }
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

#[cfg(test)]
#[path = "again_tests.rs"]
mod tests;
