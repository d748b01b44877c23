//! Prints a page with every chart on made-up data: `cargo run --example gallery > gallery.html`.

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use flight_chart::{
    Axis, Bar, Better, Caption, Column, Curve, CurvePoint, Estimate, Grid, Pairs, SCRIPT, STYLE,
    Section, Series, Unit, Variant, bars, curve, heatmap, ladder, lines, page, percentiles, slopes,
    stacked, strip, table, timeline,
};

const RATE: Axis<'_> = Axis { label: "throughput", unit: Unit::BytesPerSecond };

fn main() {
    let over_time = [repeats(), streams(), busy()].concat();
    let latencies = [spectrum(), load()].concat();
    let compared = [variants(), pairs()].concat();
    let parts = [fairness(), layers(), steps()].concat();
    let swept = [cells(), batch_rows()].concat();
    let rest = [numbers(), lines(&caption("nothing", "A chart of nothing"), &[], RATE)].concat();
    let sections = [
        Section { heading: "Over time", html: &over_time },
        Section { heading: "Latency", html: &latencies },
        Section { heading: "Repeats and pairs", html: &compared },
        Section { heading: "Parts", html: &parts },
        Section { heading: "Sweeps", html: &swept },
        Section { heading: "Numbers", html: &rest },
    ];
    let title = "Gallery: get --shape '<perf4>' & friends";
    println!("{}", page(title, &sections, r#"{"a":"</script>"}"#, STYLE, SCRIPT));
}

fn caption<'a>(name: &'a str, title: &'a str) -> Caption<'a> {
    Caption { name, title, note: "Made-up data." }
}

/// Noise between -1 and 1 that is the same every time.
fn noise(index: usize) -> f64 {
    let mixed = (index as u32).wrapping_add(17).wrapping_mul(2_654_435_769);
    f64::from((mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519)) / f64::from(u32::MAX) * 2.0 - 1.0
}

fn series(name: &str, count: usize, y: impl Fn(usize) -> f64) -> Series {
    let points = (0..count).map(|index| (index as f64 * 0.01, y(index))).collect();
    Series { name: name.to_owned(), points }
}

fn repeats() -> String {
    let repeat = |n: usize| {
        series(&format!("repeat {}", n + 1), 300, move |at| match (n, at) {
            (1, 120..150) => f64::NAN,
            _ => 2.3e9 + n as f64 * 4e7 + 1.5e8 * noise(at + 1_000 * n),
        })
    };
    lines(&caption("throughput", "Throughput by repeat"), &[0, 1, 2].map(repeat), RATE)
}

fn streams() -> String {
    let stream = |n: usize| {
        series(&format!("stream {n}"), 60, move |at| 2.9e8 + 5e7 * noise(at / 3 + 77 * n))
    };
    let all: Vec<_> = (0..12).map(stream).collect();
    stacked(&caption("streams", "Throughput by stream"), &all, RATE)
}

fn busy() -> String {
    let client = series("client", 90, |at| 0.95 + 0.04 * noise(at));
    let server = series("server", 90, |at| 1.01 + 0.06 * noise(at + 500));
    timeline(&caption("cpu", "CPU of both ends"), &[client, server])
}

fn spectrum() -> String {
    let one = |name: &str, base: f64, tail: f64| {
        let point = |step: usize| {
            let nines = step as f64 / 20.0;
            (1.0 - 10_f64.powf(-nines), base * (1.0 + 0.2 * nines) + tail * nines.powi(3))
        };
        Series { name: name.to_owned(), points: (0..=90).map(point).collect() }
    };
    let all = [one("response", 90e3, 30e3), one("service", 70e3, 9e3), one("lag", 4e3, 2e3)];
    percentiles(&caption("latency", "Latency by percentile"), &all)
}

fn load() -> String {
    let one = |name: &str, base: f64, most: f64| {
        let point = |step: i32| {
            let x = 1_000.0 * 2_f64.powi(step);
            let value = base / (1.0 - (x / most).min(0.97));
            let interval = Some((value * 0.85, value * 1.2));
            CurvePoint { x, y: Estimate { value, interval } }
        };
        let points = (0..8).map(point).collect();
        Curve { name: name.to_owned(), points, knee: Some(most / 2.0) }
    };
    let curves = [one("p50", 80e3, 130e3), one("p99", 310e3, 128e3)];
    let x = Axis { label: "offered load", unit: Unit::Count("batches/s") };
    let y = Axis { label: "latency", unit: Unit::Nanoseconds };
    curve(&caption("load", "Latency against load"), &curves, x, y)
}

fn variants() -> String {
    let one = |(n, name): (usize, &str)| {
        let repeats = (0..8).map(|at| 2.2e9 + n as f64 * 1.1e8 + 5e7 * noise(at + 40 * n));
        let repeats: Vec<_> = repeats.collect();
        let value = repeats.iter().sum::<f64>() / repeats.len() as f64;
        let interval = Some((value - 3e7, value + 3e7));
        Variant { name: name.to_owned(), repeats, estimate: Some(Estimate { value, interval }) }
    };
    let names = ["main@1a2b3c", "pr@9f8e7d", "--streams 16 --shape 'a very long command line'"];
    let all: Vec<_> = names.into_iter().enumerate().map(one).collect();
    strip(&caption("repeats", "Repeats by variant"), &all, RATE)
}

fn pairs() -> String {
    let pair = |at| {
        let a = 2.31e9 + 3e7 * noise(at);
        (a, a + 6e7 + 9e7 * noise(at + 99))
    };
    let pairs = Pairs {
        a: "main@1a2b3c".to_owned(),
        b: "pr@9f8e7d".to_owned(),
        values: (0..10).map(pair).collect(),
        mean: None,
        better: Better::Higher,
    };
    slopes(&caption("pairs", "A against B, pair by pair"), &pairs, RATE)
}

fn bar(name: &str, value: f64) -> Bar {
    let estimate = Estimate { value, interval: Some((value * 0.96, value * 1.05)) };
    Bar { name: name.to_owned(), estimate }
}

fn fairness() -> String {
    let all: Vec<_> =
        (0..8).map(|n| bar(&format!("stream {n}"), 2.9e8 + 3e7 * noise(n + 7))).collect();
    bars(&caption("fairness", "Throughput by stream"), &all, RATE)
}

fn layers() -> String {
    let names = ["socket writes", "HTTP/2 framing", "TLS records", "Arrow encoding", "unmeasured"];
    let values = [23.1e3, 8.4e3, 31.7e3, 2.2e3, f64::NAN];
    let all: Vec<_> = names.into_iter().zip(values).map(|(name, value)| bar(name, value)).collect();
    let axis = Axis { label: "CPU per batch", unit: Unit::Nanoseconds };
    bars(&caption("layers", "CPU by layer"), &all, axis)
}

fn steps() -> String {
    let names = ["memory copy", "raw TCP", "gRPC no-op", "Flight, no data", "Flight DoGet"];
    let values = [7.9e9, 3.79e9, 2.75e9, 2.81e9, 2.31e9];
    let all: Vec<_> = names.into_iter().zip(values).map(|(name, value)| bar(name, value)).collect();
    ladder(&caption("ladder", "What each step costs"), &all, RATE)
}

fn cells() -> String {
    let rows: Vec<_> = [1, 2, 4, 8, 16].map(|n| n.to_string()).to_vec();
    let columns: Vec<_> = [256, 1024, 4096, 16_384, 65_536].map(|n| n.to_string()).to_vec();
    let value = |row: usize, column: usize| match (row, column) {
        (4, 4) => f64::NAN,
        _ => {
            2.6e9 * (1.0 - 0.7 * 0.5_f64.powi((row + column) as i32))
                + 5e7 * noise(row * 9 + column)
        }
    };
    let values = (0..5).map(|row| (0..5).map(|column| value(row, column)).collect()).collect();
    let (row_label, column_label) = ("streams".to_owned(), "rows of a batch".to_owned());
    let grid = Grid { column_label, columns, row_label, rows, values };
    heatmap(&caption("sweep", "Throughput by streams and batch size"), &grid, RATE)
}

fn batch_rows() -> String {
    let point = |step: i32| {
        let x = 64.0 * 2_f64.powi(step);
        let value = 2.6e9 * x / (x + 700.0);
        CurvePoint { x, y: Estimate { value, interval: Some((value - 8e7, value + 8e7)) } }
    };
    let points = (0..12).map(point).collect();
    let one = Curve { name: "get".to_owned(), points, knee: Some(4096.0) };
    let x = Axis { label: "batch", unit: Unit::Count("rows") };
    curve(&caption("batch-rows", "Throughput by batch size"), &[one], x, RATE)
}

fn numbers() -> String {
    let columns = [Column::Text("metric"), Column::Number("p50"), Column::Number("p99")];
    let row = |name: &str, p50: f64, p99: f64| {
        vec![name.to_owned(), Unit::Nanoseconds.show(p50), Unit::Nanoseconds.show(p99)]
    };
    let rows = [row("first batch", 412e3, 1.31e6), row("delivery <&>", 98e3, 311e3)];
    table("Latency", &columns, &rows)
}
