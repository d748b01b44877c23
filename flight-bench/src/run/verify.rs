//! The check of the content, after the windows: nothing is verified while the clock runs.

use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use bytes::Bytes;
use flight_net::client::{Connection, Connector};
use flight_wire::{BatchDecoder, DecodeLimits, Decoded};
use tonic::metadata::MetadataMap;

use super::rows::plan_options;
use super::stage::Stage;
use crate::cli::{Follow, Source, Verify};
use crate::config::{Config, Extent, GetWork, Load, PutWork, Work};
use crate::exit::Stop;
use crate::load::{self, GetCheck, GetJob, Interrupt, Job, JobWork, PutJob};
use crate::progress::Progress;
use crate::record::Failure;
use crate::report::VerifyRecord;
use crate::target::{Control, Places, PlanOptions, plan};
use crate::workload::Pool;

/// Checks the content where `--verify checksum` asks for it.
///
/// # Errors
///
/// The check could not be made. What differs is in the record.
pub(super) async fn content(
    config: &Config,
    stage: &Stage,
    jobs: &[Arc<Job>],
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Option<VerifyRecord>, Stop> {
    let Some(job) = jobs.first() else { return Ok(None) };
    match (&config.work, &job.work) {
        (Work::Get(work), JobWork::Get(measured)) if work.verify == Verify::Checksum => {
            progress.step("comparing checksums");
            checksums(config, work, job, measured, interrupt).await.map(Some)
        }
        (Work::Put(work), JobWork::Put(measured)) if work.verify == Verify::Checksum => {
            progress.step("reading back");
            read_back(work, stage, job, measured, interrupt).await.map(Some)
        }
        _ => Ok(None),
    }
}

/// Every stream reads its source once more, each message with the server's checksum.
async fn checksums(
    config: &Config,
    work: &GetWork,
    job: &Job,
    measured: &GetJob,
    interrupt: &Interrupt,
) -> Result<VerifyRecord, Stop> {
    let mut control = Control::connect(&job.connector).await?;
    let mut places = Places::new(job.connector.clone(), work.follow);
    let options = PlanOptions { checksum: true, ..plan_options(config, work) };
    let mut plans = Vec::new();
    for source in sources_of(work, &mut control).await? {
        plans.push(plan(&mut control, &source, options, &mut places).await?);
    }
    let checking = GetJob {
        plans,
        places: places.followed().to_vec(),
        max_message_bytes: measured.max_message_bytes,
        check: GetCheck::Checksum,
    };
    let work = JobWork::Get(checking);
    once_more(job, work, "checksum", interrupt).await
}

/// Every stream uploads the data once more; then each dataset is read back and compared.
async fn read_back(
    work: &PutWork,
    stage: &Stage,
    job: &Job,
    measured: &PutJob,
    interrupt: &Interrupt,
) -> Result<VerifyRecord, Stop> {
    let again = PutJob {
        pool: Arc::clone(&measured.pool),
        descriptors: measured.descriptors.clone(),
        if_exists: measured.if_exists.clone(),
        ..*measured
    };
    let mut record = once_more(job, JobWork::Put(again), "read-back", interrupt).await?;
    let names: Vec<Vec<String>> = match &work.destination {
        Some(source) => source.stored_as().into_iter().collect(),
        None => {
            let uploads = stage.uploads.first().map(|(_, uploads)| uploads);
            let name = |stream| uploads?.name(stream).map(<[String]>::to_vec);
            (0..job.load.streams).filter_map(name).collect()
        }
    };
    (record.batches, record.rows) = (0, 0);
    for name in names {
        let (batches, rows, equal) = compare(&job.connector, &name, &measured.pool).await?;
        record.batches += batches;
        record.rows += rows;
        record.equal &= equal;
    }
    Ok(record)
}

/// Runs `work` for one pass of every stream of `job`.
async fn once_more(
    job: &Job,
    work: JobWork,
    method: &'static str,
    interrupt: &Interrupt,
) -> Result<VerifyRecord, Stop> {
    let load = Load { extent: Extent::Passes(1), ..job.load.clone() };
    let live: Vec<_> = (0..load.threads).map(|_| Arc::default()).collect();
    let (connector, pace) = (job.connector.clone(), OnceLock::new());
    let job = Arc::new(Job { connector, load, work, server_pid: None, pace });
    let (repeat, ended) = load::repeat(&job, &live, interrupt).await;
    ended?;
    let failures = &repeat.recording.errors;
    if failures.total() > 0 {
        return Err(Stop::failed(anyhow::anyhow!("--verify checksum: {}", failures.sentence())));
    }
    let transfer = repeat.recording.counts.transfer;
    Ok(VerifyRecord {
        method: method.into(),
        batches: transfer.batches,
        rows: transfer.rows,
        equal: true,
    })
}

async fn sources_of(work: &GetWork, control: &mut Control) -> Result<Vec<Source>, Stop> {
    if work.sources.is_empty() {
        return Ok(vec![crate::target::only_dataset(control).await?]);
    }
    Ok(work.sources.clone())
}

/// Reads a dataset and compares it with the pool: batches, rows, and whether all are equal.
async fn compare(
    connector: &Connector,
    name: &[String],
    pool: &Pool,
) -> Result<(u64, u64, bool), Stop> {
    let mut control = Control::connect(connector).await?;
    let source = Source::Path(name.to_vec());
    let mut places = Places::new(connector.clone(), Follow::Never);
    let plan = plan(&mut control, &source, PlanOptions::default(), &mut places).await?;
    let mut compared = Compared { pool, next: 0, row: 0, batches: 0, rows: 0, equal: true };
    for part in plan.parts_of(0) {
        compared.ticket(control.connection(), &part.ticket).await.map_err(|failure| {
            let Failure { code, sentence } = failure;
            Stop::failed(anyhow::anyhow!("reading {source} back: {code}: {sentence}"))
        })?;
    }
    let equal = compared.equal && compared.rows == pool.rows();
    Ok((compared.batches, compared.rows, equal))
}

/// A comparison in progress; batches may be cut elsewhere than they were sent.
struct Compared<'a> {
    pool: &'a Pool,
    /// The batch of the pool, and the row in it, that comes next.
    next: usize,
    row: usize,
    batches: u64,
    rows: u64,
    equal: bool,
}

