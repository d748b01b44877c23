//! flight-server as a child process: started, found ready, stopped by closing its input.
//!
//! A child stops by itself when its input closes, so that a crash of this program cannot leave an
//! orphan. Its log goes to a file and is shown when it fails.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use flight_net::Endpoint;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::limits;

/// A running child; killed when dropped, stopped in order by [`stop`](Self::stop).
pub(crate) struct ChildServer {
    child: Child,
    ready: Ready,
    endpoints: Vec<Endpoint>,
    log: PathBuf,
}

/// The line that a server prints once it accepts.
#[derive(Debug, Deserialize)]
struct Ready {
    ready: bool,
    pid: u32,
    endpoints: Vec<String>,
    version: String,
    admin: Option<String>,
}

impl ChildServer {
    /// Starts `program serve` with these arguments; its log goes to the file `log`, and it has to be
    /// ready within a time.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub(crate) async fn start_serving(
        program: &Path,
        args: &[OsString],
        log: PathBuf,
        within: Duration,
    ) -> anyhow::Result<Self> {
        let stopping = ["--ready", "json", "--exit-with-stdin"].map(OsString::from);
        let args = [&["serve".into()], args, &stopping].concat();
        Self::start(program, &args, log, within).await
    }

    /// Starts `program` with these arguments, which make it print a ready line and stop when its
    /// input closes; its log goes to the file `log`, and it has to be ready within a time.
    ///
    /// # Errors
    ///
    /// It cannot be started, ends or says something else; the sentence holds the end of its log.
    pub(crate) async fn start(
        program: &Path,
        args: &[OsString],
        log: PathBuf,
        within: Duration,
    ) -> anyhow::Result<Self> {
        let file = std::fs::File::create(&log)
            .with_context(|| format!("cannot write the server's log {}", log.display()))?;
        let mut command = Command::new(program);
        command.args(args);
        for (name, _) in std::env::vars_os() {
            // What the user set for a server of theirs must not change this one.
            if name.to_string_lossy().starts_with("FLIGHT_SERVER_") {
                command.env_remove(name);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| {
            format!("cannot start {}; name flight-server with --server-bin", program.display())
        })?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let ready = tokio::time::timeout(within, ready_line(stdout)).await;
        let ready = match ready {
            Ok(Ok(ready)) if ready.ready => Ok(ready),
            Ok(Ok(_)) => Err(anyhow!("the started server says that it is not ready")),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(anyhow!("the started server was not ready within {within:?}")),
        };
        let ready = ready.map_err(|error| with_log(error, &log))?;
        let endpoints: Result<Vec<Endpoint>, _> =
            ready.endpoints.iter().map(|e| e.parse()).collect();
        let endpoints = endpoints.context("the started server names an endpoint")?;
        Ok(Self { child, ready, endpoints, log })
    }

    /// Where it listens, in the order of its `--listen` options.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    pub(crate) fn pid(&self) -> u32 {
        self.ready.pid
    }

    pub(crate) fn version(&self) -> &str {
        &self.ready.version
    }

    /// Where its metrics are, if it was told to serve them.
    pub(crate) fn admin(&self) -> Option<&str> {
        self.ready.admin.as_deref()
    }

    /// Whether it died by itself, with the end of its log.
    pub(crate) fn death(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let error = anyhow!("the started server ended by itself ({status})");
        Some(format!("{:#}", with_log(error, &self.log)))
    }

    /// Closes its input and waits until it has stopped.
    ///
    /// # Errors
    ///
    /// It ended badly or had to be killed.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        drop(self.child.stdin.take());
        match tokio::time::timeout(limits::CHILD_STOP_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => {
                Err(with_log(anyhow!("the started server ended with {status}"), &self.log))
            }
            Ok(Err(error)) => Err(error).context("cannot wait for the started server"),
            Err(_) => {
                self.child.kill().await.context("cannot kill the started server")?;
                let within = limits::CHILD_STOP_TIMEOUT;
                bail!("the started server did not stop within {within:?} and was killed")
            }
        }
    }
}

/// Runs `program` with these arguments to its end; its stdout.
///
/// # Errors
///
/// It cannot be started or fails; the sentence holds what it wrote to stderr.
pub(super) async fn run<S: AsRef<OsStr>>(program: &Path, args: &[S]) -> anyhow::Result<()> {
    let command = || {
        let words: Vec<_> = args.iter().map(|a| a.as_ref().to_string_lossy()).collect();
        format!("{} {}", program.display(), words.join(" "))
    };
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| {
            format!("cannot start {}; name flight-server with --server-bin", program.display())
        })?;
    if output.status.success() {
        return Ok(());
    }
    bail!("{} failed ({}): {}", command(), output.status, tail(&output.stderr))
}

async fn ready_line(stdout: ChildStdout) -> anyhow::Result<Ready> {
    let mut line = Vec::new();
    let mut stdout = BufReader::new(stdout).take(limits::READY_LINE_BYTES_MAX);
    stdout.read_until(b'\n', &mut line).await.context("cannot read from the started server")?;
    if line.is_empty() {
        bail!("the started server ended before it was ready");
    }
    serde_json::from_slice(&line).with_context(|| {
        format!(
            "the started server printed {:?} for its ready line",
            String::from_utf8_lossy(&line)
        )
    })
}

fn with_log(error: anyhow::Error, log: &Path) -> anyhow::Error {
    let text = std::fs::read(log).unwrap_or_default();
    if text.is_empty() { error } else { anyhow!("{error:#}; its log ends with: {}", tail(&text)) }
}

fn tail(text: &[u8]) -> String {
    let start = text.len().saturating_sub(limits::LOG_TAIL_BYTES);
    String::from_utf8_lossy(&text[start..]).trim().to_owned()
}
