//! What the checks of a run say about it, and the exit code that follows.

use crate::exit::Exit;
use crate::progress::say;
use crate::report::Results;
use crate::threshold::{self, Threshold};

/// Judges `thresholds`; one that fails is the end of a run that was fine otherwise.
pub(crate) fn judge(thresholds: &[Threshold], results: &mut Results, base: Option<&Results>) {
    results.thresholds = threshold::judge(thresholds, results, base);
    let failed = results.thresholds.iter().filter(|threshold| !threshold.pass);
    for threshold in failed.clone() {
        say(&format!("flight-bench: threshold failed: {}: {}", threshold.expr, threshold.found()));
    }
    if failed.count() > 0 {
        worsen(&mut results.outcome.exit, Exit::Regressed);
    }
}

/// A run that failed or stopped early has ended by that, whatever its figures are.
pub(crate) fn worsen(exit: &mut Exit, found: Exit) {
    if *exit == Exit::Done || (*exit, found) == (Exit::Unsettled, Exit::Regressed) {
        *exit = found;
    }
}
