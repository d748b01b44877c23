//! One DoGet stream: read as fast as it can, opened again when it ends while the clock runs.

use std::time::{Duration, Instant};

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_schema::{Schema, SchemaRef};
use flight_wire::{BatchDecoder, Checksum, DecodeLimits, Decoded, FlightMessage};

use super::clock;
use super::paced::Paced;
use super::stream::Stream;
use super::{GetCheck, GetJob};
use crate::config::Extent;
use crate::limits;
use crate::record::{Failure, Metric, Transfer};
use crate::target::{Capability, Part, Plan, Question};
use crate::workload::value_bytes;

/// Reads until the run is over or the stream has read what it had to.
pub(super) async fn run(stream: &Stream, job: &GetJob, extent: Extent) {
    let plan = &job.plans[stream.id % job.plans.len()];
    let by_window = matches!(extent, Extent::Window { .. });
    if !by_window {
        stream.wait_for_the_clock_at(plan.first_place(stream.id)).await;
    }
    let mut left = Left::of(extent);
    while left.any() {
        match pass(stream, job, plan, &mut left).await {
            Ok(()) => left.passed(),
            Err(failure) => {
                let patient = stream.failed(Capability::Get.explained(failure)).await;
                // A pass that failed is one of those asked for; batches are not given up so soon.
                left.passed();
                if !by_window && !patient {
                    return;
                }
            }
        }
    }
}

/// Reads the whole source once: an operation of a mix.
pub(super) async fn once(stream: &Stream, job: &GetJob) -> Result<(), Failure> {
    let plan = &job.plans[stream.id % job.plans.len()];
    pass(stream, job, plan, &mut Left::Passes(1)).await
}

/// How much a stream has to read still.
enum Left {
    UntilTheWindowCloses,
    Batches(u64),
    Passes(u64),
}

impl Left {
    fn of(extent: Extent) -> Self {
        match extent {
            Extent::Window { .. } => Self::UntilTheWindowCloses,
            Extent::Batches(batches) => Self::Batches(batches),
            Extent::Passes(passes) => Self::Passes(passes),
        }
    }

    fn any(&self) -> bool {
        !matches!(self, Self::Batches(0) | Self::Passes(0))
    }

    fn batch(&mut self) {
        if let Self::Batches(batches) = self {
            *batches -= 1;
        }
    }

    fn passed(&mut self) {
        if let Self::Passes(passes) = self {
            *passes -= 1;
        }
    }
}

/// Reads the endpoints of this stream once, in order, and compares the rows.
async fn pass(stream: &Stream, job: &GetJob, plan: &Plan, left: &mut Left) -> Result<(), Failure> {
    let anew = match plan.asked_anew() {
        Some(question) => Some(ask(stream, question).await?),
        None => None,
    };
    let plan = anew.as_ref().unwrap_or(plan);
    let mut rows = 0;
    let mut empty = true;
    for part in plan.parts_of(stream.id) {
        let read = read(stream, job, plan, part, left).await?;
        rows += read.rows;
        empty &= read.batches == 0;
        if !left.any() {
            return Ok(());
        }
    }
    if empty {
        if let Left::Batches(batches) = left {
            // It would never end: what is asked for does not exist.
            *batches = 0;
        }
        // An empty source has nothing to wait for; it counts as running.
        stream.started();
    }
    if job.check == GetCheck::Nothing {
        return Ok(());
    }
    plan.check_rows(rows).map_err(|why| Failure::new("MISMATCH", format!("{why}; {ANYWAY}")))
}

/// Asks for a plan of this pass alone, as part of what is measured.
async fn ask(stream: &Stream, question: &Question) -> Result<Plan, Failure> {
    let connection = stream.link.calls(stream.shared_recorder()).await?;
    let mut client =
        FlightServiceClient::new(connection).max_decoding_message_size(limits::CONTROL_BYTES_MAX);
    let asked = clock::now();
    let info = client.get_flight_info(question.descriptor.clone()).await?.into_inner();
    let answered = clock::now();
    stream.recorder().latency(Metric::GetInfo, answered - asked, answered);
    question.plan(&info).map_err(|why| Failure::new("MISMATCH", why))
}

/// What one DoGet brought.
#[derive(Default)]
struct Read {
    batches: u64,
    rows: u64,
}

