//! Turns a configuration into rows: for each, a server, a plan and a job that is ready to run. Which
//! server that is, and whether it is there, is `site`'s.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow_flight::{Action, Criteria};
use flight_net::client::Connector;
use prost::Message;

use super::site::{connect, site};
use super::stage::{SAMPLE, Site, Stage};
use super::{engines, handshakes, mixed, quick};
use crate::cli::{Call, Source, Verify};
use crate::config::{Config, ExchangeWork, GetWork, PutData, PutWork, Target, UnaryWork, Work};
use crate::exit::Stop;
use crate::load::{ExchangeJob, GetCheck, GetJob, Job, JobWork, PutJob, Request, UnaryJob};
use crate::progress::Progress;
use crate::report::{Results, Variant, Workload};
use crate::target::{
    Capability, Control, Places, Plan, PlanOptions, Uploads, descriptor, only_dataset, plan,
    probe_acks, probe_exchange,
};
use crate::workload::Pool;

/// Sets up all rows; the variants of `results` and the jobs have the same order.
pub(super) async fn prepare(
    config: &Config,
    stage: &mut Stage,
    results: &mut Results,
    progress: &Progress,
) -> Result<Vec<Arc<Job>>, Stop> {
    match &config.work {
        Work::Quick(work) => quick::prepare(config, work, stage, results, progress).await,
        Work::Engines(work) => engines::prepare(config, work, stage, results, progress).await,
        Work::Get(work) => {
            let mut work = work.clone();
            // The perf server is the one that paces streams.
            let perf = work.sources.contains(&Source::Perf) || config.pace.is_some();
            let rows = work.sources.is_empty().then_some(work.sample_rows);
            let site = site(config, perf, rows, stage, results, progress).await?;
            if matches!(config.target, Target::Child { .. }) && work.sources.is_empty() {
                work.sources = vec![Source::Path(vec![SAMPLE.to_owned()])];
            }
            Ok(vec![get_row(config, site, &work, results).await?])
        }
        Work::Put(work) => {
            progress.step("preparing batches");
            let pool = pool(&work.data, work.batch_rows, work.message_bytes)?;
            let perf = work.destination == Some(Source::Perf);
            let site = site(config, perf, None, stage, results, progress).await?;
            Ok(vec![put_row(config, site, work, &pool, stage, results).await?])
        }
        Work::Exchange(work) => {
            progress.step("preparing batches");
            let pool = pool(&work.data, work.batch_rows, work.message_bytes)?;
            let site = site(config, true, None, stage, results, progress).await?;
            Ok(vec![exchange_row(config, site, work, &pool, results).await?])
        }
        Work::Tls(work) => handshakes::prepare(config, work, stage, results, progress).await,
        Work::Mixed(work) => mixed::prepare(config, work, stage, results, progress).await,
        Work::Unary(work) => {
            let perf = work.source == Some(Source::Perf);
            let rows = work.source.is_none().then_some(UNARY_SAMPLE_ROWS);
            let site = site(config, perf, rows, stage, results, progress).await?;
            Ok(vec![unary_row(config, site, work, results).await?])
        }
    }
}

pub(super) async fn get_row(
    config: &Config,
    mut site: Site,
    work: &GetWork,
    results: &mut Results,
) -> Result<Arc<Job>, Stop> {
    let mut control = connect(&mut site).await?;
    let connector = site.connector.clone();
    let work = get_job(config, &mut control, &connector, work, results).await?;
    let job = Job {
        connector,
        load: config.load.clone(),
        work: JobWork::Get(work),
        server_pid: site.pid.or(config.server_pid),
        pace: OnceLock::new(),
    };
    results.variants.push(variant(site, Workload::Get, None));
    Ok(Arc::new(job))
}

