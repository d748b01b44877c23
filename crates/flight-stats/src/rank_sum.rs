//! The Mann-Whitney test: where the ranks of one side fall among those of both.
//!
//! What the numbers mean and whether they suffice is decided in `unpaired`.

use statrs::function::erf::{erfc, erfc_inv};

use crate::limits::RANKS_EXACT_MAX;

/// How a p value of ranks came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// All assignments of ranks to sides, counted; no two values are equal.
    Exact,
    /// The same over midranks, as some values are equal. The interval beside it takes no account of
    /// ties.
    ExactMidranks,
    /// The normal approximation with continuity and tie correction: too many values to count.
    Normal,
}

/// Twice the midrank of every value of both sides, and twice the sum on the left.
struct Ranks {
    doubled: Vec<usize>,
    left: usize,
    left_sum: usize,
    tied: bool,
}

/// The two-sided p that both sides come from one distribution (Mann and Whitney 1947): how often a
/// random assignment of ranks to sides is as far from its expectation.
pub(crate) fn two_sided_p(left: &[f64], right: &[f64]) -> (f64, Method) {
    let ranks = Ranks::new(left, right);
    match (ranks.doubled.len() <= RANKS_EXACT_MAX, ranks.tied) {
        (true, false) => (ranks.exact_p(), Method::Exact),
        (true, true) => (ranks.exact_p(), Method::ExactMidranks),
        (false, _) => (ranks.normal_p(), Method::Normal),
    }
}

/// The one-sided p that the left side lies no lower than the right one: how often a random assignment
/// of ranks to sides gives it a sum as low as this or lower.
pub(crate) fn lower_p(left: &[f64], right: &[f64]) -> f64 {
    let ranks = Ranks::new(left, right);
    if ranks.doubled.len() <= RANKS_EXACT_MAX {
        ranks.exact_lower_p()
    } else {
        ranks.normal_lower_p()
    }
}

/// The smallest such p: one of all assignments, when the sides do not overlap.
pub(crate) fn lower_p_min(left: usize, right: usize) -> f64 {
    // 1 / C(left + right, left), factor by factor: neither can overflow.
    (1..=left).map(|rank| rank as f64 / (right + rank) as f64).product()
}

/// Of the `left × right` differences in order, the rank (from 1) that bounds an interval of `alpha`
/// from below, and the coverage it reaches. `None` where even the extremes do not suffice.
///
/// Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., §4.3.
pub(crate) fn interval_rank(left: usize, right: usize, alpha: f64) -> Option<(usize, f64)> {
    if left + right > RANKS_EXACT_MAX {
        let products = (left * right) as f64;
        let sigma = (products * (left + right + 1) as f64 / 12.0).sqrt();
        let z = std::f64::consts::SQRT_2 * erfc_inv(alpha);
        let rank = (products / 2.0 - z * sigma).floor();
        return (rank >= 1.0).then_some((rank as usize, 1.0 - alpha));
    }
    let untied: Vec<usize> = (1..=left + right).map(|rank| 2 * rank).collect();
    let counts = subset_sums(&untied, left);
    let total: f64 = counts.iter().sum();
    // U is the sum of the ranks beyond its minimum; doubled ranks leave every other count empty.
    let of_u = counts.iter().skip(left * (left + 1)).step_by(2);
    let mut below = 0.0;
    let mut best = None;
    for (u, count) in of_u.enumerate() {
        below += count / total;
        if below > alpha / 2.0 {
            break;
        }
        best = Some((u + 1, 1.0 - 2.0 * below));
    }
    best
}

