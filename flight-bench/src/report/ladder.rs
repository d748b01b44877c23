//! The report of `ladder`: a table within 100 columns, and JSON.

use std::ffi::OsString;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::ending::Reason;
use super::figures::{amount, megabytes, or_dash};
use super::json::tool;
use super::lines::{counted, line, parts, wrapped};
use super::{Host, Outcome, csv, html, markdown, ndjson};
use crate::cli::Format;
use crate::ladder::{Rung, Sample};
use flight_stats::{Confidence, Estimate, geometric_mean, median, paired_ratio};

/// Everything that the report is made of.
pub(crate) struct LadderResults {
    pub(crate) started: SystemTime,
    pub(crate) host: Host,
    /// Of the started flight-server.
    pub(crate) server_version: Option<String>,
    pub(crate) server_args: Vec<OsString>,
    pub(crate) sample_rows: u64,
    pub(crate) message_bytes_max: usize,
    /// Messages of the sample, and the bytes of all of them.
    pub(crate) messages: usize,
    pub(crate) pass_bytes: u64,
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
    pub(crate) rounds: usize,
    /// In their order, from the bottom.
    pub(crate) rungs: Vec<(Rung, Vec<Sample>)>,
    pub(crate) outcome: Outcome,
}

pub(super) const SCHEMA: &str = "flight-bench.ladder/1";

impl LadderResults {
    pub(crate) fn render(&self, format: Format, reason: Reason) -> String {
        match format {
            Format::Json => self.json(),
            Format::Csv => csv::ladder(self),
            Format::Ndjson => ndjson::ladder(self),
            Format::Md => markdown::ladder(self),
            Format::Html => html::ladder(self),
            // Refused before anything ran.
            Format::Text | Format::Arrow | Format::ArrowsOwn => self.text(reason),
        }
    }

    /// The last line of `--progress json`.
    pub(crate) fn summary_line(&self) -> String {
        ndjson::ladder_summary(self)
    }

    /// When it began, as the JSON has it.
    pub(super) fn started_text(&self) -> Option<String> {
        OffsetDateTime::from(self.started).format(&Rfc3339).ok()
    }

    /// The throughput of a rung over its rounds.
    pub(super) fn rate(&self, rung: Rung) -> Option<Estimate> {
        geometric_mean(&self.rates(rung), Confidence::P95)
    }

    pub(super) fn have_figures(&self) -> bool {
        self.rungs.iter().any(|(_, samples)| !samples.is_empty())
    }

    pub(super) fn rates(&self, rung: Rung) -> Vec<f64> {
        let samples = self.rungs.iter().find(|(one, _)| *one == rung);
        samples
            .map_or_else(Vec::new, |(_, samples)| samples.iter().map(Sample::bytes_per_s).collect())
    }

    /// The ratio within each round, where both have been measured in as many.
    pub(super) fn ratio(&self, rung: Rung, base: Rung) -> Option<Estimate> {
        let (rates, base) = (self.rates(rung), self.rates(base));
        let rounds = rates.len().min(base.len());
        // Rounds alternate their direction, so that a rung may lack the one that was broken off.
        paired_ratio(&rates[..rounds], &base[..rounds], Confidence::P95)
    }

    fn text(&self, reason: Reason) -> String {
        let mut out = String::new();
        let version = self.server_version.as_deref().map(|v| format!("flight-server {v}"));
        parts(
            &mut out,
            &[
                format!("flight-bench {}", env!("CARGO_PKG_VERSION")),
                "ladder".to_owned(),
                version.unwrap_or_default(),
                format!("taxi, {} rows", amount(self.sample_rows as f64)),
                counted(self.messages, "message"),
                format!("{} MB in all", megabytes(self.pass_bytes as f64)),
                "1 stream".to_owned(),
                format!("{} × {:?}", counted(self.rounds, "round"), self.duration),
            ],
        );
        if self.have_figures() {
            line(&mut out, "");
            line(&mut out, &self.table());
            line(&mut out, "");
            line(&mut out, DEFINITIONS);
        }
        if let Some(reading) = self.reading() {
            reading.lines().for_each(|one| wrapped(&mut out, "", "", one));
        }
        if let (Reason::InReport, Some(error)) = (reason, &self.outcome.error) {
            line(&mut out, error);
        }
        out
    }

    fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header([
            "",
            "MB/s\nmedian",
            "MB/s\nrange",
            "of the rung below\n95 % interval",
            "of raw TCP\n95 % interval",
            "client\ns/GB",
            "server\ns/GB",
        ]);
        for (rung, samples) in &self.rungs {
            let rates = self.rates(*rung);
            let range =
                rates.iter().copied().reduce(f64::min).zip(rates.iter().copied().reduce(f64::max));
            let range = range.filter(|_| rates.len() > 1);
            let tcp = (*rung != Rung::Tcp).then(|| self.ratio(*rung, Rung::Tcp)).flatten();
            let below = rung.below().and_then(|below| self.ratio(*rung, below));
            let cost = |cpu: fn(&Sample) -> Option<f64>| {
                or_dash(cpu_per_gb(samples, cpu).map(|cost| format!("{cost:.2}")))
            };
            table.add_row([
                rung.label().to_owned(),
                or_dash(median(&rates).map(megabytes)),
                or_dash(range.map(|(min, max)| format!("{}–{}", megabytes(min), megabytes(max)))),
                or_dash(below.map(ratio_cell)),
                or_dash(tcp.map(ratio_cell)),
                cost(|sample| sample.client_cpu_s),
                cost(|sample| sample.server_cpu_s),
            ]);
        }
        let last = table.column_count() - 1;
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, if index == last { 0 } else { 2 }));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.trim_fmt()
    }

    /// How far Flight is from the wire, and which step costs most of it, as far as the rounds tell.
    pub(super) fn reading(&self) -> Option<String> {
        let share = self.ratio(Rung::Flight, Rung::Tcp)?.value * 100.0;
        let mut reading = format!("Flight is at {share:.0} % of raw TCP");
        let largest = DOWN.into_iter().filter_map(|rung| {
            let ratio = self.ratio(rung, rung.below()?)?;
            is_told_apart(ratio).then_some((rung, ratio.value))
        });
        if let Some((rung, ratio)) = largest.min_by(|a, b| a.1.total_cmp(&b.1))
            && ratio < 1.0
        {
            let (below, rung) = (rung.below()?.label(), rung.label());
            write!(reading, "; the largest step is from {below} to {rung}: {ratio:.2}×").ok()?;
        }
        reading.push('.');
        let open = DOWN.into_iter().filter(|rung| {
            let ratio = rung.below().and_then(|below| self.ratio(*rung, below));
            ratio.is_some_and(|ratio| !is_told_apart(ratio))
        });
        let open: Vec<&str> = open.map(Rung::label).collect();
        if !open.is_empty() {
            let (rungs, them) = (open.join("; "), if open.len() == 1 { "it" } else { "them" });
            let few =
                if self.rounds < 2 { "One round does not tell" } else { "The rounds do not tell" };
            write!(reading, "\n{few} from the rung below {them}: {rungs}. --repeats gives more.")
                .ok()?;
        }
        Some(reading)
    }

    pub(super) fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.document())
            .expect("a document of strings, numbers and lists is always JSON");
        text.push('\n');
        text
    }

    pub(super) fn document(&self) -> Value {
        let arguments: Vec<_> = self.server_args.iter().map(|a| a.to_string_lossy()).collect();
        json!({
            "schema": SCHEMA,
            "started": self.started_text(),
            "complete": self.outcome.complete,
            "exit": self.outcome.exit.code(),
            "error": self.outcome.error,
            "tool": tool(),
            "target": { "name": "flight-server", "version": self.server_version, "args": arguments },
            "env": { "host": self.host },
            "config": {
                "sample": "taxi",
                "sample_rows": self.sample_rows,
                "message_bytes_max": self.message_bytes_max,
                "messages": self.messages,
                "pass_bytes": self.pass_bytes,
                "streams": 1,
                "warmup_ns": nanos(self.warmup),
                "window_ns": nanos(self.duration),
                "rounds": self.rounds,
            },
            "rungs": self.rungs.iter().map(|(rung, samples)| self.rung(*rung, samples))
                .collect::<Vec<_>>(),
        })
    }

    pub(super) fn rung(&self, rung: Rung, samples: &[Sample]) -> Value {
        let sample = |sample: &Sample| {
            json!({
                "round": sample.round,
                "bytes": sample.bytes,
                "window_s": sample.seconds,
                "client_cpu_s": sample.client_cpu_s,
                "server_cpu_s": sample.server_cpu_s,
            })
        };
        let below = rung.below();
        let tcp = (rung != Rung::Tcp).then(|| self.ratio(rung, Rung::Tcp)).flatten();
        json!({
            "id": rung.id(),
            "label": rung.label(),
            "below": below.map(Rung::id),
            "bytes_per_s_median": median(&self.rates(rung)),
            "of_below": below.and_then(|below| self.ratio(rung, below)).map(estimate),
            "of_tcp": tcp.map(estimate),
            "client_cpu_s_per_gb": cpu_per_gb(samples, |sample| sample.client_cpu_s),
            "server_cpu_s_per_gb": cpu_per_gb(samples, |sample| sample.server_cpu_s),
            "samples": samples.iter().map(sample).collect::<Vec<_>>(),
        })
    }
}

