//! The arms of the comparisons: a server, a client, and what the client is told to move.
//!
//! `{url}`, `{ca}`, `{data}` and `{passes}` in the words of a client are filled in when it runs.
//! Every arm moves whole working sets, one call a pass, so that both sides of a comparison open
//! and end as many streams.

use flight_perf::sets::SetName;

use crate::machine::Side;

/// A server that arms share. All run at the same time; one is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ServerKind {
    /// flight-server that maps its files.
    Mapped,
    /// flight-server as it is by default: files are read with `pread`.
    Reading,
    /// flight-server with one thread that decodes Parquet, on the core that it also sends from.
    OneThread,
    /// The same on both cores: sending shares a core with the client.
    OneThreadFree,
    /// flight-server that maps its files, over another engine of TLS than the default.
    Ring,
    OpenSsl,
    Stock,
    Pyarrow,
}

/// The program of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientKind {
    Bench,
    Stock,
    Pyarrow,
}

/// What a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Rows of a set, told as bytes of IPC bodies.
    Rows(SetName),
    Bytes,
    Calls,
}

pub(crate) struct Arm {
    pub(crate) id: &'static str,
    /// Arms of one group are interleaved.
    pub(crate) group: &'static str,
    /// What runs, for the report.
    pub(crate) what: &'static str,
    /// The server and the scheme of its endpoint; absent where a client works alone.
    pub(crate) server: Option<(ServerKind, &'static str)>,
    pub(crate) client: ClientKind,
    pub(crate) words: &'static [&'static str],
    pub(crate) unit: Unit,
    pub(crate) side: Side,
}

use ClientKind::{Bench, Pyarrow as Python, Stock as StockClient};
use ServerKind::{Mapped, OneThread, OneThreadFree, OpenSsl, Pyarrow, Reading, Ring, Stock};
use Unit::{Bytes, Calls, Rows};

const TAXI: Unit = Rows(SetName::Taxi);
const SMALL: Unit = Rows(SetName::Small);

