//! Experiments with real processes, whose outcomes are known for what is done to them.

mod effect;
mod processes;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use flight_stats::proof::Experiment;
use rustix::process::Signal;
use tempfile::TempDir;

use processes::{Said, Server, bench, bench_with, on_core, said, start_bench, two_cores};

/// What is done, in turn.
pub(super) const NAMES: [&str; 7] = [
    "a client without a core",
    "a server that stops, in an open loop",
    "a server that stops, in a closed loop",
    "a server that is killed",
    "bytes of both sides",
    "a build against itself",
    "more work, by what ab says it sees",
];

/// Does one of them.
pub(super) async fn experiment(name: &'static str, program: &Path) -> Experiment {
    let outcome = match NAMES.iter().position(|known| *known == name) {
        Some(0) => starved_client(program).await,
        Some(1) => stopped_in_an_open_loop(program).await,
        Some(2) => stopped_in_a_closed_loop(program).await,
        Some(3) => killed(program).await,
        Some(4) => bytes(program).await,
        Some(5) => against_itself(program).await,
        _ => effect::what_ab_detects(program).await,
    };
    let (what, passed) = outcome.unwrap_or_else(|error| (format!("{error:#}"), false));
    Experiment { name, what, passed }
}

type Outcome = anyhow::Result<(String, bool)>;

/// The client shares its core with a thread that never rests; the server has one for itself.
async fn starved_client(program: &Path) -> Outcome {
    let Some([mine, its]) = two_cores() else {
        return Ok(("not tried: it takes two cores".to_owned(), true));
    };
    let server = Server::start_on(its, program).await?;
    let over = Arc::new(AtomicBool::new(false));
    let busy = {
        let over = Arc::clone(&over);
        on_core(mine, || std::thread::spawn(move || while !over.load(Ordering::Relaxed) {}))?
    };
    let line = format!("get {} --source perf -d 1s --repeats 3", server.target()?);
    let run = on_core(mine, || start_bench(&line, None))??;
    let run = said(run).await;
    over.store(true, Ordering::Relaxed);
    let _ = busy.join(); // It cannot panic.
    let verdict = run?.document.pointer("/variants/0/bottleneck/name").cloned();
    let verdict = verdict.context("the document has no bottleneck")?;
    server.stop().await?;
    Ok((format!("the bottleneck is {verdict}, wanted \"client\""), verdict == "client"))
}

const STOP: Duration = Duration::from_secs(1);
/// Of a run whose window is six seconds: well within it, however slowly it starts.
const STOP_AFTER: Duration = Duration::from_secs(3);

/// Runs `line` while the server stops for a second.
async fn while_stopped(server: &Server, line: &str) -> anyhow::Result<Said> {
    let run = start_bench(line, None)?;
    tokio::time::sleep(STOP_AFTER).await;
    server.signal(Signal::STOP)?;
    tokio::time::sleep(STOP).await;
    server.signal(Signal::CONT)?;
    said(run).await
}

/// A sixth of the calls is due while the server stands still; the last hundredth of all is the
/// sixteenth of these that waits longest: 0.94 s and more.
async fn stopped_in_an_open_loop(program: &Path) -> Outcome {
    let server = Server::start(program).await?;
    let line = "unary action TARGET -s 8 --rate 300 --arrival uniform -w 500ms -d 6s --repeats 1";
    let run = while_stopped(&server, &line.replace("TARGET", &server.target()?)).await?;
    server.stop().await?;
    let p99 = run.number("/variants/0/latency/unary.response/p99_ns")? / 1e9;
    let what = format!("p99 of the response is {p99:.3} s, wanted 0.93 to 1.2 s");
    Ok((what, (0.93..1.2).contains(&p99)))
}

/// One caller meets the stop once: its percentiles hide it, and the report must say so.
async fn stopped_in_a_closed_loop(program: &Path) -> Outcome {
    let server = Server::start(program).await?;
    let line = "unary action TARGET -s 1 -w 500ms -d 6s --repeats 1";
    let run = while_stopped(&server, &line.replace("TARGET", &server.target()?)).await?;
    server.stop().await?;
    let p99 = run.number("/variants/0/latency/unary.service/p99_ns")? / 1e6;
    let flagged = run.warns_of("stalled");
    let what = format!("p99 of the service is {p99:.2} ms; the stop is flagged: {flagged}");
    Ok((what, p99 < 100.0 && flagged))
}

/// A server that goes away makes a run fail, and what was measured is kept.
async fn killed(program: &Path) -> Outcome {
    let server = Server::start(program).await?;
    let kept = TempDir::new().context("no temporary folder")?;
    let line = format!("get {} --source perf -d 1s --repeats 4", server.target()?);
    let run = start_bench(&line, Some(kept.path()))?;
    tokio::time::sleep(STOP_AFTER).await;
    server.signal(Signal::KILL)?;
    let run = said(run).await?;
    let runs: Vec<_> = std::fs::read_dir(kept.path().join("runs"))?.collect();
    let complete = run.document.get("complete").and_then(serde_json::Value::as_bool);
    let measured = run.number("/repeats/0/counts/batches")?;
    let what = format!(
        "exit code {}, {} run kept, complete: {complete:?}, {measured} batches in its first repeat",
        run.code,
        runs.len()
    );
    let passed = run.code == 1 && runs.len() == 1 && complete == Some(false) && measured > 0.0;
    Ok((what, passed))
}

/// What this program counts is what the server and the kernel count, but for what frames add.
async fn bytes(program: &Path) -> Outcome {
    let server = Server::start(program).await?;
    let line = "get TARGET --source perf --records-per-stream 2M -s 2 --passes 2 --repeats 2";
    let run = bench(&line.replace("TARGET", &server.target()?)).await?;
    let sent = server.counter("flight_server_sent_bytes_total").await?;
    server.stop().await?;
    let of = |repeat: usize| run.number(&format!("/repeats/{repeat}/counts/encoded_bytes"));
    let counted = of(0)? + of(1)?;
    let wire = |repeat: usize| run.number(&format!("/repeats/{repeat}/counts/wire_bytes"));
    let wire = wire(0)? + wire(1)?;
    let what = format!(
        "{counted} bytes were counted here, {sent} by the server, {wire} by TCP on its connections"
    );
    let is_near = |share: f64| (1.0..1.005).contains(&share);
    Ok((what, is_near(sent as f64 / counted) && is_near(wire / sent as f64)))
}

/// The verdict, the ratio and its interval of the figure that gates.
fn judged(run: &Said) -> anyhow::Result<(String, [f64; 3])> {
    let row = |name: &str| format!("/rows/0/{name}");
    let verdict = run.document.pointer(&row("verdict")).and_then(serde_json::Value::as_str);
    let verdict = verdict.context("the document has no verdict")?.to_owned();
    Ok((verdict, [run.number(&row("ratio"))?, run.number(&row("lo"))?, run.number(&row("hi"))?]))
}

async fn against_itself(program: &Path) -> Outcome {
    let program = program.to_str().context("the program's name is no text")?;
    let work = ["get", "--server-bin", program, "--sample-rows", "200k", "-w", "100ms"];
    let words = [&["ab", "--aa", "--pairs", "8"], &work[..], &["-d", "300ms"]].concat();
    let (verdict, [ratio, lo, hi]) = judged(&bench_with(&words).await?)?;
    let what = format!("{verdict}: {ratio:.3} [{lo:.3}, {hi:.3}]");
    Ok((what, matches!(&*verdict, "same" | "inconclusive")))
}
