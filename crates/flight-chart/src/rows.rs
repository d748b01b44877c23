//! Rows with names on the left and values to the right.

use crate::figure::WIDTH_PX;
use crate::plot::Plot;
use crate::svg::{Anchor, Svg};
use crate::text::{fit, width_px};

/// The room for names, which longer ones are cut to.
const NAMES_PX: (f64, f64) = (60.0, 200.0);

/// The box of a chart of rows.
pub(crate) struct Rows<'a> {
    pub(crate) plot: Plot,
    names: Vec<&'a str>,
    row_px: f64,
}

impl<'a> Rows<'a> {
    /// Rows of `row_px`, with `aside_px` of room for labels to the right of the plot.
    pub(crate) fn new(names: Vec<&'a str>, row_px: f64, aside_px: f64) -> Self {
        let longest = names.iter().map(|name| width_px(name)).fold(0.0, f64::max);
        let names_px = (longest + 4.0).clamp(NAMES_PX.0, NAMES_PX.1);
        let top = 10.0;
        let plot = Plot {
            left: names_px + 12.0,
            right: WIDTH_PX - 16.0 - aside_px,
            top,
            bottom: top + row_px * names.len() as f64,
        };
        Self { plot, names, row_px }
    }

    /// The pixel of the middle of a row.
    pub(crate) fn middle(&self, row: usize) -> f64 {
        self.plot.top + (row as f64 + 0.5) * self.row_px
    }

    pub(crate) fn draw_names(&self, svg: &mut Svg) {
        for (row, name) in self.names.iter().enumerate() {
            let shown = fit(name, self.plot.left - 12.0);
            svg.label("name", Anchor::End, (self.plot.left - 8.0, self.middle(row) + 4.0), &shown);
        }
    }
}

/// A whisker from low to high along a row.
pub(crate) fn whisker_across(svg: &mut Svg, (low, high): (f64, f64), y: f64) {
    svg.line("whisker", (low, y), (high, y));
    for end in [low, high] {
        svg.line("whisker", (end, y - 4.0), (end, y + 4.0));
    }
}
