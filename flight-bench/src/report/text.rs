//! The report of `get` and `put` for people, within 100 columns.

use std::time::Duration;

use comfy_table::{CellAlignment, Table};
use flight_chart::Column;

use super::connections;
use super::cost::{bottleneck, sides};
use super::ending::{Reason, ending};
use super::facts::{moved, of_foreign};
use super::figures::{amount, count, megabytes, nanos, or_dash};
use super::lines::{counted, line, parts, wrapped};
use super::results::{RepeatTally, Results, RunRecord, ServerRecord, Variant};
use super::summary::Statistic;
use super::tables;
use super::wire;
use super::workload::{OPERATIONS, Workload};
use crate::cli::named;
use crate::load::Acks;
use crate::record::{ErrorTally, Metric, PERCENTILES};
use flight_stats::median;

pub(super) fn render(results: &Results, reason: Reason) -> String {
    let mut out = String::new();
    head(&mut out, results);
    for variant in &results.variants {
        // Without a figure there is nothing to explain either.
        if variant.with_figures().next().is_some() {
            figures(&mut out, results, variant);
        }
    }
    foot(&mut out, results, reason);
    out
}

fn head(out: &mut String, results: &Results) {
    let record = &results.record;
    parts(
        out,
        &[
            format!("flight-bench {}", env!("CARGO_PKG_VERSION")),
            record.command.clone().into_owned(),
            record.mix.clone().unwrap_or_default(),
            sources(record),
            counted(record.streams, "stream"),
            connections::of_load(record),
            counted(record.threads, "thread"),
            model(record),
        ],
    );
    // Parts of a mix share its server.
    for variant in results.variants.iter().filter(|variant| variant.part.is_none()) {
        let transport = format!("transport {}", record.transport);
        parts(out, &[server(results, variant), variant.label.clone(), transport]);
        tls(out, variant);
    }
    for (what, told) in results.server.iter().flat_map(of_foreign) {
        wrapped(out, "", "  ", &format!("{what} {told}"));
    }
}

/// What was read or written, each within a line.
pub(super) fn sources(record: &RunRecord) -> String {
    record.sources.iter().map(|source| named(source)).collect::<Vec<_>>().join(", ")
}

/// `closed loop`, `open loop, 20000/s, poisson arrivals`.
pub(super) fn model(record: &RunRecord) -> String {
    let Some(rate) = record.rate else { return format!("{} loop", record.model) };
    let share =
        record.rate_share.map(|share| format!(" ({:.0} % of a closed loop)", share * 100.0));
    let arrival = record.arrival.as_deref().unwrap_or_default();
    let share = share.unwrap_or_default();
    format!("open loop, {}/s{share}, {arrival} arrivals", amount(rate))
}

/// `server grpc://h:1`, or for a started one `server flight-server 0.1.0 (pid 4312) grpc://h:1`.
pub(super) fn server(results: &Results, variant: &Variant) -> String {
    match results.server.as_ref().and_then(started) {
        Some(started) => format!("server {started} {}", variant.url),
        None => format!("server {}", variant.url),
    }
}

/// The server that this run started: `flight-server 0.1.0 (pid 4312)`.
pub(super) fn started(server: &ServerRecord) -> Option<String> {
    let (name, version) = (server.name.as_deref()?, server.version.as_deref()?);
    Some(format!("{name} {version} (pid {})", server.pid?))
}

/// What was negotiated, and a mark where the server was not verified.
pub(super) fn tls(out: &mut String, variant: &Variant) {
    let Some(tls) = &variant.tls else { return };
    let mut told = vec![variant.label.clone()];
    told.extend(tls.certificate.as_ref().map(|certificate| format!("certificate {certificate}")));
    told.extend(tls.version.as_ref().map(|version| format!("TLS {version}")));
    told.extend(tls.suite.clone());
    told.extend(tls.group.clone());
    told.extend(tls.engine.clone());
    if !tls.verified {
        told.push("NOT VERIFIED (--tls-insecure)".to_owned());
    }
    parts(out, &told);
}

