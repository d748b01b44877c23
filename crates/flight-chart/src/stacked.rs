//! Series over time, one upon another: what each adds to the sum.

use crate::downsample::picks;
use crate::figure::{self, Figure};
use crate::limits::{POINTS_MAX, SERIES_MAX};
use crate::lines::{TIME, time_and_values};
use crate::plot::Plot;
use crate::scale::{Scale, drawable, range};
use crate::svg::Svg;
use crate::{Axis, Caption, Series, Unit};

/// Series stacked over time: x in seconds, y in the unit of its axis and not below zero.
///
/// The n-th points of all series belong together; x is that of the longest series. What is
/// missing or not finite adds nothing. Beyond the palette the last series are drawn as one.
pub fn stacked(caption: &Caption<'_>, series: &[Series], y: Axis<'_>) -> String {
    let (slots, times) = times(series);
    let layers = layers(series, &slots);
    let Some((x_range, sum)) = range(times.iter().copied()).zip(layers.last()) else {
        return figure::empty("stacked", caption);
    };
    let sum: Vec<_> = times.iter().copied().zip(sum.top.iter().copied()).collect();
    let highest = sum.iter().fold(0.0, |most: f64, (_, y)| most.max(*y));
    let plot = Plot::wide();
    let (across, up) = time_and_values(&plot, x_range, (0.0, highest));
    let mut svg = Svg::default();
    plot.draw_y(&mut svg, &up, y);
    plot.draw_x(&mut svg, &across, TIME);
    let kept = picks(&sum, POINTS_MAX);
    for (index, layer) in layers.iter().enumerate() {
        let edge = |heights: &[f64]| edge(&kept, &times, heights, (&across, &up));
        let top = edge(&layer.top);
        let mut outline = top.clone();
        outline.extend(edge(&layer.bottom).into_iter().rev());
        svg.series(index, |svg| {
            svg.path("area", &outline, &layer.tip(y.unit));
            svg.path("line", &top, &layer.tip(y.unit));
        });
    }
    let figure = Figure {
        kind: "stacked",
        caption,
        finding: finding(&layers, series.len(), y),
        legend: layers.iter().map(|layer| layer.name.as_str()).collect(),
        left_out: String::new(),
        height_px: plot.height_px(),
        drawing: svg,
    };
    figure.render()
}

/// One series and where it lies upon those below it, at each time.
struct Layer {
    name: String,
    bottom: Vec<f64>,
    top: Vec<f64>,
}

impl Layer {
    fn mean(&self) -> f64 {
        let area = self.top.iter().sum::<f64>() - self.bottom.iter().sum::<f64>();
        area / self.top.len() as f64
    }

    fn tip(&self, unit: Unit<'_>) -> String {
        format!("{}: mean {}", self.name, unit.show(self.mean()))
    }
}

/// The indices and the x of the points of the longest series whose x can be drawn.
fn times(series: &[Series]) -> (Vec<usize>, Vec<f64>) {
    let longest = series.iter().max_by_key(|one| one.points.len());
    let points = longest.map_or(&[][..], |one| one.points.as_slice()).iter().enumerate();
    points.filter_map(|(slot, (x, _))| Some((slot, drawable(*x)?))).unzip()
}

fn layers(series: &[Series], slots: &[usize]) -> Vec<Layer> {
    let alone = if series.len() > SERIES_MAX { SERIES_MAX - 1 } else { series.len() };
    let (alone, others) = series.split_at(alone);
    let mut groups: Vec<_> =
        alone.iter().map(|one| (one.name.clone(), std::slice::from_ref(one))).collect();
    if !others.is_empty() {
        groups.push((format!("{} others", others.len()), others));
    }
    let mut reached = vec![0.0; slots.len()];
    let layer = |(name, group): (String, &[Series])| {
        let bottom = reached.clone();
        for (height, slot) in reached.iter_mut().zip(slots) {
            *height += group.iter().map(|one| height_at(one, *slot)).sum::<f64>();
        }
        Layer { name, bottom, top: reached.clone() }
    };
    groups.into_iter().map(layer).collect()
}

fn height_at(series: &Series, slot: usize) -> f64 {
    let point = series.points.get(slot).and_then(|(_, y)| drawable(*y));
    point.unwrap_or(0.0).max(0.0)
}

fn edge(
    kept: &[usize],
    times: &[f64],
    heights: &[f64],
    (across, up): (&Scale, &Scale),
) -> Vec<(f64, f64)> {
    kept.iter().map(|slot| (across.at(times[*slot]), up.at(heights[*slot]))).collect()
}

fn finding(layers: &[Layer], series: usize, y: Axis<'_>) -> String {
    let mean: f64 = layers.iter().map(Layer::mean).sum();
    let largest = layers.iter().max_by(|a, b| a.mean().total_cmp(&b.mean()));
    let share = largest.map_or(String::new(), |layer| {
        let percent = Unit::Percent.show(100.0 * layer.mean() / mean);
        format!(" The largest part is {} with {percent}.", layer.name)
    });
    format!("Mean {} of {series} series together: {}.{share}", y.label, y.unit.show(mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check, count, desc, hostile_caption};

    fn series(name: &str, ys: &[f64]) -> Series {
        let points = ys.iter().enumerate().map(|(second, y)| (second as f64, *y)).collect();
        Series { name: name.into(), points }
    }

    fn drawn(all: &[Series]) -> String {
        let axis = Axis { label: "rate", unit: Unit::BytesPerSecond };
        let html = stacked(&hostile_caption(), all, axis);
        check(&html);
        html
    }

    #[test]
    fn the_second_layer_lies_on_the_first() {
        let html = drawn(&[series("a", &[1.0, 1.0]), series("b", &[1.0, 1.0])]);
        // Of the sum, 2 B/s at 30 pixels, each is half: 143 lies between 256 and 30.
        assert!(html.contains("d=\"M64,143 704,143 704,256 64,256\""), "{html}");
        assert!(html.contains("d=\"M64,30 704,30 704,143 64,143\""), "{html}");
    }

    #[test]
    fn the_words_name_the_largest_part() {
        let html = drawn(&[series("a", &[1e9, 1e9]), series("b", &[3e9, 3e9])]);
        let words = "Mean rate of 2 series together: 4.00 GB/s. The largest part is b with 75.0 %.";
        assert_eq!(desc(&html), words);
    }

    #[test]
    fn what_is_missing_or_not_finite_adds_nothing() {
        let html = drawn(&[series("a", &[1.0, 1.0, 1.0]), series("b", &[f64::NAN, -5.0])]);
        assert!(desc(&html).contains("The largest part is a with 100 %"), "{html}");
    }

    #[test]
    fn series_beyond_the_palette_are_drawn_as_one() {
        let all: Vec<_> = (0..64).map(|n| series(&format!("stream {n}"), &[1.0, 1.0])).collect();
        let html = drawn(&all);
        assert_eq!(count(&html, "<button"), SERIES_MAX);
        assert!(html.contains("57 others"), "{html}");
        assert!(desc(&html).contains("64 series together: 64.0 B/s"), "{html}");
    }

    #[test]
    fn no_series_are_a_figure_that_says_so() {
        assert_eq!(count(&drawn(&[]), "No data"), 1);
        assert_eq!(count(&drawn(&[series("a", &[])]), "No data"), 1);
    }
}
