//! What became of thresholds, a line each.

use super::lines::line;
use crate::compare::probability;
use crate::figure::Unit;
use crate::threshold::{P_MAX, ThresholdRecord};

pub(super) fn lines(out: &mut String, thresholds: &[ThresholdRecord]) {
    for told in of_thresholds(thresholds) {
        line(out, &told);
    }
}

/// What became of each, and over how many they were corrected.
pub(crate) fn of_thresholds(thresholds: &[ThresholdRecord]) -> Vec<String> {
    let told = thresholds.iter().map(|threshold| {
        let verdict = if threshold.pass { "pass" } else { "FAIL" };
        format!("{verdict}  {}: {}", threshold.expr, threshold.found())
    });
    let family = thresholds.iter().filter(|threshold| threshold.p.is_some()).count();
    let note = (family > 1).then(|| {
        format!(
            "p of thresholds: Mann-Whitney, one-sided; Holm over {family} against the base; up to \
             {} fails",
            probability(P_MAX)
        )
    });
    told.chain(note).collect()
}

impl ThresholdRecord {
    /// `131 MB/s (129 MB/s to 133 MB/s)`, and p of a change from the base.
    pub(crate) fn found(&self) -> String {
        let Some(value) = self.value else { return "not measured".to_owned() };
        let shown = |value: f64| match Unit::of_name(&self.unit) {
            Some(unit) => unit.show(value),
            None => format!("{value:+.1} {}", self.unit),
        };
        let p = self.p.map_or_else(String::new, |p| format!(" · p {}", probability(p)));
        match (self.lo, self.hi) {
            (Some(lo), Some(hi)) => format!("{} ({} to {}){p}", shown(value), shown(lo), shown(hi)),
            _ => shown(value) + &p,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Workload;
    use crate::report::tests::single;

    #[test]
    fn each_threshold_is_a_line_with_its_value() {
        check("get.bytes_per_s < 1MB/s", "pass  get.bytes_per_s < 1MB/s: 131 MB/s (131 MB/s to ");
        check("get.bytes_per_s < 1GB/s", "FAIL  get.bytes_per_s < 1GB/s: 131 MB/s");
        check("errors > 0", "pass  errors > 0: 0\n");
        check("put.ack.p99.9 > 5ms", "FAIL  put.ack.p99.9 > 5ms: not measured\n");
    }

    fn check(expr: &str, want: &str) {
        let threshold = expr.parse().expect("an expression");
        let judged = crate::threshold::judge(&[threshold], &single(Workload::Get), None);
        let mut out = String::new();
        lines(&mut out, &judged);
        assert!(out.starts_with(want), "{out}");
    }
}
