//! The frame of every chart: caption, words for those who do not see it, legend.

use crate::svg::{Svg, series_class, shape};
use crate::text::escape;

/// Pixels of the view box of every chart; charts differ in height alone.
pub(crate) const WIDTH_PX: f64 = 720.0;

/// What a chart is called.
#[derive(Debug, Clone, Copy)]
pub struct Caption<'a> {
    /// The `data-chart` by which scripts and tests find the figure.
    pub name: &'a str,
    /// A few words: what is shown.
    pub title: &'a str,
    /// A sentence under the title on how to read it; may be empty.
    pub note: &'a str,
}

/// A chart that is ready to be framed.
pub(crate) struct Figure<'a> {
    /// The class of the figure: which chart it is.
    pub(crate) kind: &'static str,
    pub(crate) caption: &'a Caption<'a>,
    /// The main finding in words: the alternative text.
    pub(crate) finding: String,
    /// Names of the series, if the reader must tell several apart.
    pub(crate) legend: Vec<&'a str>,
    /// What a limit left out, in words; empty if nothing.
    pub(crate) left_out: String,
    pub(crate) height_px: f64,
    pub(crate) drawing: Svg,
}

impl Figure<'_> {
    pub(crate) fn render(self) -> String {
        let legend = if self.legend.len() > 1 { legend(&self.legend) } else { String::new() };
        let inner = format!(
            "{legend}<svg role=\"img\" viewBox=\"0 0 {WIDTH_PX} {height}\">\n\
             <title>{title}</title>\n<desc>{finding}</desc>\n{drawing}</svg>\n",
            height = self.height_px.round(),
            title = escape(self.caption.title),
            finding = escape(&self.finding),
            drawing = self.drawing.into_elements(),
        );
        frame(self.kind, self.caption, &self.left_out, &inner)
    }
}

/// The figure of a chart without data.
pub(crate) fn empty(kind: &str, caption: &Caption<'_>) -> String {
    let words =
        "<p class=\"empty\">No data: nothing was measured that this chart could show.</p>\n";
    frame(kind, caption, "", words)
}

/// `shown of all`, if that is not all of them.
pub(crate) fn left_out(shown: usize, all: usize, what: &str) -> String {
    if shown < all {
        format!("Shown are the first {shown} of {all} {what}.")
    } else {
        String::new()
    }
}

fn frame(kind: &str, caption: &Caption<'_>, left_out: &str, inner: &str) -> String {
    let notes = [caption.note, left_out].map(escape).join(" ");
    format!(
        "<figure class=\"chart {kind}\" data-chart=\"{name}\">\n\
         <figcaption><strong>{title}</strong> {notes}</figcaption>\n{inner}</figure>\n",
        name = escape(caption.name),
        title = escape(caption.title),
        notes = notes.trim(),
    )
}

fn legend(names: &[&str]) -> String {
    let entry = |(index, name): (usize, &&str)| {
        let (class, shape, name) = (series_class(index), shape(index), escape(name));
        format!(
            "<button type=\"button\" data-series=\"{index}\" aria-pressed=\"true\">\
             <svg class=\"{class}\" viewBox=\"0 0 28 12\" aria-hidden=\"true\">\
             <path class=\"line\" d=\"M0,6 28,6\"/><path class=\"mark\" d=\"M14,6{shape}\"/></svg>\
             {name}</button>\n"
        )
    };
    let entries: String = names.iter().enumerate().map(entry).collect();
    format!("<div class=\"legend\">\n{entries}</div>\n")
}
