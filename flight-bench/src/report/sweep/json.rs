//! The JSON document of a sweep, `flight-bench.sweep/1`; docs/flight-bench.sweep.schema.json
//! describes it.

use flight_stats::Estimate;
use serde_json::{Map, Value, json};

use super::super::json::tool;
use super::held::Held;
use super::{SloResults, SweepPoint, SweepResults, SweepSetting};
use crate::figure::Figure;
use crate::sweep::Answer;

pub(super) const SCHEMA: &str = "flight-bench.sweep/1";

pub(super) fn render(results: &SweepResults) -> String {
    format!("{:#}\n", results.document())
}

impl SweepResults {
    pub(in super::super) fn document(&self) -> Value {
        let settings = self.settings.iter().map(|setting| self.setting(setting));
        let judged = self.judged().map(|judged| {
            json!({
                "best": judged.best,
                "knee": judged.knee,
                "near": judged.near,
                "rivals": judged.rivals,
                "rounds": judged.rounds,
            })
        });
        let held = self.held().map(|all| {
            let one = |held: &Held| {
                json!({
                    "at": held.at,
                    "highest": held.highest,
                    "broke": held.broke,
                    "knee": held.knee,
                })
            };
            all.iter().map(one).collect::<Vec<_>>()
        });
        let vary = self.vary.iter().map(|vary| json!({ "name": vary.name, "values": vary.values }));
        json!({
            "schema": SCHEMA,
            "started": self.started_text(),
            "complete": self.outcome.complete,
            "exit": self.outcome.exit.code(),
            "error": self.outcome.error,
            "tool": tool(),
            "target": self.server,
            "env": { "host": self.host },
            "command": self.command,
            "workload": self.workload.name(),
            "metric": { "name": self.metric.to_string(), "unit": self.metric.unit().name() },
            "rounds": self.rounds,
            "order_seed": self.seed,
            "vary": vary.collect::<Vec<_>>(),
            "settings": settings.collect::<Vec<_>>(),
            "judged": judged,
            "held": held,
            "slo": self.slo.as_ref().map(slo),
            "reading": self.reading(),
            "warnings": self.warnings,
        })
    }

    fn setting(&self, setting: &SweepSetting) -> Value {
        let values = self.vary.iter().zip(&setting.values);
        let values: Map<String, Value> =
            values.map(|(vary, value)| (vary.name.clone(), json!(value))).collect();
        let summary = self.figures_told().into_iter();
        let summary: Map<String, Value> = summary
            .map(|figure| (figure.to_string(), estimate(setting.estimate(&figure), &figure)))
            .collect();
        json!({
            "values": values,
            "config": setting.record,
            "summary": summary,
            "saturated_rounds": setting.saturated(),
            "points": setting.points.iter().map(point).collect::<Vec<_>>(),
        })
    }
}

fn estimate(estimate: Option<Estimate>, figure: &Figure) -> Value {
    let (low, high) = estimate.and_then(|one| one.interval).unzip();
    json!({
        "est": estimate.map(|one| one.value),
        "lo": low,
        "hi": high,
        "unit": figure.unit().name(),
    })
}

fn point(point: &SweepPoint) -> Value {
    let figures: Map<String, Value> =
        point.values.iter().map(|(figure, value)| (figure.to_string(), json!(value))).collect();
    json!({
        "round": point.round,
        "order": point.order,
        "offered": point.offered,
        "saturated": point.saturated,
        "figures": figures,
        "cost": point.costs,
    })
}

fn slo(slo: &SloResults) -> Value {
    let trial = |trial: &super::SloTrial| {
        json!({
            "rate": trial.rate,
            "confirms": trial.confirms,
            "achieved": trial.achieved,
            "values": trial.values,
            "behind": trial.behind,
            "errors": trial.errors,
            "holds": trial.holds,
        })
    };
    let (kind, rate, probed, broke) = match slo.answer {
        None => (None, None, None, None),
        Some(Answer::Holds { rate, broke }) => (Some("holds"), Some(rate), None, broke),
        Some(Answer::Never { least }) => (Some("never"), None, None, Some(least)),
        Some(Answer::Unconfirmed { probed, broke }) => {
            (Some("unconfirmed"), None, Some(probed), Some(broke))
        }
    };
    json!({
        "expr": slo.expr,
        "closed_loop": slo.ceiling,
        "least": slo.least,
        "least_is_of_events": slo.least_is_of_events,
        "trials": slo.trials.iter().map(trial).collect::<Vec<_>>(),
        "answer": kind,
        "rate": rate,
        "probed": probed,
        "broke": broke,
    })
}
