//! Counts of what comes by chance.

/// How many standard deviations from its mean a Poisson number is looked for: beyond them its
/// chances are below what a floating-point number tells from zero.
const DEVIATIONS: f64 = 40.0;
/// Up to here logarithms of factorials are summed.
const SUMMED_MAX: u64 = 32;

/// The chance that a Poisson number is at most `count`, where it is `mean` on average.
pub fn poisson_at_most(count: u64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    let reach = DEVIATIONS * mean.sqrt() + DEVIATIONS;
    if count as f64 >= mean + reach {
        return 1.0;
    }
    let first = (mean - reach).max(0.0) as u64;
    // exp(-mean) itself is zero for means of some hundreds.
    let mut chance = (first as f64 * mean.ln() - mean - ln_factorial(first)).exp();
    let mut sum = 0.0;
    for number in first..=count {
        sum += chance;
        chance *= mean / (number + 1) as f64;
    }
    f64::min(sum, 1.0)
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
