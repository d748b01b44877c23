//! The recorder of one worker thread, and what threads' recordings add up to.
//!
//! Memory grows with threads and streams, never with time: a histogram per metric and thread,
//! counters per stream.

use std::sync::Arc;
use std::time::{Duration, Instant};

use flight_tls::Negotiated;

use super::window::{Place, View};
use super::{ErrorTally, Failure, Latencies, Live, Metric, Slices, Window};

/// Written by one worker thread; nobody else sees it until the thread is done.
#[derive(Debug)]
pub(crate) struct Recorder {
    window: View,
    live: Arc<Live>,
    recording: Recording,
    /// Of each stream: when its last batch or call ended, in or out of the window.
    last_ns: Vec<Option<u64>>,
    /// The part of a mix that what is recorded next belongs to.
    part: Option<usize>,
}

/// What was recorded: by one thread, or by several once merged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recording {
    pub(crate) counts: Counts,
    pub(crate) latencies: Latencies,
    pub(crate) errors: ErrorTally,
    /// Failures from before the window, of calls that are not measured.
    pub(crate) early_errors: ErrorTally,
    pub(crate) streams: Vec<StreamCounts>,
    /// Of a window with an end.
    pub(crate) slices: Slices,
    /// Of a mix: the same for each kind of operation, without streams. What is above is all of them
    /// together, but for latencies: those are of connections and whole operations.
    pub(crate) parts: Vec<Recording>,
}

/// Totals of what happened inside the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) transfer: Transfer,
    /// Streams or uploads opened after the first of each stream.
    pub(crate) reopens: u64,
    /// Connections made after a connection was lost.
    pub(crate) reconnects: u64,
    /// For calls without batches, before the window too.
    pub(crate) connections: Connections,
}

/// Connections that were made, and how those of TLS began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Connections {
    pub(crate) opened: u64,
    pub(crate) full: u64,
    pub(crate) resumed: u64,
}

/// An amount of data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) batches: u64,
    pub(crate) rows: u64,
    /// Bytes of the Arrow arrays, uncompressed.
    pub(crate) logical_bytes: u64,
    /// Bytes of Flight messages: header, `app_metadata` and body; without gRPC's and HTTP/2's.
    pub(crate) encoded_bytes: u64,
    /// Of a mix: whole operations.
    pub(crate) operations: u64,
}

/// An operation of a mix that ended well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    /// In an open loop.
    pub(crate) intended: Option<Instant>,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
}

/// What one stream did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamCounts {
    pub(crate) id: usize,
    pub(crate) connection: usize,
    pub(crate) transfer: Transfer,
    /// Until its first batch (get), acknowledgement (put) or answer (unary).
    pub(crate) first_ns: Option<u64>,
    /// The longest time without a batch or call that ended, as far as it lies in the window.
    pub(crate) longest_gap_ns: u64,
    /// When its last batch or call ended.
    pub(crate) last: Option<Instant>,
    /// When the stream had moved all it had to, in a run that ends by itself.
    pub(crate) done: Option<Instant>,
}

impl StreamCounts {
    /// Counts the pause up to the end of a window, which no batch ended.
    pub(crate) fn ended(&mut self, opens: Instant, closes: Instant) {
        let since = self.last.map_or(opens, |last| last.max(opens));
        let pause = closes.saturating_duration_since(since);
        let pause = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        self.longest_gap_ns = self.longest_gap_ns.max(pause);
    }
}

impl Transfer {
    /// Adds what one event moved.
    #[inline]
    fn credit(&mut self, one: Self) {
        self.batches += one.batches;
        self.rows += one.rows;
        self.logical_bytes += one.logical_bytes;
        self.encoded_bytes += one.encoded_bytes;
        self.operations += one.operations;
    }

    pub(crate) fn add(&mut self, other: Self) {
        // Runs are read back from files, which may hold anything.
        self.batches = self.batches.saturating_add(other.batches);
        self.rows = self.rows.saturating_add(other.rows);
        self.logical_bytes = self.logical_bytes.saturating_add(other.logical_bytes);
        self.encoded_bytes = self.encoded_bytes.saturating_add(other.encoded_bytes);
        self.operations = self.operations.saturating_add(other.operations);
    }
}

impl Connections {
    fn add(&mut self, other: Self) {
        self.opened = self.opened.saturating_add(other.opened);
        self.full = self.full.saturating_add(other.full);
        self.resumed = self.resumed.saturating_add(other.resumed);
    }
}