async fn read(
    stream: &Stream,
    job: &GetJob,
    plan: &Plan,
    part: &Part,
    left: &mut Left,
) -> Result<Read, Failure> {
    let connection = stream.link.connection_to(part.place, stream.shared_recorder()).await?;
    let opened = clock::now();
    stream.opening(opened);
    let paced = stream.paced.as_ref();
    let metadata = paced.map(Paced::metadata).unwrap_or_default();
    let mut messages = connection.do_get(&part.ticket, metadata).await?;
    let mut decoder = BatchDecoder::new(decode_limits(job));
    let mut got = Read::default();
    // The end of one batch is the beginning of the wait for the next: one stamp for both.
    let mut since = opened;
    let mut waited = Duration::ZERO;
    let mut encoded = 0;
    while let Some(message) = messages.next().await {
        let message = message?;
        let arrived = clock::now();
        waited += arrived - since;
        encoded += message.bytes as u64;
        let decoded = decode(&mut decoder, &message, job.check)?;
        since = clock::now();
        match decoded {
            Some(Decoded::Batch(batch)) => {
                let amount = Transfer {
                    batches: 1,
                    rows: batch.num_rows() as u64,
                    logical_bytes: value_bytes(&batch),
                    encoded_bytes: std::mem::take(&mut encoded),
                    operations: 0,
                };
                let stamp = paced.map(|paced| paced.stamp(&message)).transpose()?;
                if got.batches == 0 {
                    first_batch(stream, opened, since);
                }
                let mut recorder = stream.recorder();
                recorder.transferred(stream.slot, amount, since);
                recorder.latency(Metric::GetWait, std::mem::take(&mut waited), since);
                if let (Some(paced), Some(stamp)) = (paced, stamp) {
                    paced.record(&mut recorder, stamp, since);
                }
                got.batches += 1;
                got.rows += amount.rows;
                left.batch();
            }
            Some(Decoded::Schema(schema)) => check_schema(job, plan, &schema)?,
            Some(Decoded::Dictionary) | None => {}
        }
        if !left.any() {
            break;
        }
    }
    let ended = clock::now();
    if left.any() {
        stream.recorder().latency(Metric::GetStream, ended - opened, ended);
    }
    // A stream that has not ended is reset when it is dropped here, and the server stops sending.
    Ok(got)
}

fn first_batch(stream: &Stream, opened: Instant, now: Instant) {
    stream.started();
    stream.first(now - opened);
    stream.recorder().latency(Metric::GetFirstBatch, now - opened, now);
}

/// `None` for a message that carries `app_metadata` alone, as Flight allows.
fn decode(
    decoder: &mut BatchDecoder,
    message: &FlightMessage,
    check: GetCheck,
) -> Result<Option<Decoded>, Failure> {
    if message.header.is_empty() {
        return Ok(None);
    }
    if check == GetCheck::Checksum {
        compare_checksum(message)?;
    }
    let decoded = decoder.decode(&message.header, &message.body);
    decoded.map(Some).map_err(|error| Failure::new("DECODE", error.to_string()))
}

fn compare_checksum(message: &FlightMessage) -> Result<(), Failure> {
    let Some(sent) = Checksum::parse(&message.app_metadata) else {
        return Err(Failure::new(
            "MISMATCH",
            "the server sent no checksum; --verify checksum needs a flight-server",
        ));
    };
    let arrived = Checksum::of(&message.header, [message.body.as_slice()]);
    if arrived == sent {
        return Ok(());
    }
    Err(Failure::new("MISMATCH", format!("a message arrived as {arrived} and was sent as {sent}")))
}

fn check_schema(job: &GetJob, plan: &Plan, sent: &SchemaRef) -> Result<(), Failure> {
    let announced: Option<&Schema> = plan.schema.as_deref();
    match announced {
        Some(announced) if job.check != GetCheck::Nothing && announced != sent.as_ref() => {
            Err(Failure::new(
                "MISMATCH",
                format!(
                    "the server announced a schema of {} fields and sent another of {}; {ANYWAY}",
                    announced.fields().len(),
                    sent.fields().len()
                ),
            ))
        }
        _ => Ok(()),
    }
}

fn decode_limits(job: &GetJob) -> DecodeLimits {
    let bytes = job.max_message_bytes as u64;
    DecodeLimits { batch_bytes: bytes, dictionary_bytes: bytes, ..DecodeLimits::default() }
}

/// The way out of a mismatch with the announcement, which is the server's to repair.
const ANYWAY: &str = "--verify none measures it all the same";
