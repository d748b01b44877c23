//! The percentile spectrum of latencies: how late the latest are.

use crate::figure::{self, Figure, left_out};
use crate::plot::Plot;
use crate::scale::Scale;
use crate::series::{bounds, draw, shown};
use crate::svg::Svg;
use crate::{Axis, Caption, Series, Unit};

/// Nines that the axis shows at most: 99.999 999 9 %.
const NINES_MAX: f64 = 9.0;
/// By how much the nines of 0.99, as a file has it, may fall short of two.
const HAIR: f64 = 1e-9;

/// Latency over quantile, on an axis that gives each further nine the same room.
///
/// The points of a series are `(quantile, latency in ns)`, 0 <= quantile < 1, ascending. The
/// maximum, quantile 1, lies infinitely far out and is left out.
pub fn percentiles(caption: &Caption<'_>, series: &[Series]) -> String {
    let by_nines: Vec<_> = shown(series).iter().map(in_nines).collect();
    let Some(((_, most_nines), latencies)) = bounds(&by_nines) else {
        return figure::empty("percentiles", caption);
    };
    let plot = Plot::wide();
    let across = Scale::within((0.0, most_nines.clamp(1.0, NINES_MAX)), plot.across(), 8);
    let up = Scale::by_span(latencies, plot.upwards(), 7);
    let mut svg = Svg::default();
    plot.draw_y(&mut svg, &up, Axis { label: "latency", unit: Unit::Nanoseconds });
    plot.draw_x_ticks(&mut svg, &across, &ticks(most_nines));
    plot.draw_x_title(&mut svg, "percentile");
    for (index, one) in by_nines.iter().enumerate() {
        let place = |(nines, latency)| (across.at(nines), up.at(latency));
        draw(&mut svg, index, one, place, |(nines, latency)| {
            format!("{}: {} at {}", one.name, Unit::Nanoseconds.show(latency), percent(nines))
        });
    }
    let figure = Figure {
        kind: "percentiles",
        caption,
        finding: by_nines.iter().map(finding).collect::<Vec<_>>().join(" "),
        legend: by_nines.iter().map(|one| one.name.as_str()).collect(),
        left_out: left_out(by_nines.len(), series.len(), "series"),
        height_px: plot.height_px(),
        drawing: svg,
    };
    figure.render()
}

/// Each quantile q as the logarithm of 1/(1-q): 0.9 is 1, 0.99 is 2.
fn in_nines(series: &Series) -> Series {
    let nines = |(quantile, latency): &(f64, f64)| (-(1.0 - quantile).log10(), *latency);
    let inside = series.points.iter().filter(|(quantile, _)| (0.0..1.0).contains(quantile));
    Series { name: series.name.clone(), points: inside.map(nines).collect() }
}

/// The half, then each nine, as far as the data go.
fn ticks(most_nines: f64) -> Vec<(f64, String)> {
    let half = 2_f64.log10();
    let nines =
        (1..=NINES_MAX as u32).map(f64::from).take_while(|nines| *nines <= most_nines + HAIR);
    [0.0, half].into_iter().chain(nines).map(|nines| (nines, percent(nines))).collect()
}

/// `99.9 %` for three nines, with as many digits as tell it from its neighbours.
fn percent(nines: f64) -> String {
    let decimals = (nines - 1.0 - HAIR).ceil().clamp(0.0, NINES_MAX) as usize;
    let shown = format!("{:.decimals$}", 100.0 * (1.0 - 10_f64.powf(-nines)));
    let short =
        if decimals > 0 { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown };
    format!("{short}\u{202f}%")
}

fn finding(series: &Series) -> String {
    let at = |nines: f64| series.points.iter().find(|(x, y)| *x >= nines && y.is_finite());
    let known = [(2_f64.log10(), "p50"), (2.0, "p99"), (3.0, "p99.9")];
    let parts: Vec<_> = known
        .into_iter()
        .filter_map(|(nines, name)| Some((name, at(nines - HAIR)?.1)))
        .map(|(name, latency)| format!("{name} {}", Unit::Nanoseconds.show(latency)))
        .collect();
    let parts = if parts.is_empty() { "no data".to_owned() } else { parts.join(", ") };
    format!("{}: {parts}.", series.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check, count, desc, hostile_caption};

    fn drawn(points: &[(f64, f64)]) -> String {
        let series = [Series { name: "response".into(), points: points.to_vec() }];
        let html = percentiles(&hostile_caption(), &series);
        check(&html);
        html.replace('\u{202f}', " ")
    }

    #[test]
    fn the_axis_is_labelled_by_nines_as_far_as_the_data_go() {
        let html = drawn(&[(0.5, 1e5), (0.99, 2e5), (0.999, 3e5)]);
        for label in [">0 %<", ">50 %<", ">90 %<", ">99 %<", ">99.9 %<"] {
            assert_eq!(count(&html, label), 1, "{label} in {html}");
        }
        assert_eq!(count(&html, ">99.99 %<"), 0, "{html}");
    }

    #[test]
    fn each_nine_takes_the_same_room() {
        let html = drawn(&[(0.0, 1.0), (0.9, 1.0), (0.99, 1.0), (0.999, 1.0), (0.9999, 1.0)]);
        // 640 pixels for four nines.
        assert!(html.contains("d=\"M64,30 224,30 384,30 544,30 704,30\""), "{html}");
    }

    #[test]
    fn the_words_are_the_usual_percentiles() {
        let html = drawn(&[(0.5, 98e3), (0.99, 311e3), (0.999, 820e3), (1.0, 2.1e6)]);
        assert_eq!(desc(&html), "response: p50 98.0 µs, p99 311 µs, p99.9 820 µs.");
    }

    #[test]
    fn wide_spans_are_logarithmic_and_narrow_ones_start_at_zero() {
        assert!(drawn(&[(0.5, 1e3), (0.99, 1e6)]).contains("latency (log)"));
        assert!(drawn(&[(0.5, 1e3), (0.99, 2e3)]).contains("latency, µs"));
    }

    #[test]
    fn a_maximum_alone_is_no_data() {
        assert_eq!(count(&drawn(&[(1.0, 5.0), (-0.5, 3.0), (f64::NAN, 1.0)]), "No data"), 1);
    }
}
