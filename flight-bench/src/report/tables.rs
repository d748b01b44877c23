//! The tables of a report without their dress: Markdown and HTML set the same cells.

use flight_chart::Column;

use super::figures::{amount, count, megabytes, nanos, or_dash};
use super::ladder::{cpu_per_gb, ratio_cell};
use super::results::{Results, Variant};
use super::summary::Statistic;
use super::workload::{OPERATIONS, Workload};
use super::{LadderResults, engines, handshakes};
use crate::ladder::{Rung, Sample};
use crate::record::{Latencies, Metric, PERCENTILES};
use flight_stats::median;

/// Cells under their heads.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<Column<'static>>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// How fast each variant is; of quick, beside plaintext.
pub(super) fn headline(results: &Results) -> Table {
    if results.variants.first().is_some_and(|one| one.workload == Workload::Mixed) {
        return mix(results);
    }
    if results.record.command == "engines" {
        return engines::table(results);
    }
    if handshakes::is_told_in_rows(results) {
        return handshakes::table(results);
    }
    let unit = match results.variants.first().map(|one| one.workload) {
        Some(Workload::Unary) => Some("calls/s"),
        Some(Workload::Tls) => Some("connections/s"),
        _ => None,
    };
    let calls = unit.is_some();
    let quick = results.record.command == "quick";
    let mut columns = vec![Column::Text("")];
    match unit {
        Some(unit) => columns.push(Column::Number(unit)),
        None => {
            let rates = ["MB/s", "95 % interval", "batches/s", "rows/s"];
            columns.extend(rates.map(Column::Number));
        }
    }
    columns.extend(calls.then_some(Column::Number("95 % interval")));
    columns.extend([Column::Number("first, median"), Column::Number("repeats")]);
    columns.extend(quick.then_some(Column::Number("of plaintext")));
    let rows = results.variants.iter().filter(|one| one.with_figures().next().is_some());
    let rows = rows.map(|variant| figures(results, variant, quick)).collect();
    let title = if calls { "Rate" } else { "Throughput" };
    Table { title: title.to_owned(), columns, rows }
}

fn figures(results: &Results, variant: &Variant, quick: bool) -> Vec<String> {
    let summary = results.summary();
    let of = |name: &str| summary.get(&results.figure_id(variant, name));
    let value = |name: &str, shown: fn(f64) -> String| {
        or_dash(of(name).and_then(|one| one.est.or(one.median)).map(shown))
    };
    let interval = |name: &str, shown: fn(f64) -> String| {
        let ends = of(name).and_then(Statistic::shown_interval);
        or_dash(ends.map(|(low, high)| format!("{} to {}", shown(low), shown(high))))
    };
    let name = match variant.workload {
        Workload::Unary => results.record.call.clone().unwrap_or_default(),
        _ => variant.call().to_owned(),
    };
    let mut cells = vec![format!("{name} {}", variant.label)];
    match variant.workload {
        Workload::Unary => {
            cells.extend([value("calls_per_s", amount), interval("calls_per_s", amount)]);
        }
        Workload::Tls => cells
            .extend([value("connections_per_s", amount), interval("connections_per_s", amount)]),
        Workload::Get | Workload::Put | Workload::Exchange | Workload::Mixed => cells.extend([
            value("bytes_per_s", megabytes),
            interval("bytes_per_s", megabytes),
            value("batches_per_s", amount),
            value("rows_per_s", amount),
        ]),
    }
    cells.push(or_dash(median(&variant.first_ns()).map(nanos)));
    cells.push(variant.repeats().measured.to_string());
    if quick {
        cells.push(or_dash(results.ratio_to_plain(variant).and_then(|(_, ratio)| share(&ratio))));
    }
    cells
}

/// What each kind of a mix did, and all together: its share of the operations that ended beside that
/// asked for, how fast it was, how long its operations took, and how many failed.
pub(super) fn mix(results: &Results) -> Table {
    let summary = results.summary();
    let heads = ["asked", "done", "operations/s", "MB/s", "p50", "p99", "n", "failed"];
    let mut columns = vec![Column::Text("")];
    columns.extend(heads.map(Column::Number));
    let done = |variant: &Variant| variant.merged().counts.transfer.operations;
    let asked: u64 = results.parts().map(|(_, part)| part.weight).sum();
    let of_all: u64 = results.parts().map(|(variant, _)| done(variant)).sum();
    let percent = |share: u64, all: u64| {
        or_dash((all > 0).then(|| format!("{:.1} %", share as f64 / all as f64 * 100.0)))
    };
    let row = |variant: &Variant| {
        let value = |id: &str, shown: fn(f64) -> String| {
            or_dash(summary.get(id).and_then(|one| one.est.or(one.median)).map(shown))
        };
        let kind = variant.part.map(|part| format!("@{}", part.kind.name())).unwrap_or_default();
        let bytes = results.figure_id(variant, "bytes_per_s");
        let bytes =
            if variant.workload.moves_batches() { value(&bytes, megabytes) } else { or_dash(None) };
        let service = variant.latencies().summary(Metric::MixedService);
        let time = |percentile: usize| {
            let nanos_of = service.as_ref().and_then(|one| one.percentiles_ns[percentile]);
            or_dash(nanos_of.map(|value| nanos(value as f64)))
        };
        vec![
            variant.part.map_or("all", |part| part.kind.call()).to_owned(),
            or_dash(variant.part.map(|part| percent(part.weight, asked))),
            or_dash(variant.part.map(|_| percent(done(variant), of_all))),
            value(&format!("mixed.{}{kind}", OPERATIONS.0), amount),
            bytes,
            time(P50),
            time(P99),
            count(done(variant)),
            count(variant.errors().total()),
        ]
    };
    let rows = results.variants.iter().map(row).collect();
    Table { title: "Operations".to_owned(), columns, rows }
}