fn figures(out: &mut String, results: &Results, variant: &Variant) {
    let summary = results.summary();
    let of = |name: &str| summary.get(&results.figure_id(variant, name));
    line(out, "");
    let spread = match variant.workload {
        Workload::Unary => of("calls_per_s").map(|rate| spread(rate, amount)),
        Workload::Tls => of("connections_per_s").map(|rate| spread(rate, amount)),
        Workload::Mixed => of(OPERATIONS.0).map(|rate| spread(rate, amount)),
        _ => of("bytes_per_s").map(|rate| spread(rate, megabytes)),
    };
    let spread = spread.unwrap_or_default();
    let rate = |name: &str| {
        of(name).and_then(|s| s.est.or(s.median)).map_or_else(|| "–".to_owned(), amount)
    };
    let throughput = of("bytes_per_s").and_then(|s| s.est.or(s.median));
    line(
        out,
        &match variant.workload {
            Workload::Get | Workload::Put | Workload::Exchange => format!(
                "{}  {} MB/s{spread}   {} batches/s   {} rows/s",
                variant.call(),
                throughput.map_or_else(|| "–".to_owned(), megabytes),
                rate("batches_per_s"),
                rate("rows_per_s"),
            ),
            Workload::Unary => format!(
                "{}  {} calls/s{spread}",
                results.record.call.as_deref().unwrap_or(variant.call()),
                rate("calls_per_s"),
            ),
            Workload::Mixed => format!(
                "Mix  {} operations/s{spread}   {} MB/s",
                rate(OPERATIONS.0),
                throughput.map_or_else(|| "–".to_owned(), megabytes),
            ),
            Workload::Tls => {
                let kind = match results.record.resume.as_deref() {
                    Some("ticket") => "resumed",
                    _ => "full",
                };
                format!("Connections  {}/s{spread}, handshakes {kind}", rate("connections_per_s"))
            }
        },
    );
    line(out, "");
    if variant.workload == Workload::Mixed {
        mix(out, results);
    }
    let table = latency_table(variant);
    if !table.is_empty() {
        line(out, &table);
        line(out, "");
        legend(out, variant);
        line(out, "");
    }
    totals(out, results, variant);
}

/// ` ±1.9 % (2250 to 2360)`: half of the interval, and the range of the repeats.
fn spread(statistic: &Statistic, shown: impl Fn(f64) -> String) -> String {
    let interval = match (statistic.est, statistic.shown_interval()) {
        (Some(est), Some((lo, hi))) if est > 0.0 => {
            format!(" ±{:.1} %", (hi - lo) / 2.0 / est * 100.0)
        }
        _ => String::new(),
    };
    match (statistic.min, statistic.max) {
        (Some(_), Some(_)) if statistic.n == 1 => " (single run)".to_owned(),
        (Some(min), Some(max)) => {
            format!("{interval} ({} to {})", shown(min), shown(max))
        }
        _ => interval,
    }
}

