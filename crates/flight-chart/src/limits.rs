//! How much one chart draws, so that a report of any run stays small.
//!
//! What is left out is counted in the figure's caption.

/// Series of one chart: as many as the palette tells apart.
pub const SERIES_MAX: usize = 8;
/// Points of one series that are drawn; longer ones are downsampled.
pub const POINTS_MAX: usize = 400;
/// Marks with a tooltip along one series.
pub const MARKS_MAX: usize = 24;
/// Rows of a strip plot or a bar chart.
pub const ROWS_MAX: usize = 64;
/// Dots of one row, and pairs of a slope chart.
pub const DOTS_MAX: usize = 256;
/// Columns, and rows, of a heat map.
pub const CELLS_MAX: usize = 32;
/// Largest size of a number that is drawn: sums and spans of such numbers stay finite.
pub const VALUE_MAX: f64 = 1e30;

const _: () = assert!(MARKS_MAX <= POINTS_MAX, "marks sit on points");