/// What streams read, and where.
pub(super) async fn get_job(
    config: &Config,
    control: &mut Control,
    target: &Connector,
    work: &GetWork,
    results: &mut Results,
) -> Result<GetJob, Stop> {
    let mut places = Places::new(target.clone(), work.follow);
    let asked = Instant::now();
    let plans = plans(config, control, work, &mut places, results).await;
    let took = asked.elapsed();
    results.note_caps(control.caps());
    if let Some(server) = &mut results.server {
        server.locations = places.records().to_vec();
        server.plan_ns = u64::try_from(took.as_nanos()).ok();
    }
    let plans = plans?;
    results.warnings.extend(places.warning());
    Ok(GetJob {
        plans,
        places: places.followed().to_vec(),
        max_message_bytes: config.link.max_message_bytes,
        check: match work.verify {
            Verify::None => GetCheck::Nothing,
            Verify::Count | Verify::Checksum => GetCheck::Count,
        },
    })
}

/// Asks for what a `get` reads.
async fn plans(
    config: &Config,
    control: &mut Control,
    work: &GetWork,
    places: &mut Places,
    results: &mut Results,
) -> Result<Vec<Plan>, Stop> {
    let mut sources = work.sources.clone();
    if sources.is_empty() {
        sources.push(only_dataset(control).await?);
    }
    results.record.sources = sources.iter().map(ToString::to_string).collect();
    let mut plans = Vec::new();
    for source in &sources {
        plans.push(plan(control, source, plan_options(config, work), places).await?);
    }
    Ok(plans)
}

pub(super) async fn put_row(
    config: &Config,
    mut site: Site,
    work: &PutWork,
    pool: &Arc<Pool>,
    stage: &mut Stage,
    results: &mut Results,
) -> Result<Arc<Job>, Stop> {
    let mut control = connect(&mut site).await?;
    let work = put_job(config, &site, &mut control, work, pool, stage, results).await?;
    let acks = work.acks;
    let job = Job {
        connector: site.connector.clone(),
        load: config.load.clone(),
        work: JobWork::Put(work),
        server_pid: site.pid.or(config.server_pid),
        pace: OnceLock::new(),
    };
    results.variants.push(variant(site, Workload::Put, Some(acks)));
    Ok(Arc::new(job))
}

pub(super) async fn put_job(
    config: &Config,
    site: &Site,
    control: &mut Control,
    work: &PutWork,
    pool: &Arc<Pool>,
    stage: &mut Stage,
    results: &mut Results,
) -> Result<PutJob, Stop> {
    // Servers of quick may share a folder, so that each transport has names of its own.
    let id = format!("{}-{}", results.id, site.transport);
    let streams = config.load.streams;
    let uploads = Uploads::new(control, work.destination.as_ref(), &id, streams).await?;
    let acks = probe_acks(control, &uploads, pool).await;
    results.note_caps(control.caps());
    let acks = acks?;
    let inflight = work.inflight.unwrap_or_else(|| pool.suitable_inflight());
    results.record.inflight = Some(inflight);
    if results.record.sources.is_empty() {
        results.record.sources = vec![data_name(&work.data)];
    }
    let job = PutJob {
        pool: Arc::clone(pool),
        descriptors: uploads.descriptors().to_vec(),
        message_bytes: work.message_bytes,
        inflight,
        upload_bytes: work.upload_bytes,
        acks,
        check_count: work.verify != Verify::None,
        if_exists: uploads.if_exists().map(str::to_owned),
    };
    stage.uploads.push((site.connector.clone(), uploads));
    Ok(job)
}

async fn exchange_row(
    config: &Config,
    mut site: Site,
    work: &ExchangeWork,
    pool: &Arc<Pool>,
    results: &mut Results,
) -> Result<Arc<Job>, Stop> {
    let descriptor = descriptor(&work.source, PlanOptions::default())?.encode_to_vec();
    let mut control = connect(&mut site).await?;
    let probed = probe_exchange(&mut control, &descriptor, pool).await;
    results.note_caps(control.caps());
    probed?;
    let job = Job {
        connector: site.connector.clone(),
        load: config.load.clone(),
        work: JobWork::Exchange(exchange_job(work, pool, results)?),
        server_pid: site.pid.or(config.server_pid),
        pace: OnceLock::new(),
    };
    results.variants.push(variant(site, Workload::Exchange, None));
    Ok(Arc::new(job))
}

