//! Horizontal bars: side by side, or as a ladder that shows what each step costs.

use crate::estimate::Estimate;
use crate::figure::{self, Figure, left_out};
use crate::limits::ROWS_MAX;
use crate::rows::{Rows, whisker_across};
use crate::scale::{Scale, range};
use crate::svg::{Anchor, Svg};
use crate::{Axis, Caption};

const ROW_PX: f64 = 28.0;
const BAR_PX: f64 = 16.0;
/// Room for the value to the right of the longest bar.
const VALUE_PX: f64 = 96.0;
/// Room for the value and its share of the first.
const VALUE_AND_SHARE_PX: f64 = 140.0;

/// A named value.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub name: String,
    /// In the unit of the axis.
    pub estimate: Estimate,
}

/// A bar from zero for each value, with its interval as a whisker.
pub fn bars(caption: &Caption<'_>, bars: &[Bar], x: Axis<'_>) -> String {
    draw_bars(Form::Bars, caption, bars, x)
}

/// Steps from the ideal down to the whole: each bar with its share of the first, and what the
/// step took from the one before it as a lighter piece.
pub fn ladder(caption: &Caption<'_>, steps: &[Bar], x: Axis<'_>) -> String {
    let first = steps.iter().find_map(|step| step.estimate.drawable());
    draw_bars(Form::Ladder { first: first.map_or(0.0, |one| one.value) }, caption, steps, x)
}

/// What the bars are to each other.
#[derive(Debug, Clone, Copy)]
enum Form {
    Bars,
    /// Steps down from a first value; one that is not above zero has no shares.
    Ladder {
        first: f64,
    },
}

impl Form {
    fn kind(self) -> &'static str {
        match self {
            Self::Bars => "bars",
            Self::Ladder { .. } => "ladder",
        }
    }

    /// Room to the right of the longest bar.
    fn aside_px(self) -> f64 {
        match self {
            Self::Bars => VALUE_PX,
            Self::Ladder { .. } => VALUE_AND_SHARE_PX,
        }
    }

    fn label(self, value: f64, x: Axis<'_>) -> String {
        match self {
            Self::Ladder { first } if first > 0.0 => {
                format!("{} · {:.0}\u{202f}%", x.unit.show(value), 100.0 * value / first)
            }
            _ => x.unit.show(value),
        }
    }

    /// The step that a bar comes down from, if it comes down.
    fn dropped_from(self, before: Option<f64>, value: f64) -> Option<f64> {
        match self {
            Self::Bars => None,
            Self::Ladder { .. } => before.filter(|before| *before > value),
        }
    }
}

fn draw_bars(form: Form, caption: &Caption<'_>, all: &[Bar], x: Axis<'_>) -> String {
    let bars = &all[..all.len().min(ROWS_MAX)];
    let estimates: Vec<_> = bars.iter().map(|bar| bar.estimate.drawable()).collect();
    let Some(values) = range(estimates.iter().flatten().flat_map(|one| one.numbers())) else {
        return figure::empty(form.kind(), caption);
    };
    let names = bars.iter().map(|bar| bar.name.as_str()).collect();
    let rows = Rows::new(names, ROW_PX, form.aside_px());
    let across = Scale::from_zero(values, rows.plot.across(), 6);
    let mut svg = Svg::default();
    rows.plot.draw_x(&mut svg, &across, x);
    rows.draw_names(&mut svg);
    let mut before = None;
    for (row, (bar, estimate)) in bars.iter().zip(&estimates).enumerate() {
        let y = rows.middle(row);
        let Some(estimate) = estimate else {
            svg.label("value", Anchor::Start, (rows.plot.left + 6.0, y + 4.0), "no data");
            continue;
        };
        let from = form.dropped_from(before, estimate.value);
        draw_row(&mut svg, y, (bar, *estimate, from), (&across, x));
        let reach = estimate.numbers().chain(from);
        let end = reach.fold(f64::MIN, |most, value| most.max(across.at(value)));
        let label = form.label(estimate.value, x);
        svg.label("value", Anchor::Start, (end + 8.0, y + 4.0), &label);
        before = Some(estimate.value);
    }
    let figure = Figure {
        kind: form.kind(),
        caption,
        finding: finding(form, bars, &estimates, x),
        legend: Vec::new(),
        left_out: left_out(bars.len(), all.len(), "rows"),
        height_px: rows.plot.height_px(),
        drawing: svg,
    };
    figure.render()
}

