//! The table of speeds to reach: two arms, what of them is compared, and the bound.

use crate::arms::{ARMS, Arm};

/// What of two arms is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Rate,
    /// Processor seconds of the server a gigabyte moved.
    ServerCpu,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// The page that a row is told on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Page {
    /// docs/performance.md: the data plane.
    Performance,
    /// docs/security-cost.md: what secure connections cost.
    Security,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) page: Page,
    pub(crate) id: &'static str,
    pub(crate) what: &'static str,
    pub(crate) figure: Figure,
    pub(crate) ours: &'static str,
    pub(crate) reference: &'static str,
    pub(crate) bound: Bound,
}

/// How a row ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Reached,
    /// The median misses the bound, and its interval does not.
    WithinNoise,
    /// The whole interval misses the bound.
    Short,
}

impl Bound {
    /// Judges a median and its interval.
    pub(crate) fn judge(self, median: &crate::statistics::Median) -> Verdict {
        let (reached, near) = match self {
            Self::AtLeast(bound) => (median.value >= bound, median.high >= bound),
            Self::AtMost(bound) => (median.value <= bound, median.low <= bound),
        };
        match (reached, near) {
            (true, _) => Verdict::Reached,
            (false, true) => Verdict::WithinNoise,
            (false, false) => Verdict::Short,
        }
    }
}

impl Row {
    /// The two arms: ours and the reference.
    pub(crate) fn arms(&self) -> [&'static Arm; 2] {
        [self.ours, self.reference].map(|id| {
            let arm = ARMS.iter().find(|arm| arm.id == id);
            arm.expect("a test looks up the arms of every row")
        })
    }
}

const fn row(
    id: &'static str,
    what: &'static str,
    figure: Figure,
    ours: &'static str,
    reference: &'static str,
    bound: Bound,
) -> Row {
    Row { page: Page::Performance, id, what, figure, ours, reference, bound }
}

const fn secure(row: Row) -> Row {
    Row { page: Page::Security, ..row }
}

use Bound::{AtLeast, AtMost};
use Figure::{Rate, ServerCpu};

