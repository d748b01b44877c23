//! One DoPut stream: uploads one after another, credited as the server acknowledges them.
//!
//! Acknowledgements are read while batches are written, as Flight asks of clients: a server that
//! waits for room to acknowledge, and a client that waits for room to write, would wait for ever.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use flight_net::client::{PutResults, PutSink};
use flight_wire::protocol::PutSummary;
use flight_wire::{EncodeOptions, Encoder, Frame, Kind};
use tokio::sync::Semaphore;
use tonic::Status;
use tonic::metadata::MetadataMap;

use super::stream::Stream;
use super::{Acks, PutJob, clock};
use crate::config::Extent;
use crate::record::{Failure, Metric, Transfer};

/// Uploads until the run is over or the stream has sent what it had to.
pub(super) async fn run(stream: &Stream, job: &PutJob, extent: Extent) {
    let by_window = matches!(extent, Extent::Window { .. }) && job.acks == Acks::PerBatch;
    if !by_window {
        stream.wait_for_the_clock().await;
    }
    let mut left = Left::of(extent, job, stream.gate.stop_sending());
    while left.any() && !stream.gate.is_over() {
        let sent = match upload(stream, job, &left).await {
            Ok(batches) => batches,
            // What comes after the end decides nothing.
            Err(_) if stream.gate.is_over() => return,
            Err(failure) => {
                if !stream.failed(job.explained(failure)).await && !by_window {
                    return;
                }
                0
            }
        };
        left.uploaded(sent);
    }
}

/// Makes one whole upload: an operation of a mix.
pub(super) async fn once(stream: &Stream, job: &PutJob) -> Result<(), Failure> {
    let sent = upload(stream, job, &Left::UntilTheWindowCloses).await;
    sent.map(drop).map_err(|failure| job.explained(failure))
}

/// How much a stream has to send still.
enum Left {
    UntilTheWindowCloses,
    Until(Instant),
    Batches(u64),
    /// So many uploads, each of so many batches.
    Uploads {
        count: u64,
        batches: u64,
    },
}

impl Left {
    fn of(extent: Extent, job: &PutJob, stop_sending: Option<Instant>) -> Self {
        match (extent, stop_sending) {
            (Extent::Window { .. }, None) => Self::UntilTheWindowCloses,
            (Extent::Window { .. }, Some(stop)) => Self::Until(stop),
            (Extent::Batches(batches), _) => Self::Batches(batches),
            (Extent::Passes(count), _) => {
                Self::Uploads { count, batches: job.pool.batches.len() as u64 }
            }
        }
    }

    fn any(&self) -> bool {
        match self {
            Self::UntilTheWindowCloses => true,
            Self::Until(stop) => clock::now() < *stop,
            Self::Batches(batches) => *batches > 0,
            Self::Uploads { count, .. } => *count > 0,
        }
    }

    /// Whether the current upload, which holds `sent`, is to end here.
    fn upload_ends(&self, sent: &Transfer, job: &PutJob) -> bool {
        let full = sent.batches > 0 && sent.logical_bytes >= job.upload_bytes;
        match self {
            Self::UntilTheWindowCloses => full,
            Self::Until(stop) => full || clock::now() >= *stop,
            Self::Batches(batches) => full || sent.batches >= *batches,
            Self::Uploads { batches, .. } => sent.batches >= *batches,
        }
    }

    /// An upload of so many batches is over, well or not.
    fn uploaded(&mut self, sent: u64) {
        match self {
            Self::Batches(batches) => *batches = batches.saturating_sub(sent),
            Self::Uploads { count, .. } => *count -= 1,
            Self::UntilTheWindowCloses | Self::Until(_) => {}
        }
    }
}

/// What the two halves of an upload share; both run in one task.
struct Upload<'a> {
    stream: &'a Stream,
    job: &'a PutJob,
    opened: Instant,
    permits: Semaphore,
    unacknowledged: RefCell<VecDeque<Pending>>,
    half_closed: Cell<Option<Instant>>,
}

/// A batch that was handed over and is not acknowledged.
struct Pending {
    sequence: u64,
    handed_over: Instant,
    amount: Transfer,
    /// In an open loop.
    intended: Option<Instant>,
}

/// One upload from descriptor to final status; how many batches it held.
async fn upload(stream: &Stream, job: &PutJob, left: &Left) -> Result<u64, Failure> {
    let connection = stream.link.connection(stream.shared_recorder()).await?;
    let opened = clock::now();
    stream.opening(opened);
    let upload = Upload {
        stream,
        job,
        opened,
        permits: Semaphore::new(job.inflight),
        unacknowledged: RefCell::default(),
        half_closed: Cell::new(None),
    };
    let (sink, results) = connection.do_put(MetadataMap::new());
    let transferred =
        tokio::try_join!(upload.send(sink, left), async { upload.receive(results.await?).await });
    stream.committing(false);
    let (sent, summary) = transferred?;
    let Some(sent) = sent else {
        return Err(Failure::new("CUT", "the server ended an upload before all of it was sent"));
    };
    upload.committed(&sent);
    match summary {
        Some(summary) if job.check_count && summary.rows != sent.rows => Err(Failure::new(
            "MISMATCH",
            format!("{} rows were sent and the server stored {}", sent.rows, summary.rows),
        )),
        _ => Ok(sent.batches),
    }
}

