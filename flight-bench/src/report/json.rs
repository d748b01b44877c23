//! The JSON document of a run, `flight-bench.run/1`; docs/flight-bench.run.schema.json describes it.
//!
//! Names carry units. What is unknown or was not measured is null: there is no NaN, no infinity and
//! no number that stands for "none".

use std::collections::BTreeMap;

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::cost::{Costs, bottleneck};
use super::histogram;
use super::results::{Measured, Results, Variant};
use super::wire;
use super::workload::Workload;
use crate::load::Acks;
use crate::record::{ErrorTally, Latencies, Metric, PERCENTILES, Slice, StreamCounts};

pub(super) const SCHEMA: &str = "flight-bench.run/1";

pub(super) fn render(results: &Results) -> String {
    let mut text = serde_json::to_string_pretty(&document(results))
        .expect("a document of strings, numbers and lists is always JSON");
    text.push('\n');
    text
}

pub(super) fn document(results: &Results) -> Value {
    let repeats: Vec<Value> = results
        .variants
        .iter()
        .flat_map(|variant| variant.measured.iter().map(|one| repeat(variant, one)))
        .collect();
    json!({
        "schema": SCHEMA,
        "id": results.id,
        "started": OffsetDateTime::from(results.started).format(&Rfc3339).ok(),
        "complete": results.outcome.complete,
        "exit": results.outcome.exit.code(),
        "error": results.outcome.error,
        "tool": tool(),
        "config": results.record,
        "target": results.server,
        "env": { "host": results.host, "clock": results.clock, "aa_floor": results.floor },
        "variants": results.variants.iter().map(|one| variant(results, one)).collect::<Vec<_>>(),
        "repeats": repeats,
        "summary": results.summary(),
        "verify": results.verify,
        "warnings": results.warnings,
        "thresholds": results.thresholds,
    })
}

/// This program.
pub(crate) fn tool() -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "profile": if cfg!(debug_assertions) { "debug" } else { "release" },
        "allocator": "mimalloc",
    })
}

fn variant(results: &Results, variant: &Variant) -> Value {
    json!({
        "id": variant.id(),
        "workload": variant.workload.name(),
        "transport": variant.transport,
        "label": variant.label,
        "url": variant.url,
        "tls": variant.tls,
        "acks": variant.acks.map(|acks| match acks {
            Acks::PerBatch => "batch",
            Acks::Final => "final",
        }),
        "part": variant.part,
        "latency": latencies(&variant.latencies()),
        "cost": Costs::of(variant),
        "bottleneck": bottleneck(results, variant),
    })
}

fn repeat(variant: &Variant, measured: &Measured) -> Value {
    let repeat = &measured.repeat;
    let counts = repeat.recording.counts;
    let of_calls = variant.workload == Workload::Unary && variant.part.is_none();
    json!({
        "i": measured.round,
        "order": measured.order,
        "variant": variant.id(),
        "complete": measured.complete,
        "window_ns": nanos(repeat.elapsed),
        "tail_ns": repeat.tail.map(nanos),
        "set_up_ns": repeat.set_up.map(nanos),
        "errors": errors(&repeat.recording.errors),
        "counts": {
            "batches": counts.transfer.batches,
            "rows": counts.transfer.rows,
            "logical_bytes": counts.transfer.logical_bytes,
            "encoded_bytes": counts.transfer.encoded_bytes,
            "operations": is_of_mix(variant).then_some(counts.transfer.operations),
            "wire_bytes": wire::bytes(measured),
            "reopens": counts.reopens,
            "reconnects": counts.reconnects,
            "connections_opened": of_calls.then_some(counts.connections.opened),
            "handshakes_full": of_calls.then_some(counts.connections.full),
            "handshakes_resumed": of_calls.then_some(counts.connections.resumed),
        },
        "latency": latencies(&repeat.recording.latencies),
        "streams": repeat.recording.streams.iter().map(stream).collect::<Vec<_>>(),
        "resources": repeat.resources,
        "timeline": repeat.timeline,
        "slices": repeat.recording.slices.iter().map(slice).collect::<Vec<_>>(),
    })
}

fn is_of_mix(variant: &Variant) -> bool {
    variant.workload == Workload::Mixed || variant.part.is_some()
}

fn stream(stream: &StreamCounts) -> Value {
    json!({
        "id": stream.id,
        "conn": stream.connection,
        "batches": stream.transfer.batches,
        "bytes": stream.transfer.logical_bytes,
        "first_ns": stream.first_ns,
        "longest_gap_ns": stream.longest_gap_ns,
    })
}

fn slice(slice: &Slice) -> Value {
    json!({
        "batches": slice.batches,
        "bytes": slice.logical_bytes,
        "sent": slice.sent,
        "lag_ns": slice.lag_ns,
    })
}

fn errors(errors: &ErrorTally) -> Value {
    let entry = |(code, errors): (&str, &crate::record::Errors)| {
        (code.to_owned(), json!({ "count": errors.count, "examples": errors.sentences }))
    };
    json!(errors.iter().map(entry).collect::<BTreeMap<_, _>>())
}

