//! One figure of two sides: how far apart they are, and what may be said of it.

use flight_stats::{
    Band, Confidence, Estimate, Pairs, Rule, StatsError, Verdict, compare_unpaired,
    detectable_beyond, detectable_effect, deviation, geometric_mean, holm, judge,
};

use crate::figure::{Figure, Unit};
use crate::floor::{self, Floor};

/// Which differences are none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    /// Of throughput; latencies have wider bands.
    pub(crate) equivalence: Band,
    /// What equal sides differ by on this machine, where that is known.
    pub(crate) floor: Option<&'a Floor>,
    /// Whether the rate was asked for, in place of measured.
    pub(crate) is_paced: bool,
}

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
    /// The smallest difference that 80 % of such comparisons would call one, as a share.
    pub(crate) detectable: Option<f64>,
    /// Pairs more that would settle it, where there are pairs.
    pub(crate) pairs_further: Option<usize>,
    /// Differences that count as none, as a share.
    pub(crate) band: f64,
    /// What equal sides differ by on this machine, as a share.
    pub(crate) floor: Option<f64>,
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
        judged: Judged<'_>,
    ) -> Result<Self, StatsError> {
        let found = compare_unpaired(values, base, Confidence::P95)?;
        let row = Self::new(figure, (values, base), found.ratio, judged);
        let band = figure.band(judged.equivalence);
        let verdict = Verdict::of_interval(found.ratio.interval, band, figure.direction());
        // As many pairs as the smaller side has, were they drawn at random.
        let spread = spread(values).zip(spread(base)).map(|(left, right)| left.hypot(right));
        let pairs = values.len().min(base.len());
        let apart = spread.and_then(|spread| detectable_effect(pairs, spread, Confidence::P95));
        let reach = band.bounds().1.max(1.0 + row.floor.unwrap_or_default());
        let detectable = apart.map(|apart| (1.0 + apart) * reach - 1.0);
        let verdict = if row.is_noise(verdict) { Verdict::Inconclusive } else { verdict };
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
        judged: Judged<'_>,
    ) -> Result<Self, StatsError> {
        let pairs = Pairs::new(values, base)?;
        let band = figure.band(judged.equivalence);
        let within = |band| {
            let rule = Rule { confidence: Confidence::P95, band, direction: figure.direction() };
            judge(&pairs, rule, SEED)
        };
        let found = within(band);
        let row = Self::new(figure, (values, base), found.ratio, judged);
        let floor = row.floor.map(floor::band).filter(|floor| *floor > band);
        let detectable = deviation(pairs.log_ratios()).and_then(|spread| {
            detectable_beyond(pairs.count(), spread, floor.unwrap_or(band), Confidence::P95)
        });
        let row = Self { p: found.p, detectable, ..row };
        let Some(floor) = floor.filter(|_| found.verdict != Verdict::Same) else {
            let (verdict, pairs_further) = (found.verdict, found.pairs_further);
            return Ok(Self { verdict, pairs_further, ..row });
        };
        // Both ways of judging have to clear the floor, as they have the band.
        let beyond = within(floor);
        let told = differs(found.verdict) && !row.is_noise(found.verdict);
        if told && beyond.verdict == found.verdict {
            return Ok(Self { verdict: found.verdict, ..row });
        }
        // What lies between the band and the floor stays there, however many pairs say so.
        let pairs_further = match row.ratio.value {
            ratio if floor::is_beyond(Some((ratio, ratio)), floor.bounds().1 - 1.0) => {
                beyond.pairs_further
            }
            ratio if floor::is_beyond(Some((ratio, ratio)), row.band) => None,
            _ => found.pairs_further,
        };
        Ok(Self { verdict: Verdict::Inconclusive, pairs_further, ..row })
    }

    fn new(
        figure: &Figure,
        (values, base): (&[f64], &[f64]),
        ratio: Estimate,
        judged: Judged<'_>,
    ) -> Self {
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
            band: figure.band(judged.equivalence).bounds().1 - 1.0,
            floor: judged.floor.and_then(|floor| figure.floor(floor)),
            gates: figure.gates(judged.is_paced),
        }
    }

    /// Whether such a verdict is of a difference that equal sides may have on this machine.
    fn is_noise(&self, verdict: Verdict) -> bool {
        differs(verdict)
            && self.floor.is_some_and(|floor| !floor::is_beyond(self.ratio.interval, floor))
    }

    /// Whether it would be called a difference, were it not for the noise floor.
    pub(crate) fn lost_in_noise(&self) -> bool {
        self.verdict == Verdict::Inconclusive
            && floor::is_beyond(self.ratio.interval, self.band)
            && self.floor.is_some_and(|floor| !floor::is_beyond(self.ratio.interval, floor))
    }

    /// How far from equal the interval reaches, as a share.
    pub(crate) fn reach(&self) -> Option<f64> {
        let (lo, hi) = self.ratio.interval?;
        Some(hi.max(1.0 / lo) - 1.0)
    }
}

fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Improved | Verdict::Regressed)
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
            if differs(row.verdict) && p > Confidence::P95.alpha() {
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
        assert!(
            row.gates && row.detectable.is_some_and(|share| (0.05..0.12).contains(&share)),
            "{row:?}"
        );
    }

    #[test]
    fn three_repeats_are_too_few() {
        let figure = Figure::parse("get.bytes_per_s").expect("a name");
        let got = Row::unpaired(&figure, &BASE[..3], &BASE, judged(None));
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
        let row = Row::paired(&figure, &slow, &base, judged(None)).expect("six pairs");
        assert_eq!((row.verdict, row.pairs_further), (Regressed, None));
        assert!((row.p - 2.0 / 64.0).abs() < 1e-12, "{}", row.p);
        assert!(Row::paired(&figure, &slow[..5], &base, judged(None)).is_err());
    }

    /// What is said of pairs that fell by about so much, where equal ones differ by `floor`.
    fn check_floor(floor_of: f64, fall: f64, want: Verdict, in_noise: bool) -> Row {
        let base = [100.0, 120.0, 90.0, 110.0, 105.0, 95.0, 101.0, 99.0];
        let wobble = [1.0, 1.004, 0.996, 1.002, 0.998, 1.003, 0.997, 1.0];
        let slow: Vec<f64> =
            base.iter().zip(wobble).map(|(base, wobble)| base * wobble * (1.0 - fall)).collect();
        let figure = Figure::parse("get.bytes_per_s").expect("a name");
        let floor = floor::tests::floor(floor_of);
        let mut rows =
            vec![Row::paired(&figure, &slow, &base, judged(Some(&floor))).expect("eight pairs")];
        let flat = |level: f64| wobble.map(|wobble| wobble * level);
        let (slow, base) = (flat(1.0 - fall), flat(1.0));
        rows.push(Row::unpaired(&figure, &slow, &base, judged(Some(&floor))).expect("enough"));
        for row in &rows {
            assert_eq!((row.verdict, row.lost_in_noise()), (want, in_noise), "{row:?}");
            assert_eq!(row.floor, Some(floor_of));
        }
        rows.swap_remove(0)
    }

    #[test]
    fn a_difference_within_the_floor_is_none_that_is_told() {
        check_floor(0.03, 0.10, Regressed, false);
        check_floor(0.09, 0.10, Regressed, false);
        // 1/0.9 is 11.1 % the other way: a floor is as far on either side of equal.
        let row = check_floor(0.12, 0.10, Inconclusive, true);
        assert_eq!(row.pairs_further, None, "no number of pairs leaves the floor: {row:?}");
        check_floor(0.30, 0.10, Inconclusive, true);
        check_floor(9.0, 0.10, Inconclusive, true);
        // What is the same stays so, and what was open says nothing of the floor.
        check_floor(0.30, 0.0, Same, false);
        check_floor(0.30, 0.047, Inconclusive, false);
    }

    #[test]
    fn a_difference_on_the_edge_of_the_floor_needs_more_pairs() {
        // ln 0.9 is -0.105 and ln 1.109 is 0.103: the mean lies beyond, its interval does not.
        let row = check_floor(0.109, 0.10, Inconclusive, true);
        assert!(row.pairs_further.is_some(), "{row:?}");
    }

    #[test]
    fn no_number_of_pairs_settles_what_lies_between_band_and_floor() {
        let base = [100.0; 8];
        let further = |middle: f64, floor_of: f64| {
            let noise = [1.2, 0.85, 1.1, 0.9, 1.15, 0.88, 1.05, 0.95];
            let figure = Figure::parse("get.bytes_per_s").expect("a name");
            let floor = floor::tests::floor(floor_of);
            let slow = noise.map(|noise| noise * middle);
            let row = Row::paired(&figure, &slow, &base, judged(Some(&floor))).expect("pairs");
            assert_eq!(row.verdict, Inconclusive, "{row:?}");
            row.pairs_further
        };
        assert!(further(90.0, 0.03).is_some());
        assert_eq!(further(90.0, 0.30), None);
        assert!(further(100.0, 0.30).is_some(), "they may turn out to be the same");
    }

    #[test]
    fn what_can_be_detected_lies_beyond_band_and_floor() {
        let near = check_floor(0.01, 0.10, Regressed, false).detectable.expect("a spread");
        assert!((0.05..0.06).contains(&near), "{near}");
        let far = check_floor(0.08, 0.10, Regressed, false).detectable.expect("a spread");
        assert!((far - near - 0.03).abs() < 0.001, "{far}");
    }

    #[test]
    fn a_floor_is_of_its_kind_of_figure() {
        let floor = floor::tests::floor(0.02);
        let of = |name: &str| Figure::of_document(name).expect("a name").floor(&floor);
        assert_eq!(of("get.bytes_per_s"), Some(0.02));
        assert_eq!(of("unary.calls_per_s"), Some(0.02));
        assert_eq!(of("put.ack.p50"), floor.p50);
        assert_eq!(of("put.ack.p90"), floor.p50);
        assert_eq!(of("put.ack.p99"), None, "it was not measured");
        assert_eq!(of("wall_time"), None, "a command may be anything");
    }

    fn judged(floor: Option<&Floor>) -> Judged<'_> {
        Judged { equivalence: Band::new(0.05).expect("a share"), floor, is_paced: false }
    }

    fn unpaired(name: &str, values: &[f64], base: &[f64]) -> Row {
        let figure = Figure::parse(name).expect("a name");
        Row::unpaired(&figure, values, base, judged(None)).expect("enough repeats")
    }

    fn check(name: &str, values: &[f64], base: &[f64], want: Verdict) {
        let row = unpaired(name, values, base);
        assert_eq!(row.verdict, want, "{row:?}");
    }
}
