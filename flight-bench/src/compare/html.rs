//! Comparisons as a page, and what their pages share with those of pairs.

use flight_chart::{Axis, Bar, Caption, Estimate, Unit};

use super::report::{document, notes, sides};
use super::{Compared, Comparison, Row, table};
use crate::report::html::{self, Part, bullets, paragraph, whole};

pub(super) fn render(compared: &Compared) -> String {
    let parts: Vec<Part> = compared.comparisons.iter().map(part).collect();
    whole("flight-bench compare", &parts, &document(compared).to_string())
}

fn part(comparison: &Comparison) -> Part {
    let sides = sides(comparison).join(" · ");
    let version = env!("CARGO_PKG_VERSION");
    let html = paragraph(&format!("{sides} · version {version}"))
        + &html::table(&table::dressed(&comparison.rows))
        + &changes(&comparison.rows)
        + &bullets(&notes(comparison));
    Part { heading: "Figures", html }
}

/// What B is of A, figure by figure.
pub(crate) fn changes(rows: &[Row]) -> String {
    let percent = |ratio: f64| 100.0 * ratio;
    let bar = |row: &Row| Bar {
        name: row.figure.clone(),
        estimate: Estimate {
            value: percent(row.ratio.value),
            interval: row.ratio.interval.map(|(low, high)| (percent(low), percent(high))),
        },
    };
    let bars: Vec<Bar> = rows.iter().map(bar).collect();
    let caption = Caption {
        name: "changes",
        title: "B as a share of A",
        note: "With its 95 % interval. More is better for rates, less for times.",
    };
    flight_chart::bars(&caption, &bars, Axis { label: "of A", unit: Unit::Percent })
}
