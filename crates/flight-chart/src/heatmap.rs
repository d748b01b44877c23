//! A sweep over two parameters: a cell for each pair of settings.

use crate::Caption;
use crate::figure::{self, Figure, WIDTH_PX};
use crate::limits::CELLS_MAX;
use crate::plot::{Axis, Plot};
use crate::scale::{drawable, range};
use crate::svg::{Anchor, Svg};
use crate::text::{fit, width_px};

const CELL_PX: f64 = 30.0;
/// Steps of the ramp, as many as the eye ranks without a legend beside it.
const LEVELS: usize = 7;

/// What was measured at each pair of settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// The parameter that changes from column to column, and its settings.
    pub column_label: String,
    pub columns: Vec<String>,
    /// The parameter that changes from row to row, and its settings.
    pub row_label: String,
    pub rows: Vec<String>,
    /// `values[row][column]`; what is missing or not finite is an empty cell.
    pub values: Vec<Vec<f64>>,
}

impl Grid {
    fn value(&self, row: usize, column: usize) -> Option<f64> {
        self.values.get(row)?.get(column).copied().and_then(drawable)
    }

    /// Names the settings of a cell: `streams 4, rows 4096`.
    fn place(&self, row: usize, column: usize) -> String {
        let (down, across) = (&self.rows[row], &self.columns[column]);
        format!("{} {down}, {} {across}", self.row_label, self.column_label)
    }
}

/// A table of cells that are the stronger the greater their value.
pub fn heatmap(caption: &Caption<'_>, grid: &Grid, value: Axis<'_>) -> String {
    let (rows, columns) = (grid.rows.len().min(CELLS_MAX), grid.columns.len().min(CELLS_MAX));
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let known: Vec<_> =
        places.filter_map(|(row, column)| Some((row, column, grid.value(row, column)?))).collect();
    let Some((low, high)) = range(known.iter().map(|(.., value)| *value)) else {
        return figure::empty("heatmap", caption);
    };
    let names = grid.rows.iter().chain([&grid.row_label]);
    let names_px = names.map(|name| width_px(name)).fold(0.0, f64::max).clamp(40.0, 180.0);
    let plot = Plot {
        left: names_px + 14.0,
        right: WIDTH_PX - 4.0,
        top: 12.0,
        bottom: 12.0 + CELL_PX * rows as f64,
    };
    let cell_px = (plot.right - plot.left) / columns as f64;
    let mut svg = Svg::default();
    for (row, column, cell) in &known {
        let at = (plot.left + *column as f64 * cell_px, plot.top + *row as f64 * CELL_PX);
        let tip = format!("{}: {}", grid.place(*row, *column), value.unit.show(*cell));
        svg.cell(at, (cell_px - 2.0, CELL_PX - 2.0), level(*cell, low, high), &tip);
        let text = value.unit.show_under(low.abs().max(high.abs()), *cell);
        if width_px(&text) < cell_px - 4.0 {
            let middle = (at.0 + cell_px / 2.0 - 1.0, at.1 + CELL_PX / 2.0 + 3.0);
            svg.label("cell-text", Anchor::Middle, middle, &text);
        }
    }
    draw_names(&mut svg, grid, &plot, cell_px);
    draw_ramp(&mut svg, &plot, (low, high), value);
    let shown = format!("{rows} × {columns} cells");
    let all = format!("{} × {}", grid.rows.len(), grid.columns.len());
    let cut = rows < grid.rows.len() || columns < grid.columns.len();
    let figure = Figure {
        kind: "heatmap",
        caption,
        finding: finding(grid, &known, value),
        legend: Vec::new(),
        left_out: if cut { format!("Shown are {shown} of {all}.") } else { String::new() },
        height_px: plot.bottom + 78.0,
        drawing: svg,
    };
    figure.render()
}

fn level(value: f64, low: f64, high: f64) -> usize {
    if high <= low {
        return LEVELS / 2;
    }
    let part = (value - low) / (high - low);
    ((part * LEVELS as f64) as usize).min(LEVELS - 1)
}

