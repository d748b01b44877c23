//! `doctor`: what about this machine, or this program, makes measurements worse than they could be.

mod aa;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flight_probe::clock::{Clock, Kind, Ticker};
use flight_probe::doctor::{Finding, Level, Options, findings};
use serde_json::json;

use crate::cli::DoctorArgs;
use crate::exit::{Exit, Stop};
use crate::load::{self, ClockInUse};
use crate::record::{Metric, Recorder, Transfer, Window};
use crate::report;

/// Looks at this machine for some seconds, and says what it found; with `--aa` for longer.
///
/// # Errors
///
/// Stdout is gone, or the noise floor was to be measured and could not be.
pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, Stop> {
    // Refused before anything is looked at.
    let asked = args.aa.then(|| aa::Asked::of(args)).transpose()?;
    let debug_build = cfg!(debug_assertions);
    let mut found = findings(&Options { debug_build, ..Options::default() });
    found.push(recording());
    if asked.is_some() && !args.format.is_json() {
        report::print(&(as_text(&found) + "\n"))?;
    }
    let floor = asked.map(|asked| asked.measure()).transpose()?;
    report::print(&match (args.format.is_json(), &floor) {
        (true, _) => as_json(&found, floor.as_ref()),
        (false, Some(floor)) => floor.as_text(),
        (false, None) => as_text(&found),
    })?;
    Ok(Exit::Done)
}

/// What recording one event costs, the clock included.
fn recording() -> Finding {
    let clock = load::clock_in_use();
    let instant_ns = event_ns(&Ticker::of(&Clock::standard()));
    // Where runs read `Instant` anyway, there is one figure.
    let tsc_ns = (clock.kind == Kind::Tsc).then(|| event_ns(&load::ticker()));
    recorded(instant_ns, tsc_ns, &clock)
}

/// What is found of an event that costs so much with `Instant`, and with the time stamp counter.
fn recorded(instant_ns: f64, tsc_ns: Option<f64>, clock: &ClockInUse) -> Finding {
    let (ns, usual) = tsc_ns.map_or((instant_ns, INSTANT_NS), |ns| (ns, TSC_NS));
    let level = match ns {
        ns if ns > EVENT_NS_MAX => Level::Warn,
        ns if ns > usual => Level::Note,
        _ => Level::Ok,
    };
    let with_tsc = match tsc_ns {
        Some(ns) => {
            format!("{ns:.0} ns with the TSC: runs read it, {:.0} ns a call", clock.call_ns)
        }
        None => format!("which runs read: {}", clock.why),
    };
    Finding {
        id: "recording",
        level,
        what: format!("an event costs {instant_ns:.0} ns to record with Instant, {with_tsc}"),
        why: "what recording takes is missing from what is measured".to_owned(),
        fix: (level != Level::Ok)
            .then(|| "build with --release, on a machine that is not busy".to_owned()),
    }
}

/// What an event may take with `Instant`, and with the time stamp counter, on a usual machine.
const INSTANT_NS: f64 = 100.0;
const TSC_NS: f64 = 30.0;
/// Above this, recording is told to be dear: two of them are in every call.
const EVENT_NS_MAX: f64 = 200.0;
const EVENTS: u32 = 100_000;
/// The best of the rounds is that which nothing disturbed.
const ROUNDS: usize = 5;

/// Nanoseconds for a batch that arrives: its time, its amount, its latency.
fn event_ns(ticker: &Ticker) -> f64 {
    (0..ROUNDS).map(|_| round_ns(ticker)).fold(f64::INFINITY, f64::min)
}

fn round_ns(ticker: &Ticker) -> f64 {
    let origin = Instant::now();
    let window = Arc::new(Window::unset(origin));
    window.set(origin, Some(origin + Duration::from_secs(3600)));
    let mut recorder = Recorder::new(window, Arc::default(), &[Metric::GetWait], [(0, 0)]);
    let amount = Transfer { batches: 1, rows: 1, logical_bytes: 1, ..Transfer::default() };
    let mut since = ticker.now();
    let started = since;
    for _ in 0..EVENTS {
        let now = ticker.now();
        recorder.transferred(0, amount, now);
        recorder.latency(Metric::GetWait, now - since, now);
        since = now;
    }
    let took = since - started;
    black_box(recorder.into_recording());
    took.as_secs_f64() * 1e9 / f64::from(EVENTS)
}

