//! The page of a sweep: curves over one parameter, a map over two, the path of a search.

use flight_chart::{Axis, Bar, Caption, Curve, CurvePoint, Estimate, Grid, Unit};

use super::super::SweepResults;
use super::super::sweep::Sheet;
use super::super::{facts, tables};
use super::{Part, bullets, paragraph, strong, table, whole};
use crate::figure::{self, Figure};
use crate::sweep::Measure;

pub(in super::super) fn render(results: &SweepResults) -> String {
    let title = format!("flight-bench sweep: {}", results.command);
    whole(&title, &parts(results), &results.document().to_string())
}

fn parts(results: &SweepResults) -> Vec<Part> {
    let mut figures = paragraph(&format!("version {}", env!("CARGO_PKG_VERSION")));
    figures.extend(facts::ending(&results.outcome).map(|ending| strong(&ending)));
    figures.extend(results.reading().iter().map(|sentence| paragraph(sentence)));
    if results.have_figures() {
        figures.push_str(&charts(results));
        figures.push_str(&match &results.slo {
            Some(slo) => sheet("Search", &slo.sheet(&results.metric)),
            None => sheet("Settings", &results.sheet()),
        });
    } else {
        figures.push_str(&paragraph("Nothing was measured."));
    }
    let (environment, configuration) = facts::of_sweep(results);
    let told = table(&tables::facts("Environment", environment))
        + &table(&tables::facts("Configuration", configuration));
    let warnings: Vec<_> = results.warnings.iter().map(ToString::to_string).collect();
    let parts = [
        Part { heading: "Figures", html: figures },
        Part { heading: "Warnings", html: bullets(&warnings) },
        Part { heading: "Environment and configuration", html: told },
    ];
    parts.into_iter().filter(|part| !part.html.is_empty()).collect()
}

fn sheet(title: &str, sheet: &Sheet) -> String {
    let columns: Vec<_> = sheet.heads.iter().map(super::super::sweep::Head::column).collect();
    flight_chart::table(title, &columns, &sheet.rows)
}

fn charts(results: &SweepResults) -> String {
    if results.slo.is_some() {
        return path(results);
    }
    match &results.vary[..] {
        [_, _] => map(results),
        [one] => match one.sizes() {
            Some((sizes, measure)) => over(results, &sizes, measure),
            None => bars(results),
        },
        _ => String::new(),
    }
}

/// Curves over the sizes of one parameter.
fn over(results: &SweepResults, sizes: &[f64], measure: Measure) -> String {
    let name = results.vary[0].name.as_str();
    let across = Axis {
        label: name,
        unit: match measure {
            Measure::Count => Unit::Count(""),
            Measure::Bytes => Unit::Bytes,
            Measure::Nanoseconds => Unit::Nanoseconds,
            Measure::Percent => Unit::Percent,
        },
    };
    let judged = results.judged();
    let knee = judged.and_then(|judged| judged.knee).map(|knee| sizes[knee]);
    let held = results.held().and_then(|held| held.first()?.knee).map(|knee| sizes[knee]);
    let of = |figure: &Figure, name: &str, knee| Curve {
        name: name.to_owned(),
        points: points(results, figure, sizes),
        knee,
    };
    let mut html = String::new();
    if results.is_open() && !results.responses().is_empty() {
        let curves = results.responses();
        let curves = curves.iter().map(|(name, one)| of(one, name, held));
        // Rounds with too few events for a p99 have none at any load.
        let curves: Vec<Curve> = curves.filter(|curve| !curve.points.is_empty()).collect();
        let caption = Caption {
            name: "load",
            title: "Latency over load",
            note: "Response times count from when a call was due; over rounds, with 95 % intervals.",
        };
        let up = Axis { label: "response", unit: Unit::Nanoseconds };
        html.push_str(&flight_chart::curve(&caption, &curves, across, up));
    }
    // The latency of loads is above; what was taken in of them stands below it.
    let figure =
        if results.by_load { Figure::events(results.workload) } else { results.metric.clone() };
    let metric = figure.to_string();
    let caption = Caption {
        name: "sweep",
        title: &metric,
        note: "Geometric mean over rounds, with its 95 % interval.",
    };
    let curve = of(&figure, &metric, knee);
    html.push_str(&flight_chart::curve(&caption, &[curve], across, up(&figure)));
    html
}

