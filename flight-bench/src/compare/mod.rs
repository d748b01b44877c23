//! `compare`, and `--baseline`: what is different between runs that were kept, and how sure that is.
//!
//! Runs that share no rounds are compared by ranks; nothing controls what the machine did between
//! them, and the report says so. Interleaved runs are `ab`'s, which tells them in the same table.

mod differences;
mod html;
mod read;
mod report;
mod row;
mod table;

use flight_stats::{Band, StatsError, Verdict};
use serde::Deserialize;

use crate::cli::{CompareArgs, Format};
use crate::config::{Baseline, Checks, Judging, comparison_output};
use crate::exit::{Exit, Stop};
use crate::figure::Figure;
use crate::floor::{Floor, Known};
use crate::gate;
use crate::report::{Kind, Results, RunRecord, publish_as, read as read_run};
use crate::saved::Saved;
use crate::threshold::{self, Threshold, ThresholdRecord, judge};
pub(crate) use html::changes;
pub(crate) use read::{RowPart, read};
pub(crate) use report::{correction, json_row, of_floor};
pub(crate) use row::{Judged, Row, corrected};
pub(crate) use table::{
    dressed as table, markdown as table_markdown, percent_more, probability, text as table_text,
};

/// What was found of all runs, and the exit code that follows.
#[derive(Debug)]
pub(crate) struct Compared {
    comparisons: Vec<Comparison>,
    exit: Exit,
}

/// A run and its base.
#[derive(Debug)]
pub(crate) struct Comparison {
    base: Side,
    value: Side,
    rows: Vec<Row>,
    /// Figures that both have and that have no ratio, with the reason.
    skipped: Vec<String>,
    warnings: Vec<String>,
    thresholds: Vec<ThresholdRecord>,
    /// Whether the rate was asked for, so that it says little.
    is_paced: bool,
    /// Whether figures are of a mix and of its kinds.
    is_of_mix: bool,
    /// What equal sides differ by on the machine of both, where that is known.
    floor: Option<Floor>,
}

/// A run by the name that was asked for.
#[derive(Debug, Deserialize)]
struct Side {
    name: String,
    id: String,
    repeats: usize,
}

/// Compares kept runs with the first of them.
///
/// # Errors
///
/// A run cannot be found or read, has too few repeats, or did something else.
pub(crate) fn compare(args: CompareArgs, saved: Option<&Saved>) -> Result<Exit, Stop> {
    let judging = Judging::from(args.judge);
    let output = comparison_output(args.format, args.out, true)?;
    let runs = args.run.iter().map(|name| load(name, saved)).collect::<Result<Vec<_>, _>>()?;
    let Some((base, others)) = runs.split_first() else {
        return Err(Stop::usage("there is nothing to compare; name two runs"));
    };
    check_figures(&args.fail_if.fail_if, &base.1)?;
    let known = Known::here(saved);
    let comparisons = others
        .iter()
        .map(|other| Comparison::of(other, base, &judging, &args.fail_if.fail_if, &known))
        .collect::<Result<Vec<_>, _>>()?;
    let mut exit = Exit::Done;
    for comparison in &comparisons {
        gate::worsen(&mut exit, comparison.exit(judging.strict));
    }
    let compared = Compared { comparisons, exit };
    publish_as(&output, |format, _| compared.render(format))?;
    Ok(exit)
}

/// The base of a run that is about to be measured.
///
/// # Errors
///
/// It cannot be found or read, has too few repeats, or did something else than `plan`.
pub(crate) fn base_for(
    baseline: &Baseline,
    plan: &RunRecord,
    judging: &Judging,
) -> Result<(String, Results), Stop> {
    let base = load(&baseline.name, baseline.saved.as_ref())
        .map_err(|stop| stop.because("--baseline".to_owned()))?;
    differences::check_plan(plan, &base.1.record, &judging.allowed)?;
    check_repeats(&base.0, &base.1)?;
    Ok(base)
}

