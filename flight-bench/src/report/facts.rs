//! What stands around the figures of a report, as short sentences and pairs of a name and a value:
//! how the run was made, where, and how it ended. Markdown and HTML set them in their own ways.

use std::time::SystemTime;

use flight_chart::Unit;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::connections;
use super::cost::{bottleneck, sides};
use super::figures::nanos;
use super::lines::counted;
use super::results::{Outcome, Results, RunRecord, ServerRecord, Variant};
use super::text::{errors, missing_repeats, model, plan, sources, started as name_of};
use super::wire;
use super::workload::Workload;
use super::{Host, LadderResults, SweepResults};
use crate::load::Acks;
use crate::record::Transfer;

/// A name and a value.
pub(crate) type Fact = (String, String);

/// What was measured: `flight-bench unary · GetFlightInfo · path:taxi`.
pub(super) fn title(results: &Results) -> String {
    let record = &results.record;
    let mut parts = vec![format!("flight-bench {}", record.command)];
    parts.extend(record.call.clone().or(record.mix.clone()));
    parts.extend((!record.sources.is_empty()).then(|| sources(record)));
    parts.join(" · ")
}

/// How: `4 streams · 4 connections · 1 thread · closed loop`, and with which version.
pub(super) fn head(results: &Results) -> String {
    let record = &results.record;
    let parts = [
        counted(record.streams, "stream"),
        connections::of_load(record),
        counted(record.threads, "thread"),
        model(record),
        plan(results),
        format!("version {}", env!("CARGO_PKG_VERSION")),
    ];
    parts.join(" · ")
}

/// What is to be known of a variant's figures: how much they are made of, and what went wrong.
pub(super) fn notes(results: &Results, variant: &Variant) -> Vec<String> {
    let all = variant.merged();
    let moved = moved(variant.workload, &all.counts.transfer);
    let moved = match variant.part {
        Some(part) if part.kind.moves_batches() => {
            format!("{} operations · {moved}", all.counts.transfer.operations)
        }
        _ => moved,
    };
    let repeats = counted(variant.repeats().measured, "repeat");
    let seconds = variant.elapsed().as_secs_f64();
    let mut notes = vec![format!("{moved} in {seconds:.3} s of {repeats}")];
    notes.extend(missing_repeats(variant.repeats(), results.record.repeats));
    let (reopens, reconnects) = (all.counts.reopens, all.counts.reconnects);
    if reopens + reconnects > 0 {
        notes.push(format!("opened again: {reopens} streams, {reconnects} connections"));
    }
    notes.extend(connections::told(results, variant).map(|told| format!("connect: {told}")));
    if let Some((client, server)) = sides(variant) {
        notes.extend([format!("client: {client}"), format!("server: {server}")]);
    }
    notes.extend(wire::told(variant).map(|told| format!("wire: {told}")));
    if let Some(verdict) = bottleneck(results, variant) {
        notes.push(format!("limit: {}: {}", verdict.name, verdict.evidence.join("; ")));
    }
    if variant.acks == Some(Acks::Final) {
        notes.push("the server acknowledges whole uploads alone".to_owned());
    }
    if variant.tls.as_ref().is_some_and(|tls| !tls.verified) {
        notes.push("the server was NOT VERIFIED (--tls-insecure)".to_owned());
    }
    notes
}

/// All that a variant moved.
pub(super) fn moved(workload: Workload, transfer: &Transfer) -> String {
    let count = transfer.batches;
    match workload {
        Workload::Unary => format!("{count} calls · {} bytes of answers", transfer.encoded_bytes),
        Workload::Tls => format!("{count} connections"),
        Workload::Mixed => format!(
            "{} operations · {} rows · {} bytes of batches",
            transfer.operations, transfer.rows, transfer.logical_bytes
        ),
        Workload::Get | Workload::Put | Workload::Exchange => {
            format!("{count} batches · {} rows · {} bytes", transfer.rows, transfer.logical_bytes)
        }
    }
}

