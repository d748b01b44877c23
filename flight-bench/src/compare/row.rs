//! One figure of two sides: how far apart they are, and what may be said of it.

use flight_stats::{
    Band, Confidence, Estimate, Pairs, Rule, StatsError, Verdict, compare_unpaired,
    detectable_effect, deviation, geometric_mean, holm, judge,
};

use crate::figure::{Figure, Unit};

/// The comparison of one figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) figure: String,
    pub(crate) unit: Unit,
    /// Geometric means of both sides.
    pub(crate) base: f64,
    pub(crate) value: f64,
    /// Value over base.
    pub(crate) ratio: Estimate,
    /// Two-sided, as if it were the only question once [`corrected`].
    pub(crate) p: f64,
    pub(crate) verdict: Verdict,
    /// The smallest difference that 80 % of such comparisons would find, as a share.
    pub(crate) detectable: Option<f64>,
    /// Pairs more that would settle it, where there are pairs.
    pub(crate) pairs_further: Option<usize>,
    /// Differences that count as none, as a share.
    pub(crate) band: f64,
    /// Whether the verdict decides the exit code.
    pub(crate) gates: bool,
}

impl Row {
    /// Compares sides that share no rounds.
    ///
    /// # Errors
    ///
    /// Fewer repeats than a rank test needs, or a repeat in which nothing was moved.
    pub(crate) fn unpaired(
        figure: &Figure,
        values: &[f64],
        base: &[f64],
        equivalence: Band,
    ) -> Result<Self, StatsError> {
        let found = compare_unpaired(values, base, Confidence::P95)?;
        let band = figure.band(equivalence);
        let verdict = Verdict::of_interval(found.ratio.interval, band, figure.direction());
        // As many pairs as the smaller side has, were they drawn at random.
        let spread = spread(values).zip(spread(base)).map(|(left, right)| left.hypot(right));
        let pairs = values.len().min(base.len());
        let detectable =
            spread.and_then(|spread| detectable_effect(pairs, spread, Confidence::P95));
        let row = Self::new(figure, (values, base), found.ratio, band);
        Ok(Self { p: found.p, verdict, detectable, ..row })
    }

    /// Compares sides that were measured in pairs.
    ///
    /// # Errors
    ///
    /// Sides of different length, or a run in which nothing was moved.
    pub(crate) fn paired(
        figure: &Figure,
        values: &[f64],
        base: &[f64],
        equivalence: Band,
    ) -> Result<Self, StatsError> {
        let pairs = Pairs::new(values, base)?;
        let band = figure.band(equivalence);
        let rule = Rule { confidence: Confidence::P95, band, direction: figure.direction() };
        let found = judge(&pairs, rule, SEED);
        let detectable = deviation(pairs.log_ratios())
            .and_then(|spread| detectable_effect(pairs.count(), spread, Confidence::P95));
        let row = Self::new(figure, (values, base), found.ratio, band);
        let (p, verdict, pairs_further) = (found.p, found.verdict, found.pairs_further);
        Ok(Self { p, verdict, detectable, pairs_further, ..row })
    }

    fn new(figure: &Figure, (values, base): (&[f64], &[f64]), ratio: Estimate, band: Band) -> Self {
        let mean = |of: &[f64]| geometric_mean(of, Confidence::P95).map_or(0.0, |mean| mean.value);
        Self {
            figure: figure.to_string(),
            unit: figure.unit(),
            base: mean(base),
            value: mean(values),
            ratio,
            p: 1.0,
            verdict: Verdict::Inconclusive,
            detectable: None,
            pairs_further: None,
            band: band.bounds().1 - 1.0,
            gates: figure.gates(),
        }
    }
}

/// Signs are drawn above sixteen pairs: the same ones each time.
const SEED: u64 = 1;

/// Corrects the p values (Holm): those that gate are one set of questions, all others another. A
/// difference that chance makes as often once so many were looked for is not called one.
pub(crate) fn corrected(mut rows: Vec<Row>) -> Vec<Row> {
    for gates in [true, false] {
        let mut set: Vec<&mut Row> = rows.iter_mut().filter(|row| row.gates == gates).collect();
        let asked: Vec<f64> = set.iter().map(|row| row.p).collect();
        for (row, p) in set.iter_mut().zip(holm(&asked).unwrap_or(asked)) {
            row.p = p;
            let differs = matches!(row.verdict, Verdict::Improved | Verdict::Regressed);
            if differs && p > Confidence::P95.alpha() {
                row.verdict = Verdict::Inconclusive;
            }
        }
    }
    rows
}

