//! A sweep over one parameter, such as latency against load, with the knee marked.

use crate::estimate::Estimate;
use crate::figure::{self, Figure, left_out};
use crate::limits::SERIES_MAX;
use crate::plot::{Axis, Plot, titled};
use crate::scale::{Scale, drawable, range};
use crate::svg::{Anchor, Svg};
use crate::text::width_px;
use crate::{Caption, Series, Unit, series};

/// Settings up to here have a tick each.
const SETTINGS_MAX: usize = 16;

/// What was measured at the settings of one parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    pub name: String,
    /// In order of x.
    pub points: Vec<CurvePoint>,
    /// The x from which more brings no more.
    pub knee: Option<f64>,
}

/// What was measured at one setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// The setting, above zero; in the unit of the x axis.
    pub x: f64,
    /// In the unit of the y axis.
    pub y: Estimate,
}

impl CurvePoint {
    /// The point if it has a place on a logarithmic axis.
    fn drawable(self) -> Option<Self> {
        let x = drawable(self.x).filter(|x| *x > 0.0)?;
        Some(Self { x, y: self.y.drawable()? })
    }
}

/// Curves over a parameter on a logarithmic axis, with intervals as whiskers.
///
/// Values that span more than a linear axis shows make the y axis logarithmic too.
pub fn curve(caption: &Caption<'_>, all: &[Curve], x: Axis<'_>, y: Axis<'_>) -> String {
    let curves = &all[..all.len().min(SERIES_MAX)];
    let points = || curves.iter().flat_map(points);
    let settings = range(points().map(|point| point.x));
    let Some((settings, values)) =
        settings.zip(range(points().flat_map(|point| point.y.numbers())))
    else {
        return figure::empty("curve", caption);
    };
    let plot = Plot::wide();
    // Half a label of room, so that the first and the last setting have theirs.
    let across = Scale::log_within(settings, (plot.left + 12.0, plot.right - 12.0));
    let up = Scale::by_span(values, plot.upwards(), 7);
    let mut svg = Svg::default();
    plot.draw_y(&mut svg, &up, y);
    draw_settings(&mut svg, &plot, &across, x, points().map(|point| point.x).collect());
    for (index, curve) in curves.iter().enumerate() {
        draw_curve(&mut svg, index, curve, (&across, x), (&up, y));
    }
    // Upon the curves, whose lines would cross their text.
    for (index, curve) in curves.iter().enumerate() {
        if let Some(knee) = curve.knee.and_then(drawable).filter(|knee| *knee > 0.0) {
            let name = if curves.len() > 1 { curve.name.as_str() } else { "" };
            let text = format!("{name} knee {}", x.unit.show(knee));
            draw_knee(&mut svg, index, &plot, across.at(knee), text.trim());
        }
    }
    let figure = Figure {
        kind: "curve",
        caption,
        finding: curves.iter().map(|one| finding(one, x, y)).collect::<Vec<_>>().join(" "),
        legend: curves.iter().map(|one| one.name.as_str()).collect(),
        left_out: left_out(curves.len(), all.len(), "series"),
        height_px: plot.height_px(),
        drawing: svg,
    };
    figure.render()
}

fn points(curve: &Curve) -> impl Iterator<Item = CurvePoint> {
    curve.points.iter().filter_map(|point| point.drawable())
}

/// Ticks at the settings themselves, which are what the reader looks for.
fn draw_settings(svg: &mut Svg, plot: &Plot, across: &Scale, x: Axis<'_>, mut settings: Vec<f64>) {
    settings.sort_by(f64::total_cmp);
    settings.dedup();
    let ticks = if settings.len() <= SETTINGS_MAX { &settings } else { &across.ticks };
    let (unit, name) = match x.unit {
        Unit::Count(name) => (Unit::Count(""), name),
        unit => (unit, ""),
    };
    let labels: Vec<_> = ticks.iter().map(|tick| (*tick, unit.show_short(*tick))).collect();
    plot.draw_x_ticks(svg, across, &labels);
    plot.draw_x_title(svg, &format!("{} (log)", titled(x.label, name)));
}

