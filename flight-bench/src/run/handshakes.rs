//! Sets up the rows of tls: connections to one server that runs, or to one for each engine, key and
//! kind of client.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, anyhow};
use flight_net::Endpoint;
use flight_tls::{ClientIdentity, ClientOptions, Engine};

use super::rows::variant;
use super::site::{connect, site};
use super::stage::{Site, Stage, secure};
use crate::config::{Config, KeyKind, LinkConfig, Resume, Target, TlsRow, TlsWork};
use crate::exit::Stop;
use crate::load::{ConnectJob, Job, JobWork};
use crate::progress::Progress;
use crate::report::{Results, Workload};
use crate::target::{TlsSide, make_certificates, server_program};

pub(super) async fn prepare(
    config: &Config,
    work: &TlsWork,
    stage: &mut Stage,
    results: &mut Results,
    progress: &Progress,
) -> Result<Vec<Arc<Job>>, Stop> {
    let Target::Child { program } = &config.target else {
        let site = site(config, false, None, stage, results, progress).await?;
        let row = work.rows.first().context("a server that runs already has a row")?;
        return Ok(vec![connect_row(config, site, row, results).await?]);
    };
    let program = server_program(program.as_deref())?;
    progress.step("starting flight-server");
    let folder = stage.folder()?;
    let (certs, data) = (folder.join("certs"), folder.join("data"));
    std::fs::create_dir_all(&data).context("cannot make a temporary folder")?;
    let mut keys: Vec<KeyKind> = Vec::new();
    for row in &work.rows {
        if !keys.contains(&row.key) {
            keys.push(row.key);
        }
    }
    make_certificates(&program, &keys, &certs).await?;
    let alone = work.rows.len() == 1;
    let mut started: Vec<Started> = Vec::new();
    let mut jobs = Vec::new();
    for row in &work.rows {
        let kind = (row.engine, row.key, row.mutual);
        if !started.iter().any(|one| one.kind == kind) {
            let (server, endpoints) = stage.start(&program, &data, &options(row, &certs)).await?;
            let endpoint = endpoints.into_iter().next();
            let endpoint = endpoint.context("the started server has no endpoint")?;
            started.push(Started { kind, endpoint, pid: server.pid });
            results.server.get_or_insert(server);
        }
        let server = started.iter().find(|one| one.kind == kind).context("it was just started")?;
        let site = with(&server.endpoint, row, alone, &certs, &config.link)?;
        jobs.push(connect_row(config, Site { pid: server.pid, ..site }, row, results).await?);
    }
    Ok(jobs)
}

/// A server of this run, and what it was started for.
struct Started {
    kind: (Engine, KeyKind, bool),
    endpoint: Endpoint,
    pid: Option<u32>,
}

/// What the server of a row is started with.
fn options(row: &TlsRow, certs: &Path) -> Vec<std::ffi::OsString> {
    let mut args = secure(certs, row.key);
    args.extend(["--tls-engine".into(), row.engine.name().into()]);
    if row.mutual {
        args.extend(["--tls-client-ca".into(), certs.join("ca.pem").into()]);
    }
    args
}

/// A server as the client of a row sees it; a row that is alone is not named after what it is.
fn with(
    endpoint: &Endpoint,
    row: &TlsRow,
    alone: bool,
    certs: &Path,
    link: &LinkConfig,
) -> Result<Site, Stop> {
    let options = ClientOptions {
        engine: row.engine,
        groups: row.group.into_iter().collect(),
        no_resumption: row.resume == Resume::Full,
        ..ClientOptions::default()
    };
    let identity = row.mutual.then(|| {
        let loaded = ClientIdentity::load(&certs.join("client.pem"), &certs.join("client.key"));
        loaded.map_err(|error| Stop::failed(anyhow!("the certificate of the client: {error}")))
    });
    let (ca, key) = (certs.join("ca.pem"), row.key.label());
    let side = TlsSide::of_child(ca, key, identity.transpose()?, options)?;
    let (transport, label) = match alone {
        true => ("tls".to_owned(), format!("TLS {key}")),
        false => (row.id(), row.label()),
    };
    Ok(Site::new(endpoint.clone(), Some(side), transport, label, link))
}

async fn connect_row(
    config: &Config,
    mut site: Site,
    row: &TlsRow,
    results: &mut Results,
) -> Result<Arc<Job>, Stop> {
    let mut control = connect(&mut site).await?;
    control.ready().await?;
    results.note_caps(control.caps());
    let agreed = control.connection().negotiated().copied();
    let group = agreed.and_then(|agreed| agreed.group);
    if let (Some(asked), Some(group)) = (row.group, group)
        && asked.name() != group
    {
        return Err(Stop::failed(anyhow!("{group} was negotiated, and {asked} was asked for")));
    }
    if let Some(side) = &mut site.tls {
        side.resume = Some(row.resume.name().to_owned());
    }
    let job = Job {
        connector: site.connector.clone(),
        load: config.load.clone(),
        work: JobWork::Connect(ConnectJob { resume: row.resume, agreed }),
        server_pid: site.pid.or(config.server_pid),
        pace: OnceLock::new(),
    };
    results.variants.push(variant(site, Workload::Tls, None));
    Ok(Arc::new(job))
}