fn as_text(found: &[Finding]) -> String {
    let mut out = String::new();
    for Finding { id, level, what, why, fix } in found {
        let mark = match level {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warn => "WARN",
        };
        report::wrapped(&mut out, &format!("{mark:<5} {id:<20} "), INDENT, what);
        if *level != Level::Ok {
            report::wrapped(&mut out, INDENT, INDENT, why);
        }
        if let Some(fix) = fix {
            report::wrapped(&mut out, &format!("{INDENT}→ "), &format!("{INDENT}  "), fix);
        }
    }
    let count = |level| found.iter().filter(|finding| finding.level == level).count();
    let (notes, warnings) = (count(Level::Note), count(Level::Warn));
    out.push('\n');
    report::wrapped(&mut out, "", "", &format!("{warnings} to mend, {notes} to know"));
    out
}

const INDENT: &str = "                           ";

fn as_json(found: &[Finding], floor: Option<&aa::Found>) -> String {
    let floor = floor.map(aa::Found::as_json);
    let document =
        json!({ "schema": "flight-bench.doctor/1", "findings": found, "aa_floor": floor });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_costs_something_with_either_clock() {
        for ticker in [Ticker::of(&Clock::standard()), load::ticker()] {
            let ns = event_ns(&ticker);
            assert!(ns.is_finite() && ns > 0.0, "{ns} {ticker:?}");
        }
    }

    #[test]
    fn what_recording_costs_is_told_with_both_clocks_or_why_there_is_one() {
        let clock = |kind| ClockInUse { kind, why: "it is refused".into(), call_ns: 9.0 };
        let both = recorded(50.2, Some(27.9), &clock(Kind::Tsc));
        let what = "an event costs 50 ns to record with Instant, 28 ns with the TSC: runs read \
                    it, 9 ns a call";
        assert_eq!((both.what.as_str(), both.level), (what, Level::Ok));
        let one = recorded(250.0, None, &clock(Kind::Instant));
        let what = "an event costs 250 ns to record with Instant, which runs read: it is refused";
        assert_eq!((one.what.as_str(), one.level), (what, Level::Warn));
        assert_eq!(recorded(250.0, Some(30.0), &clock(Kind::Tsc)).level, Level::Ok);
        assert_eq!(recorded(50.0, Some(31.0), &clock(Kind::Tsc)).level, Level::Note);
        assert_eq!(recorded(101.0, None, &clock(Kind::Instant)).level, Level::Note);
    }

    fn found() -> Vec<Finding> {
        let finding = |id, level, fix: Option<&str>| Finding {
            id,
            level,
            what: format!("{id} was seen"),
            why: "it matters because of ".to_owned() + &"many words ".repeat(20),
            fix: fix.map(str::to_owned),
        };
        vec![
            finding("cores", Level::Ok, None),
            finding("governor", Level::Warn, Some("cpupower frequency-set -g performance")),
            finding("steal", Level::Note, None),
        ]
    }

    #[test]
    fn what_is_wrong_comes_with_its_reason_and_its_remedy_within_100_columns() {
        let text = as_text(&found());
        assert!(
            text.starts_with("ok    cores                cores was seen\nWARN  governor"),
            "{text}"
        );
        assert!(text.contains("→ cpupower frequency-set -g performance\n"), "{text}");
        assert!(text.ends_with("1 to mend, 1 to know\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn the_document_holds_all_findings() {
        let document: serde_json::Value =
            serde_json::from_str(&as_json(&found(), None)).expect("JSON");
        assert_eq!(document["findings"][1]["level"], "warn");
        assert_eq!(document["findings"].as_array().map(Vec::len), Some(3));
        assert!(document["aa_floor"].is_null());
    }
}
