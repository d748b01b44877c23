//! The charts of a run. Each is left out where it would have nothing to show.

use std::collections::BTreeMap;

use flight_chart::limits::SERIES_MAX;
use flight_chart::{Axis, Bar, Caption, Estimate, Series, Unit};
use hdrhistogram::Histogram;

use super::super::results::{Measured, Results, Variant};
use super::super::summary::Statistic;
use super::super::workload::{OPERATIONS, Workload};
use crate::record::{Latencies, Metric, SLICES, Slice, Transfer};

/// How fast a workload is, and in what unit: calls have no bytes worth counting.
struct Speed {
    rate: &'static str,
    axis: Axis<'static>,
    of: fn(&Transfer) -> u64,
    of_slice: fn(&Slice) -> u64,
}

impl Speed {
    fn of_bytes() -> Self {
        Self {
            rate: "bytes_per_s",
            axis: Axis { label: "throughput", unit: Unit::BytesPerSecond },
            of: |amount| amount.logical_bytes,
            of_slice: |slice| slice.logical_bytes,
        }
    }

    /// Of the parts of a mix too, operations are what they have in common.
    fn of(variant: &Variant) -> Self {
        match variant.part.map_or(variant.workload, |_| Workload::Mixed) {
            Workload::Mixed => Self {
                rate: OPERATIONS.0,
                axis: Axis { label: "rate", unit: Unit::Count("operations/s") },
                of: OPERATIONS.2,
                of_slice: |slice| slice.batches,
            },
            Workload::Get | Workload::Put | Workload::Exchange => Self::of_bytes(),
            Workload::Tls => Self {
                rate: "connections_per_s",
                axis: Axis { label: "rate", unit: Unit::Count("connections/s") },
                of: |amount| amount.batches,
                of_slice: |slice| slice.batches,
            },
            Workload::Unary => Self {
                rate: "calls_per_s",
                axis: Axis { label: "rate", unit: Unit::Count("calls/s") },
                of: |amount| amount.batches,
                of_slice: |slice| slice.batches,
            },
        }
    }
}

/// Each repeat as a dot, and the interval.
pub(super) fn repeats(results: &Results) -> String {
    let summary = results.summary();
    let row = |variant: &Variant| {
        let speed = Speed::of(variant);
        let id = match variant.part {
            Some(part) => format!("mixed.{}@{}", speed.rate, part.kind.name()),
            None => results.figure_id(variant, speed.rate),
        };
        flight_chart::Variant {
            name: name(variant),
            repeats: variant.rates(speed.of),
            estimate: summary.get(&id).and_then(estimate),
        }
    };
    let rows: Vec<_> = results.variants.iter().map(row).collect();
    let (Some(first), true) =
        (results.variants.first(), rows.iter().any(|r| !r.repeats.is_empty()))
    else {
        return String::new();
    };
    let caption = Caption {
        name: "repeats",
        title: "Repeats",
        note: "A dot is a whole repeat; the bar is their geometric mean, with its 95 % interval.",
    };
    flight_chart::strip(&caption, &rows, Speed::of(first).axis)
}

fn estimate(statistic: &Statistic) -> Option<Estimate> {
    Some(Estimate { value: statistic.est?, interval: statistic.shown_interval() })
}

/// Throughput within the window: of each repeat, or of several variants the mean over repeats.
pub(super) fn over_time(results: &Results) -> String {
    let Some(window_ns) = results.record.extent.window_ns else { return String::new() };
    let slice_s = window_ns as f64 / SLICES as f64 / 1e9;
    let (series, note): (Vec<Series>, _) = match results.variants.as_slice() {
        [] => return String::new(),
        [one] => {
            let speed = Speed::of(one);
            let repeats = one.with_figures().map(|measured| Series {
                name: format!("repeat {}", measured.round + 1),
                points: points(&[measured], &speed, slice_s),
            });
            (repeats.collect(), "Within the window, in twentieths of it.")
        }
        // Slices have no operations: the parts that move batches are drawn by their bytes.
        [one, ..] if one.workload == Workload::Mixed => return over_time_of_mix(results, slice_s),
        // More lines than can be told apart.
        many if many.len() > SERIES_MAX => return String::new(),
        several => {
            let mean = |variant: &Variant| Series {
                name: name(variant),
                points: points(
                    &variant.with_figures().collect::<Vec<_>>(),
                    &Speed::of(variant),
                    slice_s,
                ),
            };
            let note = "Within the window, in twentieths of it: the mean over repeats.";
            (several.iter().map(mean).collect(), note)
        }
    };
    // Runs that were kept by an older version have no slices.
    if !series.iter().any(|one| one.points.iter().any(|(_, rate)| *rate > 0.0)) {
        return String::new();
    }
    let title =
        if results.variants.len() == 1 { "Speed by repeat" } else { "Speed by measurement" };
    let caption = Caption { name: "throughput", title, note };
    flight_chart::lines(&caption, &series, Speed::of(&results.variants[0]).axis)
}