/// The rungs from raw TCP up that each send what the one below does, and more.
const DOWN: [Rung; 4] = [Rung::Http2, Rung::Grpc, Rung::Messages, Rung::Flight];

/// Whether the rounds show that a rung differs from another at all.
fn is_told_apart(ratio: Estimate) -> bool {
    ratio.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
}

/// What the table's words mean.
pub(super) const DEFINITIONS: &str = "\
Every rung moves the same messages in one stream between two processes; memcpy within one.
MB/s: 10^6 bytes of messages a second, counted by the receiver. Ratios are taken within rounds;
their mean is geometric. TLS and HTTP/2 both stand on raw TCP: from HTTP/2 on all is plaintext.
s/GB: user and system time of the process, median of the rounds, read in ticks of 10 ms.";

/// The median of processor seconds a gigabyte.
pub(super) fn cpu_per_gb(samples: &[Sample], cpu: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    let cost = |sample: &Sample| Some(cpu(sample)? / (sample.bytes as f64 / 1e9));
    let costs: Vec<f64> = samples.iter().filter_map(cost).filter(|cost| cost.is_finite()).collect();
    median(&costs)
}

/// `0.61× [0.58, 0.64]`.
pub(super) fn ratio_cell(ratio: Estimate) -> String {
    match ratio.interval {
        Some((low, high)) => {
            format!("{}× [{}, {}]", digits(ratio.value), digits(low), digits(high))
        }
        None => format!("{}×", digits(ratio.value)),
    }
}

/// A ratio in few characters: with three rounds that differ, an interval has no bound worth its
/// digits.
fn digits(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 99.995 => format!("{ratio:.2}"),
        ratio if ratio < 999.5 => format!("{ratio:.0}"),
        _ => ">999".to_owned(),
    }
}

