//! The figures that are gated and compared: their names, units, and value in each repeat.
//!
//! A percentile is one number a repeat, like a rate: histograms of several repeats are never pooled
//! to compare their tails.

mod held;

use std::fmt;

use flight_stats::{Band, Direction};

use crate::floor::Floor;
use crate::record::{Metric, PERCENTILES, events_for};
use crate::report::{Results, Variant, Workload, figures as shown};
use crate::workload as mix;
pub(crate) use held::Held;

/// A figure by its name: `get.bytes_per_s`, `put.ack.p99`, `errors`; in quick with `@TRANSPORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figure {
    kind: Kind,
    /// The transport of a row of quick, or the kind of operation of a part of a mix.
    at: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One of [`Workload::rates`].
    Rate { workload: Workload, rate: usize },
    /// One of [`PERCENTILES`].
    Percentile { metric: Metric, percentile: usize },
    /// Failures of all repeats.
    Errors,
    /// How long a command of the user's ran.
    WallTime,
    /// What a side holds at the end of a repeat's window.
    Held(Held),
}

/// What a figure is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    BytesPerSecond,
    PerSecond,
    Nanoseconds,
    Bytes,
    Count,
}

impl Figure {
    pub(crate) const WALL_TIME: Self = Self { kind: Kind::WallTime, at: None };

    /// A rate by its place among [`Workload::rates`]; the first is the throughput.
    pub(crate) fn rate(workload: Workload, rate: usize) -> Self {
        Self { kind: Kind::Rate { workload, rate }, at: None }
    }

    /// What a side holds at the end of a window.
    pub(crate) fn held(held: Held) -> Self {
        Self { kind: Kind::Held(held), at: None }
    }

    /// A percentile of a latency, by its place among [`PERCENTILES`].
    pub(crate) fn percentile(metric: Metric, percentile: usize) -> Self {
        Self { kind: Kind::Percentile { metric, percentile }, at: None }
    }

    /// Batches, calls, connections or operations a second.
    pub(crate) fn events(workload: Workload) -> Self {
        let bytes_first = workload.moves_batches() && workload != Workload::Mixed;
        Self::rate(workload, usize::from(bytes_first))
    }

    /// The response time of an open loop at one of [`PERCENTILES`].
    pub(crate) fn response(workload: Workload, percentile: usize) -> Self {
        let metric = match workload {
            Workload::Get => Metric::GetResponse,
            Workload::Put => Metric::PutResponse,
            Workload::Unary => Metric::UnaryResponse,
            Workload::Tls => Metric::ConnectResponse,
            Workload::Exchange => Metric::ExchangeResponse,
            Workload::Mixed => Metric::MixedResponse,
        };
        Self { kind: Kind::Percentile { metric, percentile }, at: None }
    }

    /// What a load does to those that wait.
    pub(crate) fn response_p99(workload: Workload) -> Self {
        Self::response(workload, COMPARED_PERCENTILES[1])
    }

    /// The events that a repeat needs before it states this percentile; `None` for other figures.
    pub(crate) fn events_needed(&self) -> Option<u64> {
        match self.kind {
            Kind::Percentile { percentile, .. } => Some(events_for(PERCENTILES[percentile].1)),
            _ => None,
        }
    }

    /// How often what it is a latency of happened for each batch, call or operation of a closed
    /// loop: a stream has many batches and one end. `None` for other figures.
    pub(crate) fn per_event(&self, results: &Results) -> Option<f64> {
        let Kind::Percentile { metric, .. } = self.kind else { return None };
        if metric.is_of_open_loop() {
            return Some(1.0);
        }
        let variant = results.variants.iter().find(|variant| self.is_of(variant))?;
        let count = |one: &crate::report::Measured| {
            variant.workload.count(&one.repeat.recording.counts.transfer)
        };
        let all: u64 = variant.with_figures().map(count).sum();
        Some(variant.latencies().count(metric) as f64 / all.max(1) as f64)
    }

    /// Whether it is a time of an open loop that begins when something is sent, where there is one
    /// that begins when it was due.
    pub(crate) fn hides_waiting(&self) -> bool {
        let Kind::Percentile { metric, .. } = self.kind else { return false };
        matches!(metric, Metric::UnaryService | Metric::ConnectReady | Metric::MixedService)
    }

    /// Whether it is of one row of `quick`, or of one kind of a mix, alone.
    pub(crate) fn names_a_row(&self) -> bool {
        self.at.is_some()
    }

