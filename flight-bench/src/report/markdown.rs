//! The report for a comment on a change: tables in Markdown, with the rest folded away.

use std::fmt::Write;

use flight_chart::Column;

use super::ladder::DEFINITIONS;
use super::results::Results;
use super::tables::{Table, headline, latency, rungs};
use super::{LadderResults, facts, tables};

pub(super) fn render(results: &Results) -> String {
    let mut out = String::new();
    heading(&mut out, &facts::title(results));
    paragraph(&mut out, &escaped(&facts::head(results)));
    if let Some(ending) = facts::ending(&results.outcome) {
        paragraph(&mut out, &format!("**{}**", escaped(&ending)));
    }
    if results.have_figures() {
        table(&mut out, &headline(results));
    }
    if let [variant] = results.variants.as_slice() {
        let latencies = latency(variant);
        if !latencies.rows.is_empty() {
            table(&mut out, &latencies);
        }
    }
    let measured = results.variants.iter().filter(|one| one.with_figures().next().is_some());
    let notes = measured.map(|one| (one.id(), facts::notes(results, one).join("; ")));
    bullets(&mut out, notes.map(|(id, notes)| escaped(&format!("{id}: {notes}"))));
    let failures = results.variants.iter().flat_map(|one| {
        facts::failures(one).into_iter().map(move |why| format!("{}: {}", one.id(), code(&why)))
    });
    bullets(&mut out, failures);
    bullets(&mut out, facts::verified(results).into_iter());
    warnings(&mut out, results.warnings.iter().map(ToString::to_string));
    let mut folded = String::new();
    if results.variants.len() > 1 {
        results.variants.iter().map(latency).for_each(|one| titled(&mut folded, &one));
    }
    let meanings = tables::meanings(results).into_iter();
    let lines = meanings.map(|(id, meaning)| format!("`{id}`: {}", escaped(meaning)));
    bullets(&mut folded, lines);
    titled(&mut folded, &tables::facts("Environment", facts::environment(results)));
    titled(&mut folded, &tables::facts("Configuration", facts::configuration(results)));
    details(&mut out, &folded);
    out
}

pub(super) fn ladder(results: &LadderResults) -> String {
    let mut out = String::new();
    heading(&mut out, "flight-bench ladder");
    paragraph(&mut out, &format!("version {}", env!("CARGO_PKG_VERSION")));
    if let Some(ending) = facts::ending(&results.outcome) {
        paragraph(&mut out, &format!("**{}**", escaped(&ending)));
    }
    if results.have_figures() {
        table(&mut out, &rungs(results));
        paragraph(&mut out, &escaped(DEFINITIONS));
    }
    if let Some(reading) = results.reading() {
        paragraph(&mut out, &escaped(&reading));
    }
    let (environment, configuration) = facts::of_ladder(results);
    let mut folded = String::new();
    titled(&mut folded, &tables::facts("Environment", environment));
    titled(&mut folded, &tables::facts("Configuration", configuration));
    details(&mut out, &folded);
    out
}

pub(super) fn heading(out: &mut String, title: &str) {
    paragraph(out, &format!("### {}", escaped(title)));
}

/// Blocks end with an empty line, so that what follows is one of its own.
pub(super) fn paragraph(out: &mut String, text: &str) {
    writeln!(out, "{text}\n").expect("writing to a string cannot fail");
}

fn bullets(out: &mut String, lines: impl Iterator<Item = String>) {
    let list: String = lines.map(|line| format!("- {line}\n")).collect();
    if !list.is_empty() {
        paragraph(out, list.trim_end());
    }
}

pub(super) fn warnings(out: &mut String, warnings: impl Iterator<Item = String>) {
    for warning in warnings {
        paragraph(out, &format!("> **Warning:** {}", escaped(&warning)));
    }
}

pub(super) fn details(out: &mut String, folded: &str) {
    paragraph(
        out,
        &format!(
            "<details><summary>Environment and configuration</summary>\n\n{}\n\n</details>",
            folded.trim_end()
        ),
    );
    // One line end is enough for a file.
    out.truncate(out.trim_end().len());
    out.push('\n');
}

