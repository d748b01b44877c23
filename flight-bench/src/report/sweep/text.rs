//! A sweep for people, within 100 columns.

use super::super::ending::{Reason, warnings};
use super::super::facts;
use super::super::figures::amount;
use super::super::lines::{counted, line, parts, wrapped};
use super::table::{Head, Sheet};
use super::{SweepResults, cut};

/// Columns of a line.
const COLUMNS: usize = 100;

pub(super) fn render(results: &SweepResults, reason: Reason) -> String {
    let mut out = String::new();
    // Without its process, which is another one in each run.
    let server = results.server.as_ref().and_then(|server| {
        Some(format!("{} {}", server.name.as_deref()?, server.version.as_deref()?))
    });
    let told = match &results.slo {
        Some(slo) => vec![slo.expr.clone()],
        None => vec![
            counted(results.settings.len(), "setting"),
            counted(results.rounds, "round"),
            format!("order by seed {}", results.seed),
        ],
    };
    let head = [format!("flight-bench {}", env!("CARGO_PKG_VERSION")), "sweep".to_owned()];
    let head = head.into_iter().chain([results.command.clone(), server.unwrap_or_default()]);
    parts(&mut out, &head.chain(told).collect::<Vec<_>>());
    if results.have_figures() {
        line(&mut out, "");
        out.push_str(&tables(results));
        line(&mut out, "");
    }
    for sentence in results.reading() {
        wrapped(&mut out, "", "", &sentence);
    }
    warnings(&mut out, &results.warnings, "in --format json or md, or --out FILE.html");
    if let (Reason::InReport, Some(ending)) = (reason, facts::ending(&results.outcome)) {
        wrapped(&mut out, "", "", &ending);
    }
    out
}

fn tables(results: &SweepResults) -> String {
    if let Some(slo) = &results.slo {
        let mut out = String::new();
        if let Some(ceiling) = slo.ceiling {
            line(&mut out, &format!("closed loop: {}/s\n", amount(ceiling)));
        }
        return out + &lines(&slo.sheet(&results.metric));
    }
    let grid = results.grid().map(|grid| lines(&grid));
    match grid.filter(|grid| grid.lines().all(|line| line.chars().count() <= COLUMNS)) {
        Some(grid) => format!("{}\n{grid}{}\n", results.metric_line(), results.marks()),
        None => lines(&results.sheet()),
    }
}

impl SweepResults {
    /// What the cells of a grid are.
    fn metric_line(&self) -> String {
        use crate::figure::Unit;
        match self.metric.unit() {
            Unit::BytesPerSecond => format!("{}, in MB/s", self.metric),
            Unit::PerSecond => format!("{}, a second", self.metric),
            Unit::Bytes => format!("{}, in MB", self.metric),
            Unit::Nanoseconds | Unit::Count => self.metric.to_string(),
        }
    }
}

/// A line a row, without the optional columns for which there is no room.
pub(super) fn lines(sheet: &Sheet) -> String {
    let heads: Vec<String> = sheet.heads.iter().map(|head| cut(&head.text)).collect();
    let rows: Vec<Vec<String>> =
        sheet.rows.iter().map(|row| row.iter().map(|cell| wide_cut(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut kept: Vec<usize> = (0..heads.len()).collect();
    let total = |kept: &[usize]| kept.iter().map(|column| widths[*column] + 2).sum::<usize>();
    while total(&kept) > COLUMNS + 2
        && let Some(last) = kept.iter().rposition(|column| sheet.heads[*column].optional)
    {
        kept.remove(last);
    }
    let told = |cells: &[String]| {
        let cell = |column: &usize| {
            let (text, width) = (&cells[*column], widths[*column]);
            let Head { is_number, .. } = sheet.heads[*column];
            if is_number { format!("{text:>width$}") } else { format!("{text:<width$}") }
        };
        let line: Vec<String> = kept.iter().map(cell).collect();
        format!("{}\n", line.join("  ").trim_end())
    };
    std::iter::once(told(&heads)).chain(rows.iter().map(|row| told(row))).collect()
}

/// Verdicts have the end of the line to themselves.
fn wide_cut(cell: &str) -> String {
    if cell.starts_with("breaks") { cell.to_owned() } else { cut(cell) }
}
