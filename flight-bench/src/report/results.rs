//! What a run found: its configuration, its variants and their repeats, and how it ended.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::Host;
use super::warning::Warning;
use super::workload::Workload;
use crate::config::Extent;
use crate::exit::Exit;
use crate::floor::Floor;
use crate::load::{Acks, ClockInUse, Repeat};
use crate::record::{ErrorTally, Latencies, Recording, Transfer};
use crate::target::{Caps, PlaceRecord, TlsSide};
use crate::threshold::ThresholdRecord;
use crate::workload::Kind;

/// Everything that reports are made of.
pub(crate) struct Results {
    pub(crate) id: String,
    pub(crate) started: SystemTime,
    pub(crate) record: RunRecord,
    pub(crate) server: Option<ServerRecord>,
    pub(crate) host: Host,
    /// What told the time; documents of earlier versions do not say.
    pub(crate) clock: Option<ClockInUse>,
    /// What equal sides differ by on this machine, where that was known when the run was made.
    pub(crate) floor: Option<Floor>,
    /// In the order of the table.
    pub(crate) variants: Vec<Variant>,
    pub(crate) verify: Option<VerifyRecord>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) thresholds: Vec<ThresholdRecord>,
    pub(crate) outcome: Outcome,
}

/// The configuration of the run, as far as it may be told: secrets are not part of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    pub(crate) command: Name,
    pub(crate) streams: usize,
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    /// Each stream moves as fast as it can.
    pub(crate) model: Name,
    /// HTTP/2 that carries the batches: `own` or `hyper`.
    pub(crate) transport: Name,
    pub(crate) sources: Vec<String>,
    #[serde(flatten)]
    pub(crate) extent: ExtentRecord,
    pub(crate) repeats: usize,
    pub(crate) batch_rows: Option<u64>,
    pub(crate) message_bytes: Option<u64>,
    pub(crate) max_message_bytes: u64,
    pub(crate) records_per_stream: Option<u64>,
    pub(crate) pool: Option<u64>,
    pub(crate) seed: Option<u64>,
    pub(crate) inflight: Option<usize>,
    pub(crate) upload_bytes: Option<u64>,
    pub(crate) verify: Name,
    /// What `unary` calls, as the Flight specification writes it.
    #[serde(default)]
    pub(crate) call: Option<String>,
    /// Kinds of operations of `mixed`, with their weights.
    #[serde(default)]
    pub(crate) mix: Option<String>,
    /// Batches, calls or operations a second of an open loop.
    #[serde(default)]
    pub(crate) rate: Option<f64>,
    /// The rate as a share of what a closed loop reached, where that was asked for.
    #[serde(default)]
    pub(crate) rate_share: Option<f64>,
    /// How the times of an open loop are spread: `poisson` or `uniform`.
    #[serde(default)]
    pub(crate) arrival: Option<Name>,
    /// The handshakes of `tls`: `full` or `ticket`.
    #[serde(default)]
    pub(crate) resume: Option<Name>,
    /// The key of the certificate of a started server, of `tls` and `engines`: `ec`, `rsa`, `ed25519`.
    #[serde(default)]
    pub(crate) key: Option<Name>,
    /// Bytes of HTTP/2 windows that were asked for; absent: this program's own.
    #[serde(default)]
    pub(crate) h2_stream_window: Option<u32>,
    #[serde(default)]
    pub(crate) h2_connection_window: Option<u32>,
    /// Rows of the sample of a started server.
    #[serde(default)]
    pub(crate) sample_rows: Option<u64>,
    /// Which places that the server names `get` reads from: `never`, `same` or `always`.
    #[serde(default)]
    pub(crate) follow_locations: Option<Name>,
    /// Connections of `unary`: `per-call`, `resumed` or `pooled:N`; absent: shared.
    #[serde(default)]
    pub(crate) connect: Option<Name>,
    /// How long each of them stayed open after its call.
    #[serde(default)]
    pub(crate) linger_ns: Option<u64>,
    /// Names of the metadata that every call carries.
    #[serde(default)]
    pub(crate) metadata: Vec<String>,
    /// Engines and groups that rows are missing of, and why: a sentence each.
    #[serde(default)]
    pub(crate) missing: Vec<String>,
}

