//! One or more series over time.

use crate::figure::{self, Figure, left_out};
use crate::plot::Plot;
use crate::scale::Scale;
use crate::series::{bounds, draw, shown};
use crate::svg::Svg;
use crate::{Axis, Caption, Series, Unit};

/// Series over time from zero up: x in seconds, y in the unit of its axis.
pub fn lines(caption: &Caption<'_>, series: &[Series], y: Axis<'_>) -> String {
    draw_lines("lines", caption, series, y)
}

/// CPU over time: x in seconds, y in cores kept busy.
pub fn timeline(caption: &Caption<'_>, series: &[Series]) -> String {
    draw_lines("timeline", caption, series, Axis { label: "CPU", unit: Unit::Count("cores") })
}

fn draw_lines(kind: &'static str, caption: &Caption<'_>, all: &[Series], y: Axis<'_>) -> String {
    let series = shown(all);
    let Some((x_range, y_range)) = bounds(series) else {
        return figure::empty(kind, caption);
    };
    let plot = Plot::wide();
    let (across, up) = time_and_values(&plot, x_range, y_range);
    let mut svg = Svg::default();
    plot.draw_y(&mut svg, &up, y);
    plot.draw_x(&mut svg, &across, TIME);
    for (index, one) in series.iter().enumerate() {
        let place = |(x, y)| (across.at(x), up.at(y));
        draw(&mut svg, index, one, place, |point| tip(&one.name, point, y.unit));
    }
    let figure = Figure {
        kind,
        caption,
        finding: series.iter().map(|one| finding(one, y)).collect::<Vec<_>>().join(" "),
        legend: series.iter().map(|one| one.name.as_str()).collect(),
        left_out: left_out(series.len(), all.len(), "series"),
        height_px: plot.height_px(),
        drawing: svg,
    };
    figure.render()
}

pub(crate) const TIME: Axis<'_> = Axis { label: "time", unit: Unit::Seconds };

/// The scales of a chart over time: all of the time, values from zero.
pub(crate) fn time_and_values(plot: &Plot, x: (f64, f64), y: (f64, f64)) -> (Scale, Scale) {
    (Scale::within(x, plot.across(), 8), Scale::from_zero(y, plot.upwards(), 7))
}

pub(crate) fn tip(name: &str, (x, y): (f64, f64), unit: Unit<'_>) -> String {
    format!("{name}: {} at {}", unit.show(y), Unit::Seconds.show(x))
}

fn finding(series: &Series, y: Axis<'_>) -> String {
    let Some((mean, low, high)) = series.summary() else {
        return format!("{}: no data.", series.name);
    };
    let [mean, low, high] = [mean, low, high].map(|value| y.unit.show(value));
    format!("{}: mean {} {mean}, between {low} and {high}.", series.name, y.label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attribute, check, count, desc, hostile_caption};

    const RATE: Axis<'_> = Axis { label: "throughput", unit: Unit::BytesPerSecond };

    fn series(name: &str, ys: &[f64]) -> Series {
        let points = ys.iter().enumerate().map(|(second, y)| (second as f64, *y)).collect();
        Series { name: name.into(), points }
    }

    fn drawn(all: &[Series]) -> String {
        let html = lines(&hostile_caption(), all, RATE);
        check(&html);
        html
    }

    #[test]
    fn each_series_is_a_line_and_a_legend_entry() {
        let html = drawn(&[series("a", &[1e9, 2e9]), series("b", &[2e9, 1e9])]);
        assert_eq!(count(&html, "<button"), 2);
        assert_eq!(count(&html, "<g class=\"s1\" data-series=\"1\">"), 1);
        // From 64 to 704 pixels across, from 256 (zero) up to 30 (2 GB/s).
        assert!(html.contains("d=\"M64,143 704,30\""), "{html}");
    }

    #[test]
    fn one_series_needs_no_legend() {
        assert_eq!(count(&drawn(&[series("a", &[1.0, 2.0])]), "<button"), 0);
    }

    #[test]
    fn a_number_that_is_not_finite_breaks_the_line() {
        let html = drawn(&[series("a", &[1.0, 2.0, f64::NAN, 3.0, f64::INFINITY])]);
        assert_eq!(count(&html, "<path class=\"line\" d="), 2);
        assert_eq!(count(&html, "class=\"mark\""), 3);
    }

    #[test]
    fn the_words_say_mean_and_spread() {
        let html = drawn(&[series("a", &[1e9, 3e9])]);
        assert_eq!(desc(&html), "a: mean throughput 2.00 GB/s, between 1.00 GB/s and 3.00 GB/s.");
    }

    #[test]
    fn no_points_are_a_figure_that_says_so() {
        for all in [vec![], vec![series("a", &[])], vec![series("a", &[f64::NAN])]] {
            assert_eq!(count(&drawn(&all), "No data"), 1);
        }
    }

    #[test]
    fn a_series_without_points_is_named_beside_the_others() {
        let html = drawn(&[series("a", &[]), series("b", &[1.0])]);
        assert!(desc(&html).starts_with("a: no data."), "{html}");
    }

    #[test]
    fn a_long_series_is_drawn_with_few_points() {
        let ys: Vec<_> = (0..100_000).map(|x| f64::from(x % 97)).collect();
        let html = drawn(&[series("a", &ys)]);
        assert_eq!(attribute(&html, "d").split(' ').count(), crate::limits::POINTS_MAX);
        assert!(html.len() < 20_000, "{} bytes", html.len());
    }

    #[test]
    fn series_beyond_the_palette_are_counted_in_words() {
        let all: Vec<_> = (0..12).map(|n| series(&format!("s{n}"), &[1.0, 2.0])).collect();
        assert!(drawn(&all).contains("Shown are the first 8 of 12 series."));
    }

    #[test]
    fn a_timeline_counts_cores() {
        let html = timeline(&hostile_caption(), &[series("client", &[0.9, 1.1])]);
        check(&html);
        assert!(html.contains("CPU, cores"), "{html}");
    }
}
