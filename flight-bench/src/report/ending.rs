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
        let how = "--format md or --out FILE.html has all of them, with 'flight-bench report' too, \
                   for a run that was kept";
        warnings(out, &results.warnings, how);
    }
    threshold::lines(out, &results.thresholds);
    let Some(error) = &results.outcome.error else { return };
    let what = if results.outcome.complete { "FAILED" } else { "NOT COMPLETE" };
    match reason {
        Reason::InReport => wrapped(out, "", "  ", &format!("{what}: {error}")),
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
        wrapped(out, "! ", "  ", &format!("{}: {how}", counted(more, "more warning")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Workload;
    use crate::report::tests::single;

    #[test]
    fn a_long_reason_stays_within_the_columns_and_whole() {
        let mut run = single(Workload::Get);
        let reason = "cannot reach grpc://h:1 at all; ".repeat(12);
        run.outcome.error = Some(reason.trim_end().to_owned());
        run.outcome.complete = false;
        let mut out = String::new();
        ending(&mut out, &run, Reason::InReport);
        assert!(out.lines().all(|line| line.chars().count() <= COLUMNS), "{out}");
        let words: Vec<&str> = out.split_whitespace().collect();
        assert!(
            words.join(" ").ends_with(&format!("NOT COMPLETE: {}", reason.trim_end())),
            "{out}"
        );
    }
}
