//! What the server counts: calls, bytes, rows, batches, errors by code, streams, latencies.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use flight_files::DecodePool;
use flight_net::server::Counters;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use tonic::{Code, Status};

use super::tickets::TicketFigures;

/// The Flight call that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Method(pub(super) &'static str);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ByMethod(Method);

impl EncodeLabelSet for ByMethod {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> std::fmt::Result {
        use prometheus_client::encoding::EncodeLabel as _;
        ("method", self.0.0).encode(encoder.encode_label())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ByCode(Method, Code);

impl EncodeLabelSet for ByCode {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> std::fmt::Result {
        use prometheus_client::encoding::EncodeLabel as _;
        ("method", self.0.0).encode(encoder.encode_label())?;
        ("code", code_name(self.1)).encode(encoder.encode_label())
    }
}

/// Buckets from 50 µs to some 200 s, each twice the one before.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(50e-6, 2.0, 22))
}

/// Figures of a certificate that changes.
#[derive(Debug, Default)]
pub struct TlsFigures {
    /// The last second of the certificate that is served.
    pub not_after_s: Gauge<i64, AtomicI64>,
    pub taken: Counter,
    pub refused: Counter,
}

impl TlsFigures {
    fn register(&self, registry: &mut Registry) {
        registry.register(
            "tls_certificate_not_after_timestamp_seconds",
            "When the certificate that is served expires, in seconds of Unix time",
            self.not_after_s.clone(),
        );
        let mut counter = |name: &str, help: &str, counter: &Counter| {
            registry.register(name, help, counter.clone());
        };
        counter("tls_reloads_taken", "Times that new files of TLS were taken", &self.taken);
        counter("tls_reloads_refused", "Times that new files of TLS were refused", &self.refused);
    }
}

/// All figures of the server, written by calls, read by the admin endpoint.
pub struct Metrics {
    registry: Registry,
    calls: Family<ByCode, Counter>,
    seconds: Family<ByMethod, Histogram>,
    sent_bytes: Counter,
    sent_batches: Counter,
    sent_rows: Counter,
    received_bytes: Counter,
    received_batches: Counter,
    received_rows: Counter,
    streams: Gauge<i64, AtomicI64>,
    connections: Gauge<i64, AtomicI64>,
    /// Of frames that were made and of which some has not left.
    unsent_bytes: Gauge<i64, AtomicI64>,
    decoded_bytes: Gauge<i64, AtomicI64>,
    decode: Arc<DecodePool>,
    accepted: Counter<u64, AtomicU64>,
    refused: Counter<u64, AtomicU64>,
    handshakes_failed: Counter<u64, AtomicU64>,
    panics: Counter<u64, AtomicU64>,
}

impl Metrics {
    /// `tls`: of a server that has a certificate; `tickets`: of one that signs them.
    pub fn new(
        decode: Arc<DecodePool>,
        tls: Option<&TlsFigures>,
        tickets: Option<&TicketFigures>,
    ) -> Self {
        let mut registry = Registry::with_prefix("flight_server");
        if let Some(tickets) = tickets {
            tickets.register(&mut registry);
        }
        if let Some(tls) = tls {
            tls.register(&mut registry);
        }
        let calls = Family::default();
        registry.register("calls", "Calls that ended, by method and gRPC code", calls.clone());
        let seconds = Family::new_with_constructor(seconds as fn() -> Histogram);
        registry.register_with_unit(
            "call_duration",
            "Time from a call's start to its status, by method",
            Unit::Seconds,
            seconds.clone(),
        );
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        Self {
            sent_bytes: counter("sent_bytes", "Bytes of messages handed to DoGet streams"),
            sent_batches: counter("sent_batches", "Batches handed to DoGet streams"),
            sent_rows: counter("sent_rows", "Rows handed to DoGet streams"),
            received_bytes: counter("received_bytes", "Bytes of messages taken from uploads"),
            received_batches: counter("received_batches", "Batches taken from uploads"),
            received_rows: counter("received_rows", "Rows taken from uploads"),
            accepted: counter("connections_accepted", "Connections accepted"),
            refused: counter("connections_refused", "Connections turned away at a cap"),
            handshakes_failed: counter("tls_handshakes_failed", "TLS handshakes that failed"),
            panics: counter("panics", "Calls that ended by a fault of the server"),
            streams: gauge(&mut registry, "open_streams", "DoGet and DoPut streams that are open"),
            connections: gauge(&mut registry, "open_connections", "Connections that are open"),
            unsent_bytes: gauge(
                &mut registry,
                "unsent_bytes",
                "Bytes of messages of DoGet streams that wait for their readers",
            ),
            decoded_bytes: gauge(
                &mut registry,
                "decoded_ahead_bytes",
                "Bytes of Parquet that are decoded, or being decoded, ahead of their readers",
            ),
            decode,
            calls,
            seconds,
            registry,
        }
    }

