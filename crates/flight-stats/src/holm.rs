//! Several questions put to one series.

use crate::StatsError;

/// The p values as they would be had each been the only question: Holm's step-down correction
/// (Holm 1979), in the order given. Compare each with the same threshold as a single one.
///
/// # Errors
/// `Probability` for a value outside 0 to 1.
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, StatsError> {
    let valid = |p: &f64| (0.0..=1.0).contains(p);
    if let Some(index) = p_values.iter().position(|p| !valid(p)) {
        return Err(StatsError::Probability { index, value: p_values[index] });
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (smaller, index) in order.into_iter().enumerate() {
        let factor = (p_values.len() - smaller) as f64;
        largest = largest.max(p_values[index] * factor).min(1.0);
        corrected[index] = largest;
    }
    Ok(corrected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(p_values: &[f64], want: &[f64]) {
        let got = holm(p_values).unwrap();
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < 1e-12, "{got} is not {want}");
        }
    }

    #[test]
    fn the_smallest_p_pays_for_all_questions_and_the_next_for_one_less() {
        check(&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]);
        check(&[0.04], &[0.04]);
        check(&[], &[]);
        check(&[0.6, 0.9], &[1.0, 1.0]);
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        for value in [-0.1, 1.1, f64::INFINITY] {
            assert_eq!(holm(&[0.5, value]), Err(StatsError::Probability { index: 1, value }));
        }
    }
}
