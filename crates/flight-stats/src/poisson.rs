//! Counts of what comes by chance.

/// What adds less than this to a sum is left out of it.
const NEGLIGIBLE: f64 = 1e-17;
/// Up to here logarithms of factorials are summed.
const SUMMED_MAX: u64 = 32;

/// The chance that a Poisson number is at most `count`, where it is `mean` on average.
pub fn poisson_at_most(count: u64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    // Both tails are summed from their largest term on, which alone may be as small as can be told.
    if (count as f64) < mean {
        let terms = (0..=count).rev().map(|number| number as f64 / mean);
        return chance_of(count, mean) * tail(terms);
    }
    let above = count.saturating_add(1);
    let terms = (above.saturating_add(1)..).map(|number| mean / number as f64);
    f64::max(1.0 - chance_of(above, mean) * tail(terms), 0.0)
}

/// The chance of just this number.
fn chance_of(number: u64, mean: f64) -> f64 {
    // exp(-mean) itself is zero for means of some hundreds.
    (number as f64 * mean.ln() - mean - ln_factorial(number)).exp()
}

/// The sum of a tail in units of its first term, by the ratios of neighbours, which are below 1.
fn tail(ratios: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for ratio in ratios {
        term *= ratio;
        if term < NEGLIGIBLE * sum {
            break;
        }
        sum += term;
    }
    sum
}

/// By Stirling's series, whose next term is below 1e-11 where it is used.
fn ln_factorial(number: u64) -> f64 {
    if number <= SUMMED_MAX {
        return (2..=number).map(|factor| (factor as f64).ln()).sum();
    }
    let n = number as f64;
    n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() + 1.0 / (12.0 * n)
        - 1.0 / (360.0 * n.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(count: u64, mean: f64, want: f64) {
        let got = poisson_at_most(count, mean);
        assert!((got - want).abs() <= 1e-9 + 1e-6 * want, "at most {count} of {mean}: {got}");
    }

    #[test]
    fn chances_are_those_of_the_formula() {
        check(0, 3.0, (-3.0f64).exp());
        check(1, 9.0, 10.0 * (-9.0f64).exp());
        check(2, 9.0, 50.5 * (-9.0f64).exp());
        check(4, 5.0, (1.0 + 5.0 + 12.5 + 125.0 / 6.0 + 625.0 / 24.0) * (-5.0f64).exp());
        check(0, 0.0, 1.0);
        check(7, 0.0, 1.0);
    }

    #[test]
    fn large_counts_are_told_as_a_bell_curve_tells_them() {
        // The median of a Poisson number of a whole mean is that mean.
        for mean in [1e3, 1e6, 1e9] {
            let below = poisson_at_most(mean as u64 - 1, mean);
            let at_most = poisson_at_most(mean as u64, mean);
            assert!(below < 0.5 && at_most > 0.5 && at_most < 0.51, "{mean}: {below} {at_most}");
            // Three deviations below it: 0.00135 of a bell curve, somewhat less of this one.
            let low = poisson_at_most((mean - 3.0 * mean.sqrt()) as u64, mean);
            assert!((0.0010..0.00136).contains(&low), "{mean}: {low}");
        }
    }

    #[test]
    fn more_is_likelier_up_to_certainty() {
        for mean in [0.1, 3.0, 80.0, 5_000.0] {
            let chances: Vec<f64> =
                (0..12_000).step_by(7).map(|count| poisson_at_most(count, mean)).collect();
            assert!(chances.windows(2).all(|pair| pair[0] <= pair[1]), "{mean}");
            assert!((chances[chances.len() - 1] - 1.0).abs() < 1e-9, "{mean}");
        }
        assert!(poisson_at_most(0, 5_000.0) < 1e-300);
    }

    #[test]
    fn both_ways_to_a_factorial_meet() {
        let summed = (2..=SUMMED_MAX + 1).map(|factor| (factor as f64).ln()).sum::<f64>();
        assert!((ln_factorial(SUMMED_MAX + 1) - summed).abs() < 1e-9);
    }
}
