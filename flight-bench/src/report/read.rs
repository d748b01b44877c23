//! A saved run read back, so that every form can be made of it again.
//!
//! What a reader does not know it passes over; what it needs and does not find is an error that
//! names it. Sizes are bounded by the file's, which its opener bounds, and by `bounds`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow, bail};
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::json::SCHEMA;
use super::results::{
    Measured, Name, Outcome, Part, Results, RunRecord, ServerRecord, Variant, VerifyRecord,
};
use super::warning::{Warning, WarningPart};
use super::workload::Workload;
use super::{Host, bounds, histogram};
use crate::exit::Exit;
use crate::floor::Floor;
use crate::load::{Acks, ClockInUse, CpuSample, Repeat, Resources};
use crate::record::{
    Connections, Counts, ErrorTally, Latencies, Metric, Recording, Slice, Slices, StreamCounts,
    Transfer,
};
use crate::target::TlsSide;
use crate::threshold::ThresholdRecord;

/// Reads what `json::render` wrote.
///
/// # Errors
///
/// The text is no document of a run, or lacks what a run has.
pub(crate) fn read(text: &str) -> anyhow::Result<Results> {
    let document = checked(text, SCHEMA)?;
    bounds::check_run(&document)?;
    let document: Document = serde_json::from_value(document).context("a run that is not whole")?;
    document.into_results()
}

/// The document, which has to be of this schema.
///
/// # Errors
///
/// It is none, or of another.
pub(crate) fn checked(text: &str, schema: &str) -> anyhow::Result<Value> {
    let mut document: Value = serde_json::from_str(text).context("not JSON")?;
    bounds::disarm(&mut document);
    match document.get("schema").and_then(Value::as_str) {
        Some(known) if known == schema => Ok(document),
        Some(other) => bail!("it is a {other}; what is read here is {schema}"),
        None => bail!("it is no document of flight-bench: it has no \"schema\""),
    }
}

/// A time as documents have it.
///
/// # Errors
///
/// It is none.
pub(crate) fn time_of(text: &str) -> anyhow::Result<SystemTime> {
    let time = OffsetDateTime::parse(text, &Rfc3339).context("\"started\" is no time")?;
    Ok(SystemTime::from(time))
}

#[derive(Deserialize)]
struct Document {
    id: String,
    started: Option<String>,
    complete: bool,
    exit: u8,
    error: Option<String>,
    config: RunRecord,
    target: Option<ServerRecord>,
    env: Environment,
    variants: Vec<VariantPart>,
    repeats: Vec<RepeatPart>,
    verify: Option<VerifyRecord>,
    warnings: Vec<WarningPart>,
    /// Documents of earlier versions have none.
    #[serde(default)]
    thresholds: Vec<ThresholdRecord>,
}

#[derive(Deserialize)]
struct Environment {
    host: Host,
    /// Documents of earlier versions have none.
    clock: Option<ClockInUse>,
    #[serde(default)]
    aa_floor: Option<Floor>,
}

#[derive(Deserialize)]
struct VariantPart {
    id: String,
    workload: String,
    transport: Name,
    label: Option<String>,
    url: String,
    tls: Option<TlsSide>,
    acks: Option<String>,
    #[serde(default)]
    part: Option<Part>,
}

#[derive(Deserialize)]
struct RepeatPart {
    i: usize,
    order: usize,
    variant: String,
    complete: bool,
    window_ns: u64,
    tail_ns: Option<u64>,
    /// Documents of earlier versions have none.
    #[serde(default)]
    set_up_ns: Option<u64>,
    errors: BTreeMap<String, ErrorPart>,
    counts: CountsPart,
    latency: BTreeMap<String, LatencyPart>,
    streams: Vec<StreamPart>,
    #[serde(default)]
    slices: Vec<SlicePart>,
    #[serde(default)]
    resources: Option<Resources>,
    #[serde(default)]
    timeline: Vec<CpuSample>,
}

#[derive(Deserialize)]
struct SlicePart {
    batches: u64,
    bytes: u64,
    sent: u64,
    lag_ns: u64,
}

#[derive(Deserialize)]
struct ErrorPart {
    count: u64,
    examples: Vec<String>,
}