#[rustfmt::skip] // a table: one row a line
pub(crate) static ROWS: &[Row] = &[
    row("get-stock", "DoGet ≈ 5 MB, whole, mapped / stock", Rate, "get-mapped", "get-stock", AtLeast(2.5)),
    row("get-raw", "the same / raw TCP", Rate, "get-mapped", "get-raw", AtLeast(0.9)),
    row("get-cpu", "the same: server CPU s/GB / stock", ServerCpu, "get-mapped", "get-stock", AtMost(0.5)),
    row("get-pread", "the same through pread / mapped", Rate, "get-read", "get-mapped", AtLeast(0.75)),
    row("get-limit", "the same at the default message limit / whole", Rate, "get-limit", "get-mapped", AtLeast(0.9)),
    row("get-to-stock", "the same with a stock client / stock", Rate, "get-to-stock", "get-stock", AtLeast(1.4)),
    row("get-four", "DoGet, 4 streams / 1 stream", Rate, "get-four", "get-mapped", AtLeast(0.95)),
    row("get-small", "DoGet 128 KiB / stock", Rate, "small", "small-stock", AtLeast(1.9)),
    row("put", "DoPut ≈ 5 MB, dropped / stock", Rate, "put", "put-stock", AtLeast(2.3)),
    row("put-small", "DoPut 128 KiB, dropped / stock", Rate, "put-small", "put-small-stock", AtLeast(1.6)),
    row("put-stored", "DoPut ≈ 5 MB, stored on tmpfs / stock with FileWriter", Rate, "store", "store-stock", AtLeast(2.0)),
    row("tls-get", "TLS DoGet ≈ 5 MB / stock over TLS", Rate, "tls", "tls-stock", AtLeast(1.6)),
    row("tls-get-raw", "the same / raw TLS", Rate, "tls", "tls-raw", AtLeast(0.9)),
    row("tls-put", "TLS DoPut ≈ 5 MB / stock over TLS", Rate, "tls-put", "tls-put-stock", AtLeast(1.4)),
    row("tls-put-raw", "the same / raw TLS", Rate, "tls-put", "tls-put-raw", AtLeast(0.75)),
    row("pyarrow", "pyarrow client: this server / pyarrow server", Rate, "py", "py-py", AtLeast(1.0)),
    row("pyarrow-cpu", "the same: server CPU s/GB / pyarrow server", ServerCpu, "py", "py-py", AtMost(0.9)),
    row("parquet-zstd", "DoGet from zstd Parquet, 1 thread / local read", Rate, "zstd", "zstd-local", AtLeast(0.9)),
    row("parquet-zstd-free", "the same, the server on both cores", Rate, "zstd-free", "zstd-local", AtLeast(0.9)),
    row("parquet-snappy", "DoGet from snappy Parquet, 1 thread / local read", Rate, "snappy", "snappy-local", AtLeast(0.9)),
    row("parquet-snappy-free", "the same, the server on both cores", Rate, "snappy-free", "snappy-local", AtLeast(0.9)),
    row("info", "GetFlightInfo, 100 callers / stock", Rate, "info", "info-stock", AtLeast(1.0)),
    row("info-precomputed", "the same, with what can be precomputed", Rate, "info", "info-stock", AtLeast(1.5)),

    secure(row("pooled-1", "calls over a pool / a full handshake a call, 1 caller", Rate, "pooled-1", "per-call-1", AtLeast(5.0))),
    secure(row("pooled-10", "the same, 10 callers, 4 connections", Rate, "pooled-10", "per-call-10", AtLeast(10.0))),
    secure(row("resumed-call", "calls after a resumed / a full handshake, 1 caller", Rate, "resumed-1", "per-call-1", AtLeast(1.3))),
    secure(row("resumed", "connections a second, resumed / full, 1 caller", Rate, "handshakes-resumed", "handshakes-full", AtLeast(1.3))),
    secure(row("calls-tls", "calls of 100 callers over 1 connection, TLS / plaintext", Rate, "calls-tls", "calls-plain", AtLeast(0.85))),
    secure(row("calls-tls-four", "the same over TLS, 4 connections / 1", Rate, "calls-tls-four", "calls-tls", AtLeast(1.2))),
    secure(row("tls-get-price", "DoGet ≈ 5 MB, aws-lc / plaintext", Rate, "engine-aws-lc", "engine-plain", AtLeast(0.5))),
    secure(row("tls-put-price", "DoPut ≈ 5 MB, aws-lc / plaintext", Rate, "engine-put-aws-lc", "engine-put-plain", AtLeast(0.5))),
    secure(row("aws-lc-openssl", "DoGet ≈ 5 MB, aws-lc / OpenSSL", Rate, "engine-aws-lc", "engine-openssl", AtLeast(1.5))),
    secure(row("ring-openssl", "the same, ring / OpenSSL", Rate, "engine-ring", "engine-openssl", AtLeast(1.5))),
    secure(row("put-aws-lc-openssl", "DoPut ≈ 5 MB, aws-lc / OpenSSL", Rate, "engine-put-aws-lc", "engine-put-openssl", AtLeast(1.5))),
    secure(row("put-ring-openssl", "the same, ring / OpenSSL", Rate, "engine-put-ring", "engine-put-openssl", AtLeast(1.5))),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::statistics::Median;

    #[test]
    fn a_row_falls_short_when_its_whole_interval_misses_the_bound() {
        check(AtLeast(2.0), (1.8, 2.0, 2.2), Verdict::Reached);
        check(AtLeast(2.0), (1.7, 1.9, 2.0), Verdict::WithinNoise);
        check(AtLeast(2.0), (1.7, 1.8, 1.9), Verdict::Short);
        check(AtMost(0.5), (0.4, 0.5, 0.7), Verdict::Reached);
        check(AtMost(0.5), (0.5, 0.6, 0.7), Verdict::WithinNoise);
        check(AtMost(0.5), (0.6, 0.7, 0.8), Verdict::Short);
    }

    #[test]
    fn every_row_divides_two_arms_of_one_group_and_every_arm_has_a_row() {
        let mut used = BTreeSet::new();
        for row in ROWS {
            let [ours, reference] = row.arms();
            assert_eq!(ours.group, reference.group, "{} would not be interleaved", row.id);
            used.extend([ours.id, reference.id]);
        }
        assert_eq!(used, ARMS.iter().map(|arm| arm.id).collect());
        let ids: BTreeSet<_> = ROWS.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), ROWS.len(), "a name stands twice");
    }

    fn check(bound: Bound, (low, value, high): (f64, f64, f64), want: Verdict) {
        let median = Median { value, low, high, coverage: 0.95 };
        assert_eq!(bound.judge(&median), want, "{bound:?} {median:?}");
    }
}
