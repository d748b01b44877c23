//! Repeats as dots, a row per variant, with the estimate and its interval.

use crate::estimate::Estimate;
use crate::figure::{self, Figure, left_out};
use crate::limits::{DOTS_MAX, ROWS_MAX};
use crate::rows::{Rows, whisker_across};
use crate::scale::{Scale, drawable, range};
use crate::svg::Svg;
use crate::{Axis, Caption};

const ROW_PX: f64 = 44.0;
/// Dots of a row are spread up and down by these, so that equal ones are seen apart.
const SPREAD_PX: [f64; 5] = [0.0, -5.0, 5.0, -2.5, 2.5];

/// What was measured several times.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    pub name: String,
    /// One value a repeat, in the unit of the axis, in the order measured.
    pub repeats: Vec<f64>,
    pub estimate: Option<Estimate>,
}

impl Variant {
    fn numbers(&self) -> impl Iterator<Item = f64> {
        let estimate = self.estimate.and_then(Estimate::drawable);
        self.repeats.iter().copied().chain(estimate.into_iter().flat_map(Estimate::numbers))
    }
}

/// A row of dots per variant. The axis need not begin at zero: it shows how repeats scatter.
pub fn strip(caption: &Caption<'_>, variants: &[Variant], x: Axis<'_>) -> String {
    let shown = &variants[..variants.len().min(ROWS_MAX)];
    let Some(values) = range(shown.iter().flat_map(Variant::numbers)) else {
        return figure::empty("strip", caption);
    };
    let rows = Rows::new(shown.iter().map(|one| one.name.as_str()).collect(), ROW_PX, 0.0);
    let across = Scale::linear(values, rows.plot.across(), 6);
    let mut svg = Svg::default();
    rows.plot.draw_x(&mut svg, &across, x);
    rows.draw_names(&mut svg);
    for (row, variant) in shown.iter().enumerate() {
        svg.series(row, |svg| draw_row(svg, row, rows.middle(row), variant, (&across, x)));
    }
    let figure = Figure {
        kind: "strip",
        caption,
        finding: shown.iter().map(|one| finding(one, x)).collect::<Vec<_>>().join(" "),
        legend: Vec::new(),
        left_out: left_out(shown.len(), variants.len(), "variants"),
        height_px: rows.plot.height_px(),
        drawing: svg,
    };
    figure.render()
}

fn draw_row(svg: &mut Svg, row: usize, y: f64, variant: &Variant, (across, x): (&Scale, Axis<'_>)) {
    for (index, value) in variant.repeats.iter().take(DOTS_MAX).enumerate() {
        let Some(value) = drawable(*value) else { continue };
        let tip = format!("{}, repeat {}: {}", variant.name, index + 1, x.unit.show(value));
        let spread = SPREAD_PX[index % SPREAD_PX.len()];
        svg.mark(row, (across.at(value), y - 6.0 + spread), &tip);
    }
    let Some(estimate) = variant.estimate.and_then(Estimate::drawable) else { return };
    let tip = format!("{}: {}", variant.name, estimate.show(x.unit));
    let at = across.at(estimate.value);
    if let Some((low, high)) = estimate.interval {
        whisker_across(svg, (across.at(low), across.at(high)), y + 11.0);
    }
    svg.path("estimate", &[(at, y - 16.0), (at, y + 17.0)], &tip);
}

fn finding(variant: &Variant, x: Axis<'_>) -> String {
    let count = variant.repeats.len();
    let repeats = if count == 1 { "repeat" } else { "repeats" };
    match variant.estimate.and_then(Estimate::drawable) {
        Some(estimate) => {
            let shown = estimate.show(x.unit);
            format!("{}: {} {shown} over {count} {repeats}.", variant.name, x.label)
        }
        None => format!("{}: {count} {repeats} without an estimate.", variant.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use crate::testing::{check, count, desc, hostile_caption};

    fn drawn(repeats: &[f64], estimate: Option<Estimate>) -> String {
        let variants = [Variant { name: "<get>".into(), repeats: repeats.to_vec(), estimate }];
        let axis = Axis { label: "throughput", unit: Unit::BytesPerSecond };
        let html = strip(&hostile_caption(), &variants, axis);
        check(&html);
        html
    }

    #[test]
    fn each_repeat_is_a_dot_and_the_interval_a_whisker() {
        let estimate = Estimate { value: 2e9, interval: Some((1.5e9, 2.5e9)) };
        let html = drawn(&[1e9, 2e9, f64::NAN, 3e9], Some(estimate));
        assert_eq!(count(&html, "class=\"mark\""), 3);
        assert_eq!(count(&html, "class=\"whisker\""), 3);
        assert_eq!(count(&html, "class=\"estimate\""), 1);
        let words = "&lt;get&gt;: throughput 2.00 GB/s (1.50 GB/s to 2.50 GB/s) over 4 repeats.";
        assert_eq!(desc(&html), words);
    }

    #[test]
    fn one_repeat_has_no_whisker() {
        let html = drawn(&[1e9], Some(Estimate::exact(1e9)));
        assert_eq!(count(&html, "class=\"whisker\""), 0);
        assert!(desc(&html).ends_with("over 1 repeat."), "{html}");
    }

    #[test]
    fn repeats_without_an_estimate_are_still_drawn() {
        assert_eq!(count(&drawn(&[1.0, 2.0], None), "class=\"mark\""), 2);
    }

    #[test]
    fn no_repeats_are_a_figure_that_says_so() {
        assert_eq!(count(&drawn(&[], None), "No data"), 1);
        assert_eq!(count(&drawn(&[f64::INFINITY], Some(Estimate::exact(f64::NAN))), "No data"), 1);
    }
}
