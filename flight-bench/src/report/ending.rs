//! What stands below the figures of every text report: warnings, thresholds, and how a run ended.

use super::lines::{COLUMNS, counted, line, wrapped};
use super::results::Results;
use super::threshold;
use super::warning::Warning;

/// Whether the reason of a failed run is part of the report, or told beside it on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    InReport,
    OnStderr,
}

/// What is to be known about the figures; that the run failed or stopped early, if it did. A report
/// without a figure says so by itself.
pub(super) fn ending(out: &mut String, results: &Results, reason: Reason) {
    if results.have_figures() {
        let how = format!("'flight-bench report {} --format md', or --out FILE.html", results.id);
        warnings(out, &results.warnings, &how);
    }
    threshold::lines(out, &results.thresholds);
    let Some(error) = &results.outcome.error else { return };
    let what = if results.outcome.complete { "FAILED" } else { "NOT COMPLETE" };
    match reason {
        Reason::InReport => line(out, &format!("{what}: {error}")),
        Reason::OnStderr if results.have_figures() => line(out, what),
        Reason::OnStderr => {}
    }
}

/// Warnings that the text shows; all of them are in the other forms.
const WARNINGS_SHOWN: usize = 5;

/// The gravest warnings, two lines each, and how to see the others.
pub(crate) fn warnings(out: &mut String, warnings: &[Warning], how: &str) {
    let shown = warnings.len().min(WARNINGS_SHOWN);
    for warning in &warnings[..shown] {
        wrapped(out, "! ", "  ", &warning.seen(COLUMNS - 2));
        if let Some(advice) = warning.advice() {
            wrapped(out, "  ", "  ", &advice);
        }
    }
    let more = warnings.len() - shown;
    if more > 0 {
        line(out, &format!("! {}: {how}", counted(more, "more warning")));
    }
}