impl Ranks {
    fn new(left: &[f64], right: &[f64]) -> Self {
        let sides = left.iter().map(|v| (*v, true)).chain(right.iter().map(|v| (*v, false)));
        let mut sorted: Vec<(f64, bool)> = sides.collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ranks = Self { doubled: Vec::new(), left: left.len(), left_sum: 0, tied: false };
        for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
            // The mean of ranks first..=last, doubled so that it is whole.
            let first = ranks.doubled.len() + 1;
            let midrank = first + first + equal.len() - 1;
            ranks.doubled.extend(equal.iter().map(|_| midrank));
            ranks.left_sum += midrank * equal.iter().filter(|(_, is_left)| *is_left).count();
            ranks.tied |= equal.len() > 1;
        }
        ranks
    }

    /// Twice the sum that the left side has on average.
    fn expected(&self) -> usize {
        self.left * (self.doubled.len() + 1)
    }

    fn exact_p(&self) -> f64 {
        let distance = self.left_sum.abs_diff(self.expected());
        let counts = subset_sums(&self.doubled, self.left);
        let is_extreme = |sum: usize| sum.abs_diff(self.expected()) >= distance;
        let extreme: f64 =
            counts.iter().enumerate().filter(|(sum, _)| is_extreme(*sum)).map(|(_, c)| c).sum();
        extreme / counts.iter().sum::<f64>()
    }

    fn exact_lower_p(&self) -> f64 {
        let counts = subset_sums(&self.doubled, self.left);
        counts[..=self.left_sum].iter().sum::<f64>() / counts.iter().sum::<f64>()
    }

    fn normal_lower_p(&self) -> f64 {
        let Some(deviation) = self.deviation() else { return 1.0 };
        let below = (self.expected() as f64 - self.left_sum as f64) / 2.0;
        erfc((below - 0.5) / deviation / std::f64::consts::SQRT_2) / 2.0
    }

    fn normal_p(&self) -> f64 {
        let Some(deviation) = self.deviation() else { return 1.0 };
        let distance = self.left_sum.abs_diff(self.expected()) as f64 / 2.0;
        let z = (distance - 0.5).max(0.0) / deviation;
        erfc(z / std::f64::consts::SQRT_2)
    }

    /// The deviation of the left sum; none where every value is the same. Hollander, Wolfe and
    /// Chicken, 3rd ed., §4.1, equations for large samples and for ties.
    fn deviation(&self) -> Option<f64> {
        let all = self.doubled.len() as f64;
        let products = (self.left * (self.doubled.len() - self.left)) as f64;
        let ties: f64 = self
            .doubled
            .chunk_by(|a, b| a == b)
            .map(|equal| (equal.len() as f64).powi(3) - equal.len() as f64)
            .sum();
        let variance = products / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
        (variance > 0.0).then(|| variance.sqrt())
    }
}