    /// # Errors
    ///
    /// No figure has this name; the sentence lists those that there are.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, at) = match text.split_once('@') {
            Some((name, at)) => (name, Some(at.to_owned())),
            None => (text, None),
        };
        Ok(Self { kind: Kind::parse(name)?, at })
    }

    /// A figure of a document, which may be one that nobody asks for by its name.
    ///
    /// # Errors
    ///
    /// As for [`parse`](Self::parse).
    pub(crate) fn of_document(name: &str) -> Result<Self, String> {
        if name == Self::WALL_TIME.to_string() { Ok(Self::WALL_TIME) } else { Self::parse(name) }
    }

    /// The figures of a run that are worth comparing: per row its throughput, which gates, its
    /// batches a second, and the middle and the tail of each latency.
    pub(crate) fn of_run(results: &Results) -> Vec<Self> {
        let rows = results.has_rows();
        let mut figures = Vec::new();
        for variant in &results.variants {
            let workload = variant.workload;
            let rates = if workload.moves_batches() { 2 } else { 1 };
            let rates = (0..rates).map(|rate| Kind::Rate { workload, rate });
            let metrics = Metric::ALL.into_iter();
            let metrics = metrics.filter(|metric| match Workload::of_name(metric.of()) {
                Some(of) => of == workload,
                // Connections are not told apart by what they are for.
                None => !rows && variant.part.is_none(),
            });
            let latencies = metrics.flat_map(|metric| {
                COMPARED_PERCENTILES.map(|percentile| Kind::Percentile { metric, percentile })
            });
            let at = results.at(variant).map(str::to_owned);
            let kinds = rates.chain(latencies);
            figures.extend(kinds.map(|kind| Self { kind, at: at.clone() }));
        }
        figures.retain(|figure| figure.is_measured(results));
        figures
    }

    /// Whether a verdict on it decides the exit code: it is a throughput, or all there is. In an open
    /// loop the throughput is the rate that was asked for, and response times decide.
    pub(crate) fn gates(&self, is_paced: bool) -> bool {
        match self.kind {
            Kind::Rate { rate, .. } => rate == 0 && !is_paced,
            Kind::Percentile { metric, .. } => is_paced && metric.is_response(),
            Kind::WallTime => true,
            Kind::Errors | Kind::Held(_) => false,
        }
    }

    /// The workload without which there is no such figure.
    pub(crate) fn workload(&self) -> Option<Workload> {
        match self.kind {
            Kind::Rate { workload, .. } => Some(workload),
            Kind::Percentile { metric, .. } => Workload::of_name(metric.of()),
            Kind::Errors | Kind::WallTime | Kind::Held(_) => None,
        }
    }

    /// Whether it is a count of the whole run, which has no repeats and no interval.
    pub(crate) fn is_count(&self) -> bool {
        self.kind == Kind::Errors
    }

    pub(crate) fn unit(&self) -> Unit {
        match self.kind {
            Kind::Rate { workload, rate } => match workload.rates()[rate].1 {
                "B/s" => Unit::BytesPerSecond,
                _ => Unit::PerSecond,
            },
            Kind::Percentile { .. } | Kind::WallTime => Unit::Nanoseconds,
            Kind::Held(held) if held.is_memory() => Unit::Bytes,
            Kind::Errors | Kind::Held(_) => Unit::Count,
        }
    }

    pub(crate) fn direction(&self) -> Direction {
        match self.kind {
            Kind::Rate { .. } => Direction::HigherIsBetter,
            _ => Direction::LowerIsBetter,
        }
    }

    /// The differences that count as none, where `equivalence` is that of throughput: latencies
    /// vary more, and tails most.
    pub(crate) fn band(&self, equivalence: Band) -> Band {
        let least = match self.kind {
            Kind::Percentile { percentile, .. } if PERCENTILES[percentile].1 > 0.9 => BAND_TAIL,
            Kind::Percentile { .. } => BAND_LATENCY,
            _ => 0.0,
        };
        let band = least.max(equivalence.bounds().1 - 1.0);
        Band::new(band.min(Band::RATIO_MAX)).unwrap_or(equivalence)
    }

    /// What equal sides differ by, as far as a floor says so. It is of DoGet, and stands for whatever
    /// else this program measures; of other programs it says nothing.
    pub(crate) fn floor(&self, floor: &Floor) -> Option<f64> {
        match self.kind {
            Kind::Rate { .. } => Some(floor.throughput),
            Kind::Percentile { percentile, .. } if PERCENTILES[percentile].1 > 0.9 => floor.p99,
            Kind::Percentile { .. } => floor.p50,
            Kind::Errors | Kind::WallTime | Kind::Held(_) => None,
        }
    }

    /// Its value in each complete repeat of `results`, in their order. `None` where there is no such
    /// row, no repeat, or a repeat has too few events for the percentile: leaving that one out would
    /// choose among repeats.
    pub(crate) fn values(&self, results: &Results) -> Option<Vec<f64>> {
        if self.kind == Kind::Errors {
            return Some(vec![results.errors().total() as f64]);
        }
        let variant = results.variants.iter().find(|variant| self.is_of(variant))?;
        let values: Vec<f64> = match self.kind {
            Kind::Rate { workload, rate } => variant.rates(workload.rates()[rate].2),
            Kind::Percentile { metric, percentile } => {
                let complete = variant.measured.iter().filter(|measured| measured.complete);
                let value = |measured: &crate::report::Measured| {
                    let summary = measured.repeat.recording.latencies.summary(metric)?;
                    summary.percentiles_ns[percentile].map(|nanos| nanos as f64)
                };
                complete.map(value).collect::<Option<_>>()?
            }
            Kind::Held(held) => {
                let complete = variant.measured.iter().filter(|measured| measured.complete);
                let value = |measured: &crate::report::Measured| {
                    held.of(measured.repeat.resources.as_ref()?)
                };
                complete.map(value).collect::<Option<_>>()?
            }
            Kind::Errors | Kind::WallTime => return None,
        };
        (!values.is_empty()).then_some(values)
    }

    fn is_measured(&self, results: &Results) -> bool {
        let moved = |values: Vec<f64>| values.iter().any(|value| *value > 0.0);
        self.values(results).is_some_and(moved)
    }

    /// The transport or the kind of operation that it is narrowed to.
    pub(crate) fn at(&self) -> Option<&str> {
        self.at.as_deref()
    }

    /// Whether a part of a mix has it.
    pub(crate) fn is_of_kind(&self, kind: mix::Kind) -> bool {
        let workload = self.workload();
        let of_part = workload == Some(Workload::of(kind)) && self.at.is_none();
        let named = self.at() == Some(kind.name());
        of_part || named && [Workload::Mixed, Workload::of(kind)].map(Some).contains(&workload)
    }

    fn is_of(&self, variant: &Variant) -> bool {
        if let Some(part) = variant.part {
            return self.is_of_kind(part.kind);
        }
        self.workload().is_none_or(|workload| workload == variant.workload)
            && self.at().is_none_or(|at| at == variant.transport)
    }
}

