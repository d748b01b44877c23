//! The long CSV of a run: one value a line, so that any tool can group and pivot it.
//!
//! The columns and their order never change; what was not measured has no line. Written by hand:
//! all that RFC 4180 asks of a writer is [`field`], which is no reason for a crate. Lines end with
//! LF alone, which readers take and line tools want.

use std::fmt::Write;

use super::LadderResults;
use super::results::{Measured, Results, Variant};
use super::summary::Statistic;
use super::workload::OPERATIONS;
use crate::ladder::{Rung, Sample};
use crate::record::{Latencies, Metric, PERCENTILES};

pub(super) const HEADER: &str = "run_id,label,command,variant,repeat,metric,stat,value,unit\n";

/// The values of a run: those of each repeat, then those over all repeats.
pub(super) fn render(results: &Results) -> String {
    let mut out = HEADER.to_owned();
    for variant in &results.variants {
        let id = variant.id();
        for measured in &variant.measured {
            let place = Place {
                run_id: &results.id,
                label: &variant.label,
                command: &results.record.command,
                variant: &id,
                repeat: Some(measured.round),
            };
            repeat(&mut out, place, variant, measured);
        }
    }
    for (id, statistic) in results.summary() {
        let variant = variant_of(results, &id);
        let variant_id = variant.map(Variant::id).unwrap_or_default();
        let place = Place {
            run_id: &results.id,
            label: variant.map_or("", |variant| variant.label.as_str()),
            command: &results.record.command,
            variant: &variant_id,
            repeat: None,
        };
        over_repeats(&mut out, place, &metric_of(&id), &statistic);
    }
    for variant in &results.variants {
        let id = variant.id();
        let place = Place {
            run_id: &results.id,
            label: &variant.label,
            command: &results.record.command,
            variant: &id,
            repeat: None,
        };
        latencies(&mut out, place, &variant.latencies());
    }
    out
}

/// The values of a ladder; a variant is a rung.
pub(super) fn ladder(results: &LadderResults) -> String {
    let mut out = HEADER.to_owned();
    let started = results.started_text().unwrap_or_default();
    for (rung, samples) in &results.rungs {
        let place = Place {
            run_id: &started,
            label: rung.label(),
            command: "ladder",
            variant: rung.id(),
            repeat: None,
        };
        for sample in samples {
            climbed(&mut out, Place { repeat: Some(sample.round), ..place }, *rung, sample);
        }
        let rate = results.rate(*rung);
        let interval = rate.and_then(|rate| rate.interval);
        let values = [
            ("est", rate.map(|rate| rate.value)),
            ("lo", interval.map(|(low, _)| low)),
            ("hi", interval.map(|(_, high)| high)),
        ];
        for (stat, value) in values {
            place.row(&mut out, "ladder.bytes_per_s", stat, value, "B/s");
        }
    }
    out
}

fn climbed(out: &mut String, place: Place<'_>, rung: Rung, sample: &Sample) {
    place.row(out, "ladder.bytes_per_s", "value", Some(sample.bytes_per_s()), "B/s");
    place.row(out, "ladder.bytes", "value", Some(sample.bytes as f64), "B");
    place.row(out, "ladder.window", "value", Some(sample.seconds), "s");
    place.row(out, "ladder.client_cpu", "value", sample.client_cpu_s, "s");
    if rung != Rung::Memcpy {
        place.row(out, "ladder.server_cpu", "value", sample.server_cpu_s, "s");
    }
}

/// The first columns of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) run_id: &'a str,
    pub(super) label: &'a str,
    pub(super) command: &'a str,
    pub(super) variant: &'a str,
    /// Absent for what is said of all repeats.
    pub(super) repeat: Option<usize>,
}

impl Place<'_> {
    pub(super) fn row(
        &self,
        out: &mut String,
        metric: &str,
        stat: &str,
        value: Option<f64>,
        unit: &str,
    ) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let [run_id, label, command, variant] =
            [self.run_id, self.label, self.command, self.variant].map(field);
        let repeat = self.repeat.map_or_else(String::new, |repeat| repeat.to_string());
        let (metric, unit) = (field(metric), field(unit));
        writeln!(
            out,
            "{run_id},{label},{command},{variant},{repeat},{metric},{stat},{value},{unit}"
        )
        .expect("writing to a string cannot fail");
    }
}

fn repeat(out: &mut String, place: Place<'_>, variant: &Variant, measured: &Measured) {
    let workload = variant.workload.name();
    let whole = if measured.complete { 1.0 } else { 0.0 };
    place.row(out, "complete", "value", Some(whole), "");
    let window_ns = measured.repeat.elapsed.as_nanos() as f64;
    place.row(out, "window", "value", Some(window_ns), "ns");
    let errors = measured.repeat.recording.errors.total();
    place.row(out, "errors", "count", Some(errors as f64), "");
    let amount = measured.repeat.recording.counts.transfer;
    let counts = [
        ("batches", amount.batches, ""),
        ("rows", amount.rows, ""),
        ("logical_bytes", amount.logical_bytes, "B"),
        ("encoded_bytes", amount.encoded_bytes, "B"),
    ];
    for (name, count, unit) in counts {
        place.row(out, &format!("{workload}.{name}"), "count", Some(count as f64), unit);
    }
    let made = measured.repeat.recording.counts.connections;
    if made.opened > 0 && variant.part.is_none() {
        let connections = [
            ("connections_opened", made.opened),
            ("handshakes_full", made.full),
            ("handshakes_resumed", made.resumed),
        ];
        for (name, count) in connections {
            place.row(out, &format!("{workload}.{name}"), "count", Some(count as f64), "");
        }
    }
    for (name, unit, amount) in variant.workload.rates() {
        let rate = Some(measured.rate(amount));
        place.row(out, &format!("{workload}.{name}"), "value", rate, unit);
    }
    if variant.part.is_some() {
        let (name, unit, amount) = OPERATIONS;
        place.row(out, &format!("mixed.{name}"), "value", Some(measured.rate(amount)), unit);
    }
    latencies(out, place, &measured.repeat.recording.latencies);
}