/// A word that this program writes, or read from what it has written.
pub(crate) type Name = Cow<'static, str>;

/// When a repeat ends; what does not apply is null.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct ExtentRecord {
    pub(crate) warmup_ns: Option<u64>,
    pub(crate) window_ns: Option<u64>,
    pub(crate) batches: Option<u64>,
    pub(crate) passes: Option<u64>,
}

/// The server, as far as it is known.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServerRecord {
    /// `child` (started by this run) or `given`.
    pub(crate) kind: Name,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) pid: Option<u32>,
    /// What it can do, as far as the run asked.
    #[serde(default)]
    pub(crate) caps: Caps,
    /// The places other than itself that it named for what was read.
    #[serde(default)]
    pub(crate) locations: Vec<PlaceRecord>,
    /// What `get` took to ask for its plan (GetFlightInfo), once, before all repeats.
    #[serde(default)]
    pub(crate) plan_ns: Option<u64>,
}

/// One row: a workload over one transport.
pub(crate) struct Variant {
    pub(crate) workload: Workload,
    /// `plain`, `tls`, in quick `tls-ec` and `tls-rsa`, in engines its engine and suite.
    pub(crate) transport: Name,
    /// For people: `plaintext`, `TLS EC P-256`.
    pub(crate) label: String,
    pub(crate) url: String,
    pub(crate) tls: Option<TlsSide>,
    /// How the server acknowledges uploads.
    pub(crate) acks: Option<Acks>,
    /// Of a kind of operation of a mix; it follows the variant of all of them together.
    pub(crate) part: Option<Part>,
    pub(crate) measured: Vec<Measured>,
}

/// What a variant is of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) kind: Kind,
    pub(crate) weight: u64,
}

/// One repeat of one variant.
pub(crate) struct Measured {
    /// The round, and the place among the variants of that round.
    pub(crate) round: usize,
    pub(crate) order: usize,
    pub(crate) repeat: Repeat,
    /// Whether it ran to its end and is more than failures: figures over repeats are of these.
    pub(crate) complete: bool,
}

/// What became of the repeats of one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RepeatTally {
    /// Those that figures are made of, with those cut short.
    pub(crate) measured: usize,
    /// Interrupted in the middle.
    pub(crate) cut_short: usize,
    /// Nothing was moved, for there were failures alone.
    pub(crate) failed: usize,
}

/// What a check of the content found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VerifyRecord {
    pub(crate) method: Name,
    pub(crate) batches: u64,
    pub(crate) rows: u64,
    pub(crate) equal: bool,
}

/// How the run ended.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) exit: Exit,
    /// Why it stopped early or failed.
    pub(crate) error: Option<String>,
    /// Whether all that was asked for was measured.
    pub(crate) complete: bool,
}

impl From<Extent> for ExtentRecord {
    fn from(extent: Extent) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).ok();
        let none = Self { warmup_ns: None, window_ns: None, batches: None, passes: None };
        match extent {
            Extent::Window { warmup, duration } => {
                Self { warmup_ns: nanos(warmup), window_ns: nanos(duration), ..none }
            }
            Extent::Batches(batches) => Self { batches: Some(batches), ..none },
            Extent::Passes(passes) => Self { passes: Some(passes), ..none },
        }
    }
}

impl Variant {
    /// `get.plain`; of a part of a mix, by its kind: `info.plain`.
    pub(crate) fn id(&self) -> String {
        let name = self.part.map_or(self.workload.name(), |part| part.kind.name());
        format!("{name}.{}", self.transport)
    }