    /// Everything as OpenMetrics text, which Prometheus reads.
    pub fn encode(&self, counters: &Counters) -> String {
        let now = |value: &AtomicU64| value.load(Ordering::Relaxed);
        self.accepted.inner().store(now(&counters.accepted), Ordering::Relaxed);
        self.refused.inner().store(now(&counters.refused), Ordering::Relaxed);
        let failed = now(&counters.handshakes_failed);
        self.handshakes_failed.inner().store(failed, Ordering::Relaxed);
        self.panics.inner().store(now(&counters.panics), Ordering::Relaxed);
        self.connections.set(level(now(&counters.open)));
        self.decoded_bytes.set(level(self.decode.bytes()));
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a String takes all text");
        text
    }

    /// Begins to count a call.
    pub(super) fn begin(self: &Arc<Self>, method: &'static str) -> Call {
        let streams = matches!(method, "DoGet" | "DoPut");
        if streams {
            self.streams.inc();
        }
        Call {
            metrics: Arc::clone(self),
            method: Method(method),
            started: Instant::now(),
            streams,
            finished: false,
        }
    }
}

/// A gauge's value.
fn level(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge<i64, AtomicI64> {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

/// A call that is being counted; dropped unfinished, it counts as cancelled.
pub(super) struct Call {
    metrics: Arc<Metrics>,
    method: Method,
    started: Instant,
    streams: bool,
    finished: bool,
}

impl Call {
    pub(super) fn sent(&self, bytes: u64, batches: u64, rows: u64) {
        self.metrics.sent_bytes.inc_by(bytes);
        self.metrics.sent_batches.inc_by(batches);
        self.metrics.sent_rows.inc_by(rows);
    }

    /// Counts a frame as waiting for its reader, until what is given is dropped.
    pub(super) fn waits(&self, bytes: u64) -> Waiting {
        let bytes = level(bytes);
        self.metrics.unsent_bytes.inc_by(bytes);
        Waiting { metrics: Arc::clone(&self.metrics), bytes }
    }

    pub(super) fn received(&self, bytes: u64, batches: u64, rows: u64) {
        self.metrics.received_bytes.inc_by(bytes);
        self.metrics.received_batches.inc_by(batches);
        self.metrics.received_rows.inc_by(rows);
    }

    /// Counts the call by how it ended.
    pub(super) fn finish(&mut self, status: &Status) {
        self.finished = true;
        let took = self.started.elapsed();
        let method = self.method;
        self.metrics.calls.get_or_create(&ByCode(method, status.code())).inc();
        self.metrics.seconds.get_or_create(&ByMethod(method)).observe(took.as_secs_f64());
        match status.code() {
            Code::Ok => tracing::debug!(method = method.0, ?took, "a call ended"),
            Code::Internal | Code::DataLoss | Code::Unknown => {
                tracing::warn!(method = method.0, code = ?status.code(), "{}", status.message());
            }
            code => tracing::debug!(method = method.0, ?code, "{}", status.message()),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.finished {
            self.finish(&Status::cancelled("the call was dropped"));
        }
        if self.streams {
            self.metrics.streams.dec();
        }
    }
}

/// A frame that waits for its reader.
pub(super) struct Waiting {
    metrics: Arc<Metrics>,
    bytes: i64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.metrics.unsent_bytes.dec_by(self.bytes);
    }
}

/// A code's name as gRPC writes it.
fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use flight_files::DecodeOptions;

    use super::*;

    #[test]
    fn calls_are_counted_by_method_and_code() {
        let decode = DecodePool::new(DecodeOptions::default()).unwrap();
        let metrics = Arc::new(Metrics::new(decode, None, None));
        let mut call = metrics.begin("DoGet");
        call.sent(100, 2, 30);
        let waiting = call.waits(100);
        drop(call.waits(70));
        call.finish(&Status::ok(""));
        drop(call);
        drop(metrics.begin("DoPut"));
        let counters = Counters::default();
        counters.open.store(3, Ordering::Relaxed);
        let text = metrics.encode(&counters);
        for line in [
            r#"flight_server_calls_total{method="DoGet",code="OK"} 1"#,
            r#"flight_server_calls_total{method="DoPut",code="CANCELLED"} 1"#,
            "flight_server_sent_bytes_total 100",
            "flight_server_sent_rows_total 30",
            "flight_server_open_streams 0",
            "flight_server_open_connections 3",
            "flight_server_unsent_bytes 100",
            "flight_server_decoded_ahead_bytes 0",
            r#"flight_server_call_duration_seconds_count{method="DoGet"} 1"#,
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        drop(waiting);
        assert!(metrics.encode(&counters).contains("flight_server_unsent_bytes 0\n"));
    }
}