/// Bands below which latencies are not told apart, as shares.
const BAND_LATENCY: f64 = 0.05;
const BAND_TAIL: f64 = 0.10;
/// p50 and p99, as indices of [`PERCENTILES`].
const COMPARED_PERCENTILES: [usize; 2] = [0, 3];

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Rate { workload, rate } => {
                write!(f, "{}.{}", workload.name(), workload.rates()[rate].0)?;
            }
            Kind::Percentile { metric, percentile } => {
                write!(f, "{}.{}", metric.id(), PERCENTILES[percentile].0)?;
            }
            Kind::Errors => write!(f, "errors")?,
            Kind::WallTime => write!(f, "wall_time")?,
            Kind::Held(held) => write!(f, "{}", held.name())?,
        }
        self.at.as_ref().map_or(Ok(()), |at| write!(f, "@{at}"))
    }
}

impl Kind {
    fn parse(name: &str) -> Result<Self, String> {
        if name == "errors" {
            return Ok(Self::Errors);
        }
        if let Some(held) = Held::ALL.into_iter().find(|held| held.name() == name) {
            return Ok(Self::Held(held));
        }
        for workload in Workload::ALL {
            let of = name.strip_prefix(workload.name()).and_then(|rest| rest.strip_prefix('.'));
            let rate = of.and_then(|of| workload.rates().iter().position(|rate| rate.0 == of));
            if let Some(rate) = rate {
                return Ok(Self::Rate { workload, rate });
            }
        }
        for metric in Metric::ALL {
            let Some(rest) = name.strip_prefix(metric.id()) else { continue };
            if rest.is_empty() {
                return Err(format!(
                    "{name} is a latency and has percentiles; write {name}.p99 or another of {}",
                    PERCENTILES.map(|(name, _)| name).join(", ")
                ));
            }
            let Some(of) = rest.strip_prefix('.') else { continue };
            return match PERCENTILES.iter().position(|(name, _)| *name == of) {
                Some(percentile) => Ok(Self::Percentile { metric, percentile }),
                None => Err(format!(
                    "'{of}' is no percentile of {}; write one of {}",
                    metric.id(),
                    PERCENTILES.map(|(name, _)| name).join(", ")
                )),
            };
        }
        Err(format!("'{name}' is no metric; those are {}", known()))
    }
}

