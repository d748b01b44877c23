//! The tables of a sweep without their dress.

use flight_chart::Column;

use super::super::figures::{amount, megabytes, nanos, or_dash};
use super::held::Held;
use super::judged::Judged;
use super::{Side, SweepResults, SweepSetting};
use crate::figure::{Figure, Held as Holding, Unit};
use crate::record::Metric;

/// The parameter that says which connections calls go over.
const CONNECT: &str = "connect";
/// As indices of [`PERCENTILES`](crate::record::PERCENTILES).
const P50: usize = 0;
const P99: usize = 3;

/// Cells under their heads.
pub(in super::super) struct Sheet {
    pub(in super::super) heads: Vec<Head>,
    pub(in super::super) rows: Vec<Vec<String>>,
}

pub(in super::super) struct Head {
    pub(in super::super) text: String,
    pub(in super::super) is_number: bool,
    /// Left out where there is no room, the last first.
    pub(in super::super) optional: bool,
}

impl Head {
    fn text(text: &str) -> Self {
        Self { text: text.to_owned(), is_number: false, optional: false }
    }

    fn number(text: &str) -> Self {
        Self { is_number: true, ..Self::text(text) }
    }

    fn optional(text: &str) -> Self {
        Self { optional: true, ..Self::number(text) }
    }

    pub(in super::super) fn column(&self) -> Column<'_> {
        if self.is_number { Column::Number(&self.text) } else { Column::Text(&self.text) }
    }
}

/// A head, and what stands below it.
type Filled<'a> = (Head, Box<dyn Fn(usize, &SweepSetting) -> String + 'a>);

impl SweepResults {
    /// A row a setting.
    pub(in super::super) fn sheet(&self) -> Sheet {
        let judged = self.judged();
        let mut columns: Vec<Filled<'_>> = Vec::new();
        for (index, vary) in self.vary.iter().enumerate() {
            let value = move |_, setting: &SweepSetting| setting.values[index].clone();
            columns.push((Head::text(&vary.name), Box::new(value)));
        }
        columns.extend(self.load());
        columns.extend(self.figures());
        columns.extend(self.of_connections());
        for (side, name) in [(Side::Client, "client"), (Side::Server, "server")] {
            let batches = self.workload.moves_batches();
            let unit = if batches { "CPU s/GB" } else { "CPU" };
            let cost = move |_, setting: &SweepSetting| {
                let cost = setting.cost(self.workload, side);
                or_dash(cost.map(|c| if batches { format!("{c:.3}") } else { nanos(c) }))
            };
            columns.push((Head::optional(&format!("{name} {unit}")), Box::new(cost)));
        }
        let held = self.held();
        let note = move |index, setting: &SweepSetting| {
            note(judged.as_ref(), held.as_deref().unwrap_or_default(), index, setting)
        };
        columns.push((Head::text(""), Box::new(note)));
        let row = |(index, setting): (usize, &SweepSetting)| {
            columns.iter().map(|(_, cell)| cell(index, setting)).collect()
        };
        let rows = self.settings.iter().enumerate().map(row).collect();
        Sheet { heads: columns.into_iter().map(|(head, _)| head).collect(), rows }
    }