/// Compares a run that was just measured with its base; thresholds are judged with the run.
///
/// # Errors
///
/// Too few repeats came to their end, or the runs turned out to have done different things.
pub(crate) fn with_base(
    results: &Results,
    base: &(String, Results),
    checks: &Checks,
) -> Result<Comparison, Stop> {
    // Why a floor that there is was not used is a warning of the run.
    let floor = results.floor.as_ref();
    Comparison::between(("this run", results), (&base.0, &base.1), &checks.judging, &[], floor)
}

fn load(name: &str, saved: Option<&Saved>) -> Result<(String, Results), Stop> {
    let is_file = name.contains('/') || name.ends_with(".json") || name.ends_with(".html");
    let nowhere = Saved::new(Some(std::path::Path::new("")));
    let saved = saved.or(nowhere.as_ref().filter(|_| is_file)).ok_or_else(|| {
        Stop::usage("neither XDG_STATE_HOME nor HOME is set; say where runs are with --runs-dir")
    })?;
    let refused = |error: anyhow::Error| Stop::usage(format!("run {name}: {error:#}"));
    let text = saved.find(name).map_err(refused)?;
    let results = Kind::check_run(&text).and_then(|()| read_run(&text)).map_err(refused)?;
    Ok((name.to_owned(), results))
}

/// Thresholds over what these runs never measure would fail for a reason that is not theirs.
fn check_figures(thresholds: &[Threshold], base: &Results) -> Result<(), Stop> {
    let measured = |figure: &Figure| {
        let of = figure.workload();
        of.is_none_or(|of| base.variants.iter().any(|variant| variant.workload == of))
    };
    match thresholds.iter().find(|threshold| !measured(&threshold.figure)) {
        Some(threshold) => Err(Stop::usage(format!(
            "--fail-if '{}': {} is not measured by {}",
            threshold.expr, threshold.figure, base.record.command
        ))),
        None => Ok(()),
    }
}

fn check_repeats(name: &str, results: &Results) -> Result<(), Stop> {
    let needed = flight_stats::limits::RANKS_MIN;
    let whole = repeats(results);
    if whole < needed {
        return Err(Stop::usage(format!(
            "run {name} has {whole} whole repeats and a comparison at 95 % needs {needed} a side; \
             measure it with --repeats {needed} or, better, 10"
        )));
    }
    Ok(())
}

/// Refuses more thresholds against the base than so few repeats can decide: corrected for each other,
/// none of them could ever fail.
///
/// # Errors
///
/// One sentence with the number of repeats that would do.
pub(crate) fn check_family(
    thresholds: &[Threshold],
    planned: usize,
    (name, base): (&str, &Results),
) -> Result<(), Stop> {
    let family = thresholds.iter().filter(|threshold| threshold.needs_base()).count();
    let decides = |left, right| {
        family as f64 * flight_stats::p_one_sided_min(left, right) <= threshold::P_MAX
    };
    // Below what a rank test needs at all, that is what is told.
    let (few, whole) = (flight_stats::limits::RANKS_MIN, repeats(base));
    if family < 2 || whole < few || planned < few || decides(planned, whole) {
        return Ok(());
    }
    let needed = (few..).find(|repeats| decides(*repeats, *repeats)).unwrap_or(few);
    Err(Stop::usage(format!(
        "{family} thresholds against the base are too many for {planned} repeats and the {whole} of \
         {name}: corrected for each other (Holm), none could fail; measure {needed} a side"
    )))
}

/// Whole repeats of the row that has the fewest.
fn repeats(results: &Results) -> usize {
    let whole = |variant: &crate::report::Variant| {
        variant.measured.iter().filter(|measured| measured.complete).count()
    };
    results.variants.iter().map(whole).min().unwrap_or_default()
}

impl Compared {
    pub(crate) fn render(&self, format: Format) -> String {
        report::render(self, format)
    }
}