/// The failures of a variant: how many of which kind, and what the first said.
pub(super) fn failures(variant: &Variant) -> Vec<String> {
    let tally = variant.errors();
    if tally.total() == 0 {
        return Vec::new();
    }
    errors(&tally).lines().map(|line| line.trim().to_owned()).collect()
}

/// `FAILED: …` or `NOT COMPLETE: …`, unless the run is whole.
pub(crate) fn ending(outcome: &Outcome) -> Option<String> {
    let error = outcome.error.as_ref()?;
    let what = if outcome.complete { "FAILED" } else { "NOT COMPLETE" };
    Some(format!("{what}: {error}"))
}

/// What the check of the content found.
pub(super) fn verified(results: &Results) -> Option<String> {
    let verify = results.verify.as_ref()?;
    let verdict = if verify.equal { "all equal" } else { "DIFFERENT" };
    let (method, batches, rows) = (&verify.method, verify.batches, verify.rows);
    Some(format!("verified {verdict} by {method}: {batches} batches, {rows} rows"))
}

/// What a server that this run did not start has shown: what it can do, and where else it had its
/// data read.
pub(super) fn of_foreign(server: &ServerRecord) -> Vec<Fact> {
    if server.kind != "given" {
        return Vec::new();
    }
    let read = server.locations.iter().filter(|place| place.read);
    let parts = [
        ("the server has", server.caps.names(true)),
        ("the server lacks", server.caps.names(false)),
        ("read, as the server says, from", read.map(|place| &*place.location).collect()),
    ];
    let known = parts.into_iter().filter(|(_, names)| !names.is_empty());
    known.map(|(what, names)| fact(what, &names.join(", "))).collect()
}

/// Where the run was made and against what.
pub(super) fn environment(results: &Results) -> Vec<Fact> {
    let mut facts = vec![fact("run", &results.id)];
    facts.extend(started(results.started));
    if let Some(server) = &results.server {
        facts.push(fact("server", &name_of(server).unwrap_or_else(|| server.kind.to_string())));
        facts.extend(of_foreign(server));
    }
    for variant in results.variants.iter().filter(|variant| variant.part.is_none()) {
        facts.push((format!("server of {}", variant.id()), variant.url.clone()));
        facts
            .extend(variant.tls.iter().flat_map(|tls| flat(&format!("{} tls", variant.id()), tls)));
    }
    facts.extend(host(&results.host));
    facts.extend(results.clock.iter().flat_map(|clock| flat("clock", clock)));
    facts
}

/// When something began, to the second, as people read it.
pub(crate) fn started(at: SystemTime) -> Option<Fact> {
    let at = OffsetDateTime::from(at).truncate_to_second().format(&Rfc3339).ok()?;
    Some(fact("started", &at))
}

/// What the run was told.
pub(super) fn configuration(results: &Results) -> Vec<Fact> {
    of_record(&results.record)
}

/// What a run was told, or one side of a comparison.
pub(crate) fn of_record(record: &RunRecord) -> Vec<Fact> {
    flat("", record)
}

/// Where a ladder was climbed, and what it was told.
pub(super) fn of_ladder(results: &LadderResults) -> (Vec<Fact>, Vec<Fact>) {
    let document = results.document();
    let mut environment: Vec<Fact> =
        results.started_text().iter().map(|at| fact("started", at)).collect();
    environment.extend(flat("server", &document["target"]));
    environment.extend(host(&results.host));
    (environment, flat("", &document["config"]))
}

/// The same of a sweep; the configuration of each setting is in the document.
pub(super) fn of_sweep(results: &SweepResults) -> (Vec<Fact>, Vec<Fact>) {
    let mut environment: Vec<Fact> =
        results.started_text().iter().map(|at| fact("started", at)).collect();
    environment.extend(flat("server", &results.server));
    environment.extend(host(&results.host));
    let mut configuration = vec![fact("command", &results.command)];
    for vary in &results.vary {
        configuration.push(fact(&format!("varies {}", vary.name), &vary.values.join(", ")));
    }
    configuration.push(fact("rounds", &results.rounds.to_string()));
    configuration.push(fact("order seed", &results.seed.to_string()));
    (environment, configuration)
}

/// The machine of a run.
pub(crate) fn host(host: &Host) -> Vec<Fact> {
    flat("", host)
}

