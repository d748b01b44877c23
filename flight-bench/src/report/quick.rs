//! The table of `quick`: six rows side by side, within 100 columns.

use comfy_table::Table;

use super::ending::{Reason, ending};
use super::figures::{amount, megabytes, nanos, or_dash};
use super::lines::{counted, line, parts};
use super::results::{Results, Variant};
use super::rows::{errors_of, laid_out};
use super::tables::share;
use super::text::{plan, started, tls};
use super::workload::Workload;
use crate::record::{LatencySummary, Metric, PERCENTILES};
use flight_stats::median;

pub(super) fn render(results: &Results, reason: Reason) -> String {
    let mut out = String::new();
    let record = &results.record;
    parts(
        &mut out,
        &[
            format!("flight-bench {}", env!("CARGO_PKG_VERSION")),
            "quick".to_owned(),
            record.sources.join(", "),
            counted(record.streams, "stream"),
            counted(record.threads, "thread"),
            format!("transport {}", record.transport),
            plan(results),
        ],
    );
    if let Some(started) = results.server.as_ref().and_then(started) {
        line(&mut out, &format!("server {started}, started for this run"));
    }
    if results.have_figures() {
        line(&mut out, "");
        line(&mut out, &table(results));
        line(&mut out, "");
        definitions(&mut out, results);
    }
    foot(&mut out, results, reason);
    out
}

fn table(results: &Results) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "",
        "MB/s\nmedian",
        "MB/s\nrange",
        "batches\n/s",
        "first\nbatch",
        "wait|ack\np50",
        "wait|ack\np99",
        "of plaintext\n95 % interval",
    ]);
    for variant in &results.variants {
        table.add_row(row(results, variant));
    }
    laid_out(&mut table)
}

fn row(results: &Results, variant: &Variant) -> Vec<String> {
    let summary = results.summary();
    let of = |name: &str| {
        let id = format!("{}.{name}@{}", variant.workload.name(), variant.transport);
        summary.get(&id).cloned()
    };
    let bytes = of("bytes_per_s");
    let range = bytes.as_ref().and_then(|s| {
        let (min, max) = (s.min?, s.max?);
        (s.n > 1).then(|| format!("{}–{}", megabytes(min), megabytes(max)))
    });
    let (latency, word) = match variant.workload {
        Workload::Get => (Metric::GetWait, "wait"),
        Workload::Put => (Metric::PutAck, "ack"),
        Workload::Unary => (Metric::UnaryService, "call"),
        Workload::Tls => (Metric::ConnectReady, "ready"),
        Workload::Exchange => (Metric::ExchangeRoundTrip, "rtt"),
        Workload::Mixed => (Metric::MixedService, "operation"),
    };
    let latencies = variant.latencies();
    let quantile = |summary: Option<&LatencySummary>, name: &str| {
        let index = PERCENTILES.iter().position(|(known, _)| *known == name)?;
        summary?.percentiles_ns[index].map(|value| nanos(value as f64))
    };
    let waits = latencies.summary(latency);
    let named = |text: String| format!("{word} {text}");
    let ratio = results.ratio_to_plain(variant).and_then(|(_, ratio)| share(&ratio));
    vec![
        format!("{} {}", variant.workload.call(), variant.label),
        or_dash(bytes.as_ref().and_then(|s| s.median).map(megabytes)),
        or_dash(range),
        or_dash(of("batches_per_s").and_then(|s| s.median).map(amount)),
        or_dash(median(&variant.first_ns()).map(nanos)),
        or_dash(quantile(waits.as_ref(), "p50").map(named)),
        or_dash(quantile(waits.as_ref(), "p99")),
        or_dash(ratio),
    ]
}

fn definitions(out: &mut String, results: &Results) {
    // DoGet and DoPut agree on the same things.
    for variant in results.variants.iter().filter(|variant| variant.workload == Workload::Get) {
        tls(out, variant);
    }
    line(
        out,
        "MB/s: 10^6 bytes of Arrow arrays, by wall time. wait: DoGet blocked until the next batch \
         came\n(a closed loop: not a latency). ack: DoPut batch handed over to its \
         acknowledgement.\nfirst batch: a stream's first call to its first batch (get) or \
         acknowledgement (put),\nmedian. The share of plaintext is taken within each round, so \
         that drift of the machine cancels out.",
    );
    errors_of(out, results);
}

fn foot(out: &mut String, results: &Results, reason: Reason) {
    ending(out, results, reason);
    if results.outcome.error.is_some() {
        return;
    }
    line(
        out,
        "next: flight-bench get --streams 8 --duration 10s · flight-bench put --data-file FILE\n      \
         flight-bench get grpc://HOST:PORT --source path:NAME",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::results::tests::six_rows;

    #[test]
    fn six_rows_fit_100_columns() {
        let text = render(&six_rows(), Reason::OnStderr);
        check(
            &text,
            &[
                "DoGet plaintext",
                "DoPut TLS RSA-4096",
                "0.50× [0.50, 0.50]",
                "131–131",
                "wait 500 µs",
                "ack 500 µs",
                "TLS RSA-4096 · certificate EC P-256 · TLS 1.3 · TLS13_AES_128_GCM_SHA256 · X25519",
                "5 rounds of 1s after 300ms of warm-up",
                "next: flight-bench get",
            ],
        );
    }

    #[test]
    fn the_widest_figures_fit_too() {
        let mut results = six_rows();
        for variant in &mut results.variants {
            for (round, measured) in variant.measured.iter_mut().enumerate() {
                let counts = &mut measured.repeat.recording.counts.transfer;
                counts.logical_bytes = 93_456_000_000 + round as u64 * 1_000_000_000;
                counts.batches = 99_999;
            }
        }
        check(&render(&results, Reason::OnStderr), &["95456", "93456–97456"]);
    }

    #[test]
    fn a_row_without_a_repeat_has_dashes_and_no_figures() {
        let mut results = six_rows();
        results.variants[1].measured.clear();
        let text = render(&results, Reason::OnStderr);
        let row = text.lines().find(|line| line.starts_with("DoGet TLS")).expect("the row");
        assert!(!row.contains("MB") && row.matches('–').count() == 7, "{row}");
    }

    #[test]
    fn two_rounds_give_a_ratio_without_an_interval() {
        let mut results = six_rows();
        for variant in &mut results.variants {
            variant.measured.truncate(2);
        }
        let text = render(&results, Reason::OnStderr);
        assert!(text.contains("0.50×") && !text.contains("[0.50"), "{text}");
    }

    #[test]
    fn a_run_without_a_figure_has_no_table_and_no_definitions() {
        let mut results = crate::report::tests::results(&[]);
        results.record.command = "quick".into();
        results.outcome.complete = false;
        results.outcome.error = Some("cannot reach grpc://h:1".to_owned());
        let text = render(&results, Reason::OnStderr);
        assert!(!text.contains("MB/s") && !text.contains("next:"), "{text}");
        assert!(!text.contains("cannot reach"), "{text}");
        let kept = render(&results, Reason::InReport);
        assert!(kept.ends_with("\nNOT COMPLETE: cannot reach grpc://h:1\n"), "{kept}");
    }

    fn check(text: &str, wants: &[&str]) {
        for want in wants {
            assert!(text.contains(want), "{want:?} is missing in:\n{text}");
        }
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
        }
    }
}
