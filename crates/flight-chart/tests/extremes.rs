//! Whatever the numbers, every chart is whole and all its coordinates are finite.

use flight_chart::{
    Axis, Bar, Better, Caption, Curve, CurvePoint, Estimate, Grid, Pairs, Series, Unit, Variant,
    bars, curve, heatmap, ladder, lines, percentiles, slopes, stacked, strip, timeline,
};

const CAPTION: Caption<'_> = Caption { name: "extreme", title: "Extreme", note: "" };
const RATE: Axis<'_> = Axis { label: "rate", unit: Unit::BytesPerSecond };

/// Numbers that divide by nothing, overflow, or are none.
const NUMBERS: [f64; 13] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1.0 + f64::EPSILON,
    1e-300,
    f64::MIN_POSITIVE,
    1e30,
    -1e30,
    f64::MAX,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Draws the chart of each pair of numbers, and looks for what is not finite.
fn check(chart: impl Fn(f64, f64) -> String) {
    for a in NUMBERS {
        for b in NUMBERS {
            let html = chart(a, b);
            assert!(html.ends_with("</figure>\n"), "{a} {b}: {html}");
            for bad in ["NaN", "inf"] {
                assert!(!html.contains(bad), "{a} {b}: {bad} in {html}");
            }
            let coordinates = html.split(['"', ' ', ',']).filter_map(|part| part.parse().ok());
            let largest = coordinates.fold(0.0, |most: f64, number: f64| most.max(number.abs()));
            assert!(largest <= 4096.0, "{a} {b}: {largest} pixels in {html}");
        }
    }
}

fn estimate(a: f64, b: f64) -> Estimate {
    Estimate { value: a, interval: Some((b, a)) }
}

#[test]
fn series_take_any_number() {
    let series = |a, b| [Series { name: "one".into(), points: vec![(0.0, a), (1.0, b), (b, a)] }];
    check(|a, b| lines(&CAPTION, &series(a, b), RATE));
    check(|a, b| stacked(&CAPTION, &series(a, b), RATE));
    check(|a, b| timeline(&CAPTION, &series(a, b)));
    let latencies = |a, b| Series { name: "one".into(), points: vec![(0.5, a), (b, a), (0.99, b)] };
    check(|a, b| percentiles(&CAPTION, &[latencies(a, b)]));
}

#[test]
fn rows_take_any_number() {
    let rows = |a, b| [a, b].map(|value| Bar { name: "one".into(), estimate: estimate(value, a) });
    check(|a, b| bars(&CAPTION, &rows(a, b), RATE));
    check(|a, b| ladder(&CAPTION, &rows(a, b), RATE));
    check(|a, b| {
        let repeats = vec![a, b];
        let one = Variant { name: "one".into(), repeats, estimate: Some(estimate(a, b)) };
        strip(&CAPTION, &[one], RATE)
    });
}

#[test]
fn pairs_take_any_number() {
    check(|a, b| {
        let values = vec![(a, b), (b, a)];
        let pairs =
            Pairs { a: "A".into(), b: "B".into(), values, mean: None, better: Better::Lower };
        slopes(&CAPTION, &pairs, RATE)
    });
}

#[test]
fn sweeps_take_any_number() {
    let x = Axis { label: "batch", unit: Unit::Count("rows") };
    check(|a, b| {
        let points = [(a, b), (b, a), (2.0, b)];
        let points = points.map(|(x, y)| CurvePoint { x, y: estimate(y, x) }).to_vec();
        curve(&CAPTION, &[Curve { name: "one".into(), points, knee: Some(a) }], x, RATE)
    });
    check(|a, b| {
        let grid = Grid {
            column_label: "x".into(),
            columns: vec!["1".into(), "2".into()],
            row_label: "y".into(),
            rows: vec!["1".into()],
            values: vec![vec![a, b]],
        };
        heatmap(&CAPTION, &grid, RATE)
    });
}
