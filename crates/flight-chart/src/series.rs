//! Series of points, drawn as lines that break at gaps.

use crate::downsample::picks;
use crate::limits::{MARKS_MAX, POINTS_MAX, SERIES_MAX};
use crate::scale::{drawable, range};
use crate::svg::Svg;

/// More points than this are drawn as a thin line.
const DENSE_MIN: usize = 100;

/// A name and its points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub name: String,
    /// `(x, y)` in order of x; a point with a number that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Mean, least and greatest y; `None` without points.
    pub(crate) fn summary(&self) -> Option<(f64, f64, f64)> {
        let ys = self.points.iter().filter_map(|point| drawn(*point)).map(|(_, y)| y);
        let (low, high) = range(ys.clone())?;
        let count = ys.clone().count();
        Some((ys.sum::<f64>() / count as f64, low, high))
    }
}

/// As many series as a chart can tell apart.
pub(crate) fn shown(series: &[Series]) -> &[Series] {
    &series[..series.len().min(SERIES_MAX)]
}

/// The ranges of x and of y over all series; `None` without points.
pub(crate) fn bounds(series: &[Series]) -> Option<((f64, f64), (f64, f64))> {
    let points = series.iter().flat_map(|one| one.points.iter().filter_map(|point| drawn(*point)));
    Some((range(points.clone().map(|(x, _)| x))?, range(points.map(|(_, y)| y))?))
}

/// Lines through the points of a series and marks on some of them.
///
/// `place` gives a point's pixels, `tip` what is shown where the pointer is on its mark.
pub(crate) fn draw(
    svg: &mut Svg,
    index: usize,
    series: &Series,
    place: impl Fn((f64, f64)) -> (f64, f64),
    tip: impl Fn((f64, f64)) -> String,
) {
    let runs = runs(&series.points);
    let total: usize = runs.iter().map(Vec::len).sum();
    let class = if total > DENSE_MIN { "line dense" } else { "line" };
    svg.series(index, |svg| {
        let mut kept = Vec::new();
        for run in &runs {
            let share = (POINTS_MAX * run.len()).div_ceil(total.max(1)).max(2);
            let picked: Vec<_> = picks(run, share).into_iter().map(|pick| run[pick]).collect();
            let pixels: Vec<_> = picked.iter().map(|point| place(*point)).collect();
            svg.path(class, &pixels, &series.name);
            kept.extend(picked);
        }
        for point in kept.iter().step_by(kept.len().div_ceil(MARKS_MAX).max(1)) {
            svg.mark(index, place(*point), &tip(*point));
        }
    });
}

/// The point if both its numbers can be drawn.
pub(crate) fn drawn((x, y): (f64, f64)) -> Option<(f64, f64)> {
    Some((drawable(x)?, drawable(y)?))
}

/// The stretches of points between gaps; none is empty.
fn runs(points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let stretches = points.split(|point| drawn(*point).is_none());
    let finite = |run: &[(f64, f64)]| run.iter().filter_map(|point| drawn(*point)).collect();
    stretches.filter(|run| !run.is_empty()).map(finite).collect()
}
