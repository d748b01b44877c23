//! The box that a chart is drawn in: its axes, grid and labels.

use crate::Unit;
use crate::figure::WIDTH_PX;
use crate::scale::{Scale, Spacing};
use crate::svg::{Anchor, Svg};
use crate::text::width_px;

/// What an axis shows.
#[derive(Debug, Clone, Copy)]
pub struct Axis<'a> {
    /// A word or two, such as `throughput`.
    pub label: &'a str,
    /// The unit of the values, which labels show with a prefix that fits.
    pub unit: Unit<'a>,
}

/// Where the data lie, in pixels of the view box.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plot {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Plot {
    /// Below the plot: tick labels and the label of the axis.
    pub(crate) const FOOT_PX: f64 = 44.0;

    /// The box of a chart with values upwards and something else to the right.
    pub(crate) fn wide() -> Self {
        Self { left: 64.0, right: WIDTH_PX - 16.0, top: 30.0, bottom: 256.0 }
    }

    pub(crate) fn height_px(&self) -> f64 {
        self.bottom + Self::FOOT_PX
    }

    pub(crate) fn across(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// Upwards: the low end is the greater pixel.
    pub(crate) fn upwards(&self) -> (f64, f64) {
        (self.bottom, self.top)
    }

    /// Grid lines and labels of the values upwards; what they are stands above them.
    pub(crate) fn draw_y(&self, svg: &mut Svg, scale: &Scale, axis: Axis<'_>) {
        let (labels, title) = tick_texts(scale, axis);
        for (tick, label) in scale.ticks.iter().zip(&labels) {
            let y = scale.at(*tick);
            svg.line(grid_class(*tick), (self.left, y), (self.right, y));
            svg.label("tick", Anchor::End, (self.left - 8.0, y + 4.0), label);
        }
        svg.label("axis", Anchor::Start, (4.0, self.top - 16.0), &title);
    }

    /// Grid lines and labels of the values to the right; what they are stands below them.
    pub(crate) fn draw_x(&self, svg: &mut Svg, scale: &Scale, axis: Axis<'_>) {
        let (labels, title) = tick_texts(scale, axis);
        let ticks: Vec<_> = scale.ticks.iter().copied().zip(labels).collect();
        self.draw_x_ticks(svg, scale, &ticks);
        self.draw_x_title(svg, &title);
    }

    /// Grid lines at the values with labels under them, those left out that would overlap.
    pub(crate) fn draw_x_ticks(&self, svg: &mut Svg, scale: &Scale, ticks: &[(f64, String)]) {
        let mut free_from = f64::MIN;
        for (tick, label) in ticks {
            let x = scale.at(*tick);
            svg.line(grid_class(*tick), (x, self.top), (x, self.bottom));
            let half = width_px(label) / 2.0;
            if x - half < free_from {
                continue;
            }
            free_from = x + half + 6.0;
            // A label at the right edge of the view box is pushed inside.
            let middle = x.min(WIDTH_PX - half);
            svg.label("tick", Anchor::Middle, (middle, self.bottom + 18.0), label);
        }
    }

    pub(crate) fn draw_x_title(&self, svg: &mut Svg, title: &str) {
        let at = ((self.left + self.right) / 2.0, self.bottom + 37.0);
        svg.label("axis", Anchor::Middle, at, title);
    }
}

/// The label of each tick and the title of the axis, with the unit in one of them.
fn tick_texts(scale: &Scale, axis: Axis<'_>) -> (Vec<String>, String) {
    match (scale.spacing, axis.unit) {
        (Spacing::Linear, unit) => {
            let (labels, suffix) = unit.tick_labels(&scale.ticks);
            (labels, titled(axis.label, &suffix))
        }
        (Spacing::Log, Unit::Count(name)) => {
            let labels = scale.ticks.iter().map(|tick| Unit::Count("").show_short(*tick)).collect();
            (labels, format!("{} (log)", titled(axis.label, name)))
        }
        (Spacing::Log, unit) => {
            let labels = scale.ticks.iter().map(|tick| unit.show_short(*tick)).collect();
            (labels, format!("{} (log)", axis.label))
        }
    }
}

/// `throughput, GB/s`
pub(crate) fn titled(label: &str, suffix: &str) -> String {
    if suffix.is_empty() || suffix == label {
        label.to_owned()
    } else {
        format!("{label}, {suffix}")
    }
}

fn grid_class(tick: f64) -> &'static str {
    if tick == 0.0 { "grid zero" } else { "grid" }
}