fn latencies(out: &mut String, place: Place<'_>, latencies: &Latencies) {
    for metric in Metric::ALL {
        let Some(summary) = latencies.summary(metric) else { continue };
        place.row(out, metric.id(), "n", Some(summary.count as f64), "");
        let mut nanos = |stat: &str, value: Option<f64>| {
            place.row(out, metric.id(), stat, value, "ns");
        };
        nanos("min", Some(summary.min_ns as f64));
        nanos("mean", Some(summary.mean_ns));
        for ((name, _), value) in PERCENTILES.iter().zip(summary.percentiles_ns) {
            nanos(name, value.map(|value| value as f64));
        }
        nanos("max", Some(summary.max_ns as f64));
    }
}

fn over_repeats(out: &mut String, place: Place<'_>, metric: &str, statistic: &Statistic) {
    let unit = statistic.unit;
    let values = [
        ("est", statistic.est, unit),
        ("lo", statistic.lo, unit),
        ("hi", statistic.hi, unit),
        ("median", statistic.median, unit),
        ("min", statistic.min, unit),
        ("max", statistic.max, unit),
        ("cv", statistic.cv, ""),
        ("n", Some(statistic.n as f64), ""),
    ];
    for (stat, value, unit) in values {
        place.row(out, metric, stat, value, unit);
    }
}

/// The variant that a figure is of: `get.bytes_per_s@tls-ec/plain` is of `get.tls-ec`.
fn variant_of<'a>(results: &'a Results, id: &str) -> Option<&'a Variant> {
    let (metric, at) = id.split_once('@').map_or((id, None), |(metric, at)| (metric, Some(at)));
    let workload = metric.split('.').next()?;
    let at = at.and_then(|at| at.split('/').next());
    let is = |one: &&Variant| match (one.part, at) {
        (Some(part), Some(at)) => part.kind.name() == at,
        (_, None) => one.workload.name() == workload,
        (None, Some(at)) => one.workload.name() == workload && one.transport == at,
    };
    results.variants.iter().find(is)
}

/// The figure without its variant: `get.bytes_per_s/plain`.
fn metric_of(id: &str) -> String {
    let Some((metric, at)) = id.split_once('@') else { return id.to_owned() };
    at.split_once('/').map_or_else(|| metric.to_owned(), |(_, base)| format!("{metric}/{base}"))
}

/// A field, in quotes where it would otherwise end too early.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Workload;
    use crate::report::results::tests::{single, six_rows};

    const RUN: &str = "20260922t103107z-7";

    fn check(results: &Results, wants: &[&str]) {
        let text = render(results);
        let columns = |line: &str| line.split(',').count();
        assert!(text.lines().all(|line| columns(line) == 9), "{text}");
        for want in wants {
            let want = format!("{RUN},{want}");
            assert!(text.lines().any(|line| line == want), "{want} is missing in:\n{text}");
        }
    }

    #[test]
    fn each_value_of_a_repeat_and_over_repeats_is_a_line() {
        check(
            &single(Workload::Get),
            &[
                "plaintext,get,get.plain,0,get.bytes_per_s,value,131072000,B/s",
                "plaintext,get,get.plain,4,get.wait,p50,500223,ns",
                "plaintext,get,get.plain,,get.bytes_per_s,median,131072000,B/s",
                "plaintext,get,get.plain,,get.bytes_per_s,n,5,",
                "plaintext,get,get.plain,,get.wait,n,5000,",
            ],
        );
    }

    #[test]
    fn the_variant_of_a_figure_stands_in_its_column() {
        check(
            &six_rows(),
            &[
                "TLS RSA-4096,quick,put.tls-ec,,put.bytes_per_s/plain,n,5,",
                "plaintext,quick,get.plain,,get.bytes_per_s,max,131072000,B/s",
            ],
        );
    }

    #[test]
    fn what_was_not_measured_has_no_line() {
        let mut nothing = single(Workload::Put);
        nothing.variants[0].measured.clear();
        check(&nothing, &["plaintext,put,put.plain,,put.bytes_per_s,n,0,"]);
        assert!(!render(&nothing).contains(",est,"));
        nothing.variants.clear();
        assert_eq!(render(&nothing), HEADER);
    }

    #[test]
    fn a_field_that_would_end_too_early_is_quoted() {
        assert_eq!(field("a b"), "a b");
        assert_eq!(field("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
    }
}