impl Recorder {
    /// A recorder with room for `metrics` and `streams`, given as (id, connection).
    pub(crate) fn new(
        window: Arc<Window>,
        live: Arc<Live>,
        metrics: &[Metric],
        streams: impl IntoIterator<Item = (usize, usize)>,
    ) -> Self {
        let stream = |(id, connection)| StreamCounts {
            id,
            connection,
            transfer: Transfer::default(),
            first_ns: None,
            longest_gap_ns: 0,
            last: None,
            done: None,
        };
        let streams: Vec<StreamCounts> = streams.into_iter().map(stream).collect();
        let last_ns = vec![None; streams.len()];
        let recording = Recording {
            counts: Counts::default(),
            latencies: Latencies::with_room_for(metrics),
            errors: ErrorTally::default(),
            early_errors: ErrorTally::default(),
            streams,
            slices: Slices::default(),
            parts: Vec::new(),
        };
        Self { window: View::new(window), live, recording, last_ns, part: None }
    }

    /// Makes room for the parts of a mix, given by their metrics.
    pub(crate) fn with_parts(mut self, parts: impl IntoIterator<Item = Vec<Metric>>) -> Self {
        let part = |metrics: Vec<Metric>| Recording {
            latencies: Latencies::with_room_for(&metrics),
            ..Recording::default()
        };
        self.recording.parts = parts.into_iter().map(part).collect();
        self
    }

    /// What is recorded from now on belongs to this part of a mix, or to none.
    pub(crate) fn turn_to(&mut self, part: Option<usize>) {
        self.part = part;
    }

    fn part(&mut self) -> Option<&mut Recording> {
        self.recording.parts.get_mut(self.part?)
    }

    /// Credits `amount` to the stream in this slot, if `at` lies in the window.
    #[inline]
    pub(crate) fn transferred(&mut self, slot: usize, amount: Transfer, at: Instant) {
        self.live.add(amount.logical_bytes);
        let place = self.window.place(at);
        let last_ns = self.last_ns[slot].replace(place.since_origin_ns);
        let stream = &mut self.recording.streams[slot];
        stream.last = Some(at);
        if !place.is_inside {
            return;
        }
        stream.transfer.credit(amount);
        if let Some(last_ns) = last_ns {
            let gap_ns = place.since_origin_ns.saturating_sub(last_ns);
            stream.longest_gap_ns = stream.longest_gap_ns.max(gap_ns);
        }
        if let Some(slice) = place.slice {
            self.recording.slices.moved(slice, amount);
        }
        if self.part.is_some() {
            self.transferred_of_part(amount, place);
        }
    }

    fn transferred_of_part(&mut self, amount: Transfer, place: Place) {
        if let Some(part) = self.part() {
            part.counts.transfer.credit(amount);
            if let Some(slice) = place.slice {
                part.slices.moved(slice, amount);
            }
        }
    }

    /// Records a latency that ended `at`.
    #[inline]
    pub(crate) fn latency(&mut self, metric: Metric, took: Duration, at: Instant) {
        if self.window.place(at).is_inside || metric.counts_outside_window() {
            // Connections are nobody's: the next operation uses them too.
            let of_mix = self.part.filter(|_| !metric.counts_outside_window());
            let part = of_mix.and_then(|part| self.recording.parts.get_mut(part));
            let latencies = match part {
                Some(part) => &mut part.latencies,
                None => &mut self.recording.latencies,
            };
            latencies.record(metric, took);
        }
    }

    /// Counts a whole operation of a mix, if it ended in the window.
    pub(crate) fn operated(&mut self, operation: Operation) {
        let Operation { intended, began, ended } = operation;
        let place = self.window.place(ended);
        if !place.is_inside {
            return;
        }
        let late = intended.map(|intended| began.saturating_duration_since(intended));
        let count = |of: &mut Recording| {
            of.counts.transfer.operations += 1;
            of.latencies.record(Metric::MixedService, ended - began);
            if let (Some(intended), Some(late)) = (intended, late) {
                of.latencies.record(Metric::MixedResponse, ended - intended);
                of.latencies.record(Metric::MixedLag, late);
            }
        };
        count(&mut self.recording);
        if let Some(part) = self.part() {
            count(part);
        }
        if let Some((late, slice)) = late.zip(place.slice) {
            self.recording.slices.late(slice, late);
        }
    }

    /// Records how late something was sent that ended `at`.
    pub(crate) fn lag(&mut self, metric: Metric, late: Duration, at: Instant) {
        self.latency(metric, late, at);
        if let Some(slice) = self.window.place(at).slice {
            self.recording.slices.late(slice, late);
        }
    }

    /// Notes how long the stream in this slot took to its first batch; later ones do not count.
    pub(crate) fn first(&mut self, slot: usize, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.recording.streams[slot].first_ns.get_or_insert(nanos);
    }

    pub(crate) fn done(&mut self, slot: usize, at: Instant) {
        self.recording.streams[slot].done = Some(at);
    }

    pub(crate) fn reopened(&mut self, at: Instant) {
        self.recording.counts.reopens += u64::from(self.window.place(at).is_inside);
    }