fn points(results: &SweepResults, figure: &Figure, sizes: &[f64]) -> Vec<CurvePoint> {
    let point = |(index, x): (usize, &f64)| {
        let setting = &results.settings[index];
        let value = setting.estimate(figure)?.value;
        let y = Estimate { value, interval: setting.shown_interval(figure) };
        Some(CurvePoint { x: *x, y })
    };
    let mut points: Vec<CurvePoint> = sizes.iter().enumerate().filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}

/// Settings that have no sizes stand beside each other.
fn bars(results: &SweepResults) -> String {
    let bar = |(index, setting): (usize, &super::super::SweepSetting)| {
        let value = setting.estimate(&results.metric)?.value;
        let estimate = Estimate { value, interval: setting.shown_interval(&results.metric) };
        Some(Bar { name: results.label(index), estimate })
    };
    let bars: Vec<Bar> = results.settings.iter().enumerate().filter_map(bar).collect();
    let metric = results.metric.to_string();
    let caption = Caption {
        name: "sweep",
        title: &metric,
        note: "Geometric mean over rounds, with its 95 % interval.",
    };
    flight_chart::bars(&caption, &bars, up(&results.metric))
}

fn map(results: &SweepResults) -> String {
    let (down, across) = (&results.vary[0], &results.vary[1]);
    let width = across.values.len();
    let value = |index: usize| {
        let estimate = results.settings[index].estimate(&results.metric);
        estimate.map_or(f64::NAN, |one| one.value)
    };
    let row = |row: usize| (0..width).map(|column| value(row * width + column)).collect();
    let grid = Grid {
        column_label: across.name.clone(),
        columns: across.values.clone(),
        row_label: down.name.clone(),
        rows: down.values.clone(),
        values: (0..down.values.len()).map(row).collect(),
    };
    let metric = results.metric.to_string();
    let caption =
        Caption { name: "sweep", title: &metric, note: "Geometric mean over rounds of each pair." };
    flight_chart::heatmap(&caption, &grid, up(&results.metric))
}

/// What the search saw, by rate.
fn path(results: &SweepResults) -> String {
    let Some(slo) = &results.slo else { return String::new() };
    let point = |trial: &super::super::SloTrial| {
        let values = &trial.values;
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let value = flight_stats::median(values)?;
        let interval = (values.len() > 1).then_some((low, high));
        Some(CurvePoint { x: trial.rate, y: Estimate { value, interval } })
    };
    let curve = |name: &str, confirms: bool| {
        let trials = slo.trials.iter().filter(|trial| trial.confirms == confirms);
        let mut points: Vec<CurvePoint> = trials.filter_map(point).collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        Curve { name: name.to_owned(), points, knee: None }
    };
    let curves = [curve("probes", false), curve("confirming", true)];
    let metric = results.metric.to_string();
    let caption = Caption {
        name: "search",
        title: &metric,
        note: "Each rate that was tried; of several repeats the middle, with the range of all.",
    };
    let across = Axis { label: "rate", unit: Unit::Count("/s") };
    flight_chart::curve(&caption, &curves, across, up(&results.metric))
}

fn up(figure: &Figure) -> Axis<'static> {
    match figure.unit() {
        figure::Unit::BytesPerSecond => Axis { label: "throughput", unit: Unit::BytesPerSecond },
        figure::Unit::PerSecond => Axis { label: "rate", unit: Unit::Count("/s") },
        figure::Unit::Nanoseconds => Axis { label: "latency", unit: Unit::Nanoseconds },
        figure::Unit::Bytes => Axis { label: "memory", unit: Unit::Bytes },
        figure::Unit::Count => Axis { label: "count", unit: Unit::Count("") },
    }
}
