//! Starting and stopping: logs, what is announced, signals.

use std::net::SocketAddr;

use flight_net::Endpoint;
use flight_store::ScanReport;
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::config::Config;

/// Logs go to stderr, by `RUST_LOG` or from level info.
pub(super) fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::builder()
        .with_default_directive(tracing::Level::INFO.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_target(false)
        .init();
}

/// Panics are caught where foreign bytes are decoded and where a call is answered; their traces
/// would only let a client fill the log.
pub(super) fn silence_caught_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::debug!(location, "caught a panic");
    }));
}

/// Says where the server listens, what it serves, and what is open to whom.
pub(super) fn announce(
    config: &Config,
    endpoints: &[Endpoint],
    admin: Option<SocketAddr>,
    report: &ScanReport,
) {
    for endpoint in endpoints {
        tracing::info!("listening on {endpoint}: {}", openness(config, endpoint));
    }
    if let Some(address) = admin {
        tracing::info!("health and metrics on http://{address}/metrics");
    }
    let uploads = if config.read_only { "uploads refused" } else { "uploads stored" };
    tracing::info!(
        "serving {}: {} datasets, {} files that cannot be served, {uploads}",
        config.data.display(),
        report.datasets,
        report.problems.len(),
    );
    if config.ready.is_some() {
        let endpoints: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        let line = serde_json::json!({
            "ready": true,
            "pid": std::process::id(),
            "endpoints": endpoints,
            "admin": admin.map(|address| format!("http://{address}")),
            "version": env!("CARGO_PKG_VERSION"),
        });
        print_line(&line.to_string());
    }
}

#[expect(clippy::print_stdout, reason = "the ready line is the one result of serve")]
fn print_line(line: &str) {
    println!("{line}");
}

fn openness(config: &Config, endpoint: &Endpoint) -> String {
    let reach = match endpoint {
        Endpoint::Unix(_) => "processes of this user",
        _ if endpoint.is_local() => "processes of this machine",
        _ => "everyone who can reach this address",
    };
    let client_ca = config.tls.as_ref().and_then(|tls| tls.client_ca.as_ref());
    match (endpoint.is_tls(), client_ca) {
        (true, Some(_)) => format!("TLS, open to {reach} with a certificate of --tls-client-ca"),
        (true, None) => format!("TLS, open to {reach}"),
        (false, _) => format!("plaintext, open to {reach}"),
    }
}

/// The signals that ask the process to stop. Installed before the server is announced, so that none
/// that comes after ends it unprepared.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes the signals over from the system's default, which is to end the process.
    pub(super) fn install() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Resolves once the process is asked to stop.
    pub(super) async fn stop(&mut self, with_stdin: bool) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = stdin_closed(), if with_stdin => {}
        }
    }
}

async fn stdin_closed() {
    let mut stdin = tokio::io::stdin();
    let mut buffer = [0; 256];
    while matches!(stdin.read(&mut buffer).await, Ok(count) if count > 0) {}
}
