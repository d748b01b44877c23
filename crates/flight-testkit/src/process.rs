//! Starts a real server as a child process and stops it again, whatever happens to the test.
//!
//! It relies on three things only: one JSON line on stdout once the server accepts, an end when
//! stdin closes, and signals.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a server may take until it accepts; generous, since test machines are busy.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How long a server may take to stop: its 30 s of draining and some more.
const STOP_WITHIN: Duration = Duration::from_secs(45);
/// How much of a server's stderr is kept.
const STDERR_BYTES_MAX: usize = 1 << 20;
const STDOUT_LINE_BYTES_MAX: u64 = 1 << 16;

/// The path of one of our programs, built in the same profile as the running test.
///
/// # Panics
/// When it was not built; the message says how.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the system knows the path of the running test");
    // target/PROFILE/deps/TEST
    let folder = test.parent().and_then(Path::parent).expect("tests run from target/PROFILE/deps");
    let path = folder.join(name);
    let profile = match folder.file_name().and_then(OsStr::to_str) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    assert!(
        path.is_file(),
        "{} is missing; build it with: cargo build --profile {profile} --workspace",
        path.display()
    );
    path
}

/// A server about to be started.
#[derive(Debug)]
pub struct ServerCommand {
    command: Command,
}

impl ServerCommand {
    /// `flight-server serve` over the folder `data`; listens on a free port of 127.0.0.1 unless
    /// [`arg`](Self::arg) adds `--listen`, and has no admin port unless it adds `--admin`.
    pub fn serve(data: &Path) -> Self {
        let mut command = Command::new(program("flight-server"));
        command.arg("serve").arg("--data").arg(data);
        Self::from(command)
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable of the child. None of the caller's `FLIGHT_…` variables
    /// reaches it.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts the server and waits until it accepts.
    ///
    /// # Panics
    /// When it ends, stays silent for 60 s or says something else; the message holds its stderr.
    pub fn start(mut self) -> ServerProcess {
        self.add_defaults();
        let mut server = ServerProcess::spawn(self.command);
        let line = match server.stdout.recv_timeout(READY_WITHIN) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                server.fail(&format!("printed no ready line within {READY_WITHIN:?}"))
            }
            Err(RecvTimeoutError::Disconnected) => server.fail("ended before it was ready"),
        };
        match serde_json::from_str::<Value>(&line) {
            Ok(ready) if ready["ready"] == true => server.ready = ready,
            _ => server.fail(&format!("printed {line:?} in place of its ready line")),
        }
        server
    }

    /// Starts a server that is expected to refuse to start: its exit code and its stderr.
    ///
    /// # Panics
    /// When it gets ready, is still running after 60 s, or dies by a signal.
    pub fn refused(mut self) -> (i32, String) {
        self.add_defaults();
        let mut server = ServerProcess::spawn(self.command);
        match server.stdout.recv_timeout(READY_WITHIN) {
            Ok(line) => server.fail(&format!("was to refuse, and printed {line:?}")),
            Err(RecvTimeoutError::Timeout) => server.fail("was to refuse, and went on running"),
            Err(RecvTimeoutError::Disconnected) => {}
        }
        let status = server.wait();
        let code = status.code();
        (code.unwrap_or_else(|| server.fail("died by a signal")), server.stderr())
    }

    /// No fixed port, and the contract that this fixture relies on.
    fn add_defaults(&mut self) {
        for (flag, value) in [("--listen", "grpc://127.0.0.1:0"), ("--admin", "none")] {
            if !self.command.get_args().any(|arg| arg == flag) {
                self.command.args([flag, value]);
            }
        }
        self.command.args(["--ready", "json", "--exit-with-stdin"]);
    }
}

/// Any program that takes `--ready json --exit-with-stdin` as `flight-server serve` does.
impl From<Command> for ServerCommand {
    fn from(mut command: Command) -> Self {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FLIGHT_") {
                command.env_remove(name);
            }
        }
        Self { command }
    }
}