#[derive(Deserialize)]
struct CountsPart {
    batches: u64,
    rows: u64,
    logical_bytes: u64,
    encoded_bytes: u64,
    #[serde(default)]
    operations: Option<u64>,
    reopens: u64,
    reconnects: u64,
    #[serde(default)]
    connections_opened: Option<u64>,
    #[serde(default)]
    handshakes_full: Option<u64>,
    #[serde(default)]
    handshakes_resumed: Option<u64>,
}

#[derive(Deserialize)]
struct LatencyPart {
    hdr_v2: Option<String>,
}

#[derive(Deserialize)]
struct StreamPart {
    id: usize,
    conn: usize,
    batches: u64,
    bytes: u64,
    first_ns: Option<u64>,
    #[serde(default)]
    longest_gap_ns: u64,
}

impl Document {
    fn into_results(self) -> anyhow::Result<Results> {
        let started = self.started.as_deref().map(time_of).transpose()?;
        let mut variants = self
            .variants
            .into_iter()
            .map(VariantPart::into_variant)
            .collect::<anyhow::Result<Vec<_>>>()?;
        for repeat in self.repeats {
            let variant = variants.iter_mut().find(|(id, _)| *id == repeat.variant);
            let (_, variant) =
                variant.ok_or_else(|| anyhow!("a repeat is of no variant: {}", repeat.variant))?;
            variant.measured.push(repeat.into_measured()?);
        }
        Ok(Results {
            id: self.id,
            started: started.unwrap_or(SystemTime::UNIX_EPOCH),
            record: self.config,
            server: self.target,
            host: self.env.host,
            clock: self.env.clock,
            floor: self.env.aa_floor.map(Floor::checked).transpose()?,
            variants: variants.into_iter().map(|(_, variant)| variant).collect(),
            verify: self.verify,
            warnings: self.warnings.into_iter().map(Warning::from).collect(),
            thresholds: self.thresholds,
            outcome: Outcome {
                exit: Exit::from_code(self.exit),
                error: self.error,
                complete: self.complete,
            },
        })
    }
}

impl VariantPart {
    fn into_variant(self) -> anyhow::Result<(String, Variant)> {
        let workload = Workload::of_name(&self.workload)
            .ok_or_else(|| anyhow!("{:?} is no workload that this program knows", self.workload))?;
        let acks = match self.acks.as_deref() {
            None => None,
            Some("batch") => Some(Acks::PerBatch),
            Some("final") => Some(Acks::Final),
            Some(other) => bail!("{other:?} is no way of acknowledging"),
        };
        let label = self.label.unwrap_or_else(|| self.transport.clone().into_owned());
        let variant = Variant {
            workload,
            transport: self.transport,
            label,
            url: self.url,
            tls: self.tls,
            acks,
            part: self.part,
            measured: Vec::new(),
        };
        Ok((self.id, variant))
    }
}

impl RepeatPart {
    fn into_measured(self) -> anyhow::Result<Measured> {
        let mut errors = ErrorTally::default();
        for (code, part) in self.errors {
            errors.absorb(code.into(), part.count, part.examples);
        }
        let mut latencies = Latencies::default();
        for (id, part) in self.latency {
            // A metric of a later version is passed over.
            let Some(metric) = Metric::ALL.into_iter().find(|metric| metric.id() == id) else {
                continue;
            };
            if let Some(text) = part.hdr_v2 {
                let histogram =
                    histogram::read(&text).with_context(|| format!("the histogram {id}"))?;
                latencies.insert(metric, histogram);
            }
        }
        let counts = Counts {
            transfer: Transfer {
                batches: self.counts.batches,
                rows: self.counts.rows,
                logical_bytes: self.counts.logical_bytes,
                encoded_bytes: self.counts.encoded_bytes,
                operations: self.counts.operations.unwrap_or_default(),
            },
            reopens: self.counts.reopens,
            reconnects: self.counts.reconnects,
            connections: Connections {
                opened: self.counts.connections_opened.unwrap_or_default(),
                full: self.counts.handshakes_full.unwrap_or_default(),
                resumed: self.counts.handshakes_resumed.unwrap_or_default(),
            },
        };
        let streams = self.streams.into_iter().map(StreamPart::into_counts).collect();
        let slices = Slices::of(self.slices.into_iter().map(SlicePart::into_slice));
        let slices = slices.unwrap_or_default();
        let repeat = Repeat {
            recording: Recording {
                counts,
                latencies,
                errors,
                streams,
                slices,
                ..Recording::default()
            },
            elapsed: Duration::from_nanos(self.window_ns),
            tail: self.tail_ns.map(Duration::from_nanos),
            set_up: self.set_up_ns.map(Duration::from_nanos),
            resources: self.resources,
            timeline: self.timeline,
        };
        Ok(Measured { round: self.i, order: self.order, repeat, complete: self.complete })
    }
}