impl Compared<'_> {
    async fn ticket(&mut self, connection: &Connection, ticket: &Bytes) -> Result<(), Failure> {
        let mut messages = connection.do_get(ticket, MetadataMap::new()).await?;
        let mut decoder = BatchDecoder::new(DecodeLimits::default());
        while let Some(message) = messages.next().await {
            let message = message?;
            if message.header.is_empty() {
                continue;
            }
            let decoded = decoder.decode(&message.header, &message.body);
            match decoded.map_err(|error| Failure::new("DECODE", error.to_string()))? {
                Decoded::Batch(batch) => self.batch(&batch),
                Decoded::Schema(schema) => {
                    self.equal &= schema.fields() == self.pool.schema.fields();
                }
                Decoded::Dictionary => {}
            }
        }
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) {
        self.batches += 1;
        self.rows += batch.num_rows() as u64;
        let mut done = 0;
        while done < batch.num_rows() && self.equal {
            let Some(prepared) = self.pool.batches.get(self.next) else {
                self.equal = false;
                return;
            };
            let left = prepared.batch.num_rows() - self.row;
            let rows = left.min(batch.num_rows() - done);
            let sent = prepared.batch.slice(self.row, rows);
            self.equal &= sent.columns() == batch.slice(done, rows).columns();
            done += rows;
            self.row += rows;
            if self.row == prepared.batch.num_rows() {
                (self.next, self.row) = (self.next + 1, 0);
            }
        }
    }
}