/// The names of all figures, for a sentence.
fn known() -> String {
    let rates = Workload::ALL.into_iter().flat_map(|workload| {
        workload.rates().iter().map(move |rate| format!("{}.{}", workload.name(), rate.0))
    });
    let rates: Vec<String> = rates.collect();
    format!(
        "errors, {}, {}, and with a percentile such as .p99 {}",
        rates.join(", "),
        Held::ALL.map(Held::name).join(", "),
        Metric::ALL.map(Metric::id).join(", ")
    )
}

impl Unit {
    /// As it stands in documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BytesPerSecond => "B/s",
            Self::PerSecond => "1/s",
            Self::Nanoseconds => "ns",
            Self::Bytes => "B",
            Self::Count => "1",
        }
    }

    /// The unit of a document; what a later version adds has none.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let all =
            [Self::BytesPerSecond, Self::PerSecond, Self::Nanoseconds, Self::Bytes, Self::Count];
        all.into_iter().find(|unit| unit.name() == name)
    }

    /// As charts have it.
    pub(crate) fn drawn(self) -> flight_chart::Unit<'static> {
        match self {
            Self::BytesPerSecond => flight_chart::Unit::BytesPerSecond,
            Self::PerSecond => flight_chart::Unit::Count("/s"),
            Self::Nanoseconds => flight_chart::Unit::Nanoseconds,
            Self::Bytes => flight_chart::Unit::Bytes,
            Self::Count => flight_chart::Unit::Count(""),
        }
    }

    /// A value as people read it.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::BytesPerSecond => format!("{} MB/s", shown::megabytes(value)),
            Self::PerSecond => format!("{}/s", shown::amount(value)),
            Self::Nanoseconds => shown::nanos(value),
            Self::Bytes => format!("{} MB", shown::megabytes(value)),
            Self::Count => shown::amount(value),
        }
    }

    /// The units that may be written, each with its size.
    pub(crate) fn written(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::BytesPerSecond => &BYTES_PER_SECOND,
            Self::PerSecond => &PER_SECOND,
            Self::Nanoseconds => &TIMES,
            Self::Bytes => &BYTES,
            Self::Count => &[("", 1.0)],
        }
    }
}