/// A running server; killed when dropped.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    ready: Value,
    /// The lines of stdout; disconnected when the process has ended.
    stdout: Receiver<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
}

impl ServerProcess {
    /// Starts `flight-server` over the folder `data`, in the clear on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// As [`ServerCommand::start`].
    pub fn start(data: &Path) -> Self {
        ServerCommand::serve(data).start()
    }

    /// The first address it listens on, such as `grpc://127.0.0.1:40213`.
    pub fn endpoint(&self) -> &str {
        self.ready["endpoints"][0].as_str().expect("the ready line holds `endpoints`")
    }

    /// The ready line.
    pub fn ready(&self) -> &Value {
        &self.ready
    }

    /// The process id of the child.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to stderr until now, the last MiB at most.
    pub fn stderr(&self) -> String {
        let bytes = self.stderr.lock().expect("the reader of stderr does not panic");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Ends it at once (SIGKILL), as a crash would.
    pub fn kill(&mut self) -> ExitStatus {
        self.child.kill().expect("one may kill one's own child");
        self.wait()
    }

    /// Asks it to stop (SIGTERM) and waits until it has.
    ///
    /// # Panics
    /// When it is still running 45 s later.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Asks it to stop (SIGTERM) without waiting, for tests of what happens meanwhile.
    pub fn begin_termination(&self) {
        self.signal(Signal::TERM);
    }

    /// Asks it to look at its files again (SIGHUP).
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Closes its stdin, as a parent that died would.
    pub fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// When it is still running after 45 s.
    pub fn wait(&mut self) -> ExitStatus {
        // The end of its stdout marks its end: a wait with a limit, which `Child` lacks.
        loop {
            match self.stdout.recv_timeout(STOP_WITHIN) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.fail(&format!("was still running after {STOP_WITHIN:?}"))
                }
            }
        }
        let status = self.child.wait().expect("the child was not waited for elsewhere");
        if let Some(reader) = self.stderr_reader.take() {
            reader.join().expect("the reader of stderr does not panic");
        }
        status
    }

    fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{:?} cannot start: {error}", command.get_program()));
        let stdout = lines(child.stdout.take().expect("stdout is piped"));
        let stderr = Arc::new(Mutex::new(vec![]));
        let pipe = child.stderr.take().expect("stderr is piped");
        let kept = Arc::clone(&stderr);
        let stderr_reader = Some(std::thread::spawn(move || keep_tail(pipe, &kept)));
        Self { child, ready: Value::Null, stdout, stderr, stderr_reader }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // The child was not waited for, so the id is still its own.
        kill_process(pid.expect("process ids are positive"), signal)
            .expect("one may signal one's own child");
    }

    fn fail(&mut self, what: &str) -> ! {
        // Errors are of no interest here: the panic below says what matters.
        let _ = self.child.kill();
        let status = self.child.wait();
        if let Some(reader) = self.stderr_reader.take() {
            let _ = reader.join();
        }
        panic!("the server {what} ({status:?}); its stderr:\n{}", self.stderr());
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Fails only when it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stdout: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = sync_channel(16);
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        loop {
            let mut line = String::new();
            match (&mut stdout).take(STDOUT_LINE_BYTES_MAX).read_line(&mut line) {
                // A full channel or a gone receiver must not stop the child: go on reading.
                Ok(count) if 0 < count => drop(sender.try_send(line)),
                _ => return,
            }
        }
    });
    receiver
}

fn keep_tail(mut stderr: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 4096];
    while let Ok(count) = stderr.read(&mut chunk)
        && 0 < count
    {
        let mut kept = kept.lock().expect("nobody panics while holding it");
        kept.extend_from_slice(&chunk[..count]);
        let excess = kept.len().saturating_sub(STDERR_BYTES_MAX);
        kept.drain(..excess);
    }
}
