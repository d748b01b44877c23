//! The elements of a drawing. Geometry is here; colour, width and font are the style sheet's.

use std::fmt::Write as _;

use crate::limits::SERIES_MAX;
use crate::text::escape;

/// One shape per series, so that colour is not all that tells them apart.
const SHAPES: [&str; 4] = [
    "m-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0z",
    "m-2.6,-2.6h5.2v5.2h-5.2z",
    "m0,-3.4l3.3,5.8h-6.6z",
    "m0,-3.7l3.7,3.7l-3.7,3.7l-3.7,-3.7z",
];

/// Which end of a text its position is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing that grows element by element. Positions are `(x, y)` in pixels of the view box.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    elements: String,
}

impl Svg {
    pub(crate) fn into_elements(self) -> String {
        self.elements
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        self.push(&format!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    pub(crate) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: &str) {
        let (x, y, width, height) = (px(at.0), px(at.1), px(size.0), px(size.1));
        self.push(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{}/>",
            data_tip(tip)
        ));
    }

    /// A cell whose colour is the step `level` of the ramp.
    pub(crate) fn cell(&mut self, at: (f64, f64), size: (f64, f64), level: usize, tip: &str) {
        let (x, y, width, height) = (px(at.0), px(at.1), px(size.0), px(size.1));
        self.push(&format!(
            "<rect class=\"cell\" style=\"--level:{level}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" \
             height=\"{height}\"{}/>",
            data_tip(tip)
        ));
    }

    /// Straight lines through the points.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)], tip: &str) {
        let steps: Vec<_> = points.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
        let (route, tip) = (steps.join(" "), data_tip(tip));
        self.push(&format!("<path class=\"{class}\" d=\"M{route}\"{tip}/>"));
    }

    /// A mark in the shape of the series that it belongs to.
    pub(crate) fn mark(&mut self, index: usize, at: (f64, f64), tip: &str) {
        let (x, y, shape, tip) = (px(at.0), px(at.1), shape(index), data_tip(tip));
        self.push(&format!("<path class=\"mark\" d=\"M{x},{y}{shape}\"{tip}/>"));
    }

    pub(crate) fn label(&mut self, class: &str, anchor: Anchor, at: (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, text) = (px(at.0), px(at.1), escape(text));
        self.push(&format!(
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x}\" y=\"{y}\">{text}</text>"
        ));
    }

    /// What `draw` draws, in the colour of the series and hidden with it.
    pub(crate) fn series(&mut self, index: usize, draw: impl FnOnce(&mut Self)) {
        self.push(&format!("<g class=\"{}\" data-series=\"{index}\">", series_class(index)));
        draw(self);
        self.push("</g>");
    }

    fn push(&mut self, element: &str) {
        writeln!(self.elements, "{element}").expect("a string takes what is written to it");
    }
}

/// The class that gives a series its colour and dash.
pub(crate) fn series_class(index: usize) -> String {
    format!("s{}", index % SERIES_MAX)
}

/// The outline of a series' mark, relative to its middle.
pub(crate) fn shape(index: usize) -> &'static str {
    SHAPES[index % SHAPES.len()]
}

fn data_tip(tip: &str) -> String {
    if tip.is_empty() { String::new() } else { format!(" data-tip=\"{}\"", escape(tip)) }
}

/// A tenth of a pixel is as fine as a screen shows.
fn px(value: f64) -> String {
    debug_assert!(value.is_finite(), "scales give finite pixels");
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
