//! The page of a ladder: how fast each rung is, what the steps take, and what they cost.

use flight_chart::{Axis, Bar, Caption, Estimate, Unit};

use super::super::ladder::{DEFINITIONS, cpu_per_gb};
use super::super::tables::{self, rungs};
use super::super::{LadderResults, facts};
use super::{Part, paragraph, strong, table, whole};
use crate::ladder::{Rung, Sample};

const RATE: Axis<'_> = Axis { label: "throughput", unit: Unit::BytesPerSecond };

/// From raw TCP up, each on the one before it; TLS and memcpy stand beside.
const STEPS: [Rung; 5] = [Rung::Tcp, Rung::Http2, Rung::Grpc, Rung::Messages, Rung::Flight];

pub(in super::super) fn render(results: &LadderResults) -> String {
    whole("flight-bench ladder", &parts(results), &results.document().to_string())
}

fn parts(results: &LadderResults) -> Vec<Part> {
    let mut figures = paragraph(&format!("version {}", env!("CARGO_PKG_VERSION")));
    figures.extend(facts::ending(&results.outcome).map(|ending| strong(&ending)));
    let mut costs = String::new();
    if results.have_figures() {
        figures.extend(results.reading().map(|reading| paragraph(&reading)));
        figures.push_str(&waterfall(results));
        figures.push_str(&table(&rungs(results)));
        figures.push_str(&paragraph(DEFINITIONS));
        figures.push_str(&all_rungs(results));
        costs = cost(results);
    } else {
        figures.push_str(&paragraph("Nothing was measured."));
    }
    let (environment, configuration) = facts::of_ladder(results);
    let told = table(&tables::facts("Environment", environment))
        + &table(&tables::facts("Configuration", configuration));
    let parts = [
        Part { heading: "Figures", html: figures },
        Part { heading: "Processor time", html: costs },
        Part { heading: "Environment and configuration", html: told },
    ];
    parts.into_iter().filter(|part| !part.html.is_empty()).collect()
}

fn waterfall(results: &LadderResults) -> String {
    let caption = Caption {
        name: "ladder",
        title: "What each layer takes",
        note: "All in plaintext; the share is of raw TCP.",
    };
    flight_chart::ladder(&caption, &bars(results, &STEPS), RATE)
}

fn all_rungs(results: &LadderResults) -> String {
    let caption = Caption {
        name: "rungs",
        title: "Rungs",
        note: "Geometric mean over rounds, with its 95 % interval.",
    };
    flight_chart::bars(&caption, &bars(results, &Rung::ALL), RATE)
}

fn bars(results: &LadderResults, rungs: &[Rung]) -> Vec<Bar> {
    let bar = |rung: &Rung| {
        let rate = results.rate(*rung)?;
        // The interval of two rounds is wide enough for anything.
        let interval = rate.interval.filter(|_| results.rates(*rung).len() >= 3);
        let estimate = Estimate { value: rate.value, interval };
        Some(Bar { name: rung.label().to_owned(), estimate })
    };
    rungs.iter().filter_map(bar).collect()
}

fn cost(results: &LadderResults) -> String {
    let bar = |rung: &Rung, samples: &[Sample], side: &str, cpu: fn(&Sample) -> Option<f64>| {
        let value = cpu_per_gb(samples, cpu)?;
        let name = format!("{}, {side}", rung.label());
        Some(Bar { name, estimate: Estimate::exact(value) })
    };
    let both = |(rung, samples): &(Rung, Vec<Sample>)| {
        [
            bar(rung, samples, "client", |sample| sample.client_cpu_s),
            bar(rung, samples, "server", |sample| sample.server_cpu_s),
        ]
    };
    let bars: Vec<Bar> = results.rungs.iter().flat_map(both).flatten().collect();
    if bars.is_empty() {
        return String::new();
    }
    let caption = Caption {
        name: "cpu",
        title: "Processor time of a gigabyte",
        note: "User and system time of each process, median of the rounds.",
    };
    flight_chart::bars(&caption, &bars, Axis { label: "CPU", unit: Unit::Count("s/GB") })
}