fn over_time_of_mix(results: &Results, slice_s: f64) -> String {
    let parts = results.parts().map(|(variant, _)| variant);
    let series: Vec<Series> = parts
        .filter(|variant| variant.workload.moves_batches())
        .map(|variant| {
            let repeats: Vec<&Measured> = variant.with_figures().collect();
            let points = points(&repeats, &Speed::of_bytes(), slice_s);
            Series { name: name(variant), points }
        })
        .filter(|series| series.points.iter().any(|(_, rate)| *rate > 0.0))
        .collect();
    if series.is_empty() {
        return String::new();
    }
    let note = "Within the window, in twentieths of it: the mean over repeats.";
    let caption = Caption { name: "throughput", title: "Throughput by kind", note };
    flight_chart::lines(&caption, &series, Speed::of_bytes().axis)
}

/// The rate in each slice that the repeats got to, at its middle.
fn points(repeats: &[&Measured], speed: &Speed, slice_s: f64) -> Vec<(f64, f64)> {
    let reached = repeats.iter().map(|one| one.repeat.elapsed.as_secs_f64()).fold(0.0, f64::max);
    let rate = |index: usize| {
        let amounts =
            repeats.iter().filter_map(|one| one.repeat.recording.slices.iter().nth(index));
        amounts.map(|slice| (speed.of_slice)(slice) as f64 / slice_s).sum::<f64>()
            / repeats.len() as f64
    };
    let whole = |index: &usize| (*index + 1) as f64 * slice_s <= reached * (1.0 + 1e-6);
    let place = |index: usize| ((index as f64 + 0.5) * slice_s, rate(index));
    (0..SLICES).take_while(whole).map(place).collect()
}

/// What streams got: unfairness that a sum hides.
pub(super) fn streams(results: &Results) -> String {
    let [variant] = results.variants.as_slice() else { return String::new() };
    let speed = Speed::of(variant);
    let seconds = variant.elapsed().as_secs_f64();
    let mut amounts = BTreeMap::<usize, u64>::new();
    for stream in variant.with_figures().flat_map(|one| &one.repeat.recording.streams) {
        *amounts.entry(stream.id).or_default() += (speed.of)(&stream.transfer);
    }
    if amounts.len() < 2 || seconds <= 0.0 {
        return String::new();
    }
    let bar = |(id, amount): (usize, u64)| Bar {
        name: format!("stream {id}"),
        estimate: Estimate::exact(amount as f64 / seconds),
    };
    let bars: Vec<Bar> = amounts.into_iter().map(bar).collect();
    let caption = Caption {
        name: "fairness",
        title: "Speed by stream",
        note: "All repeats together. Streams that share fairly have bars of one length.",
    };
    flight_chart::bars(&caption, &bars, speed.axis)
}

/// Throughput over TLS as a share of that in plaintext.
pub(super) fn cost_of_tls(results: &Results) -> String {
    let bar = |variant: &Variant| {
        let (_, ratio) = results.ratio_to_plain(variant)?;
        let percent = |share: f64| 100.0 * share;
        let interval = ratio.shown_interval().map(|(low, high)| (percent(low), percent(high)));
        let estimate = Estimate { value: percent(ratio.est?), interval };
        Some(Bar { name: name(variant), estimate })
    };
    let bars: Vec<Bar> = results.variants.iter().filter_map(bar).collect();
    if bars.is_empty() {
        return String::new();
    }
    let caption = Caption {
        name: "tls-cost",
        title: "Throughput over TLS",
        note: "As a share of the same measurement in plaintext, taken within each round.",
    };
    flight_chart::bars(&caption, &bars, Axis { label: "of plaintext", unit: Unit::Percent })
}

