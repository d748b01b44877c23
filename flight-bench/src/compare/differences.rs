//! Whether two runs did the same, so that their figures may be compared at all.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::exit::Stop;
use crate::report::{Results, RunRecord};

/// Refuses runs that did different things, but for what is `allowed` to differ.
///
/// # Errors
///
/// One sentence that lists the differences by their names.
pub(super) fn check(value: &Results, base: &Results, allowed: &[String]) -> Result<(), Stop> {
    let mut found = of_records(&value.record, &base.record);
    let rows = |results: &Results| {
        results.variants.iter().map(crate::report::Variant::id).collect::<Vec<_>>().join(" ")
    };
    let (theirs, ours) = (rows(base), rows(value));
    if theirs != ours {
        found.push(("variants".to_owned(), format!("variants: {theirs} and {ours}")));
    }
    refuse(found, allowed)
}

/// The same before a run, for what is known of it by then.
///
/// # Errors
///
/// As for [`check`].
pub(super) fn check_plan(
    plan: &RunRecord,
    base: &RunRecord,
    allowed: &[String],
) -> Result<(), Stop> {
    let mut found = of_records(plan, base);
    found.retain(|(name, _)| !FOUND_BY_THE_RUN.contains(&name.as_str()));
    refuse(found, allowed)
}

/// What a run finds out or adjusts itself.
const FOUND_BY_THE_RUN: [&str; 4] = ["sources", "rate", "inflight", "call"];

fn refuse(found: Vec<(String, String)>, allowed: &[String]) -> Result<(), Stop> {
    let not_allowed = |(name, _): &(String, String)| !allowed.contains(name);
    let found: Vec<(String, String)> = found.into_iter().filter(not_allowed).collect();
    let Some((first, _)) = found.first() else { return Ok(()) };
    let told: Vec<&str> = found.iter().map(|(_, sentence)| sentence.as_str()).collect();
    Err(Stop::usage(format!(
        "the runs did different things: {}; repeat one like the other, or let them differ with \
         --allow-diff {first}",
        told.join(", ")
    )))
}

/// Names of what differs, each with both values, the base first.
fn of_records(value: &RunRecord, base: &RunRecord) -> Vec<(String, String)> {
    let (ours, theirs) = (fields(value), fields(base));
    // A share of what a closed loop reaches is another rate each time.
    let calibrated = value.rate_share.is_some() && value.rate_share == base.rate_share;
    let compared = |name: &&String| *name != "repeats" && !(calibrated && name.as_str() == "rate");
    let mut differences = Vec::new();
    for name in theirs.keys().filter(compared) {
        let (theirs, ours) = (&theirs[name], ours.get(name).unwrap_or(&Value::Null));
        if theirs != ours {
            differences.push((name.clone(), format!("{name}: {theirs} and {ours}")));
        }
    }
    differences
}

/// What differs and does not forbid a comparison, a sentence each.
pub(super) fn warnings(value: &Results, base: &Results) -> Vec<String> {
    let environment = |results: &Results| {
        let server = results.server.as_ref();
        let server = |of: fn(&crate::report::ServerRecord) -> Option<String>| {
            server.and_then(of).unwrap_or_else(|| "unknown".to_owned())
        };
        let host = serde_json::to_value(&results.host).unwrap_or_default();
        let on_host =
            |at: &str| host.pointer(at).map_or_else(|| "null".to_owned(), Value::to_string);
        [
            ("processor", on_host("/cpu/model")),
            ("processors", on_host("/cpu/usable")),
            ("governor", on_host("/cpu/governor")),
            ("kernel", on_host("/kernel")),
            ("server", server(|server| server.name.clone())),
            ("version of the server", server(|server| server.version.clone())),
            ("way to the server", server(|server| Some(server.kind.clone().into_owned()))),
        ]
    };
    let both = environment(base).into_iter().zip(environment(value));
    both.filter(|((_, theirs), (_, ours))| theirs != ours)
        .map(|((name, theirs), (_, ours))| format!("the {name} differs: {theirs} and {ours}"))
        .collect()
}

fn fields(record: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Workload;
    use crate::report::tests::single;

    #[test]
    fn runs_that_did_different_things_are_told_apart_by_name() {
        let changed = |change: fn(&mut Results)| {
            let mut results = single(Workload::Get);
            change(&mut results);
            results
        };
        check_one(&changed(|_| {}), &[], "accepted");
        check_one(&changed(|run| run.record.repeats = 9), &[], "accepted");
        let streams = changed(|run| run.record.streams = 8);
        let want = "the runs did different things: streams: 4 and 8; repeat one like the other, or \
                    let them differ with --allow-diff streams";
        check_one(&streams, &[], want);
        check_one(&streams, &["streams"], "accepted");
        check_one(&streams, &["threads"], want);
        check_one(&single(Workload::Put), &[], "variants: get.plain and put.plain");
    }

    #[test]
    fn a_calibrated_rate_is_the_same_load() {
        let open = |rate: f64, share: Option<f64>| {
            let mut results = single(Workload::Put);
            (results.record.rate, results.record.rate_share) = (Some(rate), share);
            results
        };
        let refused = |left: &Results, right: &Results| check(left, right, &[]).is_err();
        assert!(!refused(&open(100.0, Some(0.7)), &open(120.0, Some(0.7))));
        assert!(refused(&open(100.0, None), &open(120.0, None)));
    }

    #[test]
    fn another_server_or_machine_is_a_warning() {
        let base = single(Workload::Get);
        let mut other = single(Workload::Get);
        if let Some(server) = &mut other.server {
            server.version = Some("0.2.0".to_owned());
        }
        other.host.kernel = Some("9.9".to_owned());
        let got = warnings(&other, &base);
        assert_eq!(got.len(), 2, "{got:?}");
        assert_eq!(got[1], "the version of the server differs: 0.1.0 and 0.2.0");
        assert_eq!(warnings(&base, &base), Vec::<String>::new());
    }

    fn check_one(value: &Results, allowed: &[&str], want: &str) {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let got = check(value, &single(Workload::Get), &allowed);
        let got = got.map_or_else(|stop| stop.to_string(), |()| "accepted".to_owned());
        assert!(got.contains(want), "{got}");
    }
}