impl Upload<'_> {
    /// Sends schema and batches; `None` when the server ended the call before the last of them.
    async fn send(&self, sink: PutSink, left: &Left) -> Result<Option<Transfer>, Failure> {
        let job = self.job;
        let options =
            EncodeOptions { message_bytes_max: job.message_bytes, ..EncodeOptions::default() };
        let encoding = |error| Failure::new("ENCODE", format!("{error}"));
        let mut encoder = Encoder::new(&job.pool.schema, options).map_err(encoding)?;
        let descriptor = &job.descriptors[self.stream.id % job.descriptors.len()];
        if !sink.send(Frame::new(encoder.schema(), &[], Some(descriptor))).await {
            return Ok(None);
        }
        let mut sent = Transfer::default();
        for prepared in job.pool.batches.iter().cycle() {
            if left.upload_ends(&sent, job) {
                break;
            }
            let intended = self.stream.next_arrival().await;
            if job.acks == Acks::PerBatch {
                match self.permits.acquire().await {
                    Ok(permit) => permit.forget(),
                    Err(_) => return Ok(None),
                }
            }
            let mut amount = prepared.amount;
            let messages = encoder.encode(&prepared.batch).map_err(encoding)?;
            for message in messages {
                let sequence = sent.batches.to_le_bytes();
                let is_batch = matches!(message.kind, Kind::Batch { .. });
                let app_metadata = if is_batch { &sequence[..] } else { &[] };
                let frame = Frame::new(message, app_metadata, None);
                amount.encoded_bytes += frame.bytes() as u64;
                let batch = is_batch.then_some((sent.batches, amount, intended));
                if !self.hand_over(&sink, frame, batch).await {
                    return Ok(None);
                }
            }
            sent.add(amount);
        }
        self.half_closed.set(Some(clock::now()));
        self.stream.committing(true);
        let taken = sink.finish().await;
        Ok(taken.then_some(sent))
    }

    /// Hands a frame to the transport; `batch` is its sequence number and amount if it is one.
    async fn hand_over(
        &self,
        sink: &PutSink,
        frame: Frame,
        batch: Option<(u64, Transfer, Option<Instant>)>,
    ) -> bool {
        let handed_over = clock::now();
        // Without acknowledgements there is nothing to match, and nothing to keep.
        if self.job.acks == Acks::PerBatch
            && let Some((sequence, amount, intended)) = batch
        {
            let pending = Pending { sequence, handed_over, amount, intended };
            self.unacknowledged.borrow_mut().push_back(pending);
        }
        let taken = sink.send(frame).await;
        let now = clock::now();
        let mut recorder = self.stream.recorder();
        recorder.latency(Metric::PutWriteWait, now - handed_over, now);
        if let Some((.., Some(intended))) = batch {
            recorder.lag(Metric::PutLag, handed_over.saturating_duration_since(intended), now);
        }
        taken
    }

    /// Reads acknowledgements to the final status; the server's summary, if it sends one.
    async fn receive(&self, mut results: PutResults) -> Result<Option<PutSummary>, Failure> {
        let mut summary = None;
        while let Some(result) = results.next().await {
            let metadata = result.map_err(|status: Status| Failure::from(status))?;
            if !self.acknowledge(&metadata) {
                summary = PutSummary::parse(&metadata).or(summary);
            }
        }
        let ended = clock::now();
        // Whoever waits for an acknowledgement waits in vain now.
        self.permits.close();
        if let Some(half_closed) = self.half_closed.get() {
            let took = ended.saturating_duration_since(half_closed);
            self.stream.recorder().latency(Metric::PutCommit, took, ended);
        }
        Ok(summary)
    }

    /// Credits the batch that `metadata` acknowledges, and those before it; `false` if it
    /// acknowledges none.
    fn acknowledge(&self, metadata: &Bytes) -> bool {
        let Ok(sequence) = metadata.as_ref().try_into().map(u64::from_le_bytes) else {
            return false;
        };
        let now = clock::now();
        let mut pending = self.unacknowledged.borrow_mut();
        let mut any = false;
        while pending.front().is_some_and(|batch| batch.sequence <= sequence)
            && let Some(batch) = pending.pop_front()
        {
            self.credit(&batch, now);
            self.permits.add_permits(1);
            any = true;
        }
        any
    }

    fn credit(&self, batch: &Pending, now: Instant) {
        let mut recorder = self.stream.recorder();
        recorder.transferred(self.stream.slot, batch.amount, now);
        recorder.latency(Metric::PutAck, now - batch.handed_over, now);
        if let Some(intended) = batch.intended {
            recorder.latency(Metric::PutResponse, now - intended, now);
        }
        if batch.sequence == 0 {
            recorder.latency(Metric::PutFirstAck, now - self.opened, now);
            drop(recorder);
            self.stream.first(now - self.opened);
            self.stream.started();
        }
    }

    /// The server's OK covers whatever it did not acknowledge one by one.
    fn committed(&self, sent: &Transfer) {
        let now = clock::now();
        if self.job.acks == Acks::Final {
            self.stream.recorder().transferred(self.stream.slot, *sent, now);
            self.stream.first(now - self.opened);
            self.stream.started();
            return;
        }
        for batch in self.unacknowledged.borrow_mut().drain(..) {
            self.stream.recorder().transferred(self.stream.slot, batch.amount, now);
        }
    }
}