pub(super) fn exchange_job(
    work: &ExchangeWork,
    pool: &Arc<Pool>,
    results: &mut Results,
) -> Result<ExchangeJob, Stop> {
    let inflight = work.inflight.unwrap_or_else(|| pool.suitable_inflight());
    results.record.inflight = Some(inflight);
    Ok(ExchangeJob {
        pool: Arc::clone(pool),
        descriptor: descriptor(&work.source, PlanOptions::default())?.encode_to_vec(),
        message_bytes: work.message_bytes,
        inflight,
    })
}

async fn unary_row(
    config: &Config,
    mut site: Site,
    work: &UnaryWork,
    results: &mut Results,
) -> Result<Arc<Job>, Stop> {
    let mut control = connect(&mut site).await?;
    let mut capability = Capability::from(work.call);
    let mut about = async || {
        let source = match &work.source {
            Some(source) => source.clone(),
            None => only_dataset(&mut control).await?,
        };
        results.record.sources = vec![source.to_string()];
        if work.call == Call::Info {
            capability = Capability::of_source(&source);
        }
        let options = PlanOptions { streams: config.load.streams, ..PlanOptions::default() };
        descriptor(&source, options)
    };
    let request = match work.call {
        Call::Info => Request::Info(about().await?),
        Call::Schema => Request::Schema(about().await?),
        Call::Poll => Request::Poll(about().await?),
        Call::List => Request::List(Criteria::default()),
        Call::Action => {
            results.record.sources = vec![work.action.clone()];
            Request::Action(Action::new(work.action.clone(), work.body.clone()))
        }
    };
    results.record.call = Some(work.call.name().to_owned());
    // An action may change something, so that none is made but those that are measured.
    let probed = match work.call {
        Call::Action => control.ready().await,
        _ => control.probe(capability, &request).await,
    };
    results.note_caps(control.caps());
    probed?;
    let job = Job {
        connector: site.connector.clone(),
        load: config.load.clone(),
        work: JobWork::Unary(UnaryJob {
            request,
            capability,
            connect: work.connect,
            linger: work.linger,
        }),
        server_pid: site.pid.or(config.server_pid),
        pace: OnceLock::new(),
    };
    results.variants.push(variant(site, Workload::Unary, None));
    Ok(Arc::new(job))
}

/// How the server is asked for what a `get` reads.
pub(super) fn plan_options(config: &Config, work: &GetWork) -> PlanOptions {
    PlanOptions {
        batch_rows: work.batch_rows,
        message_bytes: work.message_bytes,
        checksum: false,
        streams: config.load.streams,
        records_per_stream: work.records_per_stream,
    }
}

pub(super) fn variant(site: Site, workload: Workload, acks: Option<crate::load::Acks>) -> Variant {
    Variant {
        workload,
        transport: site.transport,
        label: site.label,
        url: site.url,
        tls: site.tls,
        acks,
        part: None,
        measured: Vec::new(),
    }
}

pub(super) fn pool(
    data: &PutData,
    batch_rows: Option<u64>,
    bytes_max: usize,
) -> Result<Arc<Pool>, Stop> {
    let pool = match data {
        PutData::File(path) => Pool::from_file(path, batch_rows, bytes_max)?,
        PutData::Generated { pool, seed } => Pool::generated(*pool, batch_rows, *seed, bytes_max)?,
    };
    Ok(Arc::new(pool))
}

fn data_name(data: &PutData) -> String {
    match data {
        PutData::File(path) => format!("file:{}", path.display()),
        PutData::Generated { pool, .. } => format!("perf4 ({pool} batches)"),
    }
}

/// Calls without batches ask about a sample of any size.
const UNARY_SAMPLE_ROWS: u64 = 10_000;