impl Comparison {
    fn of(
        value: &(String, Results),
        base: &(String, Results),
        judging: &Judging,
        thresholds: &[Threshold],
        known: &Known,
    ) -> Result<Self, Stop> {
        check_family(thresholds, repeats(&value.1), (&base.0, &base.1))?;
        let hosts = [&base.1.host, &value.1.host];
        let floors: Result<Vec<_>, _> =
            hosts.into_iter().map(|host| known.for_host(host)).collect();
        let (floor, trouble) = match floors {
            Ok(floors) => (floors[0], known.trouble.clone()),
            Err(why) => (None, Some(why)),
        };
        let (left, right) = ((&*value.0, &value.1), (&*base.0, &base.1));
        let mut comparison = Self::between(left, right, judging, thresholds, floor)?;
        comparison.warnings.extend(trouble);
        Ok(comparison)
    }

    fn between(
        (value_name, value): (&str, &Results),
        (base_name, base): (&str, &Results),
        judging: &Judging,
        thresholds: &[Threshold],
        floor: Option<&Floor>,
    ) -> Result<Self, Stop> {
        differences::check(value, base, &judging.allowed)?;
        check_repeats(base_name, base)?;
        check_repeats(value_name, value)?;
        let equivalence = judging.equivalence.unwrap_or_else(default_equivalence);
        let is_paced = value.record.model == "open";
        let (rows, skipped) = rows(value, base, Judged { equivalence, floor, is_paced })?;
        let side = |name: &str, results: &Results| Side {
            name: name.to_owned(),
            id: results.id.clone(),
            repeats: repeats(results),
        };
        Ok(Self {
            base: side(base_name, base),
            value: side(value_name, value),
            rows,
            skipped,
            warnings: differences::warnings(value, base),
            thresholds: judge(thresholds, value, Some(base)),
            is_paced,
            is_of_mix: value.record.mix.is_some(),
            floor: floor.cloned(),
        })
    }

    /// The end that this comparison alone would have.
    pub(crate) fn exit(&self, strict: bool) -> Exit {
        let failed = self.thresholds.iter().any(|threshold| !threshold.pass);
        if failed { Exit::Regressed } else { exit_of(&self.rows, strict) }
    }

    /// As the text report of a run shows it below its own.
    pub(crate) fn text(&self) -> String {
        report::text(self)
    }
}

/// What the rows that gate say to a script.
pub(crate) fn exit_of(rows: &[Row], strict: bool) -> Exit {
    let gates = |verdict| rows.iter().any(|row| row.gates && row.verdict == verdict);
    match strict {
        _ if gates(Verdict::Regressed) => Exit::Regressed,
        true if gates(Verdict::Inconclusive) => Exit::Unsettled,
        _ => Exit::Done,
    }
}

/// Rows of all figures that both have.
fn rows(
    value: &Results,
    base: &Results,
    judged: Judged<'_>,
) -> Result<(Vec<Row>, Vec<String>), Stop> {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for figure in Figure::of_run(base) {
        let Some(theirs) = figure.values(base) else { continue };
        let Some(ours) = figure.values(value) else {
            skipped.push(format!("{figure} is not compared: B has repeats with too few events"));
            continue;
        };
        match Row::unpaired(&figure, &ours, &theirs, judged) {
            Ok(row) => rows.push(row),
            Err(error) if figure.gates(judged.is_paced) => return Err(cannot(&figure, &error)),
            Err(error) => skipped.push(format!("{figure} is not compared: {error}")),
        }
    }
    Ok((corrected(rows), skipped))
}

fn cannot(figure: &Figure, error: &StatsError) -> Stop {
    Stop::usage(format!("{figure} cannot be compared: {error}"))
}

/// Runs that were not interleaved differ by what the machine did meanwhile.
fn default_equivalence() -> Band {
    Band::new(0.05).expect("5 % is a band")
}

#[cfg(test)]
pub(crate) mod tests;
