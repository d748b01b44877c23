//! The report as a page in one file, which holds the run that it shows: 'flight-bench report' reads
//! it back.

mod charts;
mod cpu;
mod ladder;
mod sections;
mod sweep;

use flight_chart::{SCRIPT, STYLE, Section, escape, page};

use super::results::Results;
use super::tables::Table;
use super::{facts, json};

pub(super) use ladder::render as ladder;
pub(super) use sweep::render as sweep;

/// A part of the page before it is set.
pub(crate) struct Part {
    pub(crate) heading: &'static str,
    pub(crate) html: String,
}

pub(super) fn render(results: &Results) -> String {
    // Without the indents of the JSON that people read: they are a third of it.
    let run = json::document(results).to_string();
    whole(&facts::title(results), &sections::of(results), &run)
}

/// A page of these parts, which holds the document that it shows.
pub(crate) fn whole(title: &str, parts: &[Part], json: &str) -> String {
    let sections: Vec<Section<'_>> =
        parts.iter().map(|part| Section { heading: part.heading, html: &part.html }).collect();
    page(title, &sections, json, STYLE, SCRIPT)
}

/// The parts alone, without the page around them.
#[cfg(test)]
pub(super) fn body(results: &Results) -> String {
    let part = |part: &Part| format!("<h2>{}</h2>\n{}", part.heading, part.html);
    sections::of(results).iter().map(part).collect()
}

pub(crate) fn table(table: &Table) -> String {
    flight_chart::table(&table.title, &table.columns, &table.rows)
}

pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

pub(crate) fn strong(text: &str) -> String {
    format!("<p><strong>{}</strong></p>\n", escape(text))
}

pub(crate) fn bullets(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    format!("<ul>\n{items}</ul>\n")
}

#[cfg(test)]
mod tests;
