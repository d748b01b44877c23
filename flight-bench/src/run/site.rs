//! The server of a run: the one that was named, waited for, or one that is started.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::time::Instant;

use super::stage::{Site, Stage, sample};
use crate::config::{Config, Connect, Resume, Target, UnaryWork, Work};
use crate::exit::{Exit, Stop};
use crate::limits::READY_PAUSE;
use crate::progress::Progress;
use crate::report::Results;
use crate::target::{Control, client_tls, server_program, trust_of};

/// The one server of get and put, started if there is no target.
pub(super) async fn site(
    config: &Config,
    perf: bool,
    sample_rows: Option<u64>,
    stage: &mut Stage,
    results: &mut Results,
    progress: &Progress,
) -> Result<Site, Stop> {
    let full = match &config.work {
        Work::Tls(work) => work.rows.iter().all(|row| row.resume == Resume::Full),
        Work::Unary(UnaryWork { connect, .. }) => *connect == Connect::PerCall,
        _ => false,
    };
    let program = match &config.target {
        Target::Given { endpoint, tls } => {
            let (side, transport, label) = match endpoint.is_tls() {
                true => (Some((client_tls(tls, full)?, trust_of(tls))), "tls", "TLS"),
                false => (None, "plain", "plaintext"),
            };
            let label = label.to_owned();
            let site = Site::new(endpoint.clone(), side, transport, label, &config.link);
            if let Some(within) = config.link.ready_timeout {
                progress.step(&format!("waiting for {endpoint}"));
                ready(&site, within).await?;
            }
            return Ok(site);
        }
        Target::Child { program } => server_program(program.as_deref())?,
    };
    let folder = stage.folder()?.join("data");
    if let Some(rows) = sample_rows {
        sample(&program, rows, &folder, progress).await?;
    } else {
        make_folder(&folder)?;
    }
    let mut args = vec!["--listen".into(), "grpc://127.0.0.1:0".into()];
    if perf {
        args.push("--perf".into());
    }
    progress.step("starting flight-server");
    let (server, endpoints) = stage.start(&program, &folder, &args).await?;
    results.server = Some(server);
    let endpoint = endpoints.into_iter().next().ok_or_else(|| {
        Stop::failed(anyhow!("the started server names no endpoint in its ready line"))
    })?;
    let label = "plaintext".to_owned();
    let site = Site::new(endpoint, None, "plain", label, &config.link);
    Ok(Site { pid: results.server.as_ref().and_then(|server| server.pid), ..site })
}

/// Asks the server until it answers, be it with a refusal.
///
/// # Errors
///
/// It did not within that time, or TLS was refused, which waiting does not mend.
async fn ready(site: &Site, within: Duration) -> Result<(), Stop> {
    let ends = Instant::now() + within;
    let ask = async || Control::connect(&site.connector).await?.ready().await;
    let mut why = Stop::unreachable(anyhow!("no answer"));
    loop {
        match tokio::time::timeout_at(ends, ask()).await {
            Ok(Err(stop)) if stop.exit == Exit::Unreachable => why = stop,
            Ok(answered) => return answered,
            Err(_) => {}
        }
        if Instant::now() + READY_PAUSE >= ends {
            return Err(why.because(format!("{} was not ready within {within:?}", site.url)));
        }
        tokio::time::sleep(READY_PAUSE).await;
    }
}

/// The first connection to a site: whether it is there, and what TLS agreed on.
pub(super) async fn connect(site: &mut Site) -> Result<Control, Stop> {
    let control = Control::connect(&site.connector).await?;
    if let (Some(tls), Some(agreed)) = (&mut site.tls, control.connection().negotiated()) {
        tls.negotiated(agreed);
    }
    Ok(control)
}

fn make_folder(folder: &Path) -> Result<(), Stop> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))
        .map_err(Stop::from)
}