pub(super) fn titled(out: &mut String, one: &Table) {
    paragraph(out, &format!("**{}**", escaped(&one.title)));
    table(out, one);
}

fn table(out: &mut String, table: &Table) {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = table.columns.iter().map(|column| match column {
        Column::Text(head) | Column::Number(head) => escaped(head),
    });
    let rules = table.columns.iter().map(|column| match column {
        Column::Text(_) => "---".to_owned(),
        Column::Number(_) => "---:".to_owned(),
    });
    let mut text = row(heads.collect());
    text.push_str(&row(rules.collect()));
    for cells in &table.rows {
        text.push_str(&row(cells.iter().map(|cell| escaped(cell)).collect()));
    }
    paragraph(out, text.trim_end());
}

/// Text that Markdown takes as it is, on one line.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '\n' | '\r' => safe.push(' '),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' | '#' => {
                safe.push('\\');
                safe.push(letter);
            }
            _ => safe.push(letter),
        }
    }
    safe
}

/// What a server said, in which nothing is markup and no name calls anyone.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'").replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Failure;
    use crate::report::Workload;
    use crate::report::ladder::tests::ladder as climbed;
    use crate::report::results::tests::{results, single, six_rows};

    fn check(text: &str, wants: &[&str]) {
        for want in wants {
            assert!(text.contains(want), "{want:?} is missing in:\n{text}");
        }
        for table in text.split("\n\n").filter(|block| block.starts_with('|')) {
            let cells = |line: &str| line.replace("\\|", "").matches('|').count();
            let first = table.lines().next().map(cells);
            assert!(table.lines().all(|line| Some(cells(line)) == first), "{table}");
        }
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }

    #[test]
    fn the_figures_stand_above_and_the_rest_is_folded_away() {
        let text = render(&single(Workload::Get));
        check(
            &text,
            &["| DoGet plaintext | 131 | 131 to 131 | 1000 | 4.10M |", "| get.wait | 5000"],
        );
        let folded = text.find("<details>").expect("details");
        assert!(text.find("get.wait").expect("a latency") < folded);
        assert!(text.find("**Environment**").expect("the environment") > folded);
    }

    #[test]
    fn quick_has_the_cost_of_tls_beside_each_row() {
        check(&render(&six_rows()), &["| 0.50× \\[0.50, 0.50\\] |", "of plaintext"]);
    }

    #[test]
    fn calls_have_no_bytes() {
        let mut calls = single(Workload::Unary);
        calls.record.call = Some("GetFlightInfo".to_owned());
        let text = render(&calls);
        check(&text, &["| GetFlightInfo plaintext | 1000 | 1000 to 1000 |"]);
        assert!(!text.contains("MB/s"), "{text}");
    }

    #[test]
    fn what_a_server_says_is_no_markup() {
        let mut failed = single(Workload::Get);
        let tally = &mut failed.variants[0].measured[0].repeat.recording.errors;
        tally.add(Failure::new("INTERNAL", "`@all` <b>|x|</b>"));
        failed.warnings.push("a|b <i>\n*c*".to_owned().into());
        check(
            &render(&failed),
            &["`1 × INTERNAL: '@all' <b>|x|</b>`", "> **Warning:** a\\|b &lt;i> \\*c\\*"],
        );
    }

    #[test]
    fn a_run_that_broke_off_says_so_first() {
        let mut failed = results(&[]);
        failed.outcome.complete = false;
        failed.outcome.error = Some("cannot reach grpc://h:1".to_owned());
        let text = render(&failed);
        check(&text, &["**NOT COMPLETE: cannot reach grpc://h:1**"]);
        assert!(!text.contains("MB/s"), "{text}");
    }

    #[test]
    fn a_ladder_has_a_row_a_rung() {
        check(&ladder(&climbed(3)), &["| raw TCP | 2000 | 0.50×", "6 % of raw TCP"]);
        check(&ladder(&climbed(0)), &["### flight-bench"]);
    }
}
