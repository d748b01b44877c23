//! Charts, tables and one-file reports as text: pure functions from numbers to HTML and SVG.
//!
//! A chart is a `<figure data-chart="NAME">` that holds an SVG without colours; [`STYLE`] gives
//! them, light or dark, and [`SCRIPT`] adds what hovers and hides. Names are escaped, numbers that
//! are not finite are gaps, and no data is a figure that says so. What is measured, and what it
//! means, is left to the caller.
//!
//! ```
//! use flight_chart::{Axis, Caption, Series, Unit, lines};
//!
//! let caption = Caption { name: "throughput", title: "Throughput", note: "" };
//! let series = [Series { name: "get".into(), points: vec![(0.0, 2.1e9), (0.1, 2.4e9)] }];
//! let html = lines(&caption, &series, Axis { label: "throughput", unit: Unit::BytesPerSecond });
//! assert!(html.starts_with("<figure"));
//! ```

mod bars;
mod curve;
mod downsample;
mod estimate;
mod figure;
mod heatmap;
pub mod limits;
mod lines;
mod page;
mod percentiles;
mod plot;
mod rows;
mod scale;
mod series;
mod slopes;
mod stacked;
mod strip;
mod svg;
mod table;
#[cfg(test)]
mod testing;
mod text;
mod unit;

pub use bars::{Bar, bars, ladder};
pub use curve::{Curve, CurvePoint, curve};
pub use downsample::downsample;
pub use estimate::Estimate;
pub use figure::Caption;
pub use heatmap::{Grid, heatmap};
pub use lines::{lines, timeline};
pub use page::{Section, embedded, page};
pub use percentiles::percentiles;
pub use plot::Axis;
pub use series::Series;
pub use slopes::{Better, Pairs, slopes};
pub use stacked::stacked;
pub use strip::{Variant, strip};
pub use table::{Column, table};
pub use text::escape;
pub use unit::Unit;

/// The CSS of every chart and table, for light and dark screens and for paper.
pub const STYLE: &str = include_str!("style.css");
/// The JavaScript that shows tooltips and hides a series by its legend.
pub const SCRIPT: &str = include_str!("script.js");
