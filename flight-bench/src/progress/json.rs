//! Progress as JSON by lines, for programs that watch a run: an object a second of each repeat, one
//! when it is over, and one for each step in between.
//!
//! What ends the stream, the summary, is a line of the report.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Counted, Interval, Row};

/// How often a line is written while something is measured.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn interval(row: &Row, interval: Interval) -> String {
    json!({
        "type": "interval",
        "variant": row.name,
        "t_ns": nanos(interval.elapsed),
        "interval_ns": nanos(interval.took),
        "bytes": interval.bytes,
        "batches": interval.batches,
        rate_name(row): interval.per_second(row.counted),
    })
    .to_string()
}

pub(super) fn repeat(row: &Row, round: usize, per_second: Option<f64>) -> String {
    json!({
        "type": "repeat",
        "variant": row.name,
        "i": round,
        rate_name(row): per_second,
    })
    .to_string()
}

pub(super) fn sentence(kind: &str, text: &str) -> String {
    json!({ "type": kind, "text": text }).to_string()
}

fn rate_name(row: &Row) -> &'static str {
    match row.counted {
        Counted::Bytes => "bytes_per_s",
        Counted::Calls => "calls_per_s",
        Counted::Connections => "connections_per_s",
    }
}

fn nanos(time: Duration) -> Value {
    json!(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(counted: Counted) -> Row {
        Row { name: "get.plain".to_owned(), counted }
    }

    fn check(line: &str, want: &Value) {
        assert!(!line.contains('\n'), "{line}");
        let got: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(&got, want);
    }

    #[test]
    fn each_line_says_what_it_is() {
        let second = Duration::from_secs(1);
        let moved = Interval {
            elapsed: 3 * second,
            took: second,
            bytes: 500,
            batches: 5,
            batches_total: 9,
        };
        check(
            &interval(&row(Counted::Bytes), moved),
            &json!({"type": "interval", "variant": "get.plain", "t_ns": 3_000_000_000_u64,
                "interval_ns": 1_000_000_000, "bytes": 500, "batches": 5, "bytes_per_s": 500.0}),
        );
        check(
            &repeat(&row(Counted::Calls), 2, None),
            &json!({"type": "repeat", "variant": "get.plain", "i": 2, "calls_per_s": null}),
        );
        check(&sentence("step", "a\nb"), &json!({"type": "step", "text": "a\nb"}));
    }
}
