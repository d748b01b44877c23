//! What connections of several kinds take, side by side: the table of `tls` without a TARGET.

use flight_chart::Column;

use super::cost::{Cost, Costs};
use super::ending::{Reason, ending};
use super::figures::{amount, or_dash};
use super::lines::{counted, line, parts, wrapped};
use super::results::{Results, Variant};
use super::rows::{errors_of, missing, under};
use super::tables::Table;
use super::text::{model, plan, started};
use crate::record::Metric;

/// What the table says, in short.
pub(super) const DEFINITION: &str = "connections/s: median over rounds, each made, asked one call and closed; ± is half of the 95 % \
     interval. socket, TLS, HTTP/2 and call: medians of the steps, one after the other; HTTP/2 ends \
     when the server has acknowledged our settings. CPU: processor time of the process for a \
     connection. Each connection is held against its row: one that was resumed or not as it should, \
     or that agreed on another version, suite or group, is a failure and counts nowhere.";

/// Whether there are several kinds of connections.
pub(super) fn is_told_in_rows(results: &Results) -> bool {
    results.record.command == "tls" && results.has_rows()
}

/// The steps of a connection, in their order.
const STEPS: [Metric; 4] =
    [Metric::ConnectSocket, Metric::ConnectTls, Metric::ConnectHttp2, Metric::ConnectFirstCall];

pub(super) fn render(results: &Results, reason: Reason) -> String {
    let mut out = String::new();
    let record = &results.record;
    parts(
        &mut out,
        &[
            format!("flight-bench {}", env!("CARGO_PKG_VERSION")),
            "tls".to_owned(),
            counted(record.streams, "stream"),
            counted(record.threads, "thread"),
            model(record),
            plan(results),
        ],
    );
    if let Some(started) = results.server.as_ref().and_then(started) {
        line(&mut out, &format!("server {started}, and one more for each engine, key and mutual"));
    }
    missing(&mut out, results);
    if results.have_figures() {
        line(&mut out, "");
        let heads = [
            "",
            "conn/s\nmedian",
            "±\n%",
            "socket\nµs",
            "TLS\nµs",
            "HTTP/2\nµs",
            "call\nµs",
            "client\nCPU µs",
            "server\nCPU µs",
        ];
        line(&mut out, &under(&heads, table(results)));
        line(&mut out, "");
        wrapped(&mut out, "", "", DEFINITION);
        errors_of(&mut out, results);
    }
    ending(&mut out, results, reason);
    out
}

/// A row for each kind of connection.
pub(super) fn table(results: &Results) -> Table {
    let heads = [
        "connections/s",
        "±, %",
        "socket, µs",
        "TLS, µs",
        "HTTP/2, µs",
        "call, µs",
        "client CPU, µs",
        "server CPU, µs",
    ];
    let mut columns = vec![Column::Text("")];
    columns.extend(heads.map(Column::Number));
    let rows = results.variants.iter().map(|variant| row(results, variant)).collect();
    Table { title: "Connections".to_owned(), columns, rows }
}

fn row(results: &Results, variant: &Variant) -> Vec<String> {
    let summary = results.summary();
    let rate = summary.get(&results.figure_id(variant, "connections_per_s"));
    let half = rate.and_then(|rate| {
        let (low, high) = rate.shown_interval()?;
        Some((high - low) / 2.0 / rate.est.filter(|est| *est > 0.0)? * 100.0)
    });
    let latencies = variant.latencies();
    let step = |metric| {
        let middle = latencies.summary(metric).and_then(|one| one.percentiles_ns[0]);
        or_dash(middle.map(|nanos| micros(nanos as f64)))
    };
    let Costs { client, server } = Costs::of(variant);
    let cpu = |cost: Option<Cost>| or_dash(cost.and_then(|one| one.cpu_ns_per_batch).map(micros));
    let mut cells = vec![
        variant.label.clone(),
        or_dash(rate.and_then(|rate| rate.median).map(amount)),
        or_dash(half.map(|half| format!("{half:.1}"))),
    ];
    cells.extend(STEPS.map(step));
    cells.extend([cpu(client), cpu(server)]);
    cells
}

/// Nanoseconds as microseconds: `0.8`, `41`, `1234`.
fn micros(nanos: f64) -> String {
    let micros = nanos / 1e3;
    if micros < 10.0 { format!("{micros:.1}") } else { format!("{micros:.0}") }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::report::Workload;
    use crate::report::results::tests::results;

    /// Three kinds of connections.
    pub(crate) fn handshakes() -> Results {
        let rows = [
            ("aws-lc-x25519-ec-full", "aws-lc X25519 ec full", 1000),
            ("aws-lc-x25519-ec-ticket", "aws-lc X25519 ec ticket", 3000),
            ("openssl-x25519mlkem768-ed25519-ticket-mutual", WIDEST, 500),
        ];
        let kinds = rows.map(|(transport, _, count)| (Workload::Tls, transport, count));
        let mut results = results(&kinds);
        results.record.sources.clear();
        for (variant, (_, label, _)) in results.variants.iter_mut().zip(rows) {
            label.clone_into(&mut variant.label);
        }
        results
    }

    const WIDEST: &str = "openssl X25519MLKEM768 ed25519 ticket mutual";

    #[test]
    fn steps_stand_apart_and_the_widest_row_fits_100_columns() {
        let mut results = handshakes();
        let failure = crate::record::Failure::new("MISMATCH", "the server resumed no session");
        results.variants[1].measured[0].repeat.recording.errors.add(failure);
        let text = render(&results, Reason::OnStderr);
        for want in [WIDEST, "errors of tls.aws-lc-x25519-ec-ticket", "MISMATCH", "conn/s"] {
            assert!(text.contains(want), "{want:?} is missing in:\n{text}");
        }
        let row = text.lines().find(|line| line.starts_with(WIDEST)).expect("the row");
        let cells: Vec<&str> = row[WIDEST.len()..].split_whitespace().collect();
        // Latencies are of 1 µs to 1 ms; nothing was seen of the processor.
        assert_eq!(cells, ["500", "0.0", "500", "500", "500", "500", "–", "–"]);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{widest:?} columns in:\n{text}");
    }

    #[test]
    fn microseconds_are_short() {
        assert_eq!(micros(812.0), "0.8");
        assert_eq!(micros(41_234.0), "41");
        assert_eq!(micros(1_234_567.0), "1235");
    }
}