/// How many subsets of `size` of the `values` have each sum (the shift algorithm of Streitberg and
/// Röhmel 1986). As floats: C(100, 50) passes 64 bits, and sums of positives lose no precision.
fn subset_sums(values: &[usize], size: usize) -> Vec<f64> {
    let sum_max: usize = values.iter().sum();
    let mut counts = vec![vec![0.0; sum_max + 1]; size + 1];
    counts[0][0] = 1.0;
    for value in values {
        // Larger subsets first: each value is in a subset once.
        for taken in (1..=size).rev() {
            let (smaller, larger) = counts.split_at_mut(taken);
            let (from, to) = (&smaller[taken - 1], &mut larger[0]);
            for (target, count) in to[*value..].iter_mut().zip(from) {
                *target += count;
            }
        }
    }
    counts.swap_remove(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(left: &[f64], right: &[f64], want: f64, method: Method) {
        for (a, b) in [(left, right), (right, left)] {
            let (got, by) = two_sided_p(a, b);
            assert!((got - want).abs() < 5e-5, "p = {got}, not {want}");
            assert_eq!(by, method);
        }
    }

    fn run(from: u32, count: u32) -> Vec<f64> {
        (from..from + count).map(f64::from).collect()
    }

    #[test]
    fn sides_that_do_not_overlap_have_the_smallest_p_there_is() {
        check(&run(1, 3), &run(4, 3), 0.1, Method::Exact);
        check(&run(1, 4), &run(5, 4), 2.0 / 70.0, Method::Exact);
        check(&run(1, 5), &run(6, 5), 2.0 / 252.0, Method::Exact);
        check(&run(1, 4), &run(5, 6), 2.0 / 210.0, Method::Exact);
    }

    #[test]
    fn one_side_that_is_lower_has_half_the_p_and_one_that_is_higher_almost_all() {
        assert!((lower_p(&run(1, 5), &run(6, 5)) - 1.0 / 252.0).abs() < 1e-12);
        assert!((lower_p(&run(6, 5), &run(1, 5)) - 1.0).abs() < 1e-12);
        // Doubled midranks 4 4 4 9 9 14 14 14: three 4s and one of the two 9s, in 2 of 70.
        let tied = lower_p(&[1.0, 1.0, 1.0, 2.0], &[2.0, 3.0, 3.0, 3.0]);
        assert!((tied - 2.0 / 70.0).abs() < 1e-12, "{tied}");
        assert!((lower_p(&[1.0; 60], &[1.0; 60]) - 1.0).abs() < 1e-12);
        for (left, right) in [(4, 4), (5, 5), (4, 9), (9, 4)] {
            let apart = lower_p(&run(1, left), &run(100, right));
            let least = lower_p_min(left as usize, right as usize);
            assert!((apart - least).abs() < 1e-12, "{left} and {right}: {apart}, not {least}");
        }
    }

    #[test]
    fn the_normal_approximation_of_one_side_meets_its_exact_p() {
        for shift in [-14, 0, 2, 9, 14, 20] {
            let left: Vec<f64> = (0..50).map(|i| f64::from(i * 2)).collect();
            let right: Vec<f64> = (0..50).map(|i| f64::from(i * 2 + 2 * shift + 1)).collect();
            let ranks = Ranks::new(&left, &right);
            let (exact, normal) = (ranks.exact_lower_p(), ranks.normal_lower_p());
            assert!((exact - normal).abs() < 0.002, "exact {exact}, normal {normal}");
        }
    }

    #[test]
    fn a_published_example_has_its_published_p() {
        // Hollander and Wolfe, table 4.1; R's wilcox.test gives W = 35 and 0.1272 for one tail.
        let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let y = [1.15, 0.88, 0.90, 0.74, 1.21];
        check(&x, &y, 764.0 / 3_003.0, Method::Exact);
    }

    #[test]
    fn ties_share_a_midrank() {
        // Doubled midranks 4 4 4 9 9 14 14 14; the left sum of 21 and its mirror 51 have 4 of 70.
        check(&[1.0, 1.0, 1.0, 2.0], &[2.0, 3.0, 3.0, 3.0], 4.0 / 70.0, Method::ExactMidranks);
        check(&[1.0; 4], &[1.0; 4], 1.0, Method::ExactMidranks);
        check(&[1.0; 60], &[1.0; 60], 1.0, Method::Normal);
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_p() {
        for shift in [2, 9, 14, 20] {
            let left: Vec<f64> = (0..50).map(|i| f64::from(i * 2)).collect();
            let right: Vec<f64> = (0..50).map(|i| f64::from(i * 2 + 2 * shift / 2 * 2)).collect();
            let ranks = Ranks::new(&left, &right);
            let (exact, normal) = (ranks.exact_p(), ranks.normal_p());
            assert!((exact - normal).abs() < 0.002, "exact {exact}, normal {normal}");
        }
    }

    #[test]
    fn ties_narrow_the_normal_approximation() {
        // Left sum 16 of 18 expected; variance 16/12 (9 - (24 + 120)/56); z = 1.5 / 2.928.
        let got = Ranks::new(&[1.0, 1.0, 2.0, 2.0], &[1.0, 2.0, 2.0, 2.0]).normal_p();
        assert!((got - 0.608_408).abs() < 1e-6, "{got}");
    }

    #[test]
    fn bounds_of_intervals_are_the_published_critical_values() {
        // Largest U that is significant at 5 %, both tails (Mann-Whitney tables).
        let table = [
            (4, 4, 0),
            (5, 5, 2),
            (5, 8, 6),
            (6, 6, 5),
            (6, 10, 11),
            (7, 7, 8),
            (8, 8, 13),
            (8, 10, 17),
            (9, 9, 17),
            (10, 10, 23),
            (20, 20, 127),
        ];
        for (left, right, critical) in table {
            for (left, right) in [(left, right), (right, left)] {
                let (rank, coverage) = interval_rank(left, right, 0.05).expect("an interval");
                assert_eq!(rank, critical + 1, "{left} and {right}");
                assert!((0.95..1.0).contains(&coverage), "{coverage}");
            }
        }
        assert_eq!(interval_rank(3, 3, 0.05), None);
        assert_eq!(interval_rank(4, 4, 0.01), None);
    }

    #[test]
    fn the_approximate_bound_continues_the_exact_one() {
        let (exact, _) = interval_rank(50, 50, 0.05).expect("exact");
        let (near, _) = interval_rank(50, 51, 0.05).expect("approximate");
        // A value more on one side moves the critical value by some 19 of 969.
        assert!((15..25).contains(&(near - exact)), "{exact}, then {near}");
    }
}