fn fact(name: &str, value: &str) -> Fact {
    (name.to_owned(), value.to_owned())
}

/// The leaves of `part` under names such as `cpu model`; what is null is left out.
fn flat(name: &str, part: &impl Serialize) -> Vec<Fact> {
    let mut facts = Vec::new();
    // What cannot be written as JSON is not in the document either.
    if let Ok(value) = serde_json::to_value(part) {
        leaves(name, &value, &mut facts);
    }
    facts
}

fn leaves(name: &str, value: &Value, facts: &mut Vec<Fact>) {
    match value {
        Value::Null => {}
        Value::Object(parts) => {
            for (key, part) in parts {
                let inner = if name.is_empty() { key.clone() } else { format!("{name} {key}") };
                leaves(&inner, part, facts);
            }
        }
        Value::Array(parts) if parts.is_empty() => {}
        Value::Array(parts) => {
            let words: Vec<String> = parts.iter().map(word).collect();
            facts.push((spelled(name), words.join(", ")));
        }
        _ => facts.push(measure(name, value)),
    }
}

/// A name that ends with a unit loses it to its value.
fn measure(name: &str, value: &Value) -> Fact {
    if let (Some(name), Some(time)) = (name.strip_suffix("_ns"), value.as_f64()) {
        return (spelled(name), nanos(time));
    }
    if let (Some(bare), Some(bytes)) = (name.strip_suffix("_bytes"), value.as_u64()) {
        return (spelled(bare), size(bytes));
    }
    (spelled(name), word(value))
}

fn spelled(name: &str) -> String {
    name.replace('_', " ")
}

/// Bytes; what is a whole number of mebibytes was meant as such.
fn size(bytes: u64) -> String {
    const MEBIBYTE: u64 = 1 << 20;
    if bytes > 0 && bytes.is_multiple_of(MEBIBYTE) && bytes / MEBIBYTE < 10_000 {
        return format!("{} MiB", bytes / MEBIBYTE);
    }
    Unit::Bytes.show(bytes as f64)
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::results::tests::single;
    use crate::target::{Capability, Caps, PlaceRecord};
    use serde_json::json;

    fn check(part: &Value, want: &[(&str, &str)]) {
        let got = flat("", part);
        let got: Vec<_> = got.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn leaves_are_named_by_their_path_and_their_unit_goes_to_the_value() {
        check(
            &json!({"cpu": {"model": "x", "smt": true}}),
            &[("cpu model", "x"), ("cpu smt", "yes")],
        );
        check(&json!({"window_ns": 3_000_000_000_u64}), &[("window", "3.00 s")]);
        check(&json!({"max_message_bytes": 256 << 20}), &[("max message", "256 MiB")]);
        check(&json!({"sources": ["a", "b"], "none": [], "null": null}), &[("sources", "a, b")]);
    }

    #[test]
    fn a_server_that_was_not_started_is_told_by_what_it_has() {
        let mut caps = Caps::default();
        caps.note(Capability::Get, true);
        caps.note(Capability::Actions, false);
        let place =
            |location: &str, read| PlaceRecord { location: location.into(), read, why: None };
        let locations = vec![place("grpc://a:1", false), place("grpc://b:1", true)];
        let mut server = ServerRecord { caps, locations, ..ServerRecord::default() };
        server.kind = "given".into();
        let want = [
            fact("the server has", "DoGet"),
            fact("the server lacks", "ListActions"),
            fact("read, as the server says, from", "grpc://b:1"),
        ];
        assert_eq!(of_foreign(&server), want);
        server.kind = "child".into();
        assert_eq!(of_foreign(&server), []);
    }

    #[test]
    fn a_run_is_named_by_what_was_measured_and_told_by_how() {
        let run = single(Workload::Get);
        assert_eq!(title(&run), "flight-bench get · path:taxi");
        let head = head(&run);
        assert!(head.starts_with("4 streams · 4 connections · 1 thread · closed loop"), "{head}");
        assert!(head.contains("5 rounds of 1s after 300ms of warm-up"), "{head}");
    }
}