/// How late the latest are: of one variant several latencies, of several the one that tells most.
pub(super) fn spectra(results: &Results) -> String {
    if let [variant] = results.variants.as_slice() {
        let latencies = variant.latencies();
        let metrics = metrics(variant.workload, results.record.model == "open");
        let series = metrics.iter().filter_map(|metric| {
            Some(Series { name: metric.id().to_owned(), points: spectrum(&latencies, *metric)? })
        });
        return draw_spectrum("latency", "Latency by percentile", &series.collect::<Vec<_>>());
    }
    if let [first, ..] = results.variants.as_slice()
        && first.workload == Workload::Mixed
    {
        let metric = metrics(Workload::Mixed, results.record.model == "open")[0];
        let series = results.parts().filter_map(|(variant, _)| {
            let points = spectrum(&variant.latencies(), metric)?;
            Some(Series { name: variant.call().to_owned(), points })
        });
        let title = format!("Operations ({}) by percentile", metric.id());
        return draw_spectrum("latency", &title, &series.collect::<Vec<_>>());
    }
    let of = |workload: Workload, name_of_chart, title| {
        let variants = results.variants.iter().filter(|variant| variant.workload == workload);
        let series = variants.filter_map(|variant| {
            let points = spectrum(&variant.latencies(), metrics(workload, false)[0])?;
            Some(Series { name: variant.label.clone(), points })
        });
        let series: Vec<Series> = series.collect();
        if series.len() > SERIES_MAX {
            return String::new();
        }
        draw_spectrum(name_of_chart, title, &series)
    };
    of(Workload::Get, "latency-get", "DoGet: wait for the next batch, by percentile")
        + &of(Workload::Tls, "latency-tls", "Connection begun to its first answer, by percentile")
        + &of(Workload::Put, "latency-put", "DoPut: batch to its acknowledgement, by percentile")
}

fn draw_spectrum(name: &str, title: &str, series: &[Series]) -> String {
    if series.is_empty() {
        return String::new();
    }
    let note = "As far as ten events lie beyond a percentile; each further nine has the same room.";
    flight_chart::percentiles(&Caption { name, title, note }, series)
}

/// What is worth a line, the most telling first. In an open loop, a response counts from when it
/// should have been sent.
fn metrics(workload: Workload, open: bool) -> &'static [Metric] {
    match (workload, open) {
        (Workload::Get, false) => &[Metric::GetWait, Metric::GetFirstBatch],
        (Workload::Get, true) => &[Metric::GetResponse, Metric::GetDelivery, Metric::GetLag],
        (Workload::Put, false) => &[Metric::PutAck, Metric::PutWriteWait, Metric::PutFirstAck],
        (Workload::Put, true) => &[Metric::PutResponse, Metric::PutAck, Metric::PutLag],
        (Workload::Exchange, false) => &[Metric::ExchangeRoundTrip],
        (Workload::Exchange, true) => {
            &[Metric::ExchangeResponse, Metric::ExchangeRoundTrip, Metric::ExchangeLag]
        }
        (Workload::Tls, false) => &[
            Metric::ConnectReady,
            Metric::ConnectTls,
            Metric::ConnectSocket,
            Metric::ConnectHttp2,
            Metric::ConnectFirstCall,
        ],
        (Workload::Tls, true) => {
            &[Metric::ConnectResponse, Metric::ConnectReady, Metric::ConnectLag]
        }
        (Workload::Mixed, false) => &[Metric::MixedService],
        (Workload::Mixed, true) => &[Metric::MixedResponse, Metric::MixedService, Metric::MixedLag],
        (Workload::Unary, false) => &[Metric::UnaryService],
        (Workload::Unary, true) => &[Metric::UnaryResponse, Metric::UnaryService, Metric::UnaryLag],
    }
}

/// Points of a nine: enough for a curve.
const POINTS_PER_NINE: u32 = 16;

fn spectrum(latencies: &Latencies, metric: Metric) -> Option<Vec<(f64, f64)>> {
    let histogram: &Histogram<u64> = latencies.histogram(metric)?;
    // Ten events beyond, as for the percentiles of tables.
    let nines = (histogram.len() as f64 / 10.0).log10();
    let last = (nines * f64::from(POINTS_PER_NINE)).floor();
    if last < 1.0 {
        return None;
    }
    let point = |step: u32| {
        let quantile = 1.0 - 10_f64.powf(-f64::from(step) / f64::from(POINTS_PER_NINE));
        (quantile, histogram.value_at_quantile(quantile) as f64)
    };
    Some((0..=last as u32).map(point).collect())
}

pub(super) fn name(variant: &Variant) -> String {
    format!("{} {}", variant.call(), variant.label)
}