const BYTES_PER_SECOND: [(&str, f64); 7] = [
    ("GB/s", 1e9),
    ("MB/s", 1e6),
    ("kB/s", 1e3),
    ("B/s", 1.0),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
];
const PER_SECOND: [(&str, f64); 6] =
    [("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6), ("", 1.0), ("k", 1e3), ("M", 1e6)];
const BYTES: [(&str, f64); 7] = [
    ("GB", 1e9),
    ("MB", 1e6),
    ("kB", 1e3),
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
const TIMES: [(&str, f64); 5] = [("ms", 1e6), ("us", 1e3), ("µs", 1e3), ("s", 1e9), ("ns", 1.0)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{mix as mix_run, single, six_rows};

    #[test]
    fn figures_are_read_as_they_are_written() {
        for name in [
            "errors",
            "get.bytes_per_s",
            "unary.calls_per_s",
            "put.ack.p99.9",
            "server.descriptors",
        ] {
            check(name, name);
        }
        check("put.bytes_per_s@tls-ec", "put.bytes_per_s@tls-ec");
    }

    #[test]
    fn a_name_that_is_wrong_is_told_what_there_is() {
        check("speed", "'speed' is no metric; those are errors, get.bytes_per_s,");
        check("put.ack", "put.ack is a latency and has percentiles; write put.ack.p99");
        check("put.ack.p42", "'p42' is no percentile of put.ack; write one of p50, p90, p95");
        check("get.calls_per_s", "is no metric");
    }

    #[test]
    fn the_throughput_comes_first_and_gates_alone() {
        let figures = Figure::of_run(&single(Workload::Get));
        assert_eq!(figures[0].to_string(), "get.bytes_per_s");
        assert_eq!(figures.iter().filter(|figure| figure.gates(false)).count(), 1);
        let quick = Figure::of_run(&six_rows());
        assert_eq!(quick.iter().filter(|figure| figure.gates(false)).count(), 6);
        let mut names: Vec<String> = quick.iter().map(Figure::to_string).collect();
        assert!(names.iter().any(|name| name == "put.bytes_per_s@tls-rsa"), "{names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), quick.len());
    }

    #[test]
    fn where_the_rate_is_asked_for_response_times_gate() {
        let gates = |name: &str, is_paced| Figure::parse(name).expect("a name").gates(is_paced);
        for name in ["get.bytes_per_s", "unary.calls_per_s", "mixed.operations_per_s"] {
            assert!(gates(name, false) && !gates(name, true), "{name}");
        }
        for name in ["get.response.p99", "unary.response.p50", "mixed.response.p99"] {
            assert!(gates(name, true) && !gates(name, false), "{name}");
        }
        for name in ["unary.service.p99", "unary.lag.p99", "errors", "get.batches_per_s"] {
            assert!(!gates(name, true) && !gates(name, false), "{name}");
        }
    }

    #[test]
    fn each_kind_of_a_mix_has_its_figures_and_all_together_theirs() {
        let run = mix_run();
        let names: Vec<String> = Figure::of_run(&run).iter().map(Figure::to_string).collect();
        for want in ["mixed.operations_per_s", "get.bytes_per_s", "unary.calls_per_s@info"] {
            assert_eq!(names.iter().filter(|name| *name == want).count(), 1, "{names:?}");
        }
        assert_eq!(names.iter().filter(|name| name.starts_with("connect.")).count(), 2);
        assert!(!names.iter().any(|name| name.ends_with("@list")), "none ended: {names:?}");
        let value = |name: &str| {
            let figure = Figure::parse(name).expect("a name");
            figure.values(&run).map(|values| values[0])
        };
        assert_eq!(value("mixed.operations_per_s"), Some(1000.0));
        assert_eq!(value("mixed.operations_per_s@put"), Some(190.0));
        assert_eq!(value("put.batches_per_s"), Some(6080.0));
        assert_eq!(value("put.batches_per_s@put"), Some(6080.0));
        assert_eq!(value("put.batches_per_s@get"), None);
        assert_eq!(value("unary.calls_per_s@info"), Some(110.0));
        assert_eq!(value("unary.calls_per_s@list"), Some(0.0));
        assert_eq!(value("exchange.bytes_per_s"), None);
        assert!(value("mixed.service.p99@get").is_some());
    }

    #[test]
    fn a_percentile_is_one_number_a_repeat() {
        let figure = Figure::parse("get.wait.p50").expect("a name");
        let values = figure.values(&single(Workload::Get)).expect("1000 events a repeat");
        assert_eq!(values.len(), 5);
        assert!(values.iter().all(|nanos| (499_000.0..502_000.0).contains(nanos)), "{values:?}");
        let rare = Figure::parse("get.wait.p99.9").expect("a name");
        assert_eq!(rare.values(&single(Workload::Get)), None);
    }

    #[test]
    fn what_happens_once_a_stream_is_rarer_than_batches() {
        let mut run = single(Workload::Get);
        let check = |run: &Results, name: &str, want: Option<f64>| {
            assert_eq!(Figure::parse(name).expect("a name").per_event(run), want, "{name}");
        };
        check(&run, "get.stream.p99", Some(1.0));
        check(&run, "get.response.p99", Some(1.0));
        check(&run, "get.bytes_per_s", None);
        for measured in &mut run.variants[0].measured {
            measured.repeat.recording.counts.transfer.batches *= 4;
        }
        check(&run, "get.stream.p99", Some(0.25));
        check(&run, "get.response.p99", Some(1.0));
    }

    #[test]
    fn tails_have_the_widest_band() {
        let band = |name: &str, equivalence: f64| {
            let figure = Figure::parse(name).expect("a name");
            figure.band(Band::new(equivalence).expect("a share")).bounds().1
        };
        let check = |got: f64, want: f64| assert!((got - want).abs() < 1e-12, "{got}");
        check(band("get.bytes_per_s", 0.03), 1.03);
        check(band("get.wait.p50", 0.03), 1.05);
        check(band("get.wait.p99", 0.03), 1.10);
        check(band("get.wait.p99", 0.20), 1.20);
    }

    fn check(text: &str, want: &str) {
        let got = Figure::parse(text).map_or_else(|error| error, |figure| figure.to_string());
        assert!(got.starts_with(want) || got.contains(want), "{got}");
    }
}
