//! Servers and clients as child processes: pinned, timed, and ended whatever happens.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::machine::{Scheduling, Side};

/// A server is ready, a client is done and a server has stopped within these times.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
const CLIENT_TIMEOUT: Duration = Duration::from_secs(120);
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of a ready line, and of a log's end that is shown.
const READY_LINE_BYTES_MAX: u64 = 64 << 10;
const LOG_TAIL_BYTES: usize = 1_000;

/// A server that accepts.
pub(crate) struct Server {
    child: Child,
    pub(crate) endpoints: Vec<String>,
    pub(crate) pid: u32,
}

#[derive(Deserialize)]
struct Ready {
    ready: bool,
    endpoints: Vec<String>,
}

impl Server {
    /// Starts `program` with `words` and waits for its ready line; stderr goes to the file `log`.
    pub(crate) async fn start(
        scheduling: &Scheduling,
        side: Side,
        (program, words): (&Path, &[String]),
        log: PathBuf,
    ) -> Result<Self> {
        let mut command = command(scheduling, program, words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let child = scheduling.on(side, || command.spawn());
        let mut child = child.with_context(|| format!("cannot start {}", program.display()))?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut line = String::new();
        let mut stdout = BufReader::new(stdout).take(READY_LINE_BYTES_MAX);
        let read = timeout(READY_TIMEOUT, stdout.read_line(&mut line)).await;
        let failed = |why: String| anyhow!("{}: {why}: {}", program.display(), tail_of(&log));
        match read {
            Err(_) => return Err(failed(format!("not ready within {READY_TIMEOUT:?}"))),
            Ok(read) => read.map_err(|error| failed(error.to_string()))?,
        };
        let ready: Ready = serde_json::from_str(&line)
            .map_err(|_| failed(format!("printed {line:?} for its ready line")))?;
        if !ready.ready {
            return Err(failed("says that it is not ready".to_owned()));
        }
        let pid = child.id().ok_or_else(|| failed("ended at once".to_owned()))?;
        Ok(Self { child, endpoints: ready.endpoints, pid })
    }

    /// The endpoint of this scheme.
    pub(crate) fn endpoint(&self, scheme: &str) -> Result<&str> {
        let wanted =
            |url: &&String| url.split_once("://").is_some_and(|(given, _)| given == scheme);
        let url = self.endpoints.iter().find(wanted).map(String::as_str);
        url.with_context(|| format!("the server has no {scheme}:// endpoint"))
    }

    /// Closes its input and waits for its end; one that does not end is killed.
    pub(crate) async fn stop(mut self) {
        drop(self.child.stdin.take());
        if timeout(STOP_TIMEOUT, self.child.wait()).await.is_err() {
            // It may have ended just now; it is killed when it is dropped anyway.
            let _ = self.child.kill().await;
        }
    }
}

/// Runs a client to its end; what it printed.
pub(crate) async fn run(
    scheduling: &Scheduling,
    side: Side,
    program: &Path,
    words: &[String],
) -> Result<Vec<u8>> {
    let named = || format!("{} {}", program.display(), words.join(" "));
    let mut command = command(scheduling, program, words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = scheduling.on(side, || command.spawn()).with_context(named)?;
    let output = timeout(CLIENT_TIMEOUT, child.wait_with_output()).await;
    let output = match output {
        Err(_) => bail!("{}: not done within {CLIENT_TIMEOUT:?}", named()),
        Ok(output) => output.with_context(named)?,
    };
    if !output.status.success() {
        bail!("{} ended with {}: {}", named(), output.status, tail(&output.stderr));
    }
    Ok(output.stdout)
}

/// Whether `program WORDS --help` mentions `flag`.
pub(crate) async fn mentions(program: &Path, words: &[&str], flag: &str) -> bool {
    let output = Command::new(program).args(words).arg("--help").kill_on_drop(true).output();
    let Ok(Ok(output)) = timeout(READY_TIMEOUT, output).await else { return false };
    String::from_utf8_lossy(&output.stdout).split_whitespace().any(|word| word == flag)
}

fn command(scheduling: &Scheduling, program: &Path, words: &[String]) -> Command {
    let prefix = scheduling.words(program.display().to_string());
    let mut command = Command::new(&prefix[0]);
    command.args(&prefix[1..]).args(words).kill_on_drop(true);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        // What the user set for programs of theirs must not change these.
        if text.starts_with("FLIGHT_SERVER_") || text.starts_with("FLIGHT_BENCH_") {
            command.env_remove(name);
        }
    }
    command
}

fn tail_of(log: &Path) -> String {
    tail(&std::fs::read(log).unwrap_or_default())
}

fn tail(text: &[u8]) -> String {
    let start = text.len().saturating_sub(LOG_TAIL_BYTES);
    String::from_utf8_lossy(&text[start..]).trim().to_owned()
}