fn latencies(latencies: &Latencies) -> Value {
    let figures = |metric: Metric| {
        let summary = latencies.summary(metric)?;
        let mut value = json!({
            "n": summary.count,
            "min_ns": summary.min_ns,
            "mean_ns": summary.mean_ns,
            "max_ns": summary.max_ns,
            "hdr_v2": latencies.histogram(metric).and_then(histogram::written),
        });
        for ((name, _), nanos) in PERCENTILES.iter().zip(summary.percentiles_ns) {
            // p99.9 stands as p999_ns: a dot would read as a path.
            value[format!("{}_ns", name.replace('.', ""))] = json!(nanos);
        }
        Some((metric.id(), value))
    };
    json!(Metric::ALL.into_iter().filter_map(figures).collect::<BTreeMap<_, _>>())
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use crate::record::Failure;
    use crate::report::results::tests::{mix, results, single, six_rows};
    use crate::report::schema_check;

    #[test]
    fn a_run_follows_its_schema() {
        check(&single(Workload::Get));
        check(&single(Workload::Put));
        check(&six_rows());
        check(&mix());
        let mut gated = single(Workload::Get);
        let thresholds = ["get.bytes_per_s < 1GB/s", "put.ack.p99 > 5ms"];
        let thresholds = thresholds.map(|expr| expr.parse().expect("an expression"));
        gated.thresholds = crate::threshold::judge(&thresholds, &gated, None);
        let document = check(&gated);
        assert_eq!(document["thresholds"][0]["pass"], false);
        assert_eq!(document["thresholds"][1]["value"], Value::Null);
    }

    #[test]
    fn a_noise_floor_follows_it_and_none_is_null() {
        let mut run = single(Workload::Get);
        assert_eq!(check(&run)["env"]["aa_floor"], Value::Null);
        run.floor = Some(crate::floor::tests::floor(0.031));
        let mut document = check(&run);
        assert_eq!(document["env"]["aa_floor"]["throughput"], 0.031);
        document["env"]["aa_floor"]["throughput"] = json!(-1);
        assert!(!validator().is_valid(&document));
    }

    #[test]
    fn what_was_sampled_and_warned_of_follows_it_too() {
        let mut run = single(Workload::Get);
        let sample =
            |server_cpu_ns| crate::load::CpuSample { t_ns: 1, client_cpu_ns: 2, server_cpu_ns };
        run.variants[0].measured[0].repeat.timeline = vec![sample(Some(3)), sample(None)];
        run.warnings = vec![crate::report::Warning::of_run("noisy", "seen", "why", "an option")];
        let mut document = check(&run);
        assert_eq!(document["repeats"][0]["timeline"][1]["server_cpu_ns"], Value::Null);
        assert_eq!(document["warnings"][0]["try"], "an option");
        document["repeats"][0]["timeline"][0]["t_ns"] = json!(-1);
        assert!(!validator().is_valid(&document));
    }

    #[test]
    fn a_run_that_failed_before_anything_was_measured_follows_it_too() {
        let mut nothing = results(&[]);
        nothing.server = None;
        nothing.outcome.exit = Exit::Unreachable;
        nothing.outcome.complete = false;
        nothing.outcome.error = Some("cannot reach grpc://127.0.0.1:1".to_owned());
        let document = check(&nothing);
        assert_eq!(document["exit"], 5);
        assert_eq!(document["repeats"], json!([]));
    }

    #[test]
    fn zero_batches_give_nulls_and_no_latency() {
        let mut empty = single(Workload::Get);
        for measured in &mut empty.variants[0].measured {
            measured.repeat.recording.counts.transfer = crate::record::Transfer::default();
            measured.repeat.recording.latencies = Latencies::default();
        }
        let document = check(&empty);
        let rate = &document["summary"]["get.bytes_per_s"];
        assert_eq!((&rate["est"], &rate["median"]), (&Value::Null, &json!(0.0)));
        assert_eq!(document["variants"][0]["latency"], json!({}));
    }

    #[test]
    fn failures_stand_beside_the_counts() {
        let mut failed = single(Workload::Get);
        let errors = &mut failed.variants[0].measured[0].repeat.recording.errors;
        errors.add(Failure::new("NOT_FOUND", "no such ticket"));
        let document = check(&failed);
        let want = json!({"NOT_FOUND": {"count": 1, "examples": ["no such ticket"]}});
        assert_eq!(document["repeats"][0]["errors"], want);
    }

    #[test]
    fn a_histogram_reads_back_from_the_document() {
        let document = check(&single(Workload::Get));
        let text = document["variants"][0]["latency"]["get.wait"]["hdr_v2"].as_str();
        let histogram = histogram::read(text.expect("a histogram")).expect("V2, deflated");
        assert_eq!(histogram.len(), 5000);
    }

    #[test]
    fn what_departs_from_the_schema_is_found() {
        let mut document = check(&single(Workload::Get));
        for (key, wrong) in [("schema", json!("other/1")), ("complete", json!("yes"))] {
            let right = document[key].take();
            document[key] = wrong;
            assert!(!validator().is_valid(&document), "{key} was not looked at");
            document[key] = right;
        }
    }

    const SCHEMA_OF_RUNS: &str = include_str!("../../../docs/flight-bench.run.schema.json");

    fn check(results: &Results) -> Value {
        let text = render(results);
        schema_check::check(SCHEMA_OF_RUNS, &text)
    }

    fn validator() -> jsonschema::Validator {
        let schema = serde_json::from_str(SCHEMA_OF_RUNS).expect("the schema is JSON");
        jsonschema::validator_for(&schema).expect("the schema is a JSON Schema")
    }
}