impl StreamPart {
    fn into_counts(self) -> StreamCounts {
        let transfer =
            Transfer { batches: self.batches, logical_bytes: self.bytes, ..Transfer::default() };
        StreamCounts {
            id: self.id,
            connection: self.conn,
            transfer,
            first_ns: self.first_ns,
            longest_gap_ns: self.longest_gap_ns,
            last: None,
            done: None,
        }
    }
}

impl SlicePart {
    fn into_slice(self) -> Slice {
        let Self { batches, bytes, sent, lag_ns } = self;
        Slice { batches, logical_bytes: bytes, lag_ns, sent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json;
    use crate::report::results::tests::{mix, results, single, six_rows};

    #[test]
    fn a_run_that_is_read_back_is_written_as_it_was() {
        check(&single(Workload::Get));
        check(&single(Workload::Put));
        check(&six_rows());
        check(&mix());
        let mut failed = results(&[]);
        failed.outcome.exit = Exit::Unreachable;
        failed.outcome.complete = false;
        failed.outcome.error = Some("cannot reach grpc://h:1".to_owned());
        check(&failed);
        let mut warned = single(Workload::Get);
        warned.warnings.push(Warning::of_run("noisy", "they differ", "a lot", "--repeats 20"));
        check(&warned);
        let mut errors = single(Workload::Get);
        let tally = &mut errors.variants[0].measured[0].repeat.recording.errors;
        tally.add(crate::record::Failure::new("NOT_FOUND", "no such ticket"));
        check(&errors);
        let mut gated = single(Workload::Get);
        let thresholds = ["get.bytes_per_s < 1GB/s", "put.ack.p99 > 5ms", "errors > 0"];
        let thresholds = thresholds.map(|expr| expr.parse().expect("an expression"));
        gated.thresholds = crate::threshold::judge(&thresholds, &gated, None);
        gated.outcome.exit = Exit::Regressed;
        check(&gated);
    }

    #[test]
    fn what_a_later_version_adds_is_passed_over() {
        let mut document: Value =
            serde_json::from_str(&json::render(&single(Workload::Get))).unwrap_or_default();
        document["new"] = serde_json::json!([1]);
        document["repeats"][0]["latency"]["get.other"] = serde_json::json!({ "n": 1 });
        assert!(read(&document.to_string()).is_ok());
    }

    #[test]
    fn warnings_of_earlier_versions_are_sentences() {
        let mut document: Value =
            serde_json::from_str(&json::render(&single(Workload::Get))).unwrap_or_default();
        document["warnings"] = serde_json::json!(["noisy"]);
        let warnings = read(&document.to_string()).expect("a run").warnings;
        assert_eq!(warnings, [Warning::from("noisy".to_owned())]);
    }

    #[test]
    fn what_is_no_run_is_refused_by_what_it_lacks() {
        let refused = |text: &str, want: &str| match read(text) {
            Ok(_) => panic!("{text} was read"),
            Err(error) => {
                let error = format!("{error:#}");
                assert!(error.contains(want), "{error}");
            }
        };
        refused("", "not JSON");
        refused("{}", "it has no \"schema\"");
        refused(r#"{"schema":"flight-bench.run/9"}"#, "it is a flight-bench.run/9");
        refused(r#"{"schema":"flight-bench.run/1"}"#, "missing field `id`");
        let text = json::render(&single(Workload::Get));
        refused(&text.replace("HISTFAAA", "AAAAFAAA"), "the histogram");
        refused(&text.replace("\"workload\": \"get\"", "\"workload\": \"x\""), "no workload");
    }

    fn check(results: &Results) {
        let text = json::render(results);
        let again = read(&text).map(|read| json::render(&read));
        assert_eq!(again.ok().as_deref(), Some(text.as_str()));
    }
}