    /// What was offered to an open loop, and what was taken in.
    fn load(&self) -> Vec<Filled<'_>> {
        if !self.is_open() {
            return Vec::new();
        }
        let offered = |_, setting: &SweepSetting| or_dash(setting.offered().map(amount));
        let mut columns: Vec<Filled<'_>> = vec![(Head::number("offered/s"), Box::new(offered))];
        if self.workload.moves_batches() {
            let figure = Figure::events(self.workload);
            let taken = move |_, setting: &SweepSetting| {
                or_dash(setting.estimate(&figure).map(|rate| amount(rate.value)))
            };
            columns.push((Head::number("taken in/s"), Box::new(taken)));
        }
        columns
    }

    /// What there is to be said of connections that are made in different ways: against the first of
    /// them, and what both sides hold.
    fn of_connections(&self) -> Vec<Filled<'_>> {
        if !self.vary.iter().any(|vary| vary.name == CONNECT) {
            return Vec::new();
        }
        let throughput = self.throughput();
        let times = move |_, setting: &SweepSetting| {
            let rate = |one: &SweepSetting| Some(one.estimate(&throughput)?.value);
            let ratio = rate(setting).zip(self.settings.first().and_then(rate));
            or_dash(ratio.map(|(rate, first)| format!("{:.2}", rate / first)))
        };
        let mut columns: Vec<Filled<'_>> = vec![(Head::number("× first"), Box::new(times))];
        for (name, percentile) in [("p50", P50), ("p99", P99)] {
            let figure = Figure::percentile(Metric::UnaryService, percentile);
            let value = move |_, setting: &SweepSetting| {
                or_dash(setting.estimate(&figure).map(|one| nanos(one.value)))
            };
            columns.push((Head::number(name), Box::new(value)));
        }
        let both = |name: &str, client: Holding, server: Holding| -> Filled<'_> {
            let value = move |_, setting: &SweepSetting| {
                let held = |held| {
                    let figure = Figure::held(held);
                    let text = |value: f64| match figure.unit() {
                        Unit::Count => format!("{value:.0}"),
                        unit => bare(unit, value),
                    };
                    or_dash(setting.estimate(&figure).map(|one| text(one.value)))
                };
                format!("{}/{}", held(client), held(server))
            };
            (Head::number(name), Box::new(value))
        };
        columns.push(both("fds c/s", Holding::ClientDescriptors, Holding::ServerDescriptors));
        columns.push(both("MB c/s", Holding::ClientMemory, Holding::ServerMemory));
        columns
    }

    fn figures(&self) -> Vec<Filled<'_>> {
        let throughput = self.throughput();
        let mut shown = vec![(rate_head(self, &throughput), throughput)];
        if self.is_open() {
            let responses = self.responses().into_iter();
            shown.extend(responses.map(|(name, figure)| (format!("response {name}"), figure)));
        }
        if !shown.iter().any(|(_, figure)| *figure == self.metric) {
            shown.push((self.metric.to_string(), self.metric.clone()));
        }
        let mut columns: Vec<Filled<'_>> = Vec::new();
        for (index, (name, figure)) in shown.into_iter().enumerate() {
            let of = figure.clone();
            let value = move |_, setting: &SweepSetting| {
                or_dash(setting.estimate(&of).map(|one| bare(of.unit(), one.value)))
            };
            // What settings are judged by stays; the rest makes room for it.
            let optional = figure != self.metric;
            let head = |text: &str| Head { optional, ..Head::number(text) };
            columns.push((head(&name), Box::new(value)));
            if index == 0 || figure == self.metric {
                let spread = move |_, setting: &SweepSetting| or_dash(spread(setting, &figure));
                columns.push((head("±95 %"), Box::new(spread)));
            }
        }
        columns
    }

    /// The metric at every pair of values: a row for each of the first parameter.
    pub(in super::super) fn grid(&self) -> Option<Sheet> {
        let [down, across] = &self.vary[..] else { return None };
        let judged = self.judged();
        let held = self.held().unwrap_or_default();
        let mut heads = vec![Head::text(&format!("{} \\ {}", down.name, across.name))];
        heads.extend(across.values.iter().map(|value| Head::number(value)));
        let cell = |index: usize| {
            let setting = &self.settings[index];
            let value = setting.estimate(&self.metric);
            let value = or_dash(value.map(|one| bare(self.metric.unit(), one.value)));
            let spread =
                spread(setting, &self.metric).map_or(String::new(), |one| format!(" {one}"));
            let mark = match &judged {
                _ if setting.saturated() > 0 => "!",
                _ if held.iter().any(|one| one.highest == Some(index)) => "*",
                Some(judged) if judged.best == index => "*",
                Some(judged) if judged.rivals.contains(&index) => "~",
                _ => " ",
            };
            format!("{value}{spread}{mark}")
        };
        let width = across.values.len();
        let row = |(row, name): (usize, &String)| {
            let cells = (0..width).map(|column| cell(row * width + column));
            std::iter::once(name.clone()).chain(cells).collect()
        };
        Some(Sheet { heads, rows: down.values.iter().enumerate().map(row).collect() })
    }
}

impl SweepResults {
    /// What the marks of [`grid`](Self::grid) mean.
    pub(in super::super) fn marks(&self) -> &'static str {
        if self.by_load {
            "* the highest rate that is held, ! saturated; ± is half of the 95 % interval over rounds."
        } else {
            "* the best, ~ not told from it, ! saturated; ± is half of the 95 % interval over rounds."
        }
    }
}

fn rate_head(results: &SweepResults, figure: &Figure) -> String {
    match figure.unit() {
        Unit::BytesPerSecond => "MB/s".to_owned(),
        _ => format!("{}s/s", results.workload.unit()),
    }
}

/// A value below a head that has its unit.
fn bare(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSecond | Unit::Bytes => megabytes(value),
        Unit::PerSecond | Unit::Count => amount(value),
        Unit::Nanoseconds => nanos(value),
    }
}

/// `±2.1 %`: half of the interval.
fn spread(setting: &SweepSetting, figure: &Figure) -> Option<String> {
    let estimate = setting.estimate(figure)?;
    let (low, high) = setting.shown_interval(figure)?;
    let percent = (high - low) / 2.0 / estimate.value * 100.0;
    Some(if percent < 999.5 { format!("±{percent:.1} %") } else { "±>999 %".to_owned() })
}

fn note(judged: Option<&Judged>, held: &[Held], index: usize, setting: &SweepSetting) -> String {
    let mut notes = Vec::new();
    if held.iter().any(|one| one.knee == Some(index) && one.highest != one.knee) {
        notes.push("knee");
    }
    if held.iter().any(|one| one.highest == Some(index)) {
        notes.push("highest held");
    }
    if let Some(judged) = judged {
        if judged.knee == Some(index) {
            notes.push("knee");
        }
        if judged.best == index {
            notes.push("best");
        } else if judged.rivals.contains(&index) {
            notes.push("~ best");
        }
    }
    if setting.saturated() > 0 {
        notes.push("saturated");
    }
    notes.join(", ")
}
