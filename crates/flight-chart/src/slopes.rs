//! Pairs of measurements, each a line from A to B.

use crate::figure::{self, Figure, WIDTH_PX, left_out};
use crate::limits::DOTS_MAX;
use crate::plot::Plot;
use crate::scale::{Scale, drawable, range};
use crate::series::drawn;
use crate::svg::{Anchor, Svg};
use crate::text::fit;
use crate::{Axis, Caption, Unit};

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

/// What was measured in pairs, in the unit of the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// Name of the left side.
    pub a: String,
    /// Name of the right side.
    pub b: String,
    /// `(a, b)` of each pair; one that lacks a finite side is left out.
    pub values: Vec<(f64, f64)>,
    /// What the bold line joins, where its caller has means of another kind than the arithmetic ones.
    pub mean: Option<(f64, f64)>,
    pub better: Better,
}

/// A line per pair, told apart by whether B is better, and the mean of all pairs in bold.
pub fn slopes(caption: &Caption<'_>, pairs: &Pairs, y: Axis<'_>) -> String {
    let all: Vec<_> = pairs.values.iter().filter_map(|pair| drawn(*pair)).collect();
    let Some(values) = range(all.iter().flat_map(|(a, b)| [*a, *b])) else {
        return figure::empty("slopes", caption);
    };
    let shown = &all[..all.len().min(DOTS_MAX)];
    let plot = Plot::wide();
    let (left, right) = (plot.left + 130.0, plot.right - 130.0);
    let up = Scale::linear(values, plot.upwards(), 7);
    let mut svg = Svg::default();
    plot.draw_y(&mut svg, &up, y);
    for (index, (a, b)) in shown.iter().enumerate() {
        let class = format!("pair {}", direction(pairs.better, *a, *b));
        let tip = format!("pair {}: {} to {}", index + 1, y.unit.show(*a), y.unit.show(*b));
        svg.path(&class, &[(left, up.at(*a)), (right, up.at(*b))], &tip);
    }
    let mean = pairs.mean.and_then(drawn).unwrap_or_else(|| mean(&all));
    let ends = [(left, mean.0, Anchor::End, -10.0), (right, mean.1, Anchor::Start, 10.0)];
    svg.path("mean", &ends.map(|(x, value, ..)| (x, up.at(value))), "mean of all pairs");
    for ((x, value, anchor, aside), name) in ends.into_iter().zip([&pairs.a, &pairs.b]) {
        svg.line("side", (x, plot.top), (x, plot.bottom));
        svg.label("strong", anchor, (x + aside, up.at(value) + 4.0), &y.unit.show(value));
        let room = WIDTH_PX / 2.0 - 20.0;
        svg.label("axis", Anchor::Middle, (x, plot.bottom + 22.0), &fit(name, room));
    }
    let figure = Figure {
        kind: "slopes",
        caption,
        finding: finding(pairs, &all, mean, y),
        legend: Vec::new(),
        left_out: left_out(shown.len(), all.len(), "pairs"),
        height_px: plot.bottom + 36.0,
        drawing: svg,
    };
    figure.render()
}

fn direction(better: Better, a: f64, b: f64) -> &'static str {
    let (worse, good) = match better {
        Better::Higher => (a > b, a < b),
        Better::Lower => (a < b, a > b),
    };
    match (worse, good) {
        (true, _) => "worse",
        (_, true) => "better",
        _ => "same",
    }
}

fn mean(pairs: &[(f64, f64)]) -> (f64, f64) {
    let sum = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    (sum.0 / pairs.len() as f64, sum.1 / pairs.len() as f64)
}

fn finding(pairs: &Pairs, all: &[(f64, f64)], mean: (f64, f64), y: Axis<'_>) -> String {
    let better = all.iter().filter(|(a, b)| direction(pairs.better, *a, *b) == "better").count();
    // From nothing there is no change in hundredths.
    let change = drawable(100.0 * (mean.1 / mean.0 - 1.0)).map_or(String::new(), |change| {
        let sign = if change > 0.0 { "+" } else { "" };
        format!(" ({sign}{})", Unit::Percent.show(change))
    });
    format!(
        "{b} is better than {a} in {better} of {count} pairs. Mean {label} {from} to {to}{change}.",
        a = pairs.a,
        b = pairs.b,
        count = all.len(),
        label = y.label,
        from = y.unit.show(mean.0),
        to = y.unit.show(mean.1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check, count, desc, hostile_caption};

    fn drawn_pairs(values: &[(f64, f64)], better: Better) -> String {
        drawn_with(None, values, better)
    }

    fn drawn_with(mean: Option<(f64, f64)>, values: &[(f64, f64)], better: Better) -> String {
        let values = values.to_vec();
        let pairs = Pairs { a: "<main>".into(), b: "pr".into(), values, mean, better };
        let axis = Axis { label: "throughput", unit: Unit::BytesPerSecond };
        let html = slopes(&hostile_caption(), &pairs, axis);
        check(&html);
        html
    }

    #[test]
    fn each_pair_is_a_line_by_its_direction() {
        let values = [(1e9, 2e9), (2e9, 1e9), (1e9, 4e9), (1e9, 1e9)];
        for (better, good, bad) in [(Better::Higher, 2, 1), (Better::Lower, 1, 2)] {
            let html = drawn_pairs(&values, better);
            assert_eq!(count(&html, "pair better"), good, "{html}");
            assert_eq!(count(&html, "pair worse"), bad, "{html}");
            assert_eq!(count(&html, "pair same"), 1, "{html}");
        }
    }

    #[test]
    fn the_words_say_how_often_and_by_how_much() {
        let html = drawn_pairs(&[(1e9, 2e9), (3e9, 2.5e9)], Better::Higher);
        let words = "pr is better than &lt;main&gt; in 1 of 2 pairs. Mean throughput 2.00 GB/s to \
                     2.25 GB/s (+12.5 %).";
        assert_eq!(desc(&html), words);
    }

    #[test]
    fn a_mean_of_another_kind_is_drawn_and_told_as_it_was_given() {
        let values = [(1e9, 4e9), (4e9, 1e9)];
        let words = desc(&drawn_with(Some((2e9, 2e9)), &values, Better::Higher));
        assert!(words.ends_with("Mean throughput 2.00 GB/s to 2.00 GB/s (0 %)."), "{words}");
        // One that cannot be drawn, as a file may have it, or far beyond the pairs.
        for mean in [(f64::NAN, 1.0), (1e300, 1e300), (-1.0, 1e12)] {
            drawn_with(Some(mean), &values, Better::Higher);
        }
    }

    #[test]
    fn a_change_from_nothing_has_no_percentage() {
        let words = desc(&drawn_pairs(&[(0.0, 1e9)], Better::Higher));
        assert!(words.ends_with("Mean throughput 0 B/s to 1.00 GB/s."), "{words}");
    }

    #[test]
    fn half_a_pair_is_left_out() {
        let html = drawn_pairs(&[(1.0, f64::NAN), (1.0, 2.0)], Better::Higher);
        assert_eq!(count(&html, "class=\"pair"), 1);
    }

    #[test]
    fn no_pairs_are_a_figure_that_says_so() {
        assert_eq!(count(&drawn_pairs(&[(f64::NAN, 1.0)], Better::Lower), "No data"), 1);
    }
}
