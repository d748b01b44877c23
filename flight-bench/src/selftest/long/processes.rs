//! The processes that are experimented with: servers, and runs of this program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::target::ChildServer;

/// A flight-server with `--perf` and nothing to serve but that.
pub(super) struct Server {
    child: ChildServer,
    _folder: TempDir,
}

impl Server {
    /// Starts it on one core alone.
    pub(super) async fn start_on(core: usize, program: &Path) -> anyhow::Result<Self> {
        // All of this thread's work until it runs: it starts the process.
        let before = bind(core)?;
        let started = Self::start(program).await;
        sched_setaffinity(None, &before)?;
        started
    }

    pub(super) async fn start(program: &Path) -> anyhow::Result<Self> {
        let folder = TempDir::new().context("no temporary folder")?;
        let mut args: Vec<OsString> = vec!["--data".into(), folder.path().into(), "--perf".into()];
        args.extend(["--listen", "grpc://127.0.0.1:0", "--admin", "127.0.0.1:0"].map(Into::into));
        let log = folder.path().join("server.log");
        let child =
            ChildServer::start_serving(program, &args, log, crate::limits::CHILD_READY_TIMEOUT)
                .await?;
        Ok(Self { child, _folder: folder })
    }

    pub(super) fn target(&self) -> anyhow::Result<String> {
        let endpoint = self.child.endpoints().first().context("the server names no endpoint")?;
        Ok(format!("{endpoint} --server-pid {}", self.child.pid()))
    }

    /// Sends a signal to its process.
    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.pid()).ok().and_then(Pid::from_raw);
        kill_process(pid.context("the server has no pid")?, signal).context("cannot signal it")
    }

    /// A counter of its metrics.
    pub(super) async fn counter(&self, name: &str) -> anyhow::Result<u64> {
        let address = self.child.admin().context("the server names no admin endpoint")?;
        let mut stream = TcpStream::connect(address.trim_start_matches("http://")).await?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.with_context(|| format!("there is no {name}"))?.parse().context("no number")
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.child.stop().await
    }
}

/// What a run of this program said.
pub(super) struct Said {
    pub(super) code: i32,
    pub(super) document: Value,
}

impl Said {
    /// A number of the document.
    pub(super) fn number(&self, pointer: &str) -> anyhow::Result<f64> {
        let value = self.document.pointer(pointer).and_then(Value::as_f64);
        value.with_context(|| format!("the document has no {pointer}"))
    }

    pub(super) fn warns_of(&self, what: &str) -> bool {
        let warnings = self.document.get("warnings").and_then(Value::as_array);
        warnings.into_iter().flatten().any(|warning| warning.to_string().contains(what))
    }
}

/// Runs this program with the words of `line`, and reads its document.
pub(super) async fn bench(line: &str) -> anyhow::Result<Said> {
    said(start_bench(line, None)?).await
}

/// The same with these words.
pub(super) async fn bench_with(words: &[&str]) -> anyhow::Result<Said> {
    said(start(words, None)?).await
}

/// Starts this program; its runs are kept in `kept`, or nowhere.
pub(super) fn start_bench(line: &str, kept: Option<&Path>) -> anyhow::Result<Child> {
    start(&line.split_whitespace().collect::<Vec<_>>(), kept)
}

fn start(words: &[&str], kept: Option<&Path>) -> anyhow::Result<Child> {
    let mut command = Command::new(this_program()?);
    // Behind the name of the command: what ab is given last belongs to its sides.
    let (name, options) = words.split_first().context("no command")?;
    command.arg(name).args(["--format", "json", "--quiet"]).args(options);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FLIGHT_BENCH_") {
            command.env_remove(name);
        }
    }
    match kept {
        Some(folder) => command.arg("--runs-dir").arg(folder),
        None => command.env("FLIGHT_BENCH_NO_SAVE", "true"),
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.spawn().context("this program cannot start itself")
}

pub(super) fn this_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("this program cannot find itself")
}

pub(super) async fn said(child: Child) -> anyhow::Result<Said> {
    let output = child.wait_with_output().await.context("a run cannot be waited for")?;
    let Some(code) = output.status.code() else { bail!("a run ended with {}", output.status) };
    let document = serde_json::from_slice(&output.stdout).with_context(|| {
        format!("a run printed no document: {}", String::from_utf8_lossy(&output.stderr).trim())
    })?;
    Ok(Said { code, document })
}

/// Cores that this process may use, at most two of them.
pub(super) fn two_cores() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    Some([cores.next()?, cores.next()?])
}

/// Does `start` on one core alone: threads and processes that it starts stay there.
pub(super) fn on_core<T>(core: usize, start: impl FnOnce() -> T) -> anyhow::Result<T> {
    let before = bind(core)?;
    let started = start();
    sched_setaffinity(None, &before)?;
    Ok(started)
}

/// Binds this thread to a core; what it was bound to.
fn bind(core: usize) -> anyhow::Result<CpuSet> {
    let before = sched_getaffinity(None)?;
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only)?;
    Ok(before)
}
