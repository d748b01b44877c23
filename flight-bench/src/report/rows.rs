//! What the tables of several rows have in common: their layout on a terminal, and what stands below.

use comfy_table::{CellAlignment, Table as Grid};

use super::lines::{line, wrapped};
use super::results::Results;
use super::tables::Table;
use super::text::errors;

/// A terminal's.
const COLUMNS: usize = 100;

/// A table under these heads.
pub(super) fn under(heads: &[&str], table: Table) -> String {
    let mut grid = Grid::new();
    grid.load_style(comfy_table::presets::NOTHING);
    grid.set_header(heads);
    grid.add_rows(table.rows);
    laid_out(&mut grid)
}

/// With numbers to the right, in lines that are short enough for a terminal.
pub(super) fn laid_out(grid: &mut Grid) -> String {
    for column in grid.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let wide = spaced(grid, 2);
    if wide.lines().all(|line| line.chars().count() <= COLUMNS) { wide } else { spaced(grid, 1) }
}

fn spaced(grid: &mut Grid, spaces: u16) -> String {
    let last = grid.column_count() - 1;
    for (index, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { spaces }));
    }
    grid.trim_fmt()
}

/// Which rows there are none of, and why.
pub(super) fn missing(out: &mut String, results: &Results) {
    for why in &results.record.missing {
        wrapped(out, "not measured: ", "  ", why);
    }
}

pub(super) fn errors_of(out: &mut String, results: &Results) {
    for variant in &results.variants {
        let tally = variant.errors();
        if tally.total() > 0 {
            line(out, &format!("errors of {}: {}", variant.id(), errors(&tally)));
        }
    }
}
