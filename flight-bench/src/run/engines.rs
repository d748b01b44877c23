//! Sets up engines: rows of get and put over one table, in plaintext and with each engine and suite.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use flight_net::Endpoint;
use flight_tls::{CipherSuite, ClientOptions, Engine, TlsVersion};

use super::quick::works;
use super::rows::{get_row, pool, put_row};
use super::stage::{Site, Stage, secure};
use crate::cli::Source;
use crate::config::{Config, EnginesWork, LinkConfig, PutData, Target, names_of};
use crate::exit::Stop;
use crate::load::Job;
use crate::progress::Progress;
use crate::report::{Results, Variant};
use crate::target::{TlsSide, server_program};

pub(super) async fn prepare(
    config: &Config,
    work: &EnginesWork,
    stage: &mut Stage,
    results: &mut Results,
    progress: &Progress,
) -> Result<Vec<Arc<Job>>, Stop> {
    let Target::Child { program } = &config.target else {
        return Err(Stop::usage("engines starts servers of its own; leave TARGET out"));
    };
    let program = server_program(program.as_deref())?;
    let (data, root) = stage.quick_data(&program, &work.data, progress).await?;
    let certs = stage.certificates(&program, &work.data, &[work.key], progress).await?;
    progress.step("starting flight-server, one for each engine");
    let mut sites: Vec<(Site, Option<CipherSuite>)> = Vec::new();
    for engine in &work.engines {
        let mut args = secure(&certs, work.key);
        args.extend(["--tls-engine".into(), engine.name().into()]);
        if sites.is_empty() {
            args.extend(["--listen".into(), "grpc://127.0.0.1:0".into()]);
        }
        let (server, endpoints) = stage.start(&program, &root, &args).await?;
        let pid = server.pid;
        results.server.get_or_insert(server);
        for endpoint in endpoints {
            if endpoint.is_tls() {
                for suite in &work.suites {
                    let site = with(&endpoint, work, *engine, *suite, &certs, &config.link)?;
                    sites.push((Site { pid, ..site }, Some(*suite)));
                }
            } else {
                let label = "plaintext".to_owned();
                let site = Site::new(endpoint, None, "plain", label, &config.link);
                // What all others are compared with stands above them.
                sites.insert(0, (Site { pid, ..site }, None));
            }
        }
    }
    let (mut get, mut put) = works(&work.data);
    get.sources = vec![Source::Path(data.components)];
    put.data = PutData::File(data.file);
    progress.step("preparing batches");
    let pool = pool(&put.data, put.batch_rows, put.message_bytes)?;
    let mut jobs = Vec::new();
    for (site, suite) in &sites {
        jobs.push(get_row(config, site.clone(), &get, results).await?);
        check(results.variants.last(), *suite)?;
    }
    for (site, suite) in sites {
        jobs.push(put_row(config, site, &put, &pool, stage, results).await?);
        check(results.variants.last(), suite)?;
    }
    Ok(jobs)
}

/// A server as a client of the same engine sees it that offers one suite alone.
fn with(
    endpoint: &Endpoint,
    work: &EnginesWork,
    engine: Engine,
    suite: CipherSuite,
    certs: &Path,
    link: &LinkConfig,
) -> Result<Site, Stop> {
    let options = ClientOptions {
        engine,
        ciphers: vec![suite],
        min_version: TlsVersion::V1_3,
        ..ClientOptions::default()
    };
    let side = TlsSide::of_child(certs.join("ca.pem"), work.key.label(), None, options)?;
    let (id, name) = names_of(suite);
    let (transport, label) = (format!("{engine}-{id}"), format!("{engine} {name}"));
    Ok(Site::new(endpoint.clone(), Some(side), transport, label, link))
}

/// Holds what was negotiated against what the row is named after.
fn check(variant: Option<&Variant>, asked: Option<CipherSuite>) -> Result<(), Stop> {
    let variant = variant.context("a row was just set up")?;
    let agreed = variant.tls.as_ref().and_then(|tls| tls.suite.clone());
    let asked = asked.map(|suite| suite.to_string());
    if agreed == asked {
        return Ok(());
    }
    let told = |suite: Option<String>| suite.unwrap_or_else(|| "no TLS".to_owned());
    let (id, agreed, asked) = (variant.id(), told(agreed), told(asked));
    Err(Stop::failed(anyhow!("{id}: {agreed} was negotiated, and {asked} was asked for")))
}