    pub(crate) fn reconnected(&mut self, at: Instant) {
        self.recording.counts.reconnects += u64::from(self.window.place(at).is_inside);
    }

    /// Counts a connection for calls without batches, by what TLS agreed on, whenever it was made.
    pub(crate) fn connected(&mut self, agreed: Option<&Negotiated>) {
        let resumed = agreed.map(|agreed| agreed.resumed);
        let (full, resumed) = (resumed == Some(false), resumed == Some(true));
        let one = Connections { opened: 1, full: full.into(), resumed: resumed.into() };
        self.recording.counts.connections.add(one);
    }

    /// Counts a failure; that of a call before the window apart.
    pub(crate) fn failed(&mut self, failure: Failure, at: Instant) {
        let early = self.window.window().is_ahead_of(at) && !failure.counts_outside_window();
        let count = |of: &mut Recording, failure| {
            let tally = if early { &mut of.early_errors } else { &mut of.errors };
            tally.add(failure);
        };
        if let Some(part) = self.part() {
            count(part, failure.clone());
        }
        count(&mut self.recording, failure);
    }

    /// What was recorded; what streams moved is added up here, not at each batch.
    pub(crate) fn into_recording(mut self) -> Recording {
        for stream in &self.recording.streams {
            self.recording.counts.transfer.add(stream.transfer);
        }
        self.recording
    }
}

impl Recording {
    /// Counts early failures among the others: where something did not get going they say why.
    pub(crate) fn count_early_errors(&mut self) {
        self.errors.merge(&std::mem::take(&mut self.early_errors));
        self.parts.iter_mut().for_each(Self::count_early_errors);
    }

