//! What the checks of a run say about it, and the exit code that follows.

use crate::cli::Format;
use crate::compare::{self, Comparison};
use crate::config::{Checks, Config, Output};
use crate::exit::{Exit, Stop};
use crate::progress::say;
use crate::report::{self, Results, Warning};
use crate::run;
use crate::threshold;

/// The run that `config` asks to compare with, by its name.
///
/// # Errors
///
/// It cannot be read or compared with, said before anything is measured.
pub(crate) fn base_of(config: &Config) -> Result<Option<(String, Results)>, Stop> {
    let checks = &config.checks;
    let base = checks
        .baseline
        .as_ref()
        .map(|baseline| compare::base_for(baseline, &run::run_record(config), &checks.judging));
    let base = base.transpose()?;
    if let Some((name, base)) = &base {
        compare::check_family(&checks.thresholds, config.load.repeats, (name, base))?;
    }
    Ok(base)
}

/// Judges a run by its thresholds and against its base; what fails is the end of a run that was
/// fine otherwise. A run that was broken off is not compared.
pub(crate) fn judge(
    checks: &Checks,
    results: &mut Results,
    base: Option<&(String, Results)>,
) -> Option<Comparison> {
    if !results.outcome.complete {
        return None;
    }
    results.thresholds = threshold::judge(&checks.thresholds, results, base.map(|(_, base)| base));
    if checks.judging.strict {
        let untrusted = |warning: &&Warning| report::is_untrusted(&warning.code);
        for warning in results.warnings.iter().filter(untrusted) {
            say(&format!("flight-bench: --strict: {warning}"));
            worsen(&mut results.outcome.exit, Exit::Unsettled);
        }
    }
    let failed = results.thresholds.iter().filter(|threshold| !threshold.pass);
    for threshold in failed.clone() {
        say(&format!("flight-bench: threshold failed: {}: {}", threshold.expr, threshold.found()));
    }
    if failed.count() > 0 {
        worsen(&mut results.outcome.exit, Exit::Regressed);
    }
    match compare::with_base(results, base?, checks) {
        Ok(comparison) => {
            worsen(&mut results.outcome.exit, comparison.exit(checks.judging.strict));
            Some(comparison)
        }
        Err(stop) => {
            say(&format!("flight-bench: --baseline: {stop}"));
            worsen(&mut results.outcome.exit, stop.exit);
            None
        }
    }
}

/// Shows a comparison below the report; beside it, where the report is for programs.
///
/// # Errors
///
/// Stdout is gone.
pub(crate) fn tell(comparison: &Comparison, output: &Output) -> anyhow::Result<()> {
    let text = comparison.text();
    if output.format == Format::Text {
        return report::print(&format!("\n{text}"));
    }
    if !output.quiet {
        say(text.trim_end());
    }
    Ok(())
}

/// A run that failed or stopped early has ended by that, whatever its figures are.
pub(crate) fn worsen(exit: &mut Exit, found: Exit) {
    if *exit == Exit::Done || (*exit, found) == (Exit::Unsettled, Exit::Regressed) {
        *exit = found;
    }
}