const fn arm(
    (group, id, what): (&'static str, &'static str, &'static str),
    server: Option<(ServerKind, &'static str)>,
    client: ClientKind,
    unit: Unit,
    words: &'static [&'static str],
) -> Arm {
    // What works alone does what a server would, where a server would.
    let side = if server.is_some() { Side::Client } else { Side::Server };
    Arm { id, group, what, server, client, words, unit, side }
}

/// DoGet of one stream by flight-bench, a batch a message.
const GET_WHOLE: &[&str] =
    &["get", "{url}", "--source", "path:taxi", "--message-bytes", "64MiB", "--streams", "1"];
const GET_TAXI: &[&str] = &["get", "{url}", "--path", "taxi"];
/// Arrow's perf protocol: an upload without a name is decoded and dropped.
const PUT_TAXI: &[&str] = &[
    "put",
    "{url}",
    "--source",
    "perf",
    "--data-file",
    "{data}/taxi.feather",
    "--message-bytes",
    "64MiB",
    "--streams",
    "1",
    "--verify",
    "none",
];
/// DoGet over TLS by flight-bench with an engine; all with the suite that all of them have at hand.
macro_rules! tls_get {
    ($engine:literal) => {
        &[
            "get",
            "{url}",
            "--source",
            "path:taxi",
            "--message-bytes",
            "64MiB",
            "--streams",
            "1",
            "--tls-ca",
            "{ca}",
            "--tls-engine",
            $engine,
            "--tls-ciphers",
            "TLS_AES_256_GCM_SHA384",
        ]
    };
}
/// The same upwards, decoded and dropped.
macro_rules! tls_put {
    ($engine:literal) => {
        &[
            "put",
            "{url}",
            "--source",
            "perf",
            "--data-file",
            "{data}/taxi.feather",
            "--message-bytes",
            "64MiB",
            "--streams",
            "1",
            "--verify",
            "none",
            "--tls-ca",
            "{ca}",
            "--tls-engine",
            $engine,
            "--tls-ciphers",
            "TLS_AES_256_GCM_SHA384",
        ]
    };
}
/// GetFlightInfo by flight-bench over TLS: who connects how often.
macro_rules! calls {
    ($streams:literal, $connect:literal) => {
        &[
            "unary",
            "info",
            "{url}",
            "--source",
            "path:taxi",
            "--streams",
            $streams,
            "--connect",
            $connect,
            "--tls-ca",
            "{ca}",
        ]
    };
}
const INFO: &[&str] = &["info", "{url}", "--path", "taxi", "--callers", "100"];

#[rustfmt::skip] // a table: what an arm is called, then how it is run
pub(crate) static ARMS: &[Arm] = &[
    arm(("get", "get-mapped", "flight-server (mapped) → flight-bench, batches whole"),
        Some((Mapped, "grpc")), Bench, TAXI, GET_WHOLE),
    arm(("get", "get-read", "flight-server (pread) → flight-bench, batches whole"),
        Some((Reading, "grpc")), Bench, TAXI, GET_WHOLE),
    arm(("get", "get-limit", "flight-server (mapped) → flight-bench, default message limit"),
        Some((Mapped, "grpc")), Bench, TAXI,
        &["get", "{url}", "--source", "path:taxi", "--streams", "1"]),
    arm(("get", "get-four", "flight-server (mapped) → flight-bench, 4 streams"),
        Some((Mapped, "grpc")), Bench, TAXI,
        &["get", "{url}", "--source", "path:taxi", "--message-bytes", "64MiB", "--streams", "4"]),
    arm(("get", "get-to-stock", "flight-server (mapped) → flight-stock"),
        Some((Mapped, "grpc")), StockClient, TAXI, GET_TAXI),
    arm(("get", "get-stock", "flight-stock → flight-stock"),
        Some((Stock, "grpc")), StockClient, TAXI, GET_TAXI),
    arm(("get", "get-raw", "raw TCP, the same bodies"),
        Some((Stock, "tcp")), StockClient, Bytes, GET_TAXI),
    arm(("get-small", "small", "flight-server (mapped) → flight-bench, 128 KiB batches"),
        Some((Mapped, "grpc")), Bench, SMALL,
        &["get", "{url}", "--source", "path:small", "--streams", "1"]),
    arm(("get-small", "small-stock", "flight-stock → flight-stock, 128 KiB batches"),
        Some((Stock, "grpc")), StockClient, SMALL, &["get", "{url}", "--path", "small"]),
    arm(("put", "put", "flight-bench → flight-server, dropped"),
        Some((Reading, "grpc")), Bench, TAXI, PUT_TAXI),
    arm(("put", "put-stock", "flight-stock → flight-stock, dropped"),
        Some((Stock, "grpc")), StockClient, TAXI, &["put", "{url}", "--set", "taxi"]),
    arm(("put-small", "put-small", "flight-bench → flight-server, 128 KiB batches, dropped"),
        Some((Reading, "grpc")), Bench, SMALL,
        &["put", "{url}", "--source", "perf", "--data-file", "{data}/small.feather",
          "--streams", "1", "--verify", "none"]),
    arm(("put-small", "put-small-stock", "flight-stock → flight-stock, 128 KiB batches, dropped"),
        Some((Stock, "grpc")), StockClient, SMALL, &["put", "{url}", "--set", "small"]),
    arm(("put-stored", "store", "flight-bench → flight-server, stored as Feather"),
        Some((Reading, "grpc")), Bench, TAXI,
        &["put", "{url}", "--source", r#"cmd:{"dataset":"perf/stored","mode":"replace"}"#,
          "--data-file", "{data}/taxi.feather", "--message-bytes", "64MiB", "--streams", "1",
          "--verify", "none"]),
    arm(("put-stored", "store-stock", "flight-stock → flight-stock, stored with FileWriter"),
        Some((Stock, "grpc")), StockClient, TAXI,
        &["put", "{url}", "--set", "taxi", "--store", "stored"]),
    arm(("tls-get", "tls", "flight-server (mapped) → flight-bench, TLS"),
        Some((Mapped, "grpc+tls")), Bench, TAXI,
        &["get", "{url}", "--source", "path:taxi", "--message-bytes", "64MiB", "--streams", "1",
          "--tls-ca", "{ca}"]),
    arm(("tls-get", "tls-stock", "flight-stock → flight-stock, TLS"),
        Some((Stock, "grpc+tls")), StockClient, TAXI,
        &["get", "{url}", "--path", "taxi", "--tls-ca", "{ca}"]),
    arm(("tls-get", "tls-raw", "raw TLS, the same bodies"),
        Some((Stock, "tls")), StockClient, Bytes,
        &["get", "{url}", "--path", "taxi", "--tls-ca", "{ca}"]),
    arm(("tls-put", "tls-put", "flight-bench → flight-server, dropped, TLS"),
        Some((Reading, "grpc+tls")), Bench, TAXI,
        &["put", "{url}", "--source", "perf", "--data-file", "{data}/taxi.feather",
          "--message-bytes", "64MiB", "--streams", "1", "--verify", "none", "--tls-ca", "{ca}"]),
    arm(("tls-put", "tls-put-stock", "flight-stock → flight-stock, dropped, TLS"),
        Some((Stock, "grpc+tls")), StockClient, TAXI,
        &["put", "{url}", "--set", "taxi", "--tls-ca", "{ca}"]),
    arm(("tls-put", "tls-put-raw", "raw TLS, the same bodies, from the client"),
        Some((Stock, "tls")), StockClient, Bytes,
        &["put", "{url}", "--set", "taxi", "--tls-ca", "{ca}"]),
    arm(("pyarrow", "py", "flight-server (mapped) → pyarrow"),
        Some((Mapped, "grpc")), Python, TAXI, &["{url}", "taxi"]),
    arm(("pyarrow", "py-py", "pyarrow (in memory) → pyarrow"),
        Some((Pyarrow, "grpc")), Python, TAXI, &["{url}", "taxi"]),
    arm(("parquet-zstd", "zstd", "flight-server (zstd Parquet, 1 thread) → flight-stock"),
        Some((OneThread, "grpc")), StockClient, TAXI, &["get", "{url}", "--path", "taxi-zstd"]),
    arm(("parquet-zstd", "zstd-free", "the same, the server on both cores"),
        Some((OneThreadFree, "grpc")), StockClient, TAXI, &["get", "{url}", "--path", "taxi-zstd"]),
    arm(("parquet-zstd", "zstd-local", "parquet crate, zstd file, 1 thread"),
        None, StockClient, TAXI, &["read", "{data}/taxi-zstd.parquet"]),
    arm(("parquet-snappy", "snappy", "flight-server (snappy Parquet, 1 thread) → flight-stock"),
        Some((OneThread, "grpc")), StockClient, TAXI, &["get", "{url}", "--path", "taxi-snappy"]),
    arm(("parquet-snappy", "snappy-free", "the same, the server on both cores"),
        Some((OneThreadFree, "grpc")), StockClient, TAXI, &["get", "{url}", "--path", "taxi-snappy"]),
    arm(("parquet-snappy", "snappy-local", "parquet crate, snappy file, 1 thread"),
        None, StockClient, TAXI, &["read", "{data}/taxi-snappy.parquet"]),
    arm(("info", "info", "flight-server → flight-stock, GetFlightInfo, 100 callers"),
        Some((Reading, "grpc")), StockClient, Calls, INFO),
    arm(("info", "info-stock", "flight-stock → flight-stock, GetFlightInfo, 100 callers"),
        Some((Stock, "grpc")), StockClient, Calls, INFO),

    arm(("engines-get", "engine-plain", "DoGet, plaintext"),
        Some((Mapped, "grpc")), Bench, TAXI, GET_WHOLE),
    arm(("engines-get", "engine-aws-lc", "DoGet, rustls over aws-lc-rs"),
        Some((Mapped, "grpc+tls")), Bench, TAXI, tls_get!("aws-lc")),
    arm(("engines-get", "engine-ring", "DoGet, rustls over ring"),
        Some((Ring, "grpc+tls")), Bench, TAXI, tls_get!("ring")),
    arm(("engines-get", "engine-openssl", "DoGet, OpenSSL"),
        Some((OpenSsl, "grpc+tls")), Bench, TAXI, tls_get!("openssl")),
    arm(("engines-put", "engine-put-plain", "DoPut, plaintext, dropped"),
        Some((Mapped, "grpc")), Bench, TAXI, PUT_TAXI),
    arm(("engines-put", "engine-put-aws-lc", "DoPut, rustls over aws-lc-rs, dropped"),
        Some((Mapped, "grpc+tls")), Bench, TAXI, tls_put!("aws-lc")),
    arm(("engines-put", "engine-put-ring", "DoPut, rustls over ring, dropped"),
        Some((Ring, "grpc+tls")), Bench, TAXI, tls_put!("ring")),
    arm(("engines-put", "engine-put-openssl", "DoPut, OpenSSL, dropped"),
        Some((OpenSsl, "grpc+tls")), Bench, TAXI, tls_put!("openssl")),
    arm(("connect-1", "per-call-1", "1 caller, a full handshake a call"),
        Some((Mapped, "grpc+tls")), Bench, Calls, calls!("1", "per-call")),
    arm(("connect-1", "resumed-1", "1 caller, a resumed handshake a call"),
        Some((Mapped, "grpc+tls")), Bench, Calls, calls!("1", "resumed")),
    arm(("connect-1", "pooled-1", "1 caller, a pool of 1 connection"),
        Some((Mapped, "grpc+tls")), Bench, Calls, calls!("1", "pooled:1")),
    arm(("connect-10", "per-call-10", "10 callers, a full handshake a call"),
        Some((Mapped, "grpc+tls")), Bench, Calls, calls!("10", "per-call")),
    arm(("connect-10", "pooled-10", "10 callers, a pool of 4 connections"),
        Some((Mapped, "grpc+tls")), Bench, Calls, calls!("10", "pooled:4")),
    arm(("handshakes", "handshakes-full", "connections of 1 caller, full handshakes"),
        Some((Mapped, "grpc+tls")), Bench, Calls,
        &["tls", "{url}", "--resume", "full", "--tls-ca", "{ca}"]),
    arm(("handshakes", "handshakes-resumed", "connections of 1 caller, resumed"),
        Some((Mapped, "grpc+tls")), Bench, Calls,
        &["tls", "{url}", "--resume", "ticket", "--tls-ca", "{ca}"]),
    arm(("calls-100", "calls-plain", "100 callers, 1 connection, plaintext"),
        Some((Mapped, "grpc")), Bench, Calls,
        &["unary", "info", "{url}", "--source", "path:taxi", "--streams", "100",
          "--connect", "pooled:1"]),
    arm(("calls-100", "calls-tls", "100 callers, 1 connection, TLS"),
        Some((Mapped, "grpc+tls")), Bench, Calls, calls!("100", "pooled:1")),
    arm(("calls-100", "calls-tls-four", "100 callers, 4 connections, TLS"),
        Some((Mapped, "grpc+tls")), Bench, Calls, calls!("100", "pooled:4")),
];