/// The deviation of the logarithms.
fn spread(values: &[f64]) -> Option<f64> {
    deviation(&values.iter().map(|value| value.ln()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use Verdict::{Improved, Inconclusive, Regressed, Same};

    use super::*;

    const BASE: [f64; 5] = [100.0, 101.0, 102.0, 103.0, 104.0];

    #[test]
    fn sides_that_do_not_overlap_differ_in_the_direction_of_the_figure() {
        let slow = BASE.map(|value| value * 0.8);
        check("get.bytes_per_s", &slow, &BASE, Regressed);
        check("get.wait.p50", &slow, &BASE, Improved);
        check("get.bytes_per_s", &BASE, &slow, Improved);
        check("get.bytes_per_s", &BASE.map(|value| value * 1.001), &BASE, Same);
        check("get.bytes_per_s", &BASE.map(|value| value * 0.95), &BASE, Inconclusive);
    }

    #[test]
    fn the_shift_and_its_p_are_those_of_rank_tests() {
        let slow = BASE.map(|value| value - 20.0);
        let row = unpaired("get.bytes_per_s", &slow, &BASE);
        // 2 of C(10, 5) = 252 assignments are as extreme; 82 of 102 is the middle ratio.
        assert!((row.p - 2.0 / 252.0).abs() < 1e-12, "{row:?}");
        assert!((row.ratio.value - 82.0 / 102.0).abs() < 1e-4, "{row:?}");
        assert!(row.gates && row.detectable.is_some_and(|share| share < 0.06), "{row:?}");
    }

    #[test]
    fn three_repeats_are_too_few() {
        let figure = Figure::parse("get.bytes_per_s").expect("a name");
        let got = Row::unpaired(&figure, &BASE[..3], &BASE, band());
        assert!(matches!(got, Err(StatsError::TooFew { needed: 4, .. })), "{got:?}");
    }

    #[test]
    fn many_figures_need_more_evidence_each_and_the_gate_needs_none() {
        let slow = BASE.map(|value| value * 0.5);
        let one = |name: &str| unpaired(name, &slow, &BASE);
        let many: Vec<Row> = std::iter::once(one("get.bytes_per_s"))
            .chain(std::iter::repeat_n(one("get.wait.p99"), 7))
            .collect();
        let rows = corrected(many);
        assert_eq!((rows[0].verdict, rows[1].verdict), (Regressed, Inconclusive));
        // Seven times 2/252 is more than 0.05; six times is not.
        assert!((rows[1].p - 14.0 / 252.0).abs() < 1e-12, "{}", rows[1].p);
        let few = corrected(vec![one("get.wait.p99"); 6]);
        assert_eq!(few[0].verdict, Improved);
    }

    #[test]
    fn pairs_that_agree_are_judged_together() {
        let base = [100.0, 120.0, 90.0, 110.0, 105.0, 95.0];
        let drop = [0.90, 0.91, 0.89, 0.90, 0.92, 0.88];
        let slow: Vec<f64> = base.iter().zip(drop).map(|(base, drop)| base * drop).collect();
        let figure = Figure::parse("get.bytes_per_s").expect("a name");
        let row = Row::paired(&figure, &slow, &base, band()).expect("six pairs");
        assert_eq!((row.verdict, row.pairs_further), (Regressed, None));
        assert!((row.p - 2.0 / 64.0).abs() < 1e-12, "{}", row.p);
        assert!(Row::paired(&figure, &slow[..5], &base, band()).is_err());
    }

    fn band() -> Band {
        Band::new(0.05).expect("a share")
    }

    fn unpaired(name: &str, values: &[f64], base: &[f64]) -> Row {
        let figure = Figure::parse(name).expect("a name");
        Row::unpaired(&figure, values, base, band()).expect("enough repeats")
    }

    fn check(name: &str, values: &[f64], base: &[f64], want: Verdict) {
        let row = unpaired(name, values, base);
        assert_eq!(row.verdict, want, "{row:?}");
    }
}