fn draw_names(svg: &mut Svg, grid: &Grid, plot: &Plot, cell_px: f64) {
    for (row, name) in grid.rows.iter().take(CELLS_MAX).enumerate() {
        let y = plot.top + (row as f64 + 0.5) * CELL_PX + 3.0;
        svg.label("name", Anchor::End, (plot.left - 8.0, y), &fit(name, plot.left - 12.0));
    }
    for (column, name) in grid.columns.iter().take(CELLS_MAX).enumerate() {
        let x = plot.left + (column as f64 + 0.5) * cell_px - 1.0;
        svg.label("tick", Anchor::Middle, (x, plot.bottom + 16.0), &fit(name, cell_px - 4.0));
    }
    let below = plot.bottom + 34.0;
    let row_label = fit(&grid.row_label, plot.left - 12.0);
    svg.label("axis", Anchor::End, (plot.left - 8.0, plot.bottom + 16.0), &row_label);
    let middle = ((plot.left + plot.right) / 2.0, below);
    svg.label("axis", Anchor::Middle, middle, &grid.column_label);
}

/// What the steps of the ramp stand for.
fn draw_ramp(svg: &mut Svg, plot: &Plot, (low, high): (f64, f64), value: Axis<'_>) {
    let (step_px, y) = (18.0, plot.bottom + 54.0);
    let (least, most) = (value.unit.show(low), value.unit.show(high));
    let left = plot.left + width_px(&least) + 8.0;
    svg.label("tick", Anchor::End, (left - 6.0, y + 10.0), &least);
    for level in 0..LEVELS {
        svg.cell((left + level as f64 * step_px, y), (step_px - 1.0, 12.0), level, "");
    }
    let right = left + LEVELS as f64 * step_px + 6.0;
    let most = format!("{most} {}", value.label);
    svg.label("tick", Anchor::Start, (right, y + 10.0), &most);
}

fn finding(grid: &Grid, known: &[(usize, usize, f64)], value: Axis<'_>) -> String {
    let order = |a: &&(usize, usize, f64), b: &&(usize, usize, f64)| a.2.total_cmp(&b.2);
    let told = |one: Option<&(usize, usize, f64)>| {
        one.map_or(String::new(), |(row, column, cell)| {
            format!("{} at {}", value.unit.show(*cell), grid.place(*row, *column))
        })
    };
    let (low, high) = (known.iter().min_by(order), known.iter().max_by(order));
    format!("{}: highest {}; lowest {}.", value.label, told(high), told(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use crate::testing::{check, count, desc, hostile_caption};

    fn drawn(values: &[&[f64]]) -> String {
        let columns = values.iter().map(|row| row.len()).max().unwrap_or(0);
        let grid = Grid {
            column_label: "rows".into(),
            columns: (0..columns).map(|column| format!("<{column}>")).collect(),
            row_label: "streams".into(),
            rows: (0..values.len()).map(|row| row.to_string()).collect(),
            values: values.iter().map(|row| row.to_vec()).collect(),
        };
        let axis = Axis { label: "throughput", unit: Unit::BytesPerSecond };
        let html = heatmap(&hostile_caption(), &grid, axis);
        check(&html);
        html
    }

    #[test]
    fn the_greatest_value_has_the_strongest_cell() {
        let html = drawn(&[&[1e9, 2e9], &[3e9, 8e9]]);
        assert_eq!(count(&html, "--level:6\""), 2, "the cell and the ramp's last: {html}");
        assert_eq!(count(&html, "class=\"cell\""), 4 + LEVELS);
        assert_eq!(count(&html, ">8.00</text>"), 1);
    }

    #[test]
    fn the_words_say_where_it_is_best_and_worst() {
        let words = "throughput: highest 8.00 GB/s at streams 1, rows &lt;1&gt;; lowest 1.00 GB/s \
                     at streams 0, rows &lt;0&gt;.";
        assert_eq!(desc(&drawn(&[&[1e9, 2e9], &[3e9, 8e9]])), words);
    }

    #[test]
    fn what_is_missing_or_not_finite_is_an_empty_cell() {
        assert_eq!(count(&drawn(&[&[1.0, f64::NAN], &[2.0]]), "class=\"cell-text\""), 2);
    }

    #[test]
    fn equal_values_have_the_middle_of_the_ramp() {
        assert_eq!(count(&drawn(&[&[5.0, 5.0]]), "--level:3\""), 3);
    }

    #[test]
    fn no_cells_are_a_figure_that_says_so() {
        assert_eq!(count(&drawn(&[]), "No data"), 1);
        assert_eq!(count(&drawn(&[&[f64::NAN]]), "No data"), 1);
    }

    #[test]
    fn more_cells_than_fit_are_counted_in_words() {
        let row = [1.0; 40];
        assert!(drawn(&[&row, &row]).contains("Shown are 2 × 32 cells of 2 × 40."));
    }
}
