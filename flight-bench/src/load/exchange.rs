//! One DoExchange stream: batches sent to a server that sends each back, credited as they return.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Instant;

use flight_net::client::{GetStream, PutSink};
use flight_wire::{BatchDecoder, DecodeLimits, Decoded, EncodeOptions, Encoder, Frame, Kind};
use tokio::sync::Semaphore;
use tonic::metadata::MetadataMap;

use super::stream::Stream;
use super::{ExchangeJob, clock};
use crate::config::Extent;
use crate::record::{Failure, Metric, Transfer};

/// Exchanges until the run is over or the stream has exchanged what it had to.
pub(super) async fn run(stream: &Stream, job: &ExchangeJob, extent: Extent) {
    let by_window = matches!(extent, Extent::Window { .. });
    if !by_window {
        stream.wait_for_the_clock().await;
    }
    let left = Cell::new(match extent {
        Extent::Window { .. } => u64::MAX,
        Extent::Batches(batches) => batches,
        Extent::Passes(passes) => passes.saturating_mul(job.pool.batches.len() as u64),
    });
    while left.get() > 0 && !stream.gate.is_over() {
        if let Err(failure) = exchange(stream, job, &left).await
            && !stream.failed(failure).await
            && !by_window
        {
            return;
        }
    }
}

/// Makes one call that exchanges so many batches: an operation of a mix.
pub(super) async fn once(stream: &Stream, job: &ExchangeJob, batches: u64) -> Result<(), Failure> {
    exchange(stream, job, &Cell::new(batches)).await
}

/// A batch that was sent and has not come back.
struct Pending {
    sequence: u64,
    sent: Instant,
    /// In an open loop.
    intended: Option<Instant>,
    amount: Transfer,
}

/// What both halves of a call share; both run in one task.
struct Exchange<'a> {
    stream: &'a Stream,
    job: &'a ExchangeJob,
    /// Batches that are still to be sent, over all calls of the stream.
    left: &'a Cell<u64>,
    permits: Semaphore,
    pending: RefCell<VecDeque<Pending>>,
}

/// One call, until all that is left was exchanged.
async fn exchange(stream: &Stream, job: &ExchangeJob, left: &Cell<u64>) -> Result<(), Failure> {
    let connection = stream.link.connection(stream.shared_recorder()).await?;
    stream.opening(clock::now());
    let exchange = Exchange {
        stream,
        job,
        left,
        permits: Semaphore::new(job.inflight),
        pending: RefCell::default(),
    };
    let (sink, answer) = connection.do_exchange(MetadataMap::new());
    tokio::try_join!(exchange.send(sink), async { exchange.receive(answer.await?).await })?;
    Ok(())
}

impl Exchange<'_> {
    async fn send(&self, sink: PutSink) -> Result<(), Failure> {
        let job = self.job;
        let options =
            EncodeOptions { message_bytes_max: job.message_bytes, ..EncodeOptions::default() };
        let encoding = |error| Failure::new("ENCODE", format!("{error}"));
        let mut encoder = Encoder::new(&job.pool.schema, options).map_err(encoding)?;
        let mut taken = sink.send(Frame::new(encoder.schema(), &[], Some(&job.descriptor))).await;
        for (sequence, prepared) in (0_u64..).zip(job.pool.batches.iter().cycle()) {
            if !taken || self.left.get() == 0 {
                break;
            }
            let intended = self.stream.next_arrival().await;
            let Ok(permit) = self.permits.acquire().await else { return Ok(()) };
            permit.forget();
            self.left.set(self.left.get() - 1);
            let messages = encoder.encode(&prepared.batch).map_err(encoding)?;
            let last = messages.iter().rposition(|one| matches!(one.kind, Kind::Batch { .. }));
            let mut amount = prepared.amount;
            for (index, message) in messages.into_iter().enumerate() {
                // A batch has come back when the last of its messages has.
                let marked = Some(index) == last;
                let number = sequence.to_le_bytes();
                let frame = Frame::new(message, if marked { &number } else { &[] }, None);
                amount.encoded_bytes += frame.bytes() as u64;
                if marked {
                    let pending = Pending { sequence, sent: clock::now(), intended, amount };
                    self.pending.borrow_mut().push_back(pending);
                }
                taken = sink.send(frame).await;
            }
        }
        sink.finish().await;
        Ok(())
    }

    async fn receive(&self, mut messages: GetStream) -> Result<(), Failure> {
        let mut decoder = BatchDecoder::new(DecodeLimits::default());
        while let Some(message) = messages.next().await {
            let message = message?;
            if message.header.is_empty() {
                continue;
            }
            let decoded = decoder.decode(&message.header, &message.body);
            let decoded = decoded.map_err(|error| Failure::new("DECODE", error.to_string()))?;
            let number = message.app_metadata.as_ref().try_into().map(u64::from_le_bytes);
            if let (Decoded::Batch(_), Ok(sequence)) = (decoded, number) {
                self.returned(sequence)?;
            }
        }
        // Whoever waits for room waits in vain now.
        self.permits.close();
        match self.pending.borrow().len() {
            0 => Ok(()),
            lost => Err(Failure::new("CUT", format!("{lost} batches did not come back"))),
        }
    }

    fn returned(&self, sequence: u64) -> Result<(), Failure> {
        let now = clock::now();
        let Some(batch) = self.pending.borrow_mut().pop_front() else {
            return Err(Failure::new("MISMATCH", "a batch came back that was not sent"));
        };
        if batch.sequence != sequence {
            let why = format!("batch {sequence} came back in place of {}", batch.sequence);
            return Err(Failure::new("MISMATCH", why));
        }
        self.permits.add_permits(1);
        let mut recorder = self.stream.recorder();
        recorder.transferred(self.stream.slot, batch.amount, now);
        recorder.latency(Metric::ExchangeRoundTrip, now - batch.sent, now);
        if let Some(intended) = batch.intended {
            recorder.latency(Metric::ExchangeResponse, now - intended, now);
            let late = batch.sent.saturating_duration_since(intended);
            recorder.lag(Metric::ExchangeLag, late, now);
        }
        drop(recorder);
        self.stream.first(now - batch.sent);
        self.stream.started();
        Ok(())
    }
}
