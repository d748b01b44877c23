//! The two programs as they are run: what a client says it moved is what the sets hold.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

use flight_perf::sets::{ParquetCodec, SetName, WorkingSet};
use flight_perf::tally::Tally;
use flight_pki::{KeyKind, Plan};
use tempfile::TempDir;

const STOCK: &str = env!("CARGO_BIN_EXE_flight-stock");
const PERF: &str = env!("CARGO_BIN_EXE_flight-perf");

/// What 512 batches of 4096 rows of four 64-bit integers hold.
const ROWS: u64 = 512 * 4096;
const BYTES: u64 = ROWS * 32;

#[test]
fn every_client_moves_the_whole_set_as_often_as_it_is_told() {
    check("get {grpc} --path small --passes 2", "calls 2 batches 1024 rows 2x bytes 2x");
    check("get {grpc+tls} --path small --tls-ca {ca}", "calls 1 batches 512 rows 1x bytes 1x");
    check("get {grpc} --path small --streams 2", "calls 2 batches 1024 rows 2x bytes 2x");
    check("get {tcp} --path small --passes 2", "calls 1 batches 0 rows 0x bytes 2x");
    check("get {tls} --path small --tls-ca {ca}", "calls 1 batches 0 rows 0x bytes 1x");
    check("put {grpc} --set small --passes 2", "calls 2 batches 1024 rows 2x bytes 2x");
    check("put {grpc+tls} --set small --tls-ca {ca}", "calls 1 batches 512 rows 1x bytes 1x");
    check("put {tcp} --set small --passes 2", "calls 1 batches 0 rows 0x bytes 2x");
    check("put {tls} --set small --tls-ca {ca}", "calls 1 batches 0 rows 0x bytes 1x");
    check("info {grpc} --path small --callers 3 --passes 2", "calls 6 batches 0 rows 0x bytes 0x");
}

#[test]
fn files_are_read_whole_and_uploads_are_stored_whole() {
    check("get {grpc} --path small.parquet", "calls 1 rows 1x");
    check("get {grpc} --path small.feather", "calls 1 batches 512 rows 1x bytes 1x");
    check("put {grpc} --set small --store kept", "calls 1 batches 512 rows 1x bytes 1x");
    check("get {grpc} --path kept.arrow", "calls 1 batches 512 rows 1x bytes 1x");
    check("read {data}/small.parquet --passes 2", "calls 2 batches 512 rows 2x");
}

#[test]
fn wrong_use_is_one_sentence() {
    check("get ftp://h:1", "ftp://h:1: write grpc://, grpc+tls://, tcp:// or tls://HOST:PORT");
    check("get grpc://nowhere", "grpc://nowhere: there is no HOST:PORT in it");
    check("get {grpc} --path missing", "there is no dataset missing");
    check("get {grpc} --path ../small.feather", "is no file's name");
    check("get {tcp} --path other", "a raw rung serves the sets taxi and small");
    check("get {grpc+tls} --path small", "a server with TLS needs --tls-ca");
    check("put {tcp} --set small --store x", "a raw rung stores nothing");
    check("info {tcp}", "GetFlightInfo needs grpc:// or grpc+tls://");
    check("read {data}/missing.parquet", "missing.parquet: No such file");
    let perf = |words: &[&str], want: &str| contains(&run(PERF, words).unwrap_err(), want);
    perf(&["--rows", "nothing"], "no row has such a name; there are get-stock, get-raw");
    perf(&["--seconds", "0"], "--seconds 0 is outside 0.05 to 60");
    perf(&["--bin", "/nowhere"], "/nowhere/flight-server is not there; build the workspace");
}

/// Runs flight-stock with `line` and compares its tally, or its sentence, with `want`.
fn check(line: &str, want: &str) {
    let words: Vec<String> = line.split(' ').map(|word| server().fill(word)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = run(STOCK, &words).map(|printed| {
        let tally: Tally = serde_json::from_str(&printed).unwrap();
        assert!(tally.seconds > 0.0, "{line}: {printed}");
        let times = |amount: u64, of: u64| format!("{}x", amount as f64 / of as f64);
        let (rows, bytes) = (times(tally.rows, ROWS), times(tally.bytes, BYTES));
        let batches = format!("batches {} ", tally.batches);
        // Where the number of batches is the reader's choice, a check leaves it out.
        let batches = if want.contains("batches") { &batches } else { "" };
        format!("calls {} {batches}rows {rows} bytes {bytes}", tally.calls)
    });
    contains(&said.unwrap_or_else(|sentence| sentence), want);
}

fn contains(text: &str, want: &str) {
    assert!(text.contains(want), "{want:?} is not in {text:?}");
}

/// What a program prints or, where it fails, its last words.
fn run(program: &str, words: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

struct Stock {
    endpoints: Vec<String>,
    folder: TempDir,
    // It stops when this process ends, which closes its input.
    _child: (Child, ChildStdin),
}

impl Stock {
    fn fill(&self, word: &str) -> String {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let word = word.replace("{ca}", &path("ca.pem")).replace("{data}", &path("."));
        let named = |url: &&String| {
            let scheme = url.split_once("://").unwrap().0;
            word == format!("{{{scheme}}}")
        };
        self.endpoints.iter().find(named).cloned().unwrap_or(word)
    }
}

/// One server for all tests of this process, with the small set, its files and all four sockets.
fn server() -> &'static Stock {
    static SERVER: OnceLock<Stock> = OnceLock::new();
    SERVER.get_or_init(|| start(tempfile::tempdir().unwrap()))
}

fn start(folder: TempDir) -> Stock {
    let inside = |name: &str| folder.path().join(name);
    let plan = Plan { keys: vec![KeyKind::P256], ..Plan::new(folder.path()) };
    flight_pki::issue(&plan, SystemTime::now()).unwrap();
    let set = WorkingSet::generate(SetName::Small);
    set.write_feather(&inside("small.feather")).unwrap();
    set.write_parquet(&inside("small.parquet"), ParquetCodec::Snappy).unwrap();
    let named = |path: &Path| path.display().to_string();
    let mut child = Command::new(STOCK)
        .args(["serve", "--sets", "small", "--data", &named(folder.path())])
        .args(["--tls-cert", &named(&inside("server-ec.pem"))])
        .args(["--tls-key", &named(&inside("server-ec.key"))])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let endpoints = ready["endpoints"].as_array().unwrap().iter();
    let endpoints: Vec<_> = endpoints.map(|url| url.as_str().unwrap().to_owned()).collect();
    assert_eq!(endpoints.len(), 4, "{line}");
    let stdin = child.stdin.take().unwrap();
    Stock { endpoints, folder, _child: (child, stdin) }
}