fn latency_table(variant: &Variant) -> String {
    let latencies = variant.latencies();
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let names = PERCENTILES.map(|(name, _)| name);
    let header = [&["", "n", "mean"][..], &names, &["max"]].concat();
    table.set_header(header);
    for metric in Metric::ALL {
        let Some(summary) = latencies.summary(metric) else { continue };
        let mut cells = vec![metric.id().to_owned(), count(summary.count)];
        cells.push(nanos(summary.mean_ns));
        let percentiles = summary.percentiles_ns.into_iter();
        cells.extend(percentiles.map(|value| or_dash(value.map(|v| nanos(v as f64)))));
        cells.push(nanos(summary.max_ns as f64));
        table.add_row(cells);
    }
    if table.is_empty() {
        return String::new();
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

/// What each kind of a mix did.
fn mix(out: &mut String, results: &Results) {
    let cells = tables::mix(results);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(cells.columns.iter().map(|column| match column {
        Column::Text(head) | Column::Number(head) => *head,
    }));
    table.add_rows(cells.rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    line(out, &table.trim_fmt());
    line(out, "");
    wrapped(out, "", "", tables::MIX_DEFINITION);
    line(out, "");
}

/// From where to where each metric of the table runs.
fn legend(out: &mut String, variant: &Variant) {
    let latencies = variant.latencies();
    // Those of all kinds of a mix are told above its parts.
    let told = |metric: &Metric| variant.part.is_none() || metric.of() != Workload::Mixed.name();
    let recorded = |metric: &Metric| latencies.count(*metric) > 0 && told(metric);
    for metric in Metric::ALL.into_iter().filter(recorded) {
        line(out, &format!("{:<15} {}", metric.id(), metric.meaning()));
    }
}

fn totals(out: &mut String, results: &Results, variant: &Variant) {
    let all = variant.merged();
    let transfer = all.counts.transfer;
    let moved = moved(variant.workload, &transfer);
    line(
        out,
        &format!(
            "total     {moved} in {:.3} s of {}",
            variant.elapsed().as_secs_f64(),
            counted(variant.repeats().measured, "repeat"),
        ),
    );
    if let Some(missing) = missing_repeats(variant.repeats(), results.record.repeats) {
        line(out, &format!("          {missing}"));
    }
    if transfer.batches == 0 && results.outcome.error.is_none() {
        line(
            out,
            match variant.part {
                Some(_) => "          no such operation ended in a window; give more --duration",
                None => "          no batch was moved: the source is empty",
            },
        );
    }
    if results.record.extent.window_ns.is_some()
        && let Some(first) = first_batches(variant)
    {
        line(out, &format!("first     {first}"));
    }
    let (reopens, reconnects) = (all.counts.reopens, all.counts.reconnects);
    if reopens + reconnects > 0 {
        let what = if variant.workload == Workload::Get { "stream" } else { "upload" };
        let count = |count: u64, what: &str| counted(count as usize, what);
        let (again, anew) = (count(reopens, what), count(reconnects, "connection"));
        line(out, &format!("opened    {again} again, {anew} again"));
    }
    if let Some(told) = connections::told(results, variant) {
        wrapped(out, "connect   ", "          ", &told);
    }
    if variant.acks == Some(Acks::Final) {
        // A mix has windows, into which an upload falls whole or not at all.
        let time = match variant.part {
            Some(_) => "",
            None => ",\n          and the time for that answer is part of each repeat",
        };
        let credited = "they are credited when it answers";
        line(
            out,
            &format!("acks      the server acknowledges whole uploads alone: {credited}{time}"),
        );
    }
    if let Some(tail) = longest_tail(variant) {
        line(out, &format!("tail      {tail}"));
    }
    costs(out, results, variant);
    line(out, &format!("errors    {}", errors(&variant.errors())));
    if let Some(verify) = &results.verify {
        let verdict = if verify.equal { "all equal" } else { "DIFFERENT" };
        line(
            out,
            &format!(
                "verified  {} by {}: {} batches, {} rows",
                verdict, verify.method, verify.batches, verify.rows
            ),
        );
    }
}

/// What it cost on each side, and what limited it.
fn costs(out: &mut String, results: &Results, variant: &Variant) {
    if let Some((client, server)) = sides(variant) {
        line(out, &format!("cost      client {client}"));
        line(out, &format!("          server {server}"));
    }
    if let Some(told) = wire::told(variant) {
        wrapped(out, "wire      ", "          ", &told);
    }
    if let Some(verdict) = bottleneck(results, variant) {
        let told = format!("{}: {}", verdict.name, verdict.evidence.join("; "));
        wrapped(out, "limit     ", "          ", &told);
    }
}

/// `asked for 5 repeats: 1 failed, 3 not measured`, if not all that were asked for were measured.
pub(super) fn missing_repeats(tally: RepeatTally, asked: usize) -> Option<String> {
    let kinds = [
        (tally.cut_short, "cut short"),
        (tally.failed, "failed"),
        (asked.saturating_sub(tally.measured + tally.failed), "not measured"),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = kinds.map(|(count, what)| format!("{count} {what}")).collect();
    let asked = counted(asked, "repeat");
    (!told.is_empty()).then(|| format!("asked for {asked}: {}", told.join(", ")))
}

/// How soon a stream has something: its first call is made before the window opens, as a rule, so
/// that it is missing in the table.
fn first_batches(variant: &Variant) -> Option<String> {
    let first = variant.first_ns();
    let longest = first.iter().copied().reduce(f64::max)?;
    let what = match variant.workload {
        Workload::Get => "batch",
        Workload::Put => "acknowledgement",
        Workload::Exchange => "echo",
        Workload::Unary | Workload::Tls => "answer",
        Workload::Mixed => "batch or answer",
    };
    Some(format!(
        "median {}, max {} from a stream's first call to its first {what}",
        nanos(median(&first)?),
        nanos(longest)
    ))
}

/// Unfairness disguised as throughput: streams that end early leave the others the machine.
fn longest_tail(variant: &Variant) -> Option<String> {
    let share = |measured: &super::Measured| {
        let tail = measured.repeat.tail?;
        let share = tail.as_secs_f64() / measured.repeat.elapsed.as_secs_f64();
        (share > TAIL_SHARE_SHOWN).then_some((tail, share))
    };
    let (tail, share) =
        variant.measured.iter().filter_map(share).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let percent = share * 100.0;
    let tail = nanos(tail.as_nanos() as f64);
    Some(format!("{tail} ({percent:.0} %) of a repeat passed after the first stream had ended"))
}

/// A tail above this share of a repeat is told.
const TAIL_SHARE_SHOWN: f64 = 0.05;

/// `none`, or codes with their counts and first sentences.
pub(super) fn errors(errors: &ErrorTally) -> String {
    if errors.total() == 0 {
        return "none".to_owned();
    }
    let one = |(code, errors): (&str, &crate::record::Errors)| {
        let sentence = errors.sentences.first().map_or("", String::as_str);
        format!("{} × {code}: {sentence}", errors.count)
    };
    errors.iter().map(one).collect::<Vec<_>>().join("\n          ")
}

fn foot(out: &mut String, results: &Results, reason: Reason) {
    if results.variants.iter().any(|variant| variant.merged().counts.transfer.batches > 0) {
        line(out, "");
        let interval = if out.contains('±') { " ±: 95 % interval over repeats." } else { "" };
        let unit = match results.variants.iter().any(|one| one.workload.moves_batches()) {
            true => "MB/s: 10^6 bytes of Arrow arrays, uncompressed, by wall time.",
            false => "Calls or connections that ended in the window, by wall time.",
        };
        line(
            out,
            &format!(
                "{unit}{interval}\nA percentile is shown where ten events or more lie beyond it."
            ),
        );
    }
    ending(out, results, reason);
}

/// `5 rounds of 1s after 300ms`.
pub(super) fn plan(results: &Results) -> String {
    let record = &results.record;
    let time = |nanos: u64| format!("{:?}", Duration::from_nanos(nanos));
    match (record.extent.window_ns, record.extent.warmup_ns) {
        (Some(window), Some(warmup)) => format!(
            "{} of {} after {} of warm-up",
            counted(record.repeats, "round"),
            time(window),
            time(warmup)
        ),
        _ => counted(record.repeats, "round"),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