fn draw_curve(
    svg: &mut Svg,
    index: usize,
    curve: &Curve,
    (across, x): (&Scale, Axis<'_>),
    (up, y): (&Scale, Axis<'_>),
) {
    svg.series(index, |svg| {
        for point in points(curve) {
            if let Some((low, high)) = point.y.interval {
                draw_whisker(svg, across.at(point.x), (up.at(low), up.at(high)));
            }
        }
    });
    // A point without a place is a gap of the line.
    let line = curve.points.iter().map(|point| {
        point.drawable().map_or((f64::NAN, f64::NAN), |point| (point.x, point.y.value))
    });
    let line = Series { name: curve.name.clone(), points: line.collect() };
    series::draw(
        svg,
        index,
        &line,
        |(at, value)| (across.at(at), up.at(value)),
        |point| {
            let (at, value) = (x.unit.show(point.0), y.unit.show(point.1));
            format!("{}: {} {value} at {} {at}", curve.name, y.label, x.label)
        },
    );
}

fn draw_whisker(svg: &mut Svg, x: f64, (low, high): (f64, f64)) {
    svg.line("whisker", (x, low), (x, high));
    for end in [low, high] {
        svg.line("whisker", (x - 4.0, end), (x + 4.0, end));
    }
}

fn draw_knee(svg: &mut Svg, index: usize, plot: &Plot, x: f64, text: &str) {
    // Curves bend up or level off: before the knee the top is free. Each knee has its own line.
    let fits = x - width_px(text) - 8.0 > plot.left;
    let (anchor, aside) = if fits { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
    let y = plot.top + 14.0 + 16.0 * index as f64;
    svg.series(index, |svg| {
        svg.line("knee", (x, plot.top), (x, plot.bottom));
        svg.label("strong", anchor, (x + aside, y), text);
    });
}

fn finding(curve: &Curve, x: Axis<'_>, y: Axis<'_>) -> String {
    let order = |a: &CurvePoint, b: &CurvePoint| a.y.value.total_cmp(&b.y.value);
    let told =
        |point: CurvePoint| format!("{} at {}", y.unit.show(point.y.value), x.unit.show(point.x));
    let ends = points(curve).min_by(order).zip(points(curve).max_by(order));
    let Some((low, high)) = ends else {
        return format!("{}: no data.", curve.name);
    };
    let knee = curve.knee.map_or(String::new(), |knee| format!("; knee at {}", x.unit.show(knee)));
    format!("{}: {} from {} to {}{knee}.", curve.name, y.label, told(low), told(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attribute, check, count, desc, hostile_caption};

    const ROWS: Axis<'_> = Axis { label: "batch", unit: Unit::Count("rows") };
    const RATE: Axis<'_> = Axis { label: "throughput", unit: Unit::BytesPerSecond };

    fn drawn(points: &[(f64, f64)], knee: Option<f64>) -> String {
        let point = |(x, y): &(f64, f64)| CurvePoint {
            x: *x,
            y: Estimate { value: *y, interval: Some((y * 0.9, y * 1.1)) },
        };
        let points = points.iter().map(point).collect();
        let html =
            curve(&hostile_caption(), &[Curve { name: "<get>".into(), points, knee }], ROWS, RATE);
        check(&html);
        html
    }

    #[test]
    fn each_factor_takes_the_same_room_and_each_setting_a_tick() {
        let html = drawn(&[(256.0, 1e9), (1024.0, 1e9), (4096.0, 1e9)], None);
        // Whiskers stand at the settings: 616 pixels for two factors of four.
        for x in ["76", "384", "692"] {
            assert!(html.contains(&format!("<line class=\"whisker\" x1=\"{x}\"")), "{x}: {html}");
        }
        for label in [">256<", ">1024<", ">4096<"] {
            assert_eq!(count(&html, label), 1, "{label} in {html}");
        }
    }

    #[test]
    fn the_knee_is_marked_and_said() {
        let html = drawn(&[(256.0, 1e9), (4096.0, 3e9)], Some(1024.0));
        assert_eq!(count(&html, "class=\"knee\""), 1);
        let words = "&lt;get&gt;: throughput from 1.00 GB/s at 256 rows to 3.00 GB/s at 4096 rows; \
                     knee at 1024 rows.";
        assert_eq!(desc(&html), words);
    }

    #[test]
    fn a_setting_of_zero_is_a_gap() {
        let html = drawn(&[(1.0, 1.0), (0.0, 2.0), (2.0, 3.0), (4.0, f64::NAN)], Some(f64::NAN));
        assert_eq!(count(&html, "class=\"mark\""), 2);
        assert_eq!(count(&html, "class=\"knee\""), 0);
        assert!(!attribute(&html, "d").contains(' '), "each run is one point: {html}");
    }

    #[test]
    fn values_far_apart_make_both_axes_logarithmic() {
        assert!(drawn(&[(1.0, 1e6), (2.0, 1e9)], None).contains("throughput (log)"));
        assert!(drawn(&[(1.0, 1e9), (2.0, 2e9)], None).contains("throughput, GB/s"));
    }

    #[test]
    fn one_setting_is_drawn_too() {
        assert_eq!(count(&drawn(&[(8.0, 1e9)], None), "class=\"mark\""), 1);
    }

    #[test]
    fn no_points_are_a_figure_that_says_so() {
        assert_eq!(count(&drawn(&[], Some(1.0)), "No data"), 1);
        assert_eq!(count(&drawn(&[(-1.0, 1.0)], None), "No data"), 1);
    }
}
