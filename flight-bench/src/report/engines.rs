//! What TLS costs with each engine and suite, beside plaintext: the table of `engines`.

use flight_chart::Column;

use super::cost::{Cost, Costs};
use super::ending::{Reason, ending};
use super::figures::{megabytes, or_dash};
use super::lines::{counted, line, parts, wrapped};
use super::results::{Results, Variant};
use super::rows::{errors_of, missing, under};
use super::summary::Statistic;
use super::tables::{Table, share};
use super::text::{plan, started};

/// What the table says, in short.
pub(super) const DEFINITION: &str = "MB/s: median over rounds, 10^6 bytes of Arrow arrays by wall time. CPU s/GB: processor time of \
     the process for 10^9 such bytes. Intervals are of 95 %; the share of plaintext is taken within \
     each round, so that drift of the machine cancels out. Both ends have the same engine; the \
     client offers one suite alone.";

pub(super) fn render(results: &Results, reason: Reason) -> String {
    let mut out = String::new();
    let record = &results.record;
    parts(
        &mut out,
        &[
            format!("flight-bench {}", env!("CARGO_PKG_VERSION")),
            "engines".to_owned(),
            record.sources.join(", "),
            counted(record.streams, "stream"),
            counted(record.threads, "thread"),
            format!("transport {}", record.transport),
            plan(results),
        ],
    );
    if let Some(started) = results.server.as_ref().and_then(started) {
        line(&mut out, &format!("server {started}, and one more for each other engine"));
    }
    missing(&mut out, results);
    if results.have_figures() {
        line(&mut out, "");
        let heads = [
            "",
            "MB/s\nmedian",
            "MB/s\n95 % interval",
            "client\nCPU s/GB",
            "server\nCPU s/GB",
            "of plaintext\n95 % interval",
        ];
        line(&mut out, &under(&heads, table(results)));
        line(&mut out, "");
        negotiated(&mut out, results);
        wrapped(&mut out, "", "", DEFINITION);
        errors_of(&mut out, results);
    }
    ending(&mut out, results, reason);
    out
}

/// A row for plaintext and for each engine and suite, of DoGet and of DoPut.
pub(super) fn table(results: &Results) -> Table {
    let heads =
        ["MB/s, median", "95 % interval", "client CPU s/GB", "server CPU s/GB", "of plaintext"];
    let mut columns = vec![Column::Text("")];
    columns.extend(heads.map(Column::Number));
    let rows = results.variants.iter().map(|variant| row(results, variant)).collect();
    Table { title: "Throughput".to_owned(), columns, rows }
}

fn row(results: &Results, variant: &Variant) -> Vec<String> {
    let summary = results.summary();
    let bytes = summary.get(&results.figure_id(variant, "bytes_per_s"));
    let interval = bytes.and_then(Statistic::shown_interval);
    let Costs { client, server } = Costs::of(variant);
    let seconds = |cost: Option<Cost>| or_dash(per_gb(cost));
    vec![
        format!("{} {}", variant.call(), variant.label),
        or_dash(bytes.and_then(|one| one.median).map(megabytes)),
        or_dash(interval.map(|(low, high)| format!("{} to {}", megabytes(low), megabytes(high)))),
        seconds(client),
        seconds(server),
        or_dash(results.ratio_to_plain(variant).and_then(|(_, ratio)| share(&ratio))),
    ]
}

fn per_gb(cost: Option<Cost>) -> Option<String> {
    Some(format!("{:.3}", cost?.cpu_s_per_gb?))
}

/// What each engine agreed on besides the suite.
fn negotiated(out: &mut String, results: &Results) {
    let mut told: Vec<Vec<String>> = Vec::new();
    for tls in results.variants.iter().filter_map(|variant| variant.tls.as_ref()) {
        let words = [
            tls.engine.clone(),
            tls.version.as_ref().map(|version| format!("TLS {version}")),
            tls.group.clone(),
            tls.certificate.as_ref().map(|certificate| format!("certificate {certificate}")),
        ];
        let words = words.into_iter().flatten().collect();
        if !told.contains(&words) {
            told.push(words);
        }
    }
    told.iter().for_each(|words| parts(out, words));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::report::Workload;
    use crate::report::cost::tests::spent;
    use crate::report::results::tests::results;

    /// Plaintext and two rows of TLS, of which one moves a third of what plaintext does.
    pub(crate) fn engines() -> Results {
        let transports = [("plain", 1500), ("aws-lc-aes128", 1000), ("openssl-chacha20", 500)];
        let rows: Vec<_> = [Workload::Get, Workload::Put]
            .into_iter()
            .flat_map(|workload| transports.map(|(transport, count)| (workload, transport, count)))
            .collect();
        let mut results = results(&rows);
        results.record.command = "engines".into();
        results.record.key = Some("ec".into());
        results.record.missing = vec!["the TLS engine ring is not part of this build".to_owned()];
        for variant in &mut results.variants {
            variant.label = match &*variant.transport {
                "plain" => "plaintext",
                "aws-lc-aes128" => "aws-lc AES-128-GCM",
                _ => "openssl CHACHA20-POLY1305",
            }
            .to_owned();
            for measured in &mut variant.measured {
                let (client, server) = (spent("worker-0", 0.5), Some(spent("tokio", 0.25)));
                let noise = flight_probe::noise::Noise::default();
                let used = crate::load::Resources { client, server, noise, tcp: None };
                measured.repeat.resources = Some(used);
            }
        }
        results
    }

    #[test]
    fn each_row_has_its_cost_and_its_share_of_plaintext_within_100_columns() {
        let text = render(&engines(), Reason::OnStderr);
        for want in [
            "not measured: the TLS engine ring is not part of this build",
            "DoGet plaintext ",
            "0.33× [0.33, 0.33]",
            // Half a second for 131 072 000 bytes.
            "3.815",
        ] {
            assert!(text.contains(want), "{want:?} is missing in:\n{text}");
        }
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{widest:?} columns in:\n{text}");
        let row = text.lines().find(|line| line.starts_with("DoPut openssl")).expect("a row");
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[3], "65.5", "500 batches of 131 072 bytes a second: {row}");
    }
}
