//! Comparisons as people read them, within 100 columns, and as a Markdown table.

use flight_chart::Column;
use flight_stats::Verdict;

use super::Row;
use crate::report::markdown::escaped;
use crate::report::tables::Table;

/// Columns up to which cells stand two apart.
const COLUMNS: usize = 100;

const HEADS: [&str; 8] = ["", "A", "B", "B vs A", "95 % CI", "p", "sees", "verdict"];

/// Cells of a row, the first and the last from the left, the others from the right.
type Cells = [String; 8];

/// The table of `rows`, a line each.
pub(crate) fn text(rows: &[Row]) -> String {
    let cells: Vec<Cells> = std::iter::once(header()).chain(rows.iter().map(cells)).collect();
    let width = |column: usize| {
        cells.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..header().len()).map(width).collect();
    let gaps = header().len() - 1;
    let fits = widths.iter().sum::<usize>() + 2 * gaps <= COLUMNS;
    let gap = if fits { "  " } else { " " };
    let line = |row: &Cells| {
        let last = row.len() - 1;
        let cell = |(column, text): (usize, &String)| match column {
            0 => format!("{text:<0$}", widths[column]),
            _ if column == last => text.clone(),
            _ => format!("{text:>0$}", widths[column]),
        };
        let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join(gap);
        format!("{}\n", line.trim_end())
    };
    cells.iter().map(line).collect()
}

/// The same in Markdown.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let line =
        |row: &Cells| format!("| {} |\n", row.each_ref().map(|cell| escaped(cell)).join(" | "));
    let mut out = line(&header());
    out.push_str("|:--|--:|--:|--:|--:|--:|--:|:--|\n");
    out.extend(rows.iter().map(|row| line(&cells(row))));
    out
}

fn header() -> Cells {
    HEADS.map(str::to_owned)
}

fn cells(row: &Row) -> Cells {
    let interval = row
        .ratio
        .interval
        .map(|(lo, hi)| format!("[{:+.1}, {:+.1}]", percent_more(lo), percent_more(hi)));
    [
        row.figure.clone(),
        row.unit.show(row.base),
        row.unit.show(row.value),
        format!("{:+.1} %", percent_more(row.ratio.value)),
        interval.unwrap_or_else(|| "–".to_owned()),
        probability(row.p),
        row.detectable.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0)),
        name(row.verdict).to_owned(),
    ]
}

/// The same for a page.
pub(crate) fn dressed(rows: &[Row]) -> Table {
    let last = HEADS.len() - 1;
    let column = |(index, head): (usize, &'static str)| match index {
        0 => Column::Text(head),
        _ if index == last => Column::Text(head),
        _ => Column::Number(head),
    };
    Table {
        title: "B against A".to_owned(),
        columns: HEADS.into_iter().enumerate().map(column).collect(),
        rows: rows.iter().map(|row| cells(row).to_vec()).collect(),
    }
}

/// The verdict of this name.
pub(crate) fn verdict_of(name_of: &str) -> Option<Verdict> {
    let all = [Verdict::Improved, Verdict::Regressed, Verdict::Same, Verdict::Inconclusive];
    all.into_iter().find(|verdict| name(*verdict) == name_of)
}

/// As it stands in tables and documents.
pub(crate) fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Improved => "improved",
        Verdict::Regressed => "regressed",
        Verdict::Same => "same",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// `1.056` is 5.6 more; what rounds to none has no sign of less.
pub(crate) fn percent_more(ratio: f64) -> f64 {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() < 0.05 { 0.0 } else { percent }
}

/// `.029`, `<.001`, `1`.
pub(crate) fn probability(p: f64) -> String {
    match p {
        p if p < 0.001 => "<.001".to_owned(),
        p if p > 0.9995 => "1".to_owned(),
        p => format!("{p:.3}").trim_start_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use flight_stats::Estimate;

    use super::*;
    use crate::figure::Unit;

    fn row(figure: &str, unit: Unit, [base, value]: [f64; 2], p: f64, verdict: Verdict) -> Row {
        let ratio = value / base;
        Row {
            figure: figure.to_owned(),
            unit,
            base,
            value,
            ratio: Estimate { value: ratio, interval: Some((ratio - 0.02, ratio + 0.02)) },
            p,
            verdict,
            detectable: Some(0.019),
            pairs_further: None,
            band: 0.03,
            floor: None,
            gates: true,
        }
    }

    fn rows() -> [Row; 3] {
        use Unit::{BytesPerSecond, Nanoseconds};
        [
            row("get.bytes_per_s", BytesPerSecond, [2.31e9, 2.44e9], 0.002, Verdict::Improved),
            row("get.stream.p99", Nanoseconds, [311e3, 299e3], 0.68, Verdict::Inconclusive),
            row("put.first_ack.p99", Nanoseconds, [1e6, 1e6], 1.0, Verdict::Same),
        ]
    }

    #[test]
    fn columns_stand_below_each_other() {
        let want = "
                           A          B  B vs A       95 % CI     p   sees  verdict
get.bytes_per_s    2310 MB/s  2440 MB/s  +5.6 %  [+3.6, +7.6]  .002  1.9 %  improved
get.stream.p99        311 µs     299 µs  -3.9 %  [-5.9, -1.9]  .680  1.9 %  inconclusive
put.first_ack.p99    1.00 ms    1.00 ms  +0.0 %  [-2.0, +2.0]     1  1.9 %  same
";
        assert_eq!(format!("\n{}", text(&rows())), want);
    }

    #[test]
    fn markdown_has_the_same_cells() {
        let got = markdown(&rows());
        let want = "| get.bytes\\_per\\_s | 2310 MB/s | 2440 MB/s | +5.6 % | \\[+3.6, +7.6\\] | .002 | \
                    1.9 % | improved |";
        assert_eq!(got.lines().nth(2), Some(want));
        assert_eq!(got.lines().count(), 5);
        let odd = Row { figure: "a|b\n<i>".to_owned(), ..rows()[0].clone() };
        let got = markdown(&[odd]);
        assert_eq!(got.lines().count(), 3, "{got}");
        assert!(got.contains("| a\\|b &lt;i> | 2310 MB/s |"), "{got}");
    }
}