/// The bar, its whisker, and what it lost since the step that it came down from.
fn draw_row(
    svg: &mut Svg,
    y: f64,
    (bar, estimate, from): (&Bar, Estimate, Option<f64>),
    (across, x): (&Scale, Axis<'_>),
) {
    let end = across.at(estimate.value);
    if let Some(from) = from {
        let tip = format!("{}: {} less", bar.name, x.unit.show(from - estimate.value));
        draw_bar(svg, "drop", (end, across.at(from)), y, &tip);
    }
    let tip = format!("{}: {}", bar.name, estimate.show(x.unit));
    draw_bar(svg, "bar", (across.at(0.0), end), y, &tip);
    if let Some((low, high)) = estimate.interval {
        whisker_across(svg, (across.at(low), across.at(high)), y);
    }
}

fn draw_bar(svg: &mut Svg, class: &str, (from, to): (f64, f64), y: f64, tip: &str) {
    let (left, width) = (from.min(to), (to - from).abs());
    svg.rect(class, (left, y - BAR_PX / 2.0), (width, BAR_PX), tip);
}

/// Up to this many bars are read out one by one.
const READ_OUT_MAX: usize = 8;

fn finding(form: Form, bars: &[Bar], estimates: &[Option<Estimate>], x: Axis<'_>) -> String {
    let known: Vec<_> =
        bars.iter().zip(estimates).filter_map(|(bar, one)| Some((bar, (*one)?))).collect();
    if known.len() <= READ_OUT_MAX {
        let each =
            known.iter().map(|(bar, one)| format!("{} {}", bar.name, form.label(one.value, x)));
        return format!("{}: {}.", x.label, each.collect::<Vec<_>>().join(", "));
    }
    let order = |a: &&(&Bar, Estimate), b: &&(&Bar, Estimate)| a.1.value.total_cmp(&b.1.value);
    let (low, high) = (known.iter().min_by(order), known.iter().max_by(order));
    let named = |one: Option<&(&Bar, Estimate)>| {
        one.map_or(String::new(), |(bar, one)| format!("{} ({})", x.unit.show(one.value), bar.name))
    };
    format!("{} of {} rows: from {} to {}.", x.label, known.len(), named(low), named(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use crate::testing::{check, count, desc, hostile_caption};

    const RATE: Axis<'_> = Axis { label: "rate", unit: Unit::BytesPerSecond };

    fn rows(values: &[f64]) -> Vec<Bar> {
        let bar = |(row, value): (usize, &f64)| Bar {
            name: format!("<{row}>"),
            estimate: Estimate { value: *value, interval: Some((value * 0.9, value * 1.1)) },
        };
        values.iter().enumerate().map(bar).collect()
    }

    fn drawn(chart: fn(&Caption<'_>, &[Bar], Axis<'_>) -> String, values: &[f64]) -> String {
        let html = chart(&hostile_caption(), &rows(values), RATE);
        check(&html);
        html
    }

    #[test]
    fn each_value_is_a_bar_with_a_whisker() {
        let html = drawn(bars, &[1e9, 2e9]);
        assert_eq!(count(&html, "class=\"bar\""), 2);
        assert_eq!(count(&html, "class=\"whisker\""), 6);
        assert_eq!(desc(&html), "rate: &lt;0&gt; 1.00 GB/s, &lt;1&gt; 2.00 GB/s.");
    }

    #[test]
    fn a_ladder_shows_the_share_of_the_first_and_each_drop() {
        let html = drawn(ladder, &[4e9, 3e9, 3.1e9, 1e9]);
        assert_eq!(count(&html, "class=\"drop\""), 2, "a step up is no drop: {html}");
        assert!(desc(&html).contains("&lt;1&gt; 3.00 GB/s · 75 %"), "{html}");
        assert!(desc(&html).contains("&lt;3&gt; 1.00 GB/s · 25 %"), "{html}");
    }

    #[test]
    fn a_ladder_from_nothing_has_no_shares() {
        assert!(!drawn(ladder, &[0.0, 1.0]).contains('%'));
    }

    #[test]
    fn a_value_that_is_not_finite_is_said_to_be_missing() {
        let html = drawn(bars, &[1.0, f64::NAN]);
        assert_eq!(count(&html, "class=\"bar\""), 1);
        assert_eq!(count(&html, ">no data<"), 1);
    }

    #[test]
    fn many_rows_are_told_by_their_ends_and_the_rest_counted() {
        let values: Vec<_> = (1..=100).map(f64::from).collect();
        let html = drawn(bars, &values);
        assert_eq!(
            desc(&html),
            "rate of 64 rows: from 1.00 B/s (&lt;0&gt;) to 64.0 B/s (&lt;63&gt;)."
        );
        assert!(html.contains("Shown are the first 64 of 100 rows."), "{html}");
    }

    #[test]
    fn no_bars_are_a_figure_that_says_so() {
        assert_eq!(count(&drawn(bars, &[]), "No data"), 1);
        assert_eq!(count(&drawn(ladder, &[f64::NAN]), "No data"), 1);
    }
}