    /// Adds what another thread recorded; streams stay in the order of their ids.
    pub(crate) fn merge(&mut self, other: Self) {
        self.counts.transfer.add(other.counts.transfer);
        self.counts.reopens = self.counts.reopens.saturating_add(other.counts.reopens);
        self.counts.reconnects = self.counts.reconnects.saturating_add(other.counts.reconnects);
        self.counts.connections.add(other.counts.connections);
        self.latencies.merge(&other.latencies);
        self.errors.merge(&other.errors);
        self.early_errors.merge(&other.early_errors);
        self.slices.merge(&other.slices);
        self.streams.extend(other.streams);
        self.streams.sort_by_key(|stream| stream.id);
        for (index, part) in other.parts.into_iter().enumerate() {
            match self.parts.get_mut(index) {
                Some(mine) => mine.merge(part),
                None => self.parts.push(part),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: Transfer =
        Transfer { batches: 1, rows: 10, logical_bytes: 80, encoded_bytes: 99, operations: 0 };

    #[test]
    fn only_what_completes_in_the_window_is_credited() {
        let got = record(&[50, 100, 150, 199, 200, 250]);
        assert_eq!(got.counts.transfer.batches, 3);
        assert_eq!(got.counts.transfer.rows, 30);
        assert_eq!(got.streams[0].transfer, got.counts.transfer);
        assert_eq!(got.latencies.count(Metric::GetWait), 3);
        // From the last one before the window to the first in it counts, too.
        assert_eq!(got.streams[0].longest_gap_ns, 50_000_000);
        let slices: Vec<u64> = got.slices.iter().map(|slice| slice.batches).collect();
        let (first, middle, last) = (slices[0], slices[10], slices[19]);
        assert_eq!((first, middle, last, slices.iter().sum::<u64>()), (1, 1, 1, 3));
    }

    #[test]
    fn what_happens_during_the_warm_up_stays_out_of_the_table() {
        let got = record(&[50]);
        assert_eq!(got.counts, Counts::default());
        assert_eq!(got.latencies.count(Metric::GetFirstBatch), 0);
        // Two things are kept apart from it: connections, and how long each stream took to start.
        assert_eq!(got.latencies.count(Metric::Connect), 1);
        assert_eq!(got.streams[0].first_ns, Some(1_000_000));
        let got = record(&[150]);
        assert_eq!((got.counts.reopens, got.counts.reconnects), (1, 1));
        assert_eq!(got.latencies.count(Metric::GetFirstBatch), 1);
    }

    #[test]
    fn calls_that_fail_in_the_warm_up_stand_apart_and_wrong_data_does_not() {
        let origin = Instant::now();
        let at = |ms| origin + Duration::from_millis(ms);
        let window = Arc::new(Window::unset(origin));
        let recorder = Recorder::new(Arc::clone(&window), Arc::default(), &[], [(0, 0)]);
        let mut recorder = recorder.with_parts([vec![]]);
        recorder.turn_to(Some(0));
        recorder.failed(Failure::new("UNAVAILABLE", "it starts"), at(10));
        window.set(at(100), Some(at(200)));
        recorder.failed(Failure::new("UNAVAILABLE", "it starts"), at(99));
        recorder.failed(Failure::new("MISMATCH", "rows are missing"), at(99));
        recorder.failed(Failure::new("CONNECT", "nobody is there"), at(5));
        recorder.failed(Failure::new("INTERNAL", "in the window"), at(100));
        // Of an upload that was sent in it.
        recorder.failed(Failure::new("INTERNAL", "behind the window"), at(250));
        let mut got = Recording::default();
        got.merge(recorder.into_recording());
        let totals = |of: &Recording| (of.errors.total(), of.early_errors.total());
        assert_eq!((totals(&got), totals(&got.parts[0])), ((4, 2), (4, 2)));
        got.count_early_errors();
        assert_eq!((totals(&got), totals(&got.parts[0])), ((6, 0), (6, 0)));
    }

    #[test]
    fn threads_add_up_and_streams_keep_their_order() {
        let mut all = Recording::default();
        for (id, batches) in [(2, 2), (0, 1), (1, 3)] {
            let mut one = record(&vec![150; batches]);
            one.streams[0].id = id;
            all.merge(one);
        }
        assert_eq!(all.counts.transfer.batches, 6);
        let per_stream: Vec<_> = all.streams.iter().map(|s| (s.id, s.transfer.batches)).collect();
        assert_eq!(per_stream, [(0, 1), (1, 3), (2, 2)]);
        assert_eq!(all.latencies.count(Metric::GetWait), 6);
    }

    #[test]
    fn a_mix_is_recorded_by_part_and_together() {
        let origin = Instant::now();
        let at = |ms| origin + Duration::from_millis(ms);
        let window = Arc::new(Window::unset(origin));
        window.set(at(100), Some(at(200)));
        let metrics = [Metric::Connect, Metric::MixedService];
        let parts = [Metric::GetStream, Metric::UnaryService];
        let parts = parts.map(|metric| vec![Metric::MixedService, metric]);
        let recorder = Recorder::new(window, Arc::default(), &metrics, [(0, 0)]);
        let mut recorder = recorder.with_parts(parts);
        // Of the second part two ended in the window; one came too late, and one failed.
        for (part, ended) in [(0, 150), (1, 160), (1, 199), (1, 200), (0, 99)] {
            recorder.turn_to(Some(part));
            recorder.latency(Metric::Connect, Duration::from_millis(1), at(ended));
            recorder.transferred(0, BATCH, at(ended));
            recorder.latency(Metric::UnaryService, Duration::from_millis(1), at(ended));
            recorder.operated(Operation { intended: None, began: at(50), ended: at(ended) });
        }
        recorder.turn_to(Some(1));
        recorder.failed(Failure::new("NOT_FOUND", "no such dataset"), at(150));
        let mut got = Recording::default();
        got.merge(recorder.into_recording());
        let counts = |of: &Recording| {
            let Transfer { batches, operations, .. } = of.counts.transfer;
            (batches, operations, of.latencies.count(Metric::MixedService), of.errors.total())
        };
        assert_eq!(counts(&got), (3, 3, 3, 1));
        assert_eq!(got.parts.iter().map(counts).collect::<Vec<_>>(), [(1, 1, 1, 0), (2, 2, 2, 1)]);
        assert_eq!(got.latencies.count(Metric::Connect), 5, "connections are all of them");
        let calls = |of: &Recording| of.latencies.count(Metric::UnaryService);
        assert_eq!((calls(&got), calls(&got.parts[0]), calls(&got.parts[1])), (0, 0, 2));
        let late = got.parts[1].slices.iter().last().map(|slice| slice.batches);
        assert_eq!((got.streams.len(), got.parts[0].streams.len(), late), (1, 0, Some(1)));
    }

    /// One stream that completes a batch at each of these milliseconds; the window is [100, 200).
    fn record(batches_ms: &[u64]) -> Recording {
        let origin = Instant::now();
        let at = |ms| origin + Duration::from_millis(ms);
        let window = Arc::new(Window::unset(origin));
        window.set(at(100), Some(at(200)));
        let metrics = [Metric::Connect, Metric::GetFirstBatch, Metric::GetWait];
        let mut recorder = Recorder::new(window, Arc::default(), &metrics, [(0, 0)]);
        let millisecond = Duration::from_millis(1);
        recorder.latency(Metric::Connect, millisecond, at(0));
        recorder.reopened(at(batches_ms[0]));
        recorder.reconnected(at(batches_ms[0]));
        recorder.latency(Metric::GetFirstBatch, millisecond, at(batches_ms[0]));
        recorder.first(0, millisecond);
        for ms in batches_ms {
            recorder.transferred(0, BATCH, at(*ms));
            recorder.latency(Metric::GetWait, millisecond, at(*ms));
        }
        recorder.into_recording()
    }
}
