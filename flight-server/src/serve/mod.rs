//! `flight-server serve`: puts the parts together, runs them, and stops them.

mod admin;
mod args;
mod certificate;
mod config;
mod rescan;
mod rotation;
mod start;
mod tickets;

use std::sync::Arc;

use anyhow::Context;
use flight_files::DecodePool;
use flight_net::server::{Counters, Listener, Server};
use flight_store::{Store, StoreOptions};
use rotation::Rotation;
use tokio::sync::watch;
use tonic_health::server::HealthReporter;

pub use args::Args;
pub(crate) use args::parse_duration;
pub use config::Config;
pub use tickets::ScheduleArgs;

use crate::service::{Budget, Flight, Lookups, Metrics, Service, Tickets};

/// Serves until it is told to stop by SIGTERM, SIGINT or the end of stdin, then drains.
///
/// # Errors
///
/// What keeps it from starting, naming the option at fault.
pub fn run(config: Config) -> anyhow::Result<()> {
    start::log_to_stderr();
    start::silence_caught_panics();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let outcome = runtime.block_on(serve(config));
    // A blocking read of a stalled disk must not keep the process from ending.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    outcome
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let rotation = match &config.tls {
        Some(tls) => Some(Rotation::start(tls.clone()).await?),
        None => None,
    };
    let (tickets, keeper) = match &config.tickets {
        Some(tickets) => {
            let (tickets, keeper) = tickets::start(tickets.clone()).await?;
            (Some(tickets), Some(keeper))
        }
        None => (None, None),
    };
    let options = StoreOptions {
        read_only: config.read_only,
        map_files: config.map_files,
        ..StoreOptions::default()
    };
    let data = config.data.clone();
    let store = tokio::task::spawn_blocking(move || Store::open(&data, options)).await?;
    let store = store.with_context(|| format!("--data {}", config.data.display()))?;
    let store = Arc::new(store);
    let report = rescan::once(&store).await?;

    let mut listeners = Vec::new();
    for endpoint in &config.listen {
        listeners.push(Listener::bind(endpoint).context("--listen")?);
    }
    let endpoints: Vec<_> = listeners.iter().map(|l| l.endpoint().clone()).collect();

    let counters = Arc::new(Counters::default());
    let decode = DecodePool::new(config.decode.clone()).context("--decode-threads")?;
    let metrics = Arc::new(Metrics::new(
        Arc::clone(&decode),
        rotation.as_ref().map(Rotation::figures),
        tickets.as_ref().map(Tickets::figures),
    ));
    let (health_reporter, health) = tonic_health::server::health_reporter();
    let flight = Arc::new(Flight {
        store: Arc::clone(&store),
        metrics: Arc::clone(&metrics),
        budget: Budget::new(config.budget_bytes),
        lookups: Lookups::default(),
        decode,
        tickets,
        perf: config.perf,
        stall: config.stall,
    });
    let service = Service::new(flight, health);
    let (stop, stopped) = watch::channel(false);
    let admin = admin::start(&config, Arc::clone(&metrics), Arc::clone(&counters)).await?;
    let rescan = tokio::spawn(rescan::run(Arc::clone(&store), config.rescan));
    let keeper = keeper.map(|keeper| tokio::spawn(keeper.run()));

    for name in HEALTH_NAMES {
        health_reporter.set_service_status(name, tonic_health::ServingStatus::Serving).await;
    }
    let signals = start::Signals::install().context("cannot catch signals")?;
    let tls = rotation.as_ref().map(Rotation::settings);
    let rotation = rotation.map(Rotation::spawn).transpose().context("cannot catch SIGHUP")?;
    start::announce(&config, &endpoints, admin.as_ref().map(|a| a.address), &report);
    tokio::spawn(stop_on_signal(signals, config.exit_with_stdin, health_reporter.clone(), stop));
    let server = Server { limits: config.limits, tls, counters };
    server.serve(listeners, service, stopped).await;
    rescan.abort();
    if let Some(rotation) = rotation {
        rotation.abort();
    }
    if let Some(keeper) = keeper {
        keeper.abort();
    }
    tracing::info!("stopped");
    Ok(())
}

/// The services whose health is told: the server, and Flight.
const HEALTH_NAMES: [&str; 2] = ["", "arrow.flight.protocol.FlightService"];

/// Begins to drain at the first signal to stop, and ends the process at the second.
async fn stop_on_signal(
    mut signals: start::Signals,
    with_stdin: bool,
    health: HealthReporter,
    stop: watch::Sender<bool>,
) {
    signals.stop(with_stdin).await;
    for name in HEALTH_NAMES {
        health.set_service_status(name, tonic_health::ServingStatus::NotServing).await;
    }
    tracing::info!("stopping: no new calls, running streams may end");
    // The receivers live as long as the server.
    let _ = stop.send(true);
    signals.stop(false).await;
    tracing::warn!("stopping at once");
    std::process::exit(0);
}
