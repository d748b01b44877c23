//! Sets up a mix: one job, and a variant for all operations together and one for each kind.

use std::sync::{Arc, OnceLock};

use arrow_flight::Criteria;

use super::rows::{exchange_job, get_job, pool, put_job, variant};
use super::site::{connect, site};
use super::stage::{SAMPLE, Stage};
use crate::cli::{Follow, Source};
use crate::config::{Config, Connect, ExchangeWork, GetWork, MixedWork, PutWork, Target};
use crate::exit::Stop;
use crate::load::{Job, JobWork, MixedJob, OperationJob, Request, Seed, UnaryJob};
use crate::progress::Progress;
use crate::report::{Part, Results, Variant, Workload};
use crate::target::{Capability, Control, PlanOptions, descriptor, only_dataset};
use crate::workload::{Kind, Pool};

pub(super) async fn prepare(
    config: &Config,
    work: &MixedWork,
    stage: &mut Stage,
    results: &mut Results,
    progress: &Progress,
) -> Result<Vec<Arc<Job>>, Stop> {
    progress.step("preparing batches");
    let pool = match work.mix.any(Kind::sends_batches) {
        true => Some(pool(&work.data, work.batch_rows, work.message_bytes)?),
        false => None,
    };
    // A mix that reads nothing is given one all the same: its server lists something.
    let sample = work.source.is_none().then_some(work.sample_rows);
    let echoes = work.mix.has(Kind::Exchange);
    let mut site = site(config, echoes, sample, stage, results, progress).await?;
    let mut control = connect(&mut site).await?;
    control.ready().await?;
    let mut variants = vec![variant(site.clone(), Workload::Mixed, None)];
    let source = source(config, work, &mut control).await?;
    results.record.sources = source.iter().map(ToString::to_string).collect();
    let mut parts = Vec::new();
    for (kind, weight) in work.mix.parts().iter().copied() {
        let (operation, acks) = match (kind, &pool, &source) {
            (Kind::Get, _, Some(source)) => {
                let (target, get) = (&site.connector, get_work(work, source));
                let job = get_job(config, &mut control, target, &get, results).await?;
                (OperationJob::Get(job), None)
            }
            (Kind::Put, Some(pool), _) => {
                let put = put_work(work);
                let job = put_job(config, &site, &mut control, &put, pool, stage, results).await?;
                let acks = job.acks;
                (OperationJob::Put(job), Some(acks))
            }
            (Kind::Exchange, Some(pool), _) => {
                let exchange = exchange_work(work);
                let job = exchange_job(&exchange, pool, results)?;
                (OperationJob::Exchange { job, batches: batches(pool, work.upload_bytes) }, None)
            }
            (kind, ..) => {
                let request = request(kind, source.as_ref(), config.load.streams)?;
                let capability = match kind {
                    Kind::Schema => Capability::Schema,
                    Kind::List => Capability::List,
                    _ => Capability::Info,
                };
                let connect = Connect::Shared;
                let job = UnaryJob { request, capability, connect, linger: None };
                (OperationJob::Unary(job), None)
            }
        };
        parts.push((weight, operation));
        let of_kind = variant(site.clone(), Workload::of(kind), acks);
        variants.push(Variant { part: Some(Part { kind, weight }), ..of_kind });
    }
    results.variants.extend(variants);
    Ok(vec![Arc::new(Job {
        connector: site.connector,
        load: config.load.clone(),
        work: JobWork::Mixed(MixedJob { parts, seed: Seed::new(work.seed) }),
        server_pid: site.pid.or(config.server_pid),
        pace: OnceLock::new(),
    })])
}

/// What is read and asked about, if anything is.
async fn source(
    config: &Config,
    work: &MixedWork,
    control: &mut Control,
) -> Result<Option<Source>, Stop> {
    if !work.mix.any(Kind::needs_source) {
        return Ok(None);
    }
    match (&work.source, &config.target) {
        (Some(source), _) => Ok(Some(source.clone())),
        (None, Target::Child { .. }) => Ok(Some(Source::Path(vec![SAMPLE.to_owned()]))),
        (None, Target::Given { .. }) => only_dataset(control).await.map(Some),
    }
}

/// A call without batches.
fn request(kind: Kind, source: Option<&Source>, streams: usize) -> Result<Request, Stop> {
    let about = || {
        let source = source.ok_or_else(|| no_call(kind))?;
        descriptor(source, PlanOptions { streams, ..PlanOptions::default() })
    };
    match kind {
        Kind::Info => Ok(Request::Info(about()?)),
        Kind::Schema => Ok(Request::Schema(about()?)),
        Kind::List => Ok(Request::List(Criteria::default())),
        Kind::Get | Kind::Put | Kind::Exchange => Err(no_call(kind)),
    }
}

/// A part was set up without what it needs: a fault of this program.
fn no_call(kind: Kind) -> Stop {
    Stop::failed(anyhow::anyhow!("{} was not prepared; please report it", kind.call()))
}

fn get_work(work: &MixedWork, source: &Source) -> GetWork {
    GetWork {
        sources: vec![source.clone()],
        sample_rows: work.sample_rows,
        records_per_stream: 1,
        batch_rows: None,
        message_bytes: None,
        verify: work.verify,
        follow: Follow::Never,
    }
}

fn put_work(work: &MixedWork) -> PutWork {
    PutWork {
        destination: None,
        data: work.data.clone(),
        batch_rows: work.batch_rows,
        inflight: work.inflight,
        upload_bytes: work.upload_bytes,
        message_bytes: work.message_bytes,
        verify: work.verify,
    }
}

fn exchange_work(work: &MixedWork) -> ExchangeWork {
    ExchangeWork {
        source: "cmd:echo".parse().expect("a command is a source"),
        data: work.data.clone(),
        batch_rows: work.batch_rows,
        inflight: work.inflight,
        message_bytes: work.message_bytes,
    }
}

/// How many batches of the pool, in turn, hold so many bytes.
fn batches(pool: &Pool, bytes: u64) -> u64 {
    let all: u64 = pool.batches.iter().map(|one| one.amount.logical_bytes).sum();
    let count = pool.batches.len() as u64;
    let (turns, mut rest) = (bytes / all.max(1), bytes % all.max(1));
    let mut batches = turns.saturating_mul(count);
    for prepared in &pool.batches {
        if rest == 0 {
            break;
        }
        rest = rest.saturating_sub(prepared.amount.logical_bytes);
        batches += 1;
    }
    batches.max(1)
}
