//! The long CSV of a sweep: the columns of every run's, a variant being a setting.

use super::super::csv::{HEADER, Place};
use super::{Side, SweepResults};
use crate::figure::Figure;

pub(super) fn render(results: &SweepResults) -> String {
    let mut out = HEADER.to_owned();
    let started = results.started_text().unwrap_or_default();
    for (index, setting) in results.settings.iter().enumerate() {
        let label = results.label(index);
        let place = Place {
            run_id: &started,
            label: &results.command,
            command: "sweep",
            variant: &label,
            repeat: None,
        };
        for point in &setting.points {
            let place = Place { repeat: Some(point.round), ..place };
            for (figure, value) in &point.values {
                let name = figure.to_string();
                place.row(&mut out, &name, "value", Some(*value), figure.unit().name());
            }
            place.row(&mut out, "offered", "value", point.offered, "1/s");
            let saturated = point.saturated.map(|saturated| if saturated { 1.0 } else { 0.0 });
            place.row(&mut out, "saturated", "value", saturated, "");
        }
        for figure in results.figures_told() {
            let name = figure.to_string();
            let estimate = setting.estimate(&figure);
            let (low, high) = estimate.and_then(|one| one.interval).unzip();
            let values = [("est", estimate.map(|one| one.value)), ("lo", low), ("hi", high)];
            for (stat, value) in values {
                place.row(&mut out, &name, stat, value, figure.unit().name());
            }
        }
        let unit = if results.workload.moves_batches() { "s/GB" } else { "ns" };
        for (side, name) in [(Side::Client, "client.cpu"), (Side::Server, "server.cpu")] {
            place.row(&mut out, name, "median", setting.cost(results.workload, side), unit);
        }
    }
    trials(&mut out, results, &started);
    out
}

fn trials(out: &mut String, results: &SweepResults, started: &str) {
    let Some(slo) = &results.slo else { return };
    let metric = results.metric.to_string();
    let unit = results.metric.unit().name();
    for (index, trial) in slo.trials.iter().enumerate() {
        let variant = if trial.confirms { "confirm" } else { "probe" };
        let place = Place {
            run_id: started,
            label: &results.command,
            command: "sweep",
            variant,
            repeat: Some(index),
        };
        place.row(out, "rate", "value", Some(trial.rate), "1/s");
        for achieved in &trial.achieved {
            place.row(out, "achieved", "value", Some(*achieved), "1/s");
        }
        for value in &trial.values {
            place.row(out, &metric, "value", Some(*value), unit);
        }
        place.row(out, "holds", "value", Some(if trial.holds { 1.0 } else { 0.0 }), "");
    }
}

impl SweepResults {
    /// The figures of which documents have estimates: the throughput, and what settings are judged by.
    pub(super) fn figures_told(&self) -> Vec<Figure> {
        let mut told = vec![self.throughput()];
        if self.is_open() {
            told.push(Figure::events(self.workload));
            told.extend(self.responses().into_iter().map(|(_, figure)| figure));
        }
        told.push(self.metric.clone());
        let mut once: Vec<Figure> = Vec::new();
        for figure in told {
            if !once.contains(&figure) {
                once.push(figure);
            }
        }
        once
    }
}
