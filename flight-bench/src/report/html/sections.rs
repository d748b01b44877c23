//! What stands on the page of a run, in its order.

use super::super::results::{Results, Variant};
use super::super::tables::{self, headline, latency};
use super::super::{engines, facts, handshakes};
use super::{Part, bullets, charts, cpu, paragraph, strong, table};

/// Parts with nothing in them are left out, so that a run that broke off is short.
pub(super) fn of(results: &Results) -> Vec<Part> {
    let parts = [
        Part { heading: "Figures", html: figures(results) },
        Part { heading: "Cost of TLS", html: charts::cost_of_tls(results) },
        Part { heading: "Over time", html: charts::over_time(results) + &cpu::timelines(results) },
        Part { heading: "Latency", html: latencies(results) },
        Part { heading: "Streams", html: charts::streams(results) },
        Part { heading: "Warnings and errors", html: troubles(results) },
        Part { heading: "Environment and configuration", html: told(results) },
    ];
    parts.into_iter().filter(|part| !part.html.is_empty()).collect()
}

fn figures(results: &Results) -> String {
    let mut html = paragraph(&facts::head(results));
    html.extend(facts::ending(&results.outcome).map(|ending| strong(&ending)));
    if !results.have_figures() {
        html.push_str(&paragraph("Nothing was measured."));
        return html;
    }
    html.push_str(&table(&headline(results)));
    html.push_str(&paragraph(definition(results)));
    html.push_str(&charts::repeats(results));
    let notes = measured(results)
        .map(|variant| format!("{}: {}", variant.id(), facts::notes(results, variant).join("; ")));
    let notes: Vec<String> = notes.chain(facts::verified(results)).collect();
    html.push_str(&bullets(&notes));
    html
}

fn definition(results: &Results) -> &'static str {
    if results.record.command == "mixed" {
        return tables::MIX_DEFINITION;
    }
    if results.record.command == "engines" {
        return engines::DEFINITION;
    }
    if handshakes::is_told_in_rows(results) {
        return handshakes::DEFINITION;
    }
    if !results.variants.iter().any(|variant| variant.workload.moves_batches()) {
        "Calls or connections that ended in the window, by wall time. Intervals are of 95 % over repeats."
    } else {
        "MB/s: 10^6 bytes of Arrow arrays, uncompressed, by wall time. Intervals are of 95 % over \
         repeats. First: from a stream's first call to its first batch or acknowledgement."
    }
}

fn latencies(results: &Results) -> String {
    let mut html = charts::spectra(results);
    let tables = measured(results).map(latency).filter(|latencies| !latencies.rows.is_empty());
    html.extend(tables.map(|latencies| table(&latencies)));
    let meanings = tables::meanings(results).into_iter();
    let lines: Vec<String> = meanings.map(|(id, meaning)| format!("{id}: {meaning}")).collect();
    html.push_str(&bullets(&lines));
    html
}

fn troubles(results: &Results) -> String {
    let mut lines: Vec<String> = results.warnings.iter().map(ToString::to_string).collect();
    for variant in &results.variants {
        let id = variant.id();
        lines.extend(facts::failures(variant).into_iter().map(|line| format!("{id}: {line}")));
    }
    bullets(&lines)
}

fn told(results: &Results) -> String {
    let environment = tables::facts("Environment", facts::environment(results));
    let configuration = tables::facts("Configuration", facts::configuration(results));
    table(&environment) + &table(&configuration)
}

fn measured(results: &Results) -> impl Iterator<Item = &Variant> {
    results.variants.iter().filter(|variant| variant.with_figures().next().is_some())
}