fn estimate(ratio: Estimate) -> Value {
    let (low, high) = ratio.interval.unzip();
    json!({ "est": ratio.value, "lo": low, "hi": high })
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::exit::Exit;
    use crate::report::schema_check;

    #[test]
    fn each_rung_is_compared_with_the_one_it_stands_on_and_with_raw_tcp() {
        let text = ladder(2).text(Reason::OnStderr);
        check(&text, "raw TCP", "2000  2000–2000  0.50× [0.50, 0.50]");
        // HTTP/2 stands on raw TCP, not on TLS.
        check(&text, "HTTP/2", "1000  1000–1000  0.50× [0.50, 0.50]  0.50× [0.50, 0.50]");
        check(&text, "Flight ", "125    125–125  0.50× [0.50, 0.50]  0.06× [0.06, 0.06]");
        check(&text, "Flight is at", "6 % of raw TCP; the largest step is from");
        assert!(!text.contains("do not tell"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn rounds_that_differ_widely_fit_100_columns_too() {
        let mut wild = ladder(3);
        for (index, (_, samples)) in wild.rungs.iter_mut().enumerate() {
            // 46 900 MB/s, as a copy within the cache may reach, beside next to nothing.
            samples[index % 3].bytes = 46_900_000_000;
            samples[(index + 1) % 3].bytes = 1_000_000;
        }
        let text = wild.text(Reason::OnStderr);
        assert!(!text.contains("the largest step"), "{text}");
        check(&text, "The rounds do not tell", " from the rung below them: HTTP/2; gRPC no-op; ");
        assert!(text.contains(", >999]"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn one_round_has_no_interval_and_no_round_no_table() {
        check(&ladder(1).text(Reason::OnStderr), "raw TCP", "0.50×  ");
        let text = ladder(0).text(Reason::OnStderr);
        assert!(!text.contains("raw TCP"), "{text}");
    }

    #[test]
    fn the_json_has_every_round_and_null_for_what_was_not_measured() {
        let document: Value = serde_json::from_str(&ladder(2).json()).expect("one document");
        assert_eq!(document["schema"], "flight-bench.ladder/1");
        assert_eq!(document["rungs"][0]["server_cpu_s_per_gb"], Value::Null);
        assert_eq!(document["rungs"][1]["server_cpu_s_per_gb"], 0.25);
        assert_eq!(document["rungs"][3]["below"], "tcp");
        assert_eq!(document["rungs"][6]["samples"].as_array().map(Vec::len), Some(2));
        let none: Value = serde_json::from_str(&ladder(0).json()).expect("one document");
        assert_eq!(none["rungs"][1]["bytes_per_s_median"], Value::Null);
    }

    #[test]
    fn the_json_follows_its_schema() {
        let schema = include_str!("../../../docs/flight-bench.ladder.schema.json");
        let check = |results: &LadderResults| schema_check::check(schema, &results.json());
        check(&ladder(3));
        check(&ladder(1));
        let mut broken = LadderResults { rounds: 1, ..ladder(0) };
        (broken.outcome.complete, broken.outcome.exit) = (false, Exit::Failed);
        (broken.server_version, broken.outcome.error) = (None, Some("no server".to_owned()));
        assert_eq!(check(&broken)["error"], "no server");
    }

    fn check(text: &str, label: &str, want: &str) {
        let line = text.lines().find(|line| line.starts_with(label)).expect("a line of the rung");
        assert!(line.contains(want), "{want:?} is not in {line:?}");
    }

    /// Each rung at half the speed of the one before, from 4 GB/s; TLS beside HTTP/2.
    pub(crate) fn ladder(rounds: usize) -> LadderResults {
        let rung = |(index, rung): (usize, Rung)| {
            let steps = if index < 3 { index } else { index - 1 };
            let sample = |round| Sample {
                round,
                bytes: 4_000_000_000 >> steps,
                seconds: 1.0,
                client_cpu_s: Some(0.5),
                server_cpu_s: (rung != Rung::Memcpy).then_some(0.5),
            };
            (rung, (0..rounds).map(sample).collect())
        };
        LadderResults {
            started: SystemTime::UNIX_EPOCH,
            host: Host::default(),
            server_version: Some("0.1.0".to_owned()),
            server_args: Vec::new(),
            sample_rows: 1_000_000,
            message_bytes_max: 1 << 20,
            messages: 3,
            pass_bytes: 3 << 20,
            warmup: Duration::ZERO,
            duration: Duration::from_secs(1),
            rounds,
            rungs: Rung::ALL.into_iter().enumerate().map(rung).collect(),
            outcome: Outcome { exit: Exit::Done, error: None, complete: true },
        }
    }
}