    /// What is called, as the Flight specification writes it, where there is such a name.
    pub(crate) fn call(&self) -> &'static str {
        self.part.map_or(self.workload.call(), |part| part.kind.call())
    }

    /// Batches, calls or operations a second of a repeat.
    pub(crate) fn count_per_s(&self, measured: &Measured) -> f64 {
        measured.rate(|amount| self.workload.count(amount))
    }

    /// A rate of each complete repeat, in the order of rounds.
    pub(crate) fn rates(&self, amount: impl Fn(&Transfer) -> u64) -> Vec<f64> {
        let complete = self.measured.iter().filter(|measured| measured.complete);
        complete.map(|measured| measured.rate(&amount)).collect()
    }

    /// The repeats with figures added up: histograms by addition, never by averaging percentiles.
    pub(crate) fn merged(&self) -> Recording {
        let mut all = Recording::default();
        for measured in self.with_figures() {
            all.merge(measured.repeat.recording.clone());
        }
        all
    }

    pub(crate) fn latencies(&self) -> Latencies {
        let mut all = Latencies::default();
        for measured in self.with_figures() {
            all.merge(&measured.repeat.recording.latencies);
        }
        all
    }

    /// The time in which what was moved was moved: repeats without a figure take none.
    pub(crate) fn elapsed(&self) -> Duration {
        self.with_figures().map(|measured| measured.repeat.elapsed).sum()
    }

    /// The repeats that say something: complete ones, and what was moved before others ended.
    pub(crate) fn with_figures(&self) -> impl Iterator<Item = &Measured> {
        self.measured.iter().filter(|measured| measured.complete || measured.moved())
    }

    pub(crate) fn repeats(&self) -> RepeatTally {
        let failed = |measured: &&Measured| measured.repeat.has_failures_alone();
        RepeatTally {
            measured: self.with_figures().count(),
            cut_short: self.with_figures().filter(|measured| !measured.complete).count(),
            failed: self.measured.iter().filter(failed).count(),
        }
    }

    /// How long each stream of each repeat took from its first call to the first batch (get) or
    /// acknowledgement (put), in nanoseconds. Most of these calls lie before the window.
    pub(crate) fn first_ns(&self) -> Vec<f64> {
        let streams = self.with_figures().flat_map(|measured| &measured.repeat.recording.streams);
        streams.filter_map(|stream| stream.first_ns).map(|nanos| nanos as f64).collect()
    }

    /// The failures of all repeats, those without a figure included.
    pub(crate) fn errors(&self) -> ErrorTally {
        let mut all = ErrorTally::default();
        for measured in &self.measured {
            all.merge(&measured.repeat.recording.errors);
        }
        all
    }
}

impl Measured {
    /// `to_its_end` says that nothing stopped the repeat.
    pub(crate) fn new(round: usize, order: usize, repeat: Repeat, to_its_end: bool) -> Self {
        let complete = to_its_end && !repeat.has_failures_alone();
        Self { round, order, repeat, complete }
    }

    /// Whether anything was moved inside the window.
    pub(crate) fn moved(&self) -> bool {
        self.repeat.recording.counts.transfer.batches > 0
    }

    pub(crate) fn megabytes_per_s(&self) -> f64 {
        self.rate(|amount| amount.logical_bytes) / 1e6
    }

    /// Per second of the window, all streams together; 0 without a window.
    pub(crate) fn rate(&self, amount: impl Fn(&Transfer) -> u64) -> f64 {
        let seconds = self.repeat.elapsed.as_secs_f64();
        let amount = amount(&self.repeat.recording.counts.transfer) as f64;
        if seconds > 0.0 { amount / seconds } else { 0.0 }
    }
}

impl Results {
    /// Takes over what an answer, or a run, has shown of the server.
    pub(crate) fn note_caps(&mut self, caps: Caps) {
        if let Some(server) = &mut self.server {
            server.caps.merge(caps);
        }
    }

    pub(crate) fn errors(&self) -> ErrorTally {
        let mut all = ErrorTally::default();
        // Those of parts are among those of their mix.
        for variant in self.variants.iter().filter(|variant| variant.part.is_none()) {
            all.merge(&variant.errors());
        }
        all
    }

    /// Whether rows of one workload stand beside each other, told apart by their transports.
    pub(crate) fn has_rows(&self) -> bool {
        match &*self.record.command {
            "quick" | "engines" => true,
            "tls" => self.variants.len() > 1,
            _ => false,
        }
    }

    /// Whether anything was measured, be it that a source is empty.
    pub(crate) fn have_figures(&self) -> bool {
        self.variants.iter().any(|variant| variant.with_figures().next().is_some())
    }
}

#[cfg(test)]
#[path = "results_tests.rs"]
pub(crate) mod tests;
