//! A sweep as a comment on a change.

use super::super::facts;
use super::super::markdown::{details, escaped, heading, paragraph, titled, warnings};
use super::super::tables;
use super::SweepResults;
use super::table::Sheet;

pub(super) fn render(results: &SweepResults) -> String {
    let mut out = String::new();
    heading(&mut out, &format!("flight-bench sweep: {}", results.command));
    if let Some(ending) = facts::ending(&results.outcome) {
        paragraph(&mut out, &format!("**{}**", escaped(&ending)));
    }
    if let Some(slo) = &results.slo {
        table(&mut out, &slo.sheet(&results.metric));
    } else {
        if let Some(grid) = results.grid() {
            paragraph(&mut out, &format!("**{}**", escaped(&results.metric.to_string())));
            table(&mut out, &grid);
            paragraph(&mut out, &escaped(results.marks()));
        }
        table(&mut out, &results.sheet());
    }
    for sentence in results.reading() {
        paragraph(&mut out, &escaped(&sentence));
    }
    warnings(&mut out, results.warnings.iter().map(ToString::to_string));
    let (environment, configuration) = facts::of_sweep(results);
    let mut folded = String::new();
    titled(&mut folded, &tables::facts("Environment", environment));
    titled(&mut folded, &tables::facts("Configuration", configuration));
    details(&mut out, &folded);
    out
}

fn table(out: &mut String, sheet: &Sheet) {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = row(sheet.heads.iter().map(|head| escaped(&head.text)).collect());
    let rule = |is_number| if is_number { "---:" } else { "---" }.to_owned();
    text.push_str(&row(sheet.heads.iter().map(|head| rule(head.is_number)).collect()));
    for cells in &sheet.rows {
        text.push_str(&row(cells.iter().map(|cell| escaped(cell.trim_end())).collect()));
    }
    paragraph(out, text.trim_end());
}