/// What the table of a mix says, in short.
pub(super) const MIX_DEFINITION: &str = "asked, done: share of operations by weight, and of those that ended in the window. p50, p99: \
     of mixed.service. MB/s: 10^6 bytes of Arrow arrays, uncompressed, by wall time.";

/// Indices of [`PERCENTILES`].
const P50: usize = 0;
const P99: usize = 3;

/// `0.61× [0.58, 0.64]`.
pub(super) fn share(ratio: &Statistic) -> Option<String> {
    let est = ratio.est?;
    Some(match ratio.shown_interval() {
        Some((low, high)) => format!("{est:.2}× [{low:.2}, {high:.2}]"),
        None => format!("{est:.2}×"),
    })
}

/// The latencies of a variant; [`meanings`] says what each is.
pub(super) fn latency(variant: &Variant) -> Table {
    let latencies = variant.latencies();
    let heads = ["n", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"];
    const _: () = assert!(PERCENTILES.len() == 5, "each percentile has its head");
    let mut columns = vec![Column::Text("")];
    columns.extend(heads.map(Column::Number));
    let row = |metric: Metric| {
        let summary = latencies.summary(metric)?;
        let mut cells = vec![metric.id().to_owned(), count(summary.count), nanos(summary.mean_ns)];
        let percentiles = summary.percentiles_ns.into_iter();
        cells.extend(percentiles.map(|value| or_dash(value.map(|value| nanos(value as f64)))));
        cells.push(nanos(summary.max_ns as f64));
        Some(cells)
    };
    let rows = Metric::ALL.into_iter().filter_map(row).collect();
    let title = format!("Latencies of {} {}", variant.call(), variant.label);
    Table { title, columns, rows }
}

/// From where to where each latency of the run goes.
pub(super) fn meanings(results: &Results) -> Vec<(&'static str, &'static str)> {
    let all: Vec<Latencies> = results.variants.iter().map(Variant::latencies).collect();
    let recorded = |metric: &Metric| all.iter().any(|latencies| latencies.count(*metric) > 0);
    let metrics = Metric::ALL.into_iter().filter(recorded);
    metrics.map(|metric| (metric.id(), metric.meaning())).collect()
}

/// Names and values.
pub(crate) fn facts(title: &str, facts: Vec<super::facts::Fact>) -> Table {
    let rows = facts.into_iter().map(|(name, value)| vec![name, value]).collect();
    Table { title: title.to_owned(), columns: vec![Column::Text(""), Column::Text("")], rows }
}

/// The rungs of a ladder: how fast each is, what share of the one below it and of raw TCP, and
/// what it costs.
pub(super) fn rungs(results: &LadderResults) -> Table {
    let heads =
        ["MB/s, median", "of the rung below", "of raw TCP", "client s/GB", "server s/GB", "rounds"];
    let mut columns = vec![Column::Text("")];
    columns.extend(heads.map(Column::Number));
    let row = |(rung, samples): &(Rung, Vec<Sample>)| {
        let ratio = |base: Option<Rung>| or_dash(ratio_of(results, *rung, base));
        let cost = |cpu: fn(&Sample) -> Option<f64>| {
            or_dash(cpu_per_gb(samples, cpu).map(|cost| format!("{cost:.2}")))
        };
        vec![
            rung.label().to_owned(),
            or_dash(median(&results.rates(*rung)).map(megabytes)),
            ratio(rung.below()),
            ratio((*rung != Rung::Tcp).then_some(Rung::Tcp)),
            cost(|sample| sample.client_cpu_s),
            cost(|sample| sample.server_cpu_s),
            samples.len().to_string(),
        ]
    };
    let rows = results.rungs.iter().map(row).collect();
    Table { title: "Rungs".to_owned(), columns, rows }
}

fn ratio_of(results: &LadderResults, rung: Rung, base: Option<Rung>) -> Option<String> {
    results.ratio(rung, base?).map(ratio_cell)
}
